"""Fieller's interval of a ratio against a scan of all ratios."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clickassay.correlation.uncertainty.intervals import Spread, ratio_interval


def interval(above, below, errors, covariance, degrees):
    spreads = tuple(Spread(np.array(error), np.array(7.0), 8) for error in errors)
    found = ratio_interval(np.array(above), np.array(below), spreads, np.array(covariance), np.array(degrees))
    return tuple(float(end) for end in found)


def holds(v, above, below, errors, covariance, degrees):
    """Whether above - v below is no further from 0 than t errors."""
    variance = errors[0] ** 2 - 2 * v * covariance + v * v * errors[1] ** 2
    return abs(above - v * below) <= stats.t.ppf(0.975, degrees) * math.sqrt(max(variance, 0))


@given(
    st.floats(-1, 1),
    st.floats(0.05, 1),
    st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.5)),
    st.floats(-0.95, 0.95),
    st.floats(2, 200),
)
def test_it_contains_exactly_the_ratios_that_a_scan_finds(above, below, errors, correlation, degrees):
    covariance = correlation * errors[0] * errors[1]
    t = stats.t.ppf(0.975, degrees)
    assume(abs(below - t * errors[1]) > 1e-3)
    low, high = interval(above, below, errors, covariance, degrees)
    case = above, below, errors, covariance, degrees
    assert math.isnan(low) == math.isnan(high) == (below < t * errors[1])
    if math.isnan(low):
        # the inequality holds for any ratio that is large enough: there is no bound
        assert holds(1e9, *case) or holds(-1e9, *case)
        return
    assert low <= above / below <= high
    width = max(high - low, 1e-6)
    for v in np.linspace(low - 2 * width, high + 2 * width, 61):
        if min(abs(v - low), abs(v - high)) > 1e-4 * width:
            assert holds(v, *case) == (low < v < high), v


@pytest.mark.parametrize("missing", ["above", "below", "errors", "covariance", "degrees"])
def test_a_part_that_is_missing_leaves_no_interval(missing):
    case = {"above": 0.3, "below": 0.8, "errors": (0.05, 0.1), "covariance": 0.0, "degrees": 9.0}
    case[missing] = (math.nan, 0.1) if missing == "errors" else math.nan
    assert np.isnan(interval(**case)).all()
