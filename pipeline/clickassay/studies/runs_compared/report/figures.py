"""Pictures of two runs: means, and correlations with one click metric."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleKey
from clickassay.core.text import number, visible
from clickassay.findings.estimates import Estimate
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.names import parse
from clickassay.report.charts.changes import ChangedNumber, changed_numbers
from clickassay.report.model import Figure
from clickassay.studies.runs_compared.numbers import BEYOND

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
    """Yield a picture of the means of metrics of one sample, and one of those of click metrics."""
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
