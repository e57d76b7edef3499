"""Published results of another log, in columns next to those of the run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text import count, listed, number, sentence, visible
from clickassay.report.cells import Cell, Estimate, Row, Share
from clickassay.report.model import Run, Section, Table, estimate
from clickassay.report.published.own import (
    KEY,
    Rows,
    missing_reason,
    no_sample_reason,
    own_key,
    own_rows,
    own_sample,
    own_sizes,
)
from clickassay.report.published.read import (
    CorrelationKey,
    PublishedLog,
    PublishedSize,
    PublishedTable,
    PublishedValue,
    known,
    published_log,
)
from clickassay.report.sections.correlation.classes import CLASS_LABELS
from clickassay.report.verdict.words import nothing_kept_reason

__all__ = ["known", "published_section"]

THIS_LOG = "This log"
DEPTH = attrgetter("depth")
TABLES_IN_VIEW = 2
MIN_ORDERED = 3
"""A rank correlation needs at least as many metrics: two are either in the same order or not."""

SIZES = {
    "n_queries": ("Queries", "queries"),
    "n_configurations": ("Configurations", "configurations"),
    "n_sessions": ("Sessions", "sessions"),
    "coverage": ("Coverage", "coverage"),
}
"""By column of `contracts.run.STATISTICS`: the name of a row, and the field of `PublishedSize`."""


@dataclass(frozen=True)
class _Column:
    """One column of a table of correlations: its head, and a cell for every key."""

    head: str
    cells: Mapping[CorrelationKey, Estimate]


def published_section(run: Run, name: str) -> Section:
    """Show the published results of another log next to those of the run.

    Parameters
    ----------
    run
        The run; its headline market and judge are shown, at each depth that was published.
    name
        One of `known`.

    Raises
    ------
    ReportError
        If there are no published numbers of this name.
    """
    log = published_log(name)
    tables = (_counts_table(run, log), *(_table(run, log, table) for table in log.tables))
    folded = [table.number for table in log.tables][TABLES_IN_VIEW - 1 :]
    return Section(
        "published",
        f"Published results: {log.label}",
        _reading(run, log),
        tables=tables[:TABLES_IN_VIEW],
        folded=tables[TABLES_IN_VIEW:],
        fold_words=f"{THIS_LOG} next to {'Table' if len(folded) == 1 else 'Tables'} {listed(folded)}",
    )


# ---- texts ---------------------------------------------------------------------------------------


def _own_head(run: Run, depth: int) -> str:
    sample = own_sample(run, depth)
    return f"{THIS_LOG}, {sample.label if sample else f'depth {depth}'}"


def _their_head(log: PublishedLog, market: str, depth: int) -> str:
    return f"{log.label}, {market}, depth {depth}"


def _warning(log: PublishedLog) -> str:
    return (
        f"{log.label} is another log, with other users, results, judges and dates: equal or different "
        "numbers prove nothing by themselves."
    )


def _title(log: PublishedLog, place: str, title: str) -> str:
    return f"{THIS_LOG} next to Table {place} of {log.label}: {title}"


# ---- sizes ------------------------------------------------------------------------------------


def _counts_table(run: Run, log: PublishedLog) -> Table:
    columns: list[tuple[str, dict[str, Cell]]] = []
    for depth, theirs in groupby(sorted(log.counts.rows, key=DEPTH), key=DEPTH):
        columns.append((_own_head(run, depth), _own_cells(run, depth)))
        columns += [(_their_head(log, one.market, depth), _their_cells(one)) for one in theirs]
    return Table(
        f"published_{log.name}_table{log.counts.number}",
        _title(log, log.counts.number, log.counts.title),
        "Size",
        tuple(head for head, _ in columns),
        tuple(Row("", name, tuple(cells[size] for _, cells in columns)) for size, (name, _) in SIZES.items()),
        notes=(_warning(log), f"The figures are from {log.source}."),
        data=_counts_data(run, log),
    )


def _own_cells(run: Run, depth: int) -> dict[str, Cell]:
    row = own_sizes(run, depth)
    if row is None:
        return dict.fromkeys(SIZES, Estimate(None, reason=no_sample_reason(run, depth)))
    return {size: Share(row[size]) if size == "coverage" else row[size] for size in SIZES}


def _their_cells(one: PublishedSize) -> dict[str, Cell]:
    found = {size: getattr(one, theirs) for size, (_, theirs) in SIZES.items()}
    return found | {"coverage": Share(one.coverage)}


def _counts_data(run: Run, log: PublishedLog) -> pl.DataFrame:
    rows = []
    for one in log.counts.rows:
        own = own_sizes(run, one.depth) or {}
        row = _place(run, log, log.counts.number, one)
        for size, (_, theirs) in SIZES.items():
            row |= {f"{size}_paper": getattr(one, theirs), f"{size}_run": own.get(size)}
        rows.append(row)
    kinds = {size: pl.Float64 if size == "coverage" else pl.Int64 for size in SIZES}
    return _frame(rows, {f"{size}_{whose}": kinds[size] for size in SIZES for whose in ("paper", "run")})


PLACE = ("paper", "table", "market_paper", "depth_paper", "market_run", "depth_run", "judge_run")
"""Columns that every CSV file begins with; ``_run`` is this log, ``_paper`` the other one."""


def _place(run: Run, log: PublishedLog, table: str, one: PublishedSize | PublishedValue) -> dict[str, Any]:
    sample = own_sample(run, one.depth)
    own = (None, None, None) if sample is None else (sample.market, sample.depth, sample.judge)
    return dict(zip(PLACE, (log.label, table, one.market, one.depth, *own), strict=True))


def _frame(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, Any]) -> pl.DataFrame:
    first = {name: pl.Int32 if name.startswith("depth") else pl.String for name in PLACE}
    return pl.DataFrame(rows, schema={**first, **kinds})


# ---- correlations and differences -------------------------------------------------------------


def _table(run: Run, log: PublishedLog, table: PublishedTable) -> Table:
    columns = tuple(_columns(run, log, table))
    keys = dict.fromkeys(value.key for value in table.values)
    rows = [Row(*_row_names(table, key), tuple(column.cells[key] for column in columns)) for key in keys]
    groups = list(dict.fromkeys(row.group for row in rows))
    heads = ("Click metric", "Editorial metric")
    if any(key.split != EVERY for key in keys):
        heads = ("Editorial metric", "Queries")
    return Table(
        f"published_{log.name}_table{table.number}",
        _title(log, table.number, table.title),
        heads[1],
        tuple(column.head for column in columns),
        tuple(sorted(rows, key=lambda row: groups.index(row.group))),
        notes=(_warning(log), *([table.note] if table.note else [])),
        data=_data(run, log, table),
        group_head=heads[0],
    )


def _row_names(table: PublishedTable, key: CorrelationKey) -> tuple[str, str]:
    """Return group and name of a row: metrics by click metric, classes of queries by editorial metric."""
    metric = table.descriptions.get(key.editorial_metric, key.editorial_metric)
    if key.split == EVERY:
        return key.click_metric, metric
    return metric, CLASS_LABELS.get(key.split, {}).get(key.class_, key.class_)


def _columns(run: Run, log: PublishedLog, table: PublishedTable) -> Iterator[_Column]:
    """Yield, depth by depth, the columns of the run and then those of the other log."""
    keys = tuple(dict.fromkeys(value.key for value in table.values))
    for depth, group in groupby(sorted(table.values, key=DEPTH), key=DEPTH):
        yield from _own_columns(run, log, table, keys, depth)
        for market in dict.fromkeys(value.market for value in group):
            printed = {value.key: Estimate(value.value) for value in _of(table, market, depth)}
            unprinted = Estimate(None, reason=f"not in {log.label}")
            head = _their_head(log, market, depth)
            if table.measures == "difference":
                head = f"{head}, {count(log.iterations)} iterations"
            yield _Column(head, {key: printed.get(key, unprinted) for key in keys})


def _of(table: PublishedTable, market: str, depth: int) -> tuple[PublishedValue, ...]:
    return tuple(value for value in table.values if (value.market, value.depth) == (market, depth))


def _own_columns(
    run: Run, log: PublishedLog, table: PublishedTable, keys: Sequence[CorrelationKey], depth: int
) -> Iterator[_Column]:
    head = _own_head(run, depth)
    rows = own_rows(run, table, depth)
    found = {key: rows.get(own_key(run, log, key)) for key in keys}

    def cells(column: str) -> dict[CorrelationKey, Estimate]:
        return {
            key: estimate(row, column)
            if row
            else Estimate(None, reason=missing_reason(run, depth, key, rows))
            for key, row in found.items()
        }

    if table.measures == "correlation":
        yield _Column(head, cells("correlation"))
        return
    iterations = count(int(run.settings.get("iterations", 1000)))
    drawn = {key: Estimate(one.value, reason=one.reason) for key, one in cells("monte_carlo").items()}
    yield _Column(f"{head}, closed form", cells("exact"))
    yield _Column(f"{head}, {iterations} iterations", drawn)


_ENDS = ("ci_low", "ci_high")
_DRAWN = ("monte_carlo", "monte_carlo_se")


def _data(run: Run, log: PublishedLog, table: PublishedTable) -> pl.DataFrame:
    """Return one row per published value, with the run's value, interval and reason next to it."""
    by_depth = {depth: own_rows(run, table, depth) for depth in {value.depth for value in table.values}}
    rows = [_data_row(run, log, table, value, by_depth[value.depth]) for value in table.values]
    more = _DRAWN if table.measures == "difference" else ()
    numbers = ("value_paper", "value_run", *_ENDS, *more)
    kinds = dict.fromkeys(KEY, pl.String) | dict.fromkeys(numbers, pl.Float64)
    return _frame(rows, kinds | dict.fromkeys(("reason", "caution"), pl.String))


def _data_row(
    run: Run, log: PublishedLog, table: PublishedTable, value: PublishedValue, rows: Rows
) -> dict[str, Any]:
    own = rows.get(own_key(run, log, value.key)) or {
        "reason": missing_reason(run, value.depth, value.key, rows)
    }
    column, drawn = ("correlation", ()) if table.measures == "correlation" else ("exact", _DRAWN)
    values = {"value_paper": value.value, "value_run": own.get(column)}
    values |= {name: own.get(name) for name in (*_ENDS, *drawn, "reason", "caution")}
    return {**_place(run, log, table.number, value), **dict(zip(KEY, value.key, strict=True)), **values}


# ---- the reading ------------------------------------------------------------------------------


def _reading(run: Run, log: PublishedLog) -> tuple[str, ...]:
    """Compare the orders of the editorial metrics by their correlation with the headline click metric."""
    if run.headline is None:
        return (sentence(f"There is nothing to compare with {log.label}: {nothing_kept_reason(run)}"),)
    table = next(table for table in log.tables if table.measures == "correlation")
    depths = sorted({value.depth for value in table.values})
    depth = next(
        (one for one in (run.headline.depth, *depths) if one in depths and own_sample(run, one)), None
    )
    if depth is None:
        either = listed(map(str, depths), "or")
        return (
            f"There is nothing to compare with {log.label}: this log was not evaluated at depth {either}.",
        )
    overall = [one for one in table.values if one.depth == depth and _is_headline(run, one)]
    return (*_orders(run, log, overall, own_rows(run, table, depth)), *_differing(run, log))


def _is_headline(run: Run, value: PublishedValue) -> bool:
    return (value.key.split, value.key.click_metric) == (EVERY, run.click)


def _orders(run: Run, log: PublishedLog, values: Sequence[PublishedValue], own: Rows) -> Iterator[str]:
    """Yield the order of the metrics in both logs; published markets with the same order share a sentence."""
    depth = values[0].depth
    this = _own_head(run, depth)
    found: dict[tuple[str, str, str], list[str]] = {}
    for market in dict.fromkeys(value.market for value in values):
        theirs, ours = _paired(run, log, [value for value in values if value.market == market], own)
        if ours:
            verdict = f"{_first_text(theirs, ours)}; {_rank_correlation_text(theirs, ours)}"
            found.setdefault((_order_text(theirs), _order_text(ours), verdict), []).append(market)
    if not found:
        yield f"{this}, has no correlation with {run.click} to compare with {log.label}."
    for (there, here, verdict), markets in found.items():
        yield (
            f"By correlation with {run.click}, highest first: {there} in "
            f"{_their_head(log, listed(markets), depth)}; {here} in {this[0].lower()}{this[1:]}. {verdict}."
        )


def _paired(
    run: Run, log: PublishedLog, values: Sequence[PublishedValue], own: Rows
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the correlations there and here by editorial metric, of the metrics that have both."""
    rows = {value: own.get(own_key(run, log, value.key)) or {} for value in values}
    both = {value: row["correlation"] for value, row in rows.items() if row.get("correlation") is not None}
    theirs = {value.key.editorial_metric: value.value for value in both}
    return theirs, {value.key.editorial_metric: float(here) for value, here in both.items()}


def _order_text(values: Mapping[str, float]) -> str:
    """Return the metrics from the highest value to the lowest; equal ones are joined by an equals sign."""
    ranked = sorted(values, key=lambda name: -values[name])
    return ", ".join(" = ".join(tied) for _, tied in groupby(ranked, key=lambda name: values[name]))


def _first_text(theirs: Mapping[str, float], ours: Mapping[str, float]) -> str:
    there, here = (
        listed(name for name, value in values.items() if value == max(values.values()))
        for values in (theirs, ours)
    )
    return f"First is {here} in both" if there == here else f"First is {there} there, {here} here"


def _rank_correlation_text(theirs: Mapping[str, float], ours: Mapping[str, float]) -> str:
    if len(ours) < MIN_ORDERED:
        return f"a rank correlation needs at least {MIN_ORDERED} metrics with a value in both"
    if min(len(set(values.values())) for values in (theirs, ours)) == 1:
        return "there is no rank correlation, as all values of one log are equal"
    both = pl.DataFrame({"theirs": list(theirs.values()), "ours": list(ours.values())})
    rank_correlation = both.select(pl.corr("theirs", "ours", method="spearman")).item()
    return (
        f"Spearman's rank correlation of the two orders is {number(rank_correlation)} ({len(ours)} metrics)"
    )


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else visible(value)


def _differing(run: Run, log: PublishedLog) -> tuple[str, ...]:
    """Return which settings give this run other definitions than those of the published results."""
    parts = [
        f"{name} is {_plain(run.settings[name])} here and {theirs:g} there"
        for name, theirs in log.settings.items()
        if name in run.settings and run.settings[name] != theirs
    ]
    return (f"The definitions differ: {listed(parts)}.",) if parts else ()
