"""The same metric under the conventions of other tools: its mean and its correlation with clicks."""

from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import listed, number
from clickassay.findings.estimates import Estimate, estimate
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row
from clickassay.report.model import ReportTable, Section, title_suffix

HEADS = ("Mean", "Correlation", "Difference from the run's own", "Reported by")
OWN_NOTE = (
    "The first row of a metric is the run's own convention. Conventions that give the same values on this "
    "run share a row. The intervals of differences are not adjusted for the number of differences."
)


def conventions_section(run: Run) -> Section:
    """Return what other tools would report of the headline sample."""
    tables = tuple(_table(run, sample) for sample in run.headline_samples if _rows_of(run, sample).height)
    return Section("conventions", "The same metric in other tools", _reading(run), tables=tables)


def _rows_of(run: Run, sample: SampleKey) -> pl.DataFrame:
    rows = sample.rows(run.frames["conventions"]).filter(click_metric=run.click)
    own_first = rows.sort("place").with_columns(first=pl.col("place").min().over("quantity"))
    return own_first.sort("first", ~pl.col("own"), "place")


def _table(run: Run, sample: SampleKey) -> ReportTable:
    rows = _rows_of(run, sample)
    return ReportTable(
        "conventions",
        f"Mean and correlation with {run.click} by convention{title_suffix(run, sample)}",
        "Convention",
        HEADS,
        tuple(
            Row(row["quantity"], row["convention"], _cells(row, rows))
            for row in rows.filter(pl.col("same_as").is_null()).iter_rows(named=True)
        ),
        notes=(OWN_NOTE,),
        data=run.frames["conventions"],
        group_head="Metric",
    )


def _cells(row: dict[str, Any], rows: pl.DataFrame) -> tuple[Cell, ...]:
    same_values = rows.filter(pl.col("same_as") == row["convention"])["tools"].to_list()
    gap = None if row["own"] else Estimate(row["gap"], row["gap_low"], row["gap_high"], row["reason"])
    return (Estimate(row["mean"]), estimate(row), gap, "; ".join((row["tools"], *same_values)))


def _reading(run: Run) -> tuple[str, ...]:
    rows = None if run.headline is None else _rows_of(run, run.headline)
    if rows is None or rows.is_empty():
        return ("There is no number that another tool could report differently.",)
    ranges = [
        _range_text(rows.filter(quantity=name)) for name in rows["quantity"].unique(maintain_order=True)
    ]
    significant = rows.filter(
        pl.col("same_as").is_null() & ((pl.col("gap_low") > 0) | (pl.col("gap_high") < 0))
    )
    changed = listed(significant["convention"]) if significant.height else "none"
    return (
        "Tools give the same name to different numbers. Range of the mean over the same lists, by "
        f"convention: {'; '.join(text for text in ranges if text)}.",
        f"Conventions whose correlation with {run.click} differs from the run's own (the 95 % interval "
        f"of the difference excludes 0): {changed}. The command audit shows which conclusions that changes.",
    )


def _range_text(rows: pl.DataFrame) -> str:
    """Return the lowest and the highest mean among the conventions of one metric; '' without any."""
    ordered = rows.drop_nulls("mean").sort("mean", "place")
    if ordered.is_empty():
        return ""
    low, high = ordered.row(0, named=True), ordered.row(-1, named=True)
    return f"{low['quantity']} {number(low['mean'])} to {number(high['mean'])}"
