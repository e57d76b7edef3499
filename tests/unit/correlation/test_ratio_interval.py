"""Fieller's interval of a ratio against its geometry, a scan of all ratios, and simulated ratios."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clickassay.correlation.uncertainty.intervals import Spread, ratio_interval


def interval(above, below, errors, covariance=0.0, degrees=math.inf):
    spreads = tuple(Spread(np.array(error), np.array(7.0), 8) for error in errors)
    degrees = 1e12 if math.isinf(degrees) else degrees
    found = ratio_interval(
        np.array(above), np.array(below), spreads, np.array(covariance), np.array(float(degrees))
    )
    return tuple(float(end) for end in found)


def holds(v, above, below, errors, covariance, degrees):
    """Whether above - v below is no further from 0 than t errors."""
    variance = errors[0] ** 2 - 2 * v * covariance + v * v * errors[1] ** 2
    return abs(above - v * below) <= stats.t.ppf(0.975, degrees) * math.sqrt(max(variance, 0))


@pytest.mark.parametrize("error", [0.1, 0.5, 2.0])
def test_with_equal_independent_errors_it_is_the_wedge_that_touches_a_circle(error):
    # lines through 0 that come within t e of the point (4, 3) have the angles atan(3/4) -+ asin(t e / 5)
    half = math.asin(stats.norm.ppf(0.975) * error / 5)
    expected = [math.tan(math.atan2(3, 4) + sign * half) for sign in (-1, 1)]
    assert interval(3.0, 4.0, (error, error)) == pytest.approx(expected, rel=1e-6)


def test_a_case_worked_by_hand():
    # t(1) = 12.7062: t^2 = 161.447. below 20 -+ 1, above 10 -+ 0.5, covariance 0.25:
    # a = 400 - 161.447 = 238.553, b = 200 - 40.362 = 159.638, c = 100 - 40.362 = 59.638
    # root = sqrt(159.638^2 - 238.553 59.638) = sqrt(11257.5) = 106.101; (159.638 -+ 106.101)/238.553
    assert interval(10.0, 20.0, (0.5, 1.0), 0.25, 1) == pytest.approx((0.224424, 1.113965), rel=2e-4)


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


def test_an_exact_denominator_gives_students_interval_of_the_numerator_over_it():
    reach = stats.t.ppf(0.975, 12) * 0.05
    expected = ((0.3 - reach) / 0.8, (0.3 + reach) / 0.8)
    assert interval(0.3, 0.8, (0.05, 0.0), 0.0, 12) == pytest.approx(expected, rel=1e-9)


def test_parts_that_vary_together_have_a_narrow_ratio():
    # above = 0.5 below always: covariance 0.5 e^2, error of above 0.5 e
    low, high = interval(0.4, 0.8, (0.05, 0.1), 0.999 * 0.05 * 0.1, 50)
    loose_low, loose_high = interval(0.4, 0.8, (0.05, 0.1), 0.0, 50)
    assert high - low < 0.1 * (loose_high - loose_low)


@pytest.mark.parametrize("missing", ["above", "below", "errors", "covariance", "degrees"])
def test_a_part_that_is_missing_leaves_no_interval(missing):
    case = {"above": 0.3, "below": 0.8, "errors": (0.05, 0.1), "covariance": 0.0, "degrees": 9.0}
    case[missing] = (math.nan, 0.1) if missing == "errors" else math.nan
    assert np.isnan(interval(**case)).all()


def test_19_of_20_intervals_cover_the_true_ratio():
    rng = np.random.default_rng(5)
    true, n, held = 0.6, 30, 0
    for _ in range(500):
        below = rng.normal(1, 1.2, n)
        above = true * below + rng.normal(0, 0.8, n)
        covariance = np.cov(above, below) / n
        errors = np.sqrt(np.diag(covariance))
        low, high = interval(above.mean(), below.mean(), errors, covariance[0, 1], n - 1)
        held += math.isnan(low) or low <= true <= high
    assert 0.92 <= held / 500 <= 0.98
