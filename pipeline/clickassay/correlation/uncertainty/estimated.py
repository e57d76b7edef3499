"""Correlations of click metrics that rest on estimates themselves, such as IPS, which rests on examination.

Leaving out one query at a time does not see the error of these estimates. It is added by the delta method: a
number moves by (T(+) - T(-)) / 2 where an estimate moves by one standard error, and the sum of squares over
independent directions is its further variance. Each side of an interval becomes the root of its own square
and of this (Zou and Donner 2008).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.form import Table
from clickassay.core.records import EstimatedClicks, Floats, Sample
from clickassay.core.special import ndtr, ndtri
from clickassay.correlation.uncertainty.multiplicity import holm

Make = Callable[[Sequence[Sample]], pl.DataFrame]
"""Turns samples of one depth and judge into rows of a table, for each of their click metrics."""

_Z = float(ndtri(0.975))


@dataclass(frozen=True)
class Widened:
    """A number of a table, with the columns that its error changes."""

    value: str  # Its column.
    # Lower and upper ends of its intervals; the first has a confidence of 95 %.
    intervals: tuple[tuple[str, str], ...]
    bound: float = np.inf  # No end lies beyond this.
    null: str | None = None  # The column of the value that its p-value is of, or nothing.
    error: str | None = None  # The column of its standard error, if there is one.


_ENDS = (("ci_low", "ci_high"), ("simultaneous_low", "simultaneous_high"))
_CORRECTED = Widened("noise_corrected", (("noise_corrected_low", "noise_corrected_high"),))
_DIFFERENCE = (Widened("difference", _ENDS, 2.0, null="", error="error"),)

NUMBERS: Mapping[str, tuple[Widened, ...]] = {
    "correlations": (Widened("correlation", _ENDS, 1.0, null="null_correlation"), _CORRECTED),
    "differences": (Widened("exact", _ENDS, 1.0, null=""), _CORRECTED),
    "within": (Widened("correlation", _ENDS, 1.0, null="null_correlation"), _CORRECTED),
    "comparisons": _DIFFERENCE,
    "difference_comparisons": _DIFFERENCE,
    "within_comparisons": _DIFFERENCE,
}
"""The numbers of each table that have an interval."""


def estimated_rows(name: str, table: Table, make: Make, samples: Sequence[Sample]) -> pl.DataFrame:
    """Return the rows of a table for a click metric that rests on estimates.

    Parameters
    ----------
    name
        The click metric.
    table
        One of `NUMBERS`.
    make
        What computes the rows of a click metric that is known.
    samples
        Samples of one depth and judge, each of a market.

    Returns
    -------
    Rows whose intervals and p-values take the error of the estimates in. Without a value in one of the
    samples there is none, and the table says why.
    """
    found = [sample.estimated[name] for sample in samples]
    reason = next((one.reason for one in found if one.reason is not None), None)
    rows = make([_only(*both, {name: both[1].values}) for both in zip(samples, found, strict=True)])
    if reason is not None:
        return rows.with_columns(reason=pl.lit(reason)) if "reason" in rows.columns else rows
    if not any(one.shifted.shape[1] for one in found):
        return table.canonical(rows)
    moved = make(_moved(samples, found, name))
    for number in NUMBERS[table.name]:
        rows = _widened(rows, moved, number, [key for key in table.key if key != "click_metric"])
    return table.canonical(_adjusted(rows, table))


def _only(sample: Sample, found: EstimatedClicks, values: Mapping[str, Floats]) -> Sample:
    """Return the sample with these click metrics alone, by name; (N,) values, as noisy as `found`."""
    return replace(
        sample,
        click_names=tuple(values),
        click_values=np.stack([*values.values()], axis=1),
        click_variances=np.repeat(found.variances[:, None], len(values), axis=1),
    )


def _moved(samples: Sequence[Sample], found: Sequence[EstimatedClicks], name: str) -> list[Sample]:
    """Return the samples with a click metric for each sample, direction and side that the estimates move to.

    Estimates of one market do not move the values of another.
    """
    moved = []
    for mine, (sample, one) in enumerate(zip(samples, found, strict=True)):
        values = {
            f"{name} {owner} {at} {side}": one.shifted[:, at, side] if owner == mine else one.values
            for owner, other in enumerate(found)
            for at in range(other.shifted.shape[1])
            for side in range(2)
        }
        moved.append(_only(sample, one, values))
    return moved


def _widened(rows: pl.DataFrame, moved: pl.DataFrame, number: Widened, key: Sequence[str]) -> pl.DataFrame:
    """Return rows whose intervals of a number have the error of what it rests on."""
    further, value = _further(rows, moved, number.value, key), _column(rows, number.value)
    columns: dict[str, Floats] = {}
    of_95 = [np.abs(_column(rows, end) - value) for end in number.intervals[0]]
    for pair in number.intervals:
        for end, first, sign in zip(pair, of_95, (-1, 1), strict=True):
            half = np.abs(_column(rows, end) - value)
            ratio = np.divide(half, first, out=np.ones_like(half), where=first > 0)
            wider = value + sign * np.hypot(half, _Z * ratio * further)
            columns[end] = np.clip(wider, -number.bound, number.bound)
    if number.error is not None:
        error = _column(rows, number.error)
        columns[number.error] = np.hypot(error, further)
        grown = np.divide(columns[number.error], error, out=np.ones_like(error), where=error > 0)
        columns["queries_needed"] = np.ceil(_column(rows, "queries_needed") * grown**2)
    if number.null is not None:
        columns["p_value"] = _p_value(rows, value, number.null, of_95, further)
    return rows.with_columns(pl.Series(name, values).fill_nan(None) for name, values in columns.items())


def _further(rows: pl.DataFrame, moved: pl.DataFrame, column: str, key: Sequence[str]) -> Floats:
    """Return the standard error of each row's number that is due to estimates; NaN where it is not known."""
    both = moved.select(*key, pl.col("click_metric").str.extract_groups(r"^(?<at>.*) (?<side>[01])$"), column)
    sides = both.unnest("click_metric").sort("side", maintain_order=True)
    square = ((pl.col(column).last() - pl.col(column).first()) / 2) ** 2
    # in their order: a sum in another has other last digits
    squares = sides.group_by(*key, "at", maintain_order=True).agg(square.alias("square"))
    square = pl.col("square")
    known = pl.when(square.null_count() == 0).then(square.sum().sqrt()).alias("further")
    summed = squares.group_by(key, maintain_order=True).agg(known)
    joined = rows.select(key).join(summed, on=key, how="left", maintain_order="left", nulls_equal=True)
    return _column(joined, "further")


def _p_value(
    rows: pl.DataFrame, value: Floats, null: str, halves: Sequence[Floats], further: Floats
) -> Floats:
    """Return the p-value with the error as it is on the side of the null value."""
    apart = value - (_column(rows, null) if null else 0.0)
    half = np.where(apart > 0, *halves)
    grown = np.divide(np.hypot(half, _Z * further), half, out=np.ones_like(half), where=half > 0)
    return np.asarray(2 * ndtr(ndtri(_column(rows, "p_value") / 2) / grown))


def _adjusted(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows with p-values adjusted again: the metrics, or pairs, of one class are a family."""
    family = [key for key in table.key if key not in ("editorial_metric", "metric_a", "metric_b")]
    parts = [
        part.with_columns(pl.Series("p_adjusted", holm(_column(part, "p_value"))).fill_nan(None))
        for part in rows.partition_by(family, maintain_order=True)
    ]
    return pl.concat([rows.head(0), *parts])


def _column(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column of numbers; NaN where there is none."""
    return rows[name].fill_null(np.nan).cast(pl.Float64).to_numpy()
