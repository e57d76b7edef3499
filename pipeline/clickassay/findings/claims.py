"""The verdict and the findings as data, drawn from the tests of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, plural, visible
from clickassay.findings.depends import Dependence, by_click, dependence_on_clicks, dependences, varied
from clickassay.findings.influence import (
    chance_shares,
    depends_mostly,
    influence_rows,
    influential_share,
)
from clickassay.findings.ranking import Quantity, Ranking, rank, rank_differences
from clickassay.findings.run import Run

Kind = Literal[
    "metric_best",
    "metric_tied",
    "baseline_best",
    "baseline_not_beaten",
    "nothing_predicts",
    "not_tested",
    "no_correlation",
]
"""What is claimed of one click metric; docs/reference/summary.md defines each."""

DEPENDS_ON_CLICK: Literal["depends_on_click"] = "depends_on_click"
"""The verdict when no metric is among the best by every click metric that counts."""


@dataclass(frozen=True)
class Claim:
    """Which metric predicts one click metric best, and how sure that is.

    Attributes
    ----------
    ranking
        Metrics and baselines, and the tests between them.
    sign_agreement
        By metric, how often it and the click metric prefer the same of two rankings, 0..1; only for
        differences between two rankings.
    influential_share
        Share of the squared error of the best metric's correlation due to a few queries, 0..1; None where
        it is not known.
    """

    ranking: Ranking
    sign_agreement: Mapping[str, float] = field(default_factory=dict)
    influential_share: float | None = None
    depends_on_few: bool = False

    @property
    def kind(self) -> Kind:
        """What the tests allow to be said."""
        ranking = self.ranking
        found = ranking.competitors.values()
        if not found:
            return "no_correlation"
        if all(one.p_adjusted is None for one in found):
            return "not_tested"
        if not any(one.is_above_nothing for one in found):
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
        """The highest baseline that is significantly above every metric, if there is one."""
        ranking = self.ranking
        winning = (name for name in ranking.baselines if not ranking.not_above(name, ranking.metrics))
        return next(winning, None)


@dataclass(frozen=True)
class DependsClaim:
    """Whether the best metric depends on the click metric, market, depth or judge.

    Attributes
    ----------
    varied
        One for each of these that has several values.
    counted
        The click metrics that were compared.
    reason
        Why nothing can be said; None when something can.
    """

    varied: tuple[Dependence, ...]
    counted: tuple[str, ...]
    reason: str | None = None

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

    claims: tuple[Claim, ...]

    @property
    def kind(self) -> str:
        """The kind of the headline claim, unless the click metrics have no best metric in common."""
        found = dependence_on_clicks([one.ranking for one in self.claims])
        return DEPENDS_ON_CLICK if found.depends else self.claims[0].kind


@dataclass(frozen=True)
class Findings:
    """All that a run claims.

    Attributes
    ----------
    verdict
        The headline.
    correlation, differences
        Which metric correlates best with the headline click metric; and best predicts differences between
        two rankings.
    depends
        Whether that depends on the click metric or the sample.
    other_judges
        The verdict with each other judge, at the headline's market and depth.
    chance
        The share of influence that a few queries have by chance: `influence.chance_shares`.
    """

    verdict: Verdict
    correlation: Claim
    differences: Claim
    depends: DependsClaim
    other_judges: Mapping[str, Verdict] = field(default_factory=dict)
    chance: tuple[float, float] | None = None


def draw_findings(run: Run, rng: np.random.Generator) -> Findings:
    """Draw the verdict and the three findings from the tables of a run.

    `rng` draws what share of influence a few queries have by chance.
    """
    if run.headline is None:
        return _nothing_kept(run)
    first, chance = rank(run, run.headline), chance_shares(run, rng)
    share = influential_share(influence_rows(run, first.best)) if first.competitors else None
    few = depends_mostly(share, chance)
    headline = Claim(first, influential_share=share, depends_on_few=few)
    ranked = rank_differences(run, run.headline)
    return Findings(
        Verdict((headline, *_claims(run, run.headline, run.counted[1:]))),
        headline,
        Claim(ranked, _sign_agreement(run, ranked)),
        _depends(run, first),
        {
            sample.judge: Verdict(_claims(run, sample, run.counted))
            for sample in varied(run, run.headline, "judge")[1:]
        },
        chance,
    )


def _claims(run: Run, sample: SampleKey, clicks: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(Claim(rank(run, sample, click)) for click in clicks)


def _nothing_kept(run: Run) -> Findings:
    def claim(quantity: Quantity, click: str) -> Claim:
        return Claim(Ranking(quantity, click, None, reason=nothing_kept_reason(run)))

    claims = tuple(claim("correlation", click) for click in run.counted)
    depends = DependsClaim((), (), _coverage(run))
    return Findings(Verdict(claims), claims[0], claim("correlation of differences", run.click), depends)


def _sign_agreement(run: Run, ranking: Ranking) -> dict[str, float]:
    if ranking.sample is None:
        return {}
    rows = ranking.sample.rows(run.competing("differences")).filter(click_metric=ranking.click)
    return {
        name: share
        for name, share in rows.select("editorial_metric", "sign_agreement").iter_rows()
        if share is not None
    }


def _depends(run: Run, first: Ranking) -> DependsClaim:
    counted = by_click(run)
    if not first.competitors:
        return DependsClaim((), counted, _coverage(run))
    return DependsClaim(dependences(run, counted), counted)


def _coverage(run: Run) -> str:
    """Return how much of the log is judged: the reason why nothing can be said."""
    statistics = run.frames["statistics"]
    if statistics.is_empty():
        return "the run has no statistics: no market, depth or judge was analysed"
    every = statistics.group_by("market").agg(pl.col("n_all_sessions").max())["n_all_sessions"].sum()
    kept = max(statistics["n_sessions"].to_list())
    share = f"at most {count(kept)} have" if kept else "none has"
    return f"of {plural(int(every), 'session')}, {share} a grade for every result down to the depth"


def nothing_kept_reason(run: Run) -> str:
    """Return that no session was kept, and why most were lost."""
    lost = run.frames["funnel"].filter(pl.col("source") == "sessions", pl.col("reason") != "")
    if lost.is_empty() or lost["rows"].sum() == 0:
        return "no session was kept: the log and the judgments have no configuration in common"
    most = lost.sort(["rows", "reason"], descending=[True, False]).row(0, named=True)
    return (
        f"no session was kept; most were lost because of: {visible(most['reason'])} ({count(most['rows'])})"
    )
