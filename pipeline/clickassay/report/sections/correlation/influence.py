"""Whether a correlation hangs on a handful of queries."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.text import number, percent, plural, sentence, visible
from clickassay.metrics.clicks import HEADLINE_CLICK
from clickassay.report.cells import Cell, Estimate, Row, Share
from clickassay.report.findings import HANDFUL, MOST_SHARE, Ranking, handful_share, influence_rows, rank
from clickassay.report.model import Run, Section, Table, by_pair

HEADS = (
    "All queries",
    f"Without the {HANDFUL} that raise it most",
    f"Without the {HANDFUL} that lower it most",
    f"Part of its squared error due to the {HANDFUL} that move it most",
    "Hangs on them",
)


QUERY_HEADS = ("Sessions", "Correlation without it", "Part of the squared error")


def influence_section(run: Run) -> Section:
    """Correlations without the queries that move them most, and which these are."""
    ranking = None if run.headline is None else rank(run, run.headline)
    table = Table(
        "influence",
        f"Correlation with {HEADLINE_CLICK} without a handful of queries{run.at(*run.own)}",
        "Editorial metric",
        HEADS,
        _rows(run),
        data=run.labels.relabel(run.frames["influence"]),
    )
    which = _which(run, None if ranking is None or not ranking.values else ranking.best)
    return Section(
        "influence", "Does it hang on a few queries?", _reading(run, ranking), folded=(table, *which)
    )


def _which(run: Run, metric: str | None) -> tuple[Table, ...]:
    if metric is None:
        return ()
    rows = run.labels.relabel(influence_rows(run, metric)).sort("side", "rank", descending=[True, False])
    found = tuple(
        Row(f"{row['side']} it", visible(row["query"]), _query_cells(row))
        for row in rows.iter_rows(named=True)
    )
    title = f"Queries that move the correlation of {metric} with {HEADLINE_CLICK} most{run.at(*run.own)}"
    notes = (run.labels.rule,) if found else ()
    return (
        Table(
            "influence_queries",
            title,
            "Query",
            QUERY_HEADS,
            found,
            notes=notes,
            group_head="Effect",
        ),
    )


def _query_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    without = Estimate(
        row["without"], reason=None if row["without"] is not None else "no correlation is left"
    )
    return row["n_sessions"], without, Share(row["error_share"])


def _rows(run: Run) -> tuple[Row, ...]:
    if run.headline is None:
        return ()
    overall = by_pair(run.correlations(run.headline))
    return tuple(
        Row("", name, (overall[HEADLINE_CLICK, name], *cells, _hangs(cells[-1])))
        for name in run.editorial
        if (HEADLINE_CLICK, name) in overall and (cells := _cells(influence_rows(run, name)))
    )


def _cells(rows: pl.DataFrame) -> tuple[Estimate, Estimate, Share]:
    return _without(rows, "raises"), _without(rows, "lowers"), Share(handful_share(rows))


def _without(rows: pl.DataFrame, side: str) -> Estimate:
    last = rows.filter(side=side).sort("rank").tail(1)["without_these"].to_list()
    value = last[0] if last else None
    return Estimate(value, reason=None if value is not None else "no such query, or no correlation is left")


def _hangs(share: Share) -> str:
    if share.value is None:
        return "cannot be told"
    return "yes" if share.value > MOST_SHARE else "no"


def _reading(run: Run, ranking: Ranking | None) -> tuple[str, ...]:
    if run.headline is None or ranking is None or not ranking.values:
        return ("There is no correlation to look at.",)
    rows = influence_rows(run, ranking.best)
    raised, _, share = _cells(rows)
    if share.value is None or raised.value is None:
        return (f"Which queries the correlation of {ranking.best} hangs on cannot be told.",)
    queries = run.correlations(run.headline).select(pl.col("n_queries").max()).item()
    raising, moving = (min(HANDFUL, part.height) for part in (rows.filter(side="raises"), rows))
    text = (
        f"Without the {raising} of {plural(queries, 'query', 'queries')} that raise it most, {ranking.best} "
        f"would have a correlation of {number(raised.value)} with {HEADLINE_CLICK} instead of "
        f"{number(ranking.top.value)}. The {moving} that move it most make up {percent(share.value)} of its "
        "squared error"
    )
    verdict = ": it hangs on a handful of queries" if share.value > MOST_SHARE else ""
    return (sentence(text + verdict),)
