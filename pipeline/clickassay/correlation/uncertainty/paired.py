"""Means of values of queries: Student's t interval, and the t test of differences."""

import numpy as np

from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit
from clickassay.correlation.uncertainty.jackknife import CONFIDENCE

ROUNDING = 1e-12
"""Differences that vary by a smaller part of the largest are equal."""


def half_width(values: Floats) -> Floats:
    """Return the (E,) half widths of the 95 % intervals of means of (Q, E) values; NaN below two queries."""
    number = len(values)
    if number < 2:
        return np.full(values.shape[1], np.nan)
    error = values.std(axis=0, ddof=1) / np.sqrt(number)
    half: Floats = stdtrit(number - 1, (1 + CONFIDENCE) / 2) * error
    return half


def t_test(difference: Floats) -> Floats:
    """Return the (E,) two-sided p-values that means of (Q, E) differences are 0; NaN if they do not vary."""
    number = len(difference)
    if number < 2:
        return np.full(difference.shape[1], np.nan)
    error = difference.std(axis=0, ddof=1) / np.sqrt(number)
    varies = error > ROUNDING * np.abs(difference).max(axis=0)
    statistic = np.divide(difference.mean(axis=0), error, out=np.zeros(len(error)), where=varies)
    p_value: Floats = np.where(varies, 2 * stdtr(number - 1, -np.abs(statistic)), np.nan)
    return p_value
