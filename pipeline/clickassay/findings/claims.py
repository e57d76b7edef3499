"""Claims as data: what the tests of a run allow to be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import visible
from clickassay.findings.ranking import WITHIN_QUERIES, Question, Ranking, deciding
from clickassay.findings.run import Run
from clickassay.metrics.clicks import USES_GRADES

Kind = Literal[
    "metric_best",
    "metric_tied",
    "baseline_best",
    "baseline_not_beaten",
    "nothing_predicts",
    "not_tested",
    "no_correlation",
]
"""Kinds of claims on one click metric; docs/reference/summary.md defines each."""

DEPENDS_ON_CLICK: Literal["depends_on_click"] = "depends_on_click"
"""The verdict when no metric is among the best by every click metric that counts."""


@dataclass(frozen=True)
class Claim:
    """Which metric predicts one click metric best, and how sure that is."""

    ranking: Ranking  # Metrics and baselines, and the tests between them.
    # By metric, how often it and the click metric prefer the same of two rankings, 0..1; only for differences
    # between two rankings.
    sign_agreement: Mapping[str, float] = field(default_factory=dict)
    # Share of the squared error of the best metric's correlation due to a few queries, 0..1; None where it is
    # not known.
    influential_share: float | None = None
    depends_on_few: bool = False

    @property
    def kind(self) -> Kind:
        """What the tests allow to be said."""
        ranking = self.ranking
        competitors = ranking.competitors.values()
        if not competitors:
            return "no_correlation"
        if all(one.p_adjusted is None for one in competitors):
            return "not_tested"
        if not any(one.is_above_nothing for one in competitors):
            return "nothing_predicts"
        if not ranking.proven:
            return "baseline_best" if self.winning_baseline else "baseline_not_beaten"
        return "metric_tied" if self.rivals else "metric_best"

    @property
    def subject(self) -> str | None:
        """The metric that the claim is about: the best that beats every baseline, else the highest."""
        if not self.ranking.competitors:
            return None
        return (*self.ranking.proven, self.ranking.best)[0]

    @property
    def rivals(self) -> tuple[str, ...]:
        """Other metrics that the subject is not significantly above, highest first."""
        return () if self.subject is None else self.ranking.not_above(self.subject, self.ranking.metrics)

    @property
    def winning_baseline(self) -> str | None:
        """The highest baseline that is significantly better than every metric, if there is one."""
        ranking = self.ranking
        winning = (name for name in ranking.baselines if not ranking.not_above(name, ranking.metrics))
        return next(winning, None)


# ---- whether the best metric depends on a choice --------------------------------------------------
# The best are the highest metric or baseline and all that it is not significantly above. Each choice is
# varied alone, from the headline sample and click metric. The best metric depends on it when no metric is
# among the best whatever is chosen: then each has been found significantly worse than another somewhere.


NOT_COUNTED = (USES_GRADES, "QCTR")
"""Click metrics that are not compared unasked: SS never is, QCTR counts every click."""


@dataclass(frozen=True)
class Choice:
    """One value of a choice, and the best metrics and baselines there; none where nothing predicts."""

    value: str
    best: tuple[str, ...]


@dataclass(frozen=True)
class Dependence:
    """The best metrics for every value of one choice."""

    by: str  # What is varied: ``click metric``, ``market``, ``depth`` or ``judge``.
    choices: tuple[Choice, ...]  # Its values, the headline's first.
    # Whether two metrics differ significantly in opposite directions, where that is known: significant by one
    # choice and not by another is no difference between the choices.
    is_opposed: bool = True

    @property
    def known(self) -> tuple[Choice, ...]:
        """The choices for which something predicts clicks."""
        return tuple(one for one in self.choices if one.best)

    @property
    def shared(self) -> tuple[str, ...]:
        """The metrics and baselines that are among the best for each known choice."""
        if not self.known:
            return ()
        first, *rest = self.known
        return tuple(name for name in first.best if all(name in one.best for one in rest))

    @property
    def depends(self) -> bool:
        """Whether no metric is among the best for all of two choices or more."""
        return len(self.known) > 1 and not self.shared and self.is_opposed


def by_click(run: Run) -> tuple[str, ...]:
    """Return the click metrics to compare: those asked for if several are, else all but `NOT_COUNTED`."""
    if len(run.counted) > 1:
        return run.counted
    return (run.click, *(one for one in run.clicks if one not in (run.click, *NOT_COUNTED)))


def dependence_on_clicks(rankings: Sequence[Ranking]) -> Dependence:
    """Return whether the best metric depends on the click metric."""
    ahead = [one.ahead for one in rankings]
    is_opposed = any((b, a) in other for own in ahead for a, b in own for other in ahead)
    choices = tuple(Choice(one.click, one.among_best) for one in rankings)
    return Dependence("click metric", choices, is_opposed=is_opposed)


def dependences(run: Run, headline: SampleKey, clicks: Sequence[str]) -> tuple[Dependence, ...]:
    """Vary click metric, market, depth and judge, each alone, if it has several values."""
    decided = deciding(run, headline)
    all_varied = [dependence_on_clicks([decided.rank(run, click) for click in clicks])]
    for column in SAMPLE_COLUMNS:
        choices = []
        for sample in varied(run, headline, column):
            # each market on its own; each depth or judge over the markets that decide
            place = sample if column == "market" else replace(sample, market=decided.sample.market)
            ranking = replace(decided, sample=place).rank(run)
            choices.append(Choice(visible(sample.columns[column]), ranking.among_best))
        all_varied.append(Dependence(column, tuple(choices)))
    return tuple(one for one in all_varied if len(one.choices) > 1)


def varied(run: Run, headline: SampleKey, column: str) -> list[SampleKey]:
    """Return the samples that differ from the headline one in this column at most; the headline first."""
    rows = run.frames["statistics"].filter(pl.col("n_sessions") > 0)
    same = {name: value for name, value in headline.columns.items() if name != column}
    keys = rows.filter(**same).sort(SAMPLE_COLUMNS).select(SAMPLE_COLUMNS).iter_rows()
    return [headline, *(key for key in (SampleKey(*row) for row in keys) if key != headline)]


@dataclass(frozen=True)
class DependsClaim:
    """Whether the best metric depends on the click metric, market, depth or judge."""

    varied: tuple[Dependence, ...]  # One for each of these that has several values.
    counted: tuple[str, ...]  # The click metrics that were compared.
    reason: str | None = None  # Why nothing can be said; None when something can.

    @property
    def kind(self) -> Literal["best_depends", "best_does_not_depend", "nothing_to_vary", "no_correlation"]:
        """What the tests allow to be said."""
        if self.reason is not None:
            return "no_correlation"
        if not self.varied:
            return "nothing_to_vary"
        return "best_depends" if any(one.depends for one in self.varied) else "best_does_not_depend"


@dataclass(frozen=True)
class Verdict:
    """The first claim for each click metric that counts, the headline one first."""

    claims: tuple[Claim, ...]  # Claims on the question that decides.
    instead: str | None = None  # Why that is not the question that was asked; None where it is.
    # Click metrics of claims that nobody named: signals that significantly say the opposite of clicks.
    unasked: frozenset[str] = frozenset()

    @property
    def question(self) -> Question:
        """The question that the claims answer."""
        return "rankings" if self.claims[0].ranking.quantity == WITHIN_QUERIES else "queries"

    @property
    def kind(self) -> str:
        """The kind of the headline claim, unless the click metrics have no best metric in common."""
        competitors = dependence_on_clicks([one.ranking for one in self.claims])
        return DEPENDS_ON_CLICK if competitors.depends else self.claims[0].kind
