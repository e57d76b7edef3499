"""Influential queries: whether a correlation depends mostly on a few of them."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.text.words import number, percent, plural, sentence, visible
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.influence import (
    N_INFLUENTIAL,
    depends_mostly,
    influence_rows,
    influential_share,
)
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row, Share
from clickassay.report.model import ReportTable, Section, by_pair, title_suffix

HEADS = (
    "All queries",
    f"Without the {N_INFLUENTIAL} that raise it most",
    f"Without the {N_INFLUENTIAL} that lower it most",
    f"Share of its squared error due to the {N_INFLUENTIAL} most influential",
    "More than by chance, and most of it",
)

SELECTED = (
    "Any correlation falls without the queries that raise it most, which are chosen for that: the fall is no "
    "sign that it is due to them alone."
)

QUERY_HEADS = ("Sessions", "Correlation without it", "Share of the squared error")


def influence_section(run: Run, claims: Findings) -> Section:
    """Return the correlations without their most influential queries, and these queries."""
    ranking = claims.correlation.ranking
    table = ReportTable(
        "influence",
        f"Correlation with {run.click} without the most influential "
        f"queries{title_suffix(run, *run.headline_samples)}",
        "Editorial metric",
        HEADS,
        _rows(run, claims.chance),
        data=run.labels.relabel(run.frames["influence"]),
    )
    which = (*_queries_table(run, ranking), *_within_table(run, claims.within.ranking))
    return Section(
        "influence",
        "Does the correlation depend on a few queries?",
        _reading(run, ranking, claims.chance),
        folded=(table, *which),
    )


def _queries_table(run: Run, ranking: Ranking) -> tuple[ReportTable, ...]:
    if not ranking.values:
        return ()
    sample = title_suffix(run, *run.headline_samples)
    title = f"Most influential queries in the correlation of {ranking.best} with {run.click}{sample}"
    return (_table(run, "influence_queries", title, influence_rows(run, ranking.best)),)


def _within_table(run: Run, ranking: Ranking) -> tuple[ReportTable, ...]:
    if not ranking.values or ranking.sample is None:
        return ()
    own = ranking.sample.rows(run.frames["within_influence"])
    own = own.filter(click_metric=ranking.click, editorial_metric=ranking.best)
    title = f"The same in the correlation of {ranking.best} within queries"
    rows = own.with_columns(market="query_market")  # users are counted by market
    return (_table(run, "within_influence_queries", title, rows),)


def _table(run: Run, name: str, title: str, rows: pl.DataFrame) -> ReportTable:
    ordered = run.labels.relabel(rows).sort("side", "rank", descending=[True, False])
    table_rows = tuple(
        Row(f"{row['side']} it", visible(row["query"]), _query_cells(row))
        for row in ordered.iter_rows(named=True)
    )
    notes = (run.labels.rule,) if table_rows else ()
    return ReportTable(name, title, "Query", QUERY_HEADS, table_rows, notes=notes, group_head="Effect")


def _query_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    without = Estimate(
        row["without"], reason=None if row["without"] is not None else "no correlation is left"
    )
    return row["n_sessions"], without, Share(row["error_share"])


def _rows(run: Run, chance: tuple[float, float] | None) -> tuple[Row, ...]:
    if run.headline is None:
        return ()
    overall = by_pair(run.correlations(run.headline))
    return tuple(
        Row("", name, (overall[run.click, name], *cells, _depends_mostly(cells[-1], chance)))
        for name in run.editorial
        if (run.click, name) in overall and (cells := _cells(influence_rows(run, name)))
    )


def _cells(rows: pl.DataFrame) -> tuple[Estimate, Estimate, Share]:
    return _without(rows, "raises"), _without(rows, "lowers"), Share(influential_share(rows))


def _without(rows: pl.DataFrame, side: str) -> Estimate:
    last = rows.filter(side=side).sort("rank").tail(1)["without_these"].to_list()
    value = last[0] if last else None
    return Estimate(value, reason=None if value is not None else "no such query, or no correlation is left")


def _depends_mostly(share: Share, chance: tuple[float, float] | None) -> str:
    if share.value is None:
        return "unknown"
    return "yes" if depends_mostly(share.value, chance) else "no"


def _reading(run: Run, ranking: Ranking, chance: tuple[float, float] | None) -> tuple[str, ...]:
    if run.headline is None or not ranking.values:
        return ("There is no correlation to show.",)
    rows = influence_rows(run, ranking.best)
    raised, _, share = _cells(rows)
    if share.value is None or raised.value is None:
        return (f"The influence of queries on the correlation of {ranking.best} could not be computed.",)
    queries = run.correlations(run.headline).select(pl.col("n_queries").max()).item()
    raising, influential = (min(N_INFLUENTIAL, part.height) for part in (rows.filter(side="raises"), rows))
    text = (
        f"Without the {raising} of {plural(queries, 'query', 'queries')} that raise it most, the "
        f"correlation of {ranking.best} with {run.click} would be {number(raised.value)} instead of "
        f"{number(ranking.top.value)}. The {influential} most influential account for "
        f"{percent(share.value)} of its squared error"
    )
    verdict = ": it depends mostly on a few queries" if depends_mostly(share.value, chance) else ""
    return (sentence(text + verdict), SELECTED, *_chance_sentences(chance))


def _chance_sentences(chance: tuple[float, float] | None) -> tuple[str, ...]:
    if chance is None:
        return ()
    return (
        f"With sessions spread over queries as here, the {N_INFLUENTIAL} most influential would account for "
        f"{percent(chance[0])} on average if queries differed by their sessions and by chance alone, and for "
        f"more than {percent(chance[1])} in one case of 20.",
    )
