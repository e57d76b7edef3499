"""Claims as data: what the tests of a run allow to be said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from clickassay.findings.depends import Dependence, dependence_on_clicks
from clickassay.findings.ranking import WITHIN_QUERIES, Question, Ranking

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
