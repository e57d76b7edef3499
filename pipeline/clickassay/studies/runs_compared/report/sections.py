"""Sections and tables of a comparison of two runs, before they are written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleKey
from clickassay.core.text.words import capital, listed, number, signed, visible
from clickassay.findings.estimates import Estimate
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.names import parse
from clickassay.report.charts.changes import LEGEND, ChangedNumber, changed_numbers
from clickassay.report.model import Figure, Section
from clickassay.report.tables import Cell, ReportTable, Row, Share, Spelled, p_cell
from clickassay.studies.runs_compared.compare import RunComparison
from clickassay.studies.runs_compared.numbers import (
    BEYOND,
    BY_CLASS,
    CLOSED_FORMS,
    INTERVALS,
    MEANS_OF_CLICKS,
    MEANS_OF_METRICS,
    WEIGHTED,
    WITHIN_QUERIES,
)
from clickassay.studies.runs_compared.read import SAME, RecordedPair
from clickassay.studies.runs_compared.words import clearest, things, uneven_words

MOST_DRAWN = 30
"""Rows of a picture."""


def is_share(name: str) -> bool:
    """Return whether a metric lies in 0..1 by its definition: only such means fit one picture."""
    clicks = {metric.name: metric.high for metric in CLICKS}
    if name in clicks:
        return clicks[name] == 1
    try:
        return parse(name, METRICS).metric.high == 1
    except SettingsError:  # a column that this version does not know
        return False


def means_figures(rows: pl.DataFrame, key: SampleKey) -> Iterator[Figure]:
    """Yield a picture of the means of metrics of one sample, and one for click metrics."""
    for name, column, title in (
        ("means", "editorial_metric", "Means of metrics"),
        ("click-means", "click_metric", "Means of click metrics"),
    ):
        own = key.rows(rows).filter(pl.col(column).is_not_null())
        drawn = [row for row in _changes(own, column) if is_share(row.name)]
        yield from _figure(name, f"{title}, {key.label}", "Mean over the sessions", drawn, name)


def correlations_figures(rows: pl.DataFrame, key: SampleKey, click: str) -> Iterator[Figure]:
    """Yield a picture of the correlations of one sample with a click metric."""
    drawn = _changes(key.rows(rows).filter(click_metric=click), "editorial_metric")
    title = f"Correlation with {visible(click)}, {key.label}"
    yield from _figure(
        "correlations", title, f"Weighted correlation with {visible(click)}", drawn, "correlations"
    )


def _changes(rows: pl.DataFrame, column: str) -> list[ChangedNumber]:
    both = rows.filter(pl.col("a").is_not_null(), pl.col("b").is_not_null())
    return [_changed(row, visible(row[column])) for row in both.iter_rows(named=True)]


def _changed(row: Mapping[str, Any], name: str) -> ChangedNumber:
    change = Estimate(row["change"], row["ci_low"], row["ci_high"])
    return ChangedNumber(name, row["a"], row["b"], change, row["status"] == BEYOND, row["status"])


def _figure(name: str, title: str, axis: str, rows: Sequence[ChangedNumber], table: str) -> Iterator[Figure]:
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: (-row.before, row.name))[:MOST_DRAWN]
    texts = (
        f"{row.name} from {number(row.before)} to {number(row.after)} ({row.verdict})" for row in ordered
    )
    drawing = changed_numbers(ordered, head="Metric", axis=axis)
    yield Figure(name, title, f"{title}, in run A and in run B: {', '.join(texts)}.", drawing, table)


HOW_TESTED = (
    "A change is beyond noise if its p-value, adjusted for all numbers of its kind, is below 0.05. Each "
    "interval covers its own change alone, so a grey line can leave out A."
)
MOST_IN_VIEW = 12
"""Rows of a table in view: the clearest changes."""


# ---- what was asked differently -----------------------------------------------------------------------


def asked_section(comparison: RunComparison) -> Section:
    """Return inputs, settings and versions that differ, and the sizes of the samples."""
    differ = [entry for entry in comparison.entries if entry.status != SAME]
    same = [entry.name for entry in comparison.entries if entry.status == SAME]
    resized = comparison.sizes.filter(pl.col("a").ne_missing(pl.col("b")))
    reading = (
        f"{capital(things(differ))} changed." if differ else "Inputs, settings and versions are the same.",
        *([f"Inputs that are the same: {listed(same)}."] if same and differ else []),
        *(["Queries, configurations, sessions and coverage are the same."] if resized.is_empty() else []),
        *filter(None, [uneven_words(comparison.sizes, comparison.names)]),
        *_overlap(comparison),
    )
    tables = (_entries_table(differ), _sizes_table(comparison.sizes, resized))
    return Section("asked", "What was asked differently", reading, tables=tables)


def _overlap(comparison: RunComparison) -> Iterator[str]:
    for row in comparison.overlap.iter_rows(named=True):
        yield (
            f"{capital(SampleKey.of(row).label)}: {row['queries_both']:,} queries are in both runs (A has "
            f"{row['queries_a']:,}, B {row['queries_b']:,})."
        )


def _entries_table(differ: Sequence[RecordedPair]) -> ReportTable:
    rows = tuple(
        Row(entry.kind, visible(entry.name), (entry.status, entry.a or "", entry.b or "")) for entry in differ
    )
    heads = ("", "Run A", "Run B")
    return ReportTable(
        "asked_differently", "Inputs, settings and versions that differ", "Name", heads, rows,
        group_head="What", explained=False,
    )  # fmt: skip


def _sizes_table(sizes: pl.DataFrame, changed: pl.DataFrame) -> ReportTable:
    rows = tuple(
        Row(SampleKey.of(row).label, row["quantity"].removeprefix("n_").replace("_", " "), _sizes(row))
        for row in changed.iter_rows(named=True)
    )
    heads = ("Run A", "Run B", "Change")
    return ReportTable(
        "sizes", "Size and coverage that changed", "Quantity", heads, rows, data=sizes, explained=False
    )


def _sizes(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    values, change = (row["a"], row["b"]), row["change"]
    if row["quantity"] != "coverage":
        return (*(None if one is None else int(one) for one in values), _whole(change))
    points = None if change is None else Spelled(f"{signed(100 * change, 1)} points", change)
    return (*map(Share, values), points)


def _whole(change: float | None) -> Cell:
    return None if change is None else Spelled(signed(change, 0), change)


# ---- numbers ------------------------------------------------------------------------------------------


def means_section(numbers: pl.DataFrame, key: SampleKey) -> Section:
    """Return the means of metrics and of click metrics."""
    metrics, clicks = (numbers.filter(family=family) for family in (MEANS_OF_METRICS, MEANS_OF_CLICKS))
    both = pl.concat([metrics, clicks])
    others = [
        name
        for column in ("editorial_metric", "click_metric")
        for name in key.rows(both)[column].drop_nulls()
        if not is_share(name)
    ]
    scales = f" On other scales, and in the tables only: {listed(map(visible, others))}." if others else ""
    reading = (
        "Means over the sessions say whether lists got better by a metric, and whether users clicked more.",
        f"{HOW_TESTED}{scales}",
    )
    tables = [
        numbers_table("means", "Means of metrics", metrics),
        numbers_table("click-means", "Means of click metrics", clicks),
    ]
    return _section("means", "Means of metrics and clicks", reading, tables, tuple(means_figures(both, key)))


def within_section(numbers: pl.DataFrame, key: SampleKey, click: str) -> Section:
    """Return the correlations within queries, with a picture of all markets together."""
    rows = numbers.filter(family=WITHIN_QUERIES)
    together = replace(key, market=EVERY)
    shown = together if together.rows(rows).height else key
    reading = (
        "Of two lists for a query, does a metric prefer the list that users prefer?",
        f"The picture shows those with {visible(click)}; the table has all.",
    )
    drawn = _changes(shown.rows(rows).filter(click_metric=click), "editorial_metric")
    title, axis = f"Within queries, with {visible(click)}, {shown.label}", "Correlation within queries"
    figures = tuple(_figure("within", title, f"{axis} with {visible(click)}", drawn, "within"))
    tables = [numbers_table("within", "Correlations within queries", rows)]
    return _section("within", "Comparing two rankings", reading, tables, figures)


def correlations_section(numbers: pl.DataFrame, key: SampleKey, click: str) -> Section:
    """Return the weighted correlations, and the classes of queries if they were compared."""
    reading = (
        "A correlation says how well a metric predicts clicks. It can fall while both rise.",
        f"The picture shows those with {visible(click)}; the table has all.",
    )
    tables = [numbers_table("correlations", "Weighted correlations", numbers.filter(family=WEIGHTED))]
    by_class = numbers.filter(family=BY_CLASS)
    if by_class.height:
        tables.append(numbers_table("correlations_by_class", "Correlations by class of queries", by_class))
    figures = tuple(correlations_figures(numbers.filter(family=WEIGHTED), key, click))
    return _section("prediction", "How well metrics predict clicks", reading, tables, figures)


def closed_forms_section(numbers: pl.DataFrame) -> Section:
    """Return the closed forms of the virtual rankers."""
    rows = numbers.filter(family=CLOSED_FORMS)
    reading = "Correlation of differences between two rankings: would a metric choose the better one?"
    tables = [numbers_table("closed_forms", "Closed form of the virtual rankers", rows)]
    return _section("rankers", "Differences between two rankings", (reading,), tables)


def _section(
    name: str, title: str, reading: tuple[str, ...], tables: list[ReportTable], figures: tuple[Any, ...] = ()
) -> Section:
    """Return a section with the clearest changes in view, and all numbers folded."""
    in_view = tuple(_beyond(table) for table in tables)
    said = tuple(_none_beyond(table) for table in tables if not _beyond(table).rows and table.rows)
    return Section(
        name, title, (*reading, *said), figures, tuple(table for table in in_view if table.rows),
        legend=LEGEND if figures else (), folded=tuple(table for table in tables if table.rows),
        fold_words="All numbers",
    )  # fmt: skip


def _beyond(table: ReportTable) -> ReportTable:
    kept = table.data.filter(status=BEYOND) if table.data is not None else None
    rows = () if kept is None else tuple(map(_number_row, clearest(kept).iter_rows(named=True)))
    title = f"{table.title}: beyond noise, the clearest first"
    return replace(table, name=f"{table.name}_beyond", title=title, rows=rows, data=kept, most=MOST_IN_VIEW)


def _none_beyond(table: ReportTable) -> str:
    return f"{table.title}: none of {len(table.rows):,} changed beyond noise."


def numbers_table(name: str, title: str, rows: pl.DataFrame) -> ReportTable:
    """Return rows of `RunComparison.numbers` as a table."""
    heads = ("Run A", "Run B", "Change (95 % interval)", "Adjusted p", "Verdict")
    return ReportTable(
        name, title, "Number", heads, tuple(map(_number_row, rows.iter_rows(named=True))), data=rows,
        explained=False,
    )  # fmt: skip


def _number_row(row: Mapping[str, Any]) -> Row:
    of_class = "" if row["split"] == EVERY else f", {visible(row['split'])} {visible(row['class'])}"
    names = [visible(name) for name in (row["editorial_metric"], row["click_metric"]) if name is not None]
    values = tuple(_value(row, run) for run in ("a", "b"))
    alone = " (from intervals)" if row["tested_by"] == INTERVALS else ""
    p: Cell = None if row["p_adjusted"] is None else p_cell(row["p_adjusted"])
    return Row(
        f"{SampleKey.of(row).label}{of_class}", " with ".join(names),
        (*values, _change(row), p, f"{row['status']}{alone}"),
    )  # fmt: skip


def _value(row: Mapping[str, Any], run: str) -> Cell:
    value = row[run]
    if value is not None:
        return Spelled(number(value, 4), value)
    return Estimate(None, reason=visible(row["reason"] or "no value", limit=160))


def _change(row: Mapping[str, Any]) -> Cell:
    if row["change"] is None:
        return None
    return Estimate(row["change"], row["ci_low"], row["ci_high"], caution=row["caution"])


# ---- the order of metrics -----------------------------------------------------------------------------


def order_section(comparison: RunComparison) -> Section:
    """Return comparisons of metrics that flipped, and click metrics with another highest metric."""
    highest, flips = _highest_table(comparison.highest), _flips_table(comparison.flips)
    if highest.rows or flips.rows:
        reading = (
            "Where the order of metrics is another. If a comparison is significant in one run only, this "
            "does not show that it changed: its p-value may have gone from 0.04 to 0.06."
        )
    else:
        reading = "No comparison of two metrics flipped, and the same metrics have the highest correlations."
    return Section("order", "The order of metrics", (reading,), tables=(highest, flips))


def _highest_table(frame: pl.DataFrame) -> ReportTable:
    rows = tuple(
        Row(
            SampleKey.of(row).label, visible(row["click_metric"]),
            (
                visible(row["highest_a"]), _r(row["correlation_a"]), visible(row["highest_b"]),
                _r(row["correlation_b"]), "yes" if row["significant"] else "no",
            ),
        )
        for row in frame.iter_rows(named=True)
    )  # fmt: skip
    heads = (
        *("Highest in A", "its correlation in A", "Highest in B", "its correlation in B"),
        "Significant in both",
    )
    return ReportTable(
        "highest", "Click metrics whose highest correlation is another metric's", "Click metric", heads, rows,
        data=frame, explained=False,
    )  # fmt: skip


def _flips_table(frame: pl.DataFrame) -> ReportTable:
    rows = tuple(
        Row(
            f"{SampleKey.of(row).label}, {visible(row['click_metric'])}",
            f"{visible(row['metric_a'])} and {visible(row['metric_b'])}",
            (_r(row["difference_a"]), p_cell(row["p_adjusted_a"]), _r(row["difference_b"]),
             p_cell(row["p_adjusted_b"]), row["what"]),
        )
        for row in frame.iter_rows(named=True)
    )  # fmt: skip
    heads = ("Difference in A", "adjusted p in A", "Difference in B", "adjusted p in B", "What happened")
    return ReportTable(
        "flips", "Comparisons that flipped", "Metrics", heads, rows, data=frame, explained=False, most=40
    )


def _r(value: float | None) -> Cell:
    return None if value is None else Spelled(number(value), value)
