"""Comparisons of offline metrics against loops, published tests of dependent correlations, and power."""

import math

import numpy as np
import pytest
from scipy import stats

from clickassay.correlation.comparisons import comparisons, queries_needed
from clickassay.correlation.uncertainty.intervals import Spread
from support.runs.given_sample import sample_of


def trivariate(rng, n, r_ya, r_yb, r_ab):
    """A sample of n queries with one configuration each: normal clicks and two metrics."""
    matrix = [[1, r_ya, r_yb], [r_ya, 1, r_ab], [r_yb, r_ab, 1]]
    values = rng.multivariate_normal(np.zeros(3), matrix, size=n)
    return sample_of(values[:, :1], values[:, 1:])


def observed(sample):
    r = np.corrcoef(np.concatenate([sample.click_values, sample.editorial_values], axis=1), rowvar=False)
    return r[0, 1], r[0, 2], r[1, 2], len(sample.sessions)


def williams(r12, r13, r23, n):
    """Williams 1959, as Steiger 1980 (7) recommends it: t with n - 3 degrees of freedom."""
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    mean = (r12 + r13) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r23) ** 3
    return (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)


def steiger_error(r12, r13, r23, n):
    """Asymptotic error of r12 - r13 (Steiger 1980, (1) to (3)): both variances less twice the covariance."""
    covariance = r23 * (1 - r12**2 - r13**2) - r12 * r13 * (1 - r12**2 - r13**2 - r23**2) / 2
    return math.sqrt(((1 - r12**2) ** 2 + (1 - r13**2) ** 2 - 2 * covariance) / n)


def error_of(row):
    """The error behind a row: half its interval over the quantile, here of many degrees of freedom."""
    return (row["ci_high"] - row["ci_low"]) / 2 / stats.norm.ppf(0.975)


@pytest.mark.parametrize(("r", "r_ab"), [(0.5, 0.3), (0.3, 0.8), (0.0, 0.0), (0.7, 0.9)])
def test_equal_correlations_have_the_errors_and_p_values_of_williams(r, r_ab):
    rng = np.random.default_rng(7)
    for _ in range(4):
        sample = trivariate(rng, 4000, r, r, r_ab)
        (row,) = comparisons(sample).to_dicts()
        t = williams(*observed(sample))
        assert error_of(row) == pytest.approx(row["difference"] / t, rel=0.12)
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 3997), abs=0.06)


@pytest.mark.parametrize(("r_ya", "r_yb", "r_ab"), [(0.6, 0.2, 0.1), (0.8, 0.6, 0.7), (0.5, -0.5, 0.0)])
def test_different_correlations_have_the_error_of_steiger(r_ya, r_yb, r_ab):
    sample = trivariate(np.random.default_rng(9), 6000, r_ya, r_yb, r_ab)
    (row,) = comparisons(sample).to_dicts()
    assert error_of(row) == pytest.approx(steiger_error(*observed(sample)), rel=0.08)


@pytest.mark.slow
def test_dependent_configurations_of_a_query_do_not_raise_the_false_alarms():
    """Ten near copies of each query inform no more than one: independent rows would give more alarms."""
    rng = np.random.default_rng(22)
    ours, independent = [], []
    for _ in range(200):
        once = trivariate(rng, 60, 0.4, 0.4, 0.6)
        rows = np.repeat(np.arange(60), 10)
        clicks, editorial = (
            values[rows] + 0.05 * rng.normal(size=(600, values.shape[1]))
            for values in (once.click_values, once.editorial_values)
        )
        ours.append(comparisons(sample_of(clicks, editorial, query_index=rows))["p_value"][0])
        independent.append(comparisons(sample_of(clicks, editorial))["p_value"][0])
    assert np.mean(np.array(ours) < 0.05) <= 0.095
    assert np.mean(np.array(independent) < 0.05) > 0.3


def needed(difference, error, degrees=np.inf, queries=100, tests=1, **more):
    arrays = (np.array([[value]], dtype=np.float64) for value in (difference, error, min(degrees, 1e9)))
    d, e, df = arrays
    return queries_needed(d, Spread(e, df, 10**12), queries, tests=np.array([tests]), **more)[0, 0]


def test_the_queries_needed_are_those_worked_by_hand():
    # 1.95996 + 0.84162 = 2.80159 errors; now 0.5 errors at 100 queries: 100 (2.80159 / 0.5)^2 = 3139.55
    assert needed(0.05, 0.1) == 3140
    assert needed(-0.05, 0.1) == 3140
    # ten tests: 2.80703 at 0.005 (both sides) + 0.84162 = 3.64865; 100 (3.64865/0.5)^2 = 5325.06
    assert needed(0.05, 0.1, tests=10) == 5326
    # twice the power's z: chance 0.9 is 1.28155: 100 ((1.95996 + 1.28155) / 0.5)^2 = 4202.97
    assert needed(0.05, 0.1, power=0.9) == 4203
    # 4 degrees count as 8: t(8) = 2.30600: 100 ((2.30600 + 0.84162) / 0.5)^2 = 3963.01
    assert needed(0.05, 0.1, degrees=4) == 3964


def test_a_large_difference_needs_two_queries_and_none_no_number():
    assert needed(5.0, 0.001) == 2
    assert math.isnan(needed(0.0, 0.1))
    assert math.isnan(needed(0.1, math.nan))
    assert math.isnan(needed(math.nan, 0.1))
