"""All that a run found, drawn from its tables: claims, verdict and decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, plural, visible
from clickassay.correlation.estimates import Level, levels
from clickassay.correlation.within import NO_GROUP
from clickassay.findings.claims import Claim, DependsClaim, Verdict
from clickassay.findings.decision import Decision, decide, decide_with_judges
from clickassay.findings.depends import by_click, dependences, varied
from clickassay.findings.influence import chance_shares, depends_mostly, influence_rows, influential_share
from clickassay.findings.ranking import Quantity, Ranking, rank, rank_differences, rank_within, values_of
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck, fired


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
    within
        Which best predicts, of two lists for a query, the one that users prefer.
    depends
        Whether that depends on the click metric or the sample.
    other_judges
        The verdict with each other judge, at the headline's market and depth.
    health
        The checks of the log and its judgments that fire, findings first.
    decision
        What they amount to.
    means
        The mean of each metric and each click metric over the sessions of the headline sample, by name.
    chance
        The share of influence that a few queries have by chance: `influence.chance_shares`.
    """

    verdict: Verdict
    correlation: Claim
    differences: Claim
    within: Claim
    depends: DependsClaim
    health: tuple[HealthCheck, ...]
    decision: Decision
    other_judges: Mapping[str, Verdict] = field(default_factory=dict)
    means: Mapping[str, Level] = field(default_factory=dict)
    chance: tuple[float, float] | None = None


def draw_findings(run: Run, rng: np.random.Generator) -> Findings:
    """Draw the verdict, the three findings and the decision from the tables of a run.

    `rng` draws what share of influence a few queries have by chance.
    """
    wrong = fired(run.frames["health"])
    if run.headline is None:
        return _nothing_kept(run, wrong)
    first, chance = rank(run, run.headline), chance_shares(run, rng)
    share = influential_share(influence_rows(run, first.best)) if first.competitors else None
    headline = Claim(first, influential_share=share, depends_on_few=depends_mostly(share, chance))
    verdict = Verdict((headline, *_claims(run, run.headline, run.counted[1:])))
    ranked = rank_differences(run, run.headline)
    others = {sample.judge: verdict_of(run, sample) for sample in varied(run, run.headline, "judge")[1:]}
    return Findings(
        verdict,
        headline,
        Claim(ranked, _sign_agreement(run, ranked)),
        _within(run),
        _depends(run, first),
        wrong,
        decide_with_judges(verdict, others, wrong, run.current),
        others,
        mean_levels(run) if first.competitors else {},
        chance,
    )


def mean_levels(run: Run) -> dict[str, Level]:
    """Return the mean of each metric and each click metric over the sessions of the headline sample."""
    frame = run.headline_rows("configurations")
    return levels(frame, [name for name in (*run.editorial, *run.clicks) if name in frame.columns])


def verdict_of(run: Run, sample: SampleKey) -> Verdict:
    """Return the claims of a sample for each click metric that counts."""
    return Verdict(_claims(run, sample, run.counted))


def _claims(run: Run, sample: SampleKey, clicks: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(Claim(rank(run, sample, click)) for click in clicks)


def _nothing_kept(run: Run, wrong: tuple[HealthCheck, ...]) -> Findings:
    def claim(quantity: Quantity, click: str) -> Claim:
        return Claim(Ranking(quantity, click, None, reason=nothing_kept_reason(run)))

    claims = tuple(claim("correlation", click) for click in run.counted)
    verdict, depends = Verdict(claims), DependsClaim((), (), _coverage(run))
    differences = claim("correlation of differences", run.click)
    decision = decide(verdict, wrong, run.current)
    return Findings(verdict, claims[0], differences, _within(run), depends, wrong, decision)


def _within(run: Run) -> Claim:
    if run.headline_place is None:
        return Claim(Ranking("correlation within queries", run.click, None, reason=NO_GROUP))
    ranked = rank_within(run, run.headline_place)
    return Claim(ranked, _sign_agreement(run, ranked))


def _sign_agreement(run: Run, ranking: Ranking) -> dict[str, float]:
    if ranking.sample is None:
        return {}
    rows = ranking.sample.rows(values_of(run, ranking.quantity)).filter(click_metric=ranking.click)
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
