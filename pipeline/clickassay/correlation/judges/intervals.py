"""Intervals of measures of agreement, which leave out a query at a time, on a scale that has no ends."""

from collections.abc import Callable

import numpy as np

from clickassay.core.records import Floats
from clickassay.correlation.uncertainty.jackknife import CONFIDENCE, Deviations, difference_interval, left_out

FREE = (-np.inf, np.inf)
"""The range of a measure that has none: a mean difference."""


def with_intervals(
    tables: Floats, measures: Callable[[Floats], Floats], ranges: Floats
) -> tuple[Floats, Floats, Floats]:
    """Measure agreement, with intervals.

    tables: (Q, K) counts of pairs of grades by query.
    measures: turns (..., K) sums over queries into (..., E) values.
    ranges: (2, E) least and largest value of each measure; infinite: it has none.

    Returns (E,) values and the ends of their 95 % intervals: value -+ t error on Fisher's scale, for which
    ranges become -1..1, with Satterthwaite's degrees of freedom. NaN where too few queries vary: judges who
    agree in all queries but one, or in all, may still differ in others.
    """
    values = measures(tables.sum(axis=0))
    scaled, known = _scaled(values, ranges), Deviations()
    for left in left_out(tables, measures):
        with np.errstate(invalid="ignore"):  # both at an end
            known.add(_scaled(left, ranges) - scaled)
    low, high = difference_interval(scaled, known.spread(), CONFIDENCE)
    return values, _unscaled(low, ranges), _unscaled(high, ranges)


def _scaled(values: Floats, ranges: Floats) -> Floats:
    low, high = ranges
    with np.errstate(divide="ignore", invalid="ignore"):  # at an end: infinite
        scaled: Floats = np.where(np.isinf(low), values, np.arctanh((2 * values - low - high) / (high - low)))
    return scaled


def _unscaled(scaled: Floats, ranges: Floats) -> Floats:
    low, high = ranges
    with np.errstate(invalid="ignore"):
        middle = (low + high + (high - low) * np.tanh(scaled)) / 2
    values: Floats = np.where(np.isinf(low), scaled, middle)
    return values
