"""Correlations of a click metric that rests on estimates itself: IPS, which rests on examination.

Leaving out one query at a time does not see the error of these estimates. It is added by the delta method: a
number moves by (T(+) - T(-)) / 2 where an estimate moves by one standard error, and the sum of squares over
independent directions is its further variance. Each side of an interval becomes the root of its own square
and of this (Zou and Donner 2008).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.correlation import CORRELATIONS
from clickassay.core.records import Floats, Sample
from clickassay.core.special import ndtr, ndtri
from clickassay.correlation.classes import unsplit
from clickassay.correlation.tables import correlations
from clickassay.correlation.uncertainty.multiplicity import holm

_Z = float(ndtri(0.975))
_NUMBERS = {
    "correlation": (("ci_low", "ci_high"), ("simultaneous_low", "simultaneous_high")),
    "noise_corrected": (("noise_corrected_low", "noise_corrected_high"),),
}
"""Numbers, and the ends of their intervals; the first has a confidence of 95 %."""


def estimated_correlations(sample: Sample, name: str) -> pl.DataFrame:
    """Return the overall rows of `correlations` for a click metric that rests on estimates.

    Their intervals and p-values take the error of the estimates in. Where there is no value the table says
    why.
    """
    found = sample.estimated[name]
    rows = _rows(sample, name, {name: found.values})
    if found.reason is not None:
        return rows.with_columns(reason=pl.lit(found.reason))
    if not found.shifted.shape[1]:
        return rows
    directions, sides = range(found.shifted.shape[1]), range(2)
    values = {f"{at:02} {side}": found.shifted[:, at, side] for at in directions for side in sides}
    moved = _rows(sample, name, values)
    shape = (len(directions), 2, rows.height)
    columns: dict[str, Floats] = {}
    for number, intervals in _NUMBERS.items():
        value, (below, above) = (
            _column(rows, number),
            np.moveaxis(_column(moved, number).reshape(shape), 1, 0),
        )
        further = np.sqrt((((above - below) / 2) ** 2).sum(axis=0))
        of_95 = [np.abs(_column(rows, end) - value) for end in intervals[0]]
        for pair in intervals:
            for end, first, sign in zip(pair, of_95, (-1, 1), strict=True):
                half = np.abs(_column(rows, end) - value)
                ratio = np.divide(half, first, out=np.ones_like(half), where=first > 0)
                columns[end] = value + sign * np.hypot(half, _Z * ratio * further)
        if number == "correlation":
            columns = {end: np.clip(one, -1, 1) for end, one in columns.items()}
            # the error as it is on the side of the null value
            half = np.where(value > _column(rows, "null_correlation"), *of_95)
            grown = np.divide(np.hypot(half, _Z * further), half, out=np.ones_like(half), where=half > 0)
            columns["p_value"] = np.asarray(2 * ndtr(ndtri(_column(rows, "p_value") / 2) / grown))
    columns["p_adjusted"] = holm(columns["p_value"])
    return CORRELATIONS.canonical(
        rows.with_columns(pl.Series(own, ends).fill_nan(None) for own, ends in columns.items())
    )


def _rows(sample: Sample, name: str, values: Mapping[str, Floats]) -> pl.DataFrame:
    """Return the rows of these click metrics, in their order; (N,) values each, as noisy as the estimated."""
    variances = np.repeat(sample.estimated[name].variances[:, None], len(values), axis=1)
    stacked = np.stack([*values.values()], axis=1)
    own = replace(sample, click_names=tuple(values), click_values=stacked, click_variances=variances)
    return correlations(own, [unsplit(own)])


def _column(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column of numbers; NaN where there is none."""
    return rows[name].fill_null(np.nan).cast(pl.Float64).to_numpy()
