"""What a run found as tables of the run, for SQL and for other programs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import polars as pl

from clickassay.core.contracts.findings import CLAIMS, RANKING, SIGNAL_CORRELATIONS, VERDICT
from clickassay.core.records import SampleKey
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.findings.claims import Claim
from clickassay.findings.decision import decide
from clickassay.findings.draw import Findings, verdict_of
from clickassay.findings.ranking import (
    Deciding,
    Ranking,
    deciding,
    deciding_in,
    highest_possible,
    rank,
    rank_differences,
    rank_within,
)
from clickassay.findings.run import Run
from clickassay.findings.signals import signal_correlations
from clickassay.metrics.clicks import USES_GRADES

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
