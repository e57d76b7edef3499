"""All that a run found, drawn from its tables: claims, verdict and decision; and tables of it for SQL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.findings import CLAIMS, RANKING, SIGNAL_CORRELATIONS, VERDICT
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, plural, visible
from clickassay.correlation.classes import with_unit
from clickassay.correlation.estimates import Level, levels
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL, MIN_QUERIES
from clickassay.correlation.within.groups import NO_GROUP
from clickassay.findings.claims import Claim, DependsClaim, Verdict, by_click, dependences, varied
from clickassay.findings.decision import USUAL, Decision, decide, same
from clickassay.findings.influence import (
    capped_run,
    chance_shares,
    depends_mostly,
    influence_rows,
    influential_share,
)
from clickassay.findings.ranking import (
    Deciding,
    Quantity,
    Ranking,
    deciding,
    deciding_in,
    highest_possible,
    rank,
    rank_differences,
    rank_within,
    values_of,
)
from clickassay.findings.run import Run
from clickassay.findings.signals import Evidence, evidence, opposed, signal_correlations, signal_rankings
from clickassay.health.checks import HealthCheck, fired
from clickassay.metrics.clicks import USES_GRADES


@dataclass(frozen=True)
class Findings:
    """All that a run claims."""

    verdict: Verdict  # The headline.
    # correlation, differences: Which metric correlates best with the headline click metric; and best predicts
    # differences between two rankings.
    correlation: Claim
    differences: Claim
    within: Claim  # Which best predicts, of two lists for a query, the one that users prefer.
    depends: DependsClaim  # Whether that depends on the click metric or the sample.
    health: tuple[HealthCheck, ...]  # The checks of the log and its judgments that fire, findings first.
    decision: Decision  # What they amount to.
    evidence: tuple[Evidence, ...] = ()  # What each signal says of it, the one that decides first.
    # A metric that is significantly better than another at comparing rankings and significantly worse at
    # telling queries apart, and that other one; None without such a pair.
    opposed: tuple[str, str] | None = None
    # The verdict with each other judge, at the headline's market and depth.
    other_judges: Mapping[str, Verdict] = field(default_factory=dict)
    # The verdict with capped weights of queries, where sessions are heavy-tailed and all queries decide.
    capped: Verdict | None = None
    # The mean of each metric and each click metric over the sessions of the headline sample, by name.
    means: Mapping[str, Level] = field(default_factory=dict)
    # The share of influence that a few queries have by chance: `influence.chance_shares`.
    chance: tuple[float, float] | None = None


def draw_findings(run: Run, rng: np.random.Generator) -> Findings:
    """Draw verdict, findings and decision from a run; `rng` draws the share of influence by chance."""
    wrong = fired(run.frames["health"])
    if run.headline is None:
        return _nothing_kept(run, wrong)
    first, chance = rank(run, run.headline), chance_shares(run, rng)
    share = influential_share(influence_rows(run, first.best)) if first.competitors else None
    headline = Claim(first, influential_share=share, depends_on_few=depends_mostly(share, chance))
    ranked, within = rank_differences(run, run.headline), _within(run)
    verdict = verdict_of(run, deciding(run, run.headline))
    # signals that significantly say the opposite of clicks may take a decision back; those that say less, or
    # nothing, change nothing: a rare one has little power
    counted = {claim.ranking.click for claim in verdict.claims}
    against = [
        Claim(one.ranking)
        for one in signal_rankings(run)
        if one.opposed is not None and one.queries >= MIN_QUERIES and one.ranking.click not in counted
    ]
    unasked = frozenset(claim.ranking.click for claim in against)
    verdict = replace(verdict, claims=(*verdict.claims, *against), unasked=unasked)
    judges = varied(run, run.headline, "judge")[1:]
    others = {sample.judge: verdict_of(run, deciding(run, sample)) for sample in judges}
    decision, *of_others = (
        decide(one, wrong, run.current, run.settings.margin) for one in (verdict, *others.values())
    )
    unlike = {judge: one for judge, one in zip(others, of_others, strict=True) if not same(one, decision)}
    decision, capped = replace(decision, other_judges=unlike), None
    if run.current is None:
        usual = decide(verdict, wrong, USUAL, run.settings.margin)
        decision = replace(decision, with_usual=usual if usual.is_compared else None)
    if decision.question == "queries" and decision.is_heavy_tailed:
        capped = verdict_of(capped_run(run, run.headline), Deciding("queries", run.headline))
        then = decide(capped, wrong, run.current, run.settings.margin)
        alike = same(decision, then)
        decision = replace(decision, is_heavy_tailed=not alike, capped=None if alike else then)
    clicks = by_click(run)
    depends = DependsClaim((), clicks, _coverage(run))
    if first.competitors:
        depends = DependsClaim(dependences(run, run.headline, clicks), clicks)
    opposite = None
    if min(within.ranking.n_queries, first.n_queries) >= MIN_QUERIES:
        opposite = opposed(first, within.ranking, (decision.subject, decision.other, decision.current))
    return Findings(
        verdict, headline, Claim(ranked, _sign_agreement(run, ranked)), within, depends, wrong,
        decision, evidence(run, verdict, decision), opposite, others, capped,
        mean_levels(run) if first.competitors else {}, chance,
    )  # fmt: skip


def mean_levels(run: Run) -> dict[str, Level]:
    """Return the mean of each metric and each click metric over the sessions of the headline sample."""
    frame = with_unit(run.headline_rows("configurations"), run.tables["queries"])
    names = [name for name in (*run.editorial, *run.clicks) if name in frame.columns]
    found = levels(frame, [name for name in names if name not in run.settings.ratings])
    for name in names:
        if name in run.settings.ratings:
            found |= levels(run.of_click(frame, name), [name])
    return found


def verdict_of(run: Run, decided: Deciding) -> Verdict:
    """Return the claims that answer a question for each click metric that counts."""
    return Verdict(tuple(Claim(decided.rank(run, click)) for click in run.counted), decided.instead)


def _nothing_kept(run: Run, wrong: tuple[HealthCheck, ...]) -> Findings:
    def claim(quantity: Quantity, click: str) -> Claim:
        return Claim(Ranking(quantity, click, None, reason=nothing_kept_reason(run)))

    claims = tuple(claim("correlation", click) for click in run.counted)
    verdict, depends = Verdict(claims), DependsClaim((), (), _coverage(run))
    differences = claim("correlation of differences", run.click)
    decision = decide(verdict, wrong, run.current, run.settings.margin)
    return Findings(verdict, claims[0], differences, _within(run), depends, wrong, decision)


def _within(run: Run) -> Claim:
    if run.headline_place is None:
        return Claim(Ranking("correlation within queries", run.click, None, reason=NO_GROUP))
    ranked = rank_within(run, run.headline_place)
    return Claim(ranked, _sign_agreement(run, ranked))


def _sign_agreement(run: Run, ranking: Ranking) -> dict[str, float]:
    if ranking.sample is None:
        return {}
    return {
        row["editorial_metric"]: row["sign_agreement"]
        for row in values_of(run, ranking.quantity, ranking.sample, ranking.click)
        if row["sign_agreement"] is not None
    }


def _coverage(run: Run) -> str:
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
        return "no session could be used: the log and the judgments share no configuration"
    most = lost.sort(["rows", "reason"], descending=[True, False]).row(0, named=True)
    return (
        f"no session could be used; most were excluded because of: {visible(most['reason'])} "
        f"({count(most['rows'])})"
    )


# ---- as tables of the run ------------------------------------------------------------------------------


Record = dict[str, Any]


def with_findings(run: Run, findings: Findings) -> Run:
    """Return a run with the tables of its findings, for all of its samples."""
    keys = {rank: run.samples, rank_differences: run.samples, rank_within: run.places}
    clicks = [click for click in run.clicks if click != USES_GRADES]
    rankings = [ranked(run, key, click) for ranked in keys for key in keys[ranked] for click in clicks]
    # what decides about all markets together and about each market, the headline first
    together = [deciding(run, sample) for sample in run.samples]
    own = [deciding_in(run, sample, sample) for sample in run.samples]
    decided: dict[SampleKey, Deciding] = {}
    for one in (*together[:1], *own, *together):
        decided.setdefault(one.sample, one)
    tables = {
        RANKING: (row for ranking in rankings for row in _ranking_rows(ranking)),
        CLAIMS: (_claim_row(run, ranking) for ranking in rankings),
        VERDICT: (_verdict_row(run, findings, place, one) for place, one in enumerate(decided.values(), 1)),
    }
    frames = {
        table.name: table.canonical(pl.DataFrame(list(rows), schema=table.empty().schema))
        for table, rows in tables.items()
    }
    frames[SIGNAL_CORRELATIONS.name] = signal_correlations(run)
    return replace(run, tables=MappingProxyType({**run.tables, **frames}))


def _key(ranking: Ranking) -> Mapping[str, Any]:
    sample = {} if ranking.sample is None else ranking.sample.columns
    return {**sample, "quantity": ranking.quantity, "click_metric": ranking.click}


def _ranking_rows(ranking: Ranking) -> Iterable[Record]:
    for place, (name, one) in enumerate(ranking.competitors.items(), start=1):
        lead = None if place == 1 else ranking.lead(ranking.highest, name)
        low, high = (None, None) if lead is None else lead.together
        yield {
            **_key(ranking), "editorial_metric": name, "place": place, "is_baseline": one.is_baseline,
            "value": one.value, "ci_low": one.estimate.low, "ci_high": one.estimate.high,
            "p_adjusted": one.p_adjusted, "above_null": one.is_above_nothing,
            "among_best": name in ranking.among_best, "beats_baselines": name in ranking.proven,
            "lead": None if lead is None else lead.value,
            "lead_p_adjusted": None if lead is None else lead.p_adjusted,
            "simultaneous_low": low, "simultaneous_high": high, "caution": one.estimate.caution,
        }  # fmt: skip


def _claim_row(run: Run, ranking: Ranking) -> Record:
    claim = Claim(ranking)
    return {
        **_key(ranking),
        "kind": claim.kind,
        "subject": claim.subject,
        "ceiling": highest_possible(run, ranking),
        "reason": ranking.reason,
    }


def _verdict_row(run: Run, findings: Findings, place: int, decided: Deciding) -> Record:
    verdict = verdict_of(run, decided)
    decision = decide(verdict, findings.health, run.current, run.settings.margin)
    return {
        **decided.sample.columns,
        "place": place,
        "question": decision.question,
        "kind": verdict.kind,
        "decision": decision.kind,
        "subject": decision.subject,
        "current": decision.current,
        "compared_with": decision.other,
        "difference": None if decision.lead is None else decision.lead.value,
        "bound": decision.bound,
        "caution": HEAVY_TAIL if decision.is_heavy_tailed else None,
    }
