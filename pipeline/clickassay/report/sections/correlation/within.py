"""Correlation within queries: of two lists for a query, which metric prefers the one that users prefer."""

from collections.abc import Mapping
from typing import Any

from clickassay.core.records import SampleKey
from clickassay.core.text.words import number
from clickassay.findings.claims import Claim
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import estimate
from clickassay.findings.ranking import values_of
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row, Share
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.model import Figure, ReportTable, Section, noise_corrected
from clickassay.report.verdict.sentences import within_finding

HEADS = ("Correlation", "Noise-corrected", "Same list preferred")


def within_section(run: Run, findings: Findings) -> Section:
    """Show the metrics and baselines by their correlation within queries, over all markets together."""
    claim = findings.within
    return Section(
        "within",
        "Comparing two lists for the same query",
        within_finding(claim, is_sum=_is_sum(run)).reading,
        _figure(claim),
        tables=(_table(run, claim),),
    )


def _table(run: Run, claim: Claim) -> ReportTable:
    ranking = claim.ranking
    values = values_of(run, ranking.quantity).filter(click_metric=run.click)
    own = values.head(0) if ranking.sample is None else ranking.sample.rows(values)
    rows = {row["editorial_metric"]: row for row in own.iter_rows(named=True)}
    return ReportTable(
        "within",
        f"Correlation within queries with {run.click}{_where(run, ranking.sample)}",
        "Metric",
        HEADS,
        tuple(Row("", name, _cells(rows[name])) for name in ranking.competitors),
        data=run.competing("within"),
    )


def _where(run: Run, place: SampleKey | None) -> str:
    if place is None:
        return ""
    return f" at {place.label}{', all markets together' if _is_sum(run) else ''}"


def _is_sum(run: Run) -> bool:
    return run.headline_place not in {None, run.headline}


def _cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    return estimate(row), noise_corrected(row), Share(row["sign_agreement"])


def _figure(claim: Claim) -> tuple[Figure, ...]:
    ranking = claim.ranking
    if not ranking.competitors:
        return ()
    heads = IntervalHeads("Correlation within queries")
    drawing = intervals(
        tuple(ranking.values), ranking.values, heads, domain=common_domain(list(ranking.values.values()))
    )
    texts = ", ".join(f"{name} {number(one.value)}" for name, one in ranking.values.items())
    title = f"Correlation within queries with {ranking.click}"
    return (Figure("within", title, f"{title}: {texts}.", drawing, "within"),)
