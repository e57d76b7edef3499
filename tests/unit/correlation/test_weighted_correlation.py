"""Weighted Pearson correlation against statsmodels, SciPy, fractions, and its laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.correlation.weighted import centred_sums, correlation_matrix, query_moments
from support.one_correlation import weighted_correlation

NUMBERS = st.integers(-8, 8).map(lambda number: number / 4)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(1, 50)), min_size=2, max_size=12)


def columns(rows):
    x, y, n = zip(*rows, strict=True)
    return np.array(x, dtype=np.float64), np.array(y, dtype=np.float64), np.array(n, dtype=np.int64)


def by_definition(rows):
    """The paper's formula in fractions; None without variance."""
    x, y, n = ([Fraction(value) for value in column] for column in zip(*rows, strict=True))
    total = sum(n)
    m_x = sum(a * b for a, b in zip(n, x, strict=True)) / total
    m_y = sum(a * b for a, b in zip(n, y, strict=True)) / total
    s_xy = sum(w * (a - m_x) * (b - m_y) for a, b, w in zip(x, y, n, strict=True))
    s_xx = sum(w * (a - m_x) ** 2 for a, w in zip(x, n, strict=True))
    s_yy = sum(w * (b - m_y) ** 2 for b, w in zip(y, n, strict=True))
    return float(s_xy) / math.sqrt(s_xx * s_yy) if s_xx and s_yy else None


@given(ROWS)
def test_the_value_is_the_papers_formula_and_missing_exactly_when_a_variable_is_constant(rows):
    expected = by_definition(rows)
    value, reason = weighted_correlation(*columns(rows))
    assert (value is None) == (expected is None) == (reason is not None)
    if expected is not None:
        assert value == pytest.approx(expected, abs=1e-13)


def test_all_pairs_are_those_of_statsmodels(make_sample):
    sample = make_sample(3)
    found = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions)
    both = np.concatenate([sample.click_values, sample.editorial_values], axis=1)
    expected = DescrStatsW(both, weights=sample.sessions).corrcoef[:2, 2:]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)


def test_equal_weights_give_scipys_pearson_correlation(make_sample):
    sample = make_sample(4)
    x, y = sample.editorial_values[:, 0], sample.click_values[:, 0]
    value, _ = weighted_correlation(x, y, np.full(len(x), 7))
    assert value == pytest.approx(pearsonr(x, y).statistic, rel=1e-13)


@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 1000))
def test_order_of_rows_and_scale_of_weights_do_not_matter(rows, random, factor):
    shuffled = [(x, y, n * factor) for x, y, n in rows]
    random.shuffle(shuffled)
    assert weighted_correlation(*columns(shuffled)) == pytest.approx(
        weighted_correlation(*columns(rows)), abs=1e-13
    )


@settings(max_examples=40)
@given(ROWS, st.data())
def test_splitting_a_weight_in_two_or_repeating_a_row_does_not_matter(rows, data):
    place = data.draw(st.integers(0, len(rows) - 1))
    x, y, n = rows[place]
    part = data.draw(st.integers(1, n))
    pieces = [(x, y, part)] + [(x, y, n - part)] * (n > part)
    repeated = [(a, b, 1) for a, b, weight in rows for _ in range(weight)]
    expected, reason = weighted_correlation(*columns(rows))
    for other in (rows[:place] + pieces + rows[place + 1 :], repeated):
        value, why = weighted_correlation(*columns(other))
        assert why == reason
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-13))


@given(ROWS, st.sampled_from([-3.0, 0.25, 7.0]), NUMBERS)
def test_a_linear_change_of_a_variable_changes_at_most_the_sign(rows, slope, shift):
    expected, _ = weighted_correlation(*columns(rows))
    assume(expected is not None)
    x, y, n = columns(rows)
    value, _ = weighted_correlation(slope * x + shift, y, n)
    assert value == pytest.approx(math.copysign(1, slope) * expected, abs=1e-12)


@given(ROWS)
def test_a_variable_correlates_with_itself_at_1_and_never_beyond(rows):
    x, _, n = columns(rows)
    assume(len(set(x)) > 1)
    value, _ = weighted_correlation(x, x, n)
    assert value <= 1
    assert value == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e-9, 1e9 / 7])
def test_a_constant_up_to_rounding_has_no_variance(constant):
    wobble = np.array([constant, np.nextafter(constant, 9e9), constant * 3 / 3, (constant + 1) - 1])
    wobble[3] = wobble[3] if abs(wobble[3] - constant) < 1e-13 * constant else constant
    value, reason = weighted_correlation(wobble, np.array([1.0, 2, 4, 8]), np.array([1, 10**8, 7, 3]))
    assert (value, reason is None) == (None, False)


def test_one_session_among_a_thousand_million_still_counts_as_variance():
    x = np.array([0.5, 0.5 + 1e-9, 0.5])
    value, _ = weighted_correlation(x, np.array([0.0, 1, 0]), np.array([10**9, 1, 5]))
    assert value == pytest.approx(1, abs=1e-6)


def test_a_large_offset_costs_no_precision(make_sample):
    sample = make_sample(6)
    x, y, n = sample.editorial_values[:, 0], sample.click_values[:, 0], sample.sessions
    far = np.round(x, 6) + 2.0**20  # exact: 20 + 20 bits and a few
    near, _ = weighted_correlation(far - 2.0**20, y, n)
    assert weighted_correlation(far, y, n)[0] == pytest.approx(near, rel=1e-13)


def test_summed_moments_give_the_correlation_of_any_set_of_queries(make_sample):
    sample = make_sample(5)
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    moments = query_moments(sample.click_values, sample.editorial_values, sample.sessions, starts)
    for chosen in ([0, 1, 2], [3, 3, 7, 9], list(range(12))):
        rows = np.concatenate([np.flatnonzero(sample.query_index == query) for query in chosen])
        expected = correlation_matrix(
            sample.click_values[rows], sample.editorial_values[rows], sample.sessions[rows]
        )
        found = centred_sums(moments[chosen].sum(axis=0), 2, 3)
        np.testing.assert_allclose(found.correlations, expected.values, rtol=1e-12)
        assert found.sessions == sample.sessions[rows].sum()


def test_summed_moments_of_constant_values_away_from_the_mean_have_no_correlation():
    clicks = np.array([[0.1], [0.1], [0.7], [0.3]])
    editorial = np.array([[1.0], [2.0], [5.0], [4.0]])
    moments = query_moments(clicks, editorial, np.array([3, 7, 10**6, 11]), np.array([0, 2]))
    assert np.isnan(centred_sums(moments[:1] * 5, 1, 1).correlations).all()
    assert np.isfinite(centred_sums(moments[1:], 1, 1).correlations).all()


def test_no_metric_or_no_configuration_gives_an_empty_or_missing_matrix():
    none = correlation_matrix(np.zeros((0, 2)), np.zeros((0, 3)), np.zeros(0))
    assert np.isnan(none.values).all()
    assert none.reasons[1][2] == "fewer than two configurations"
    assert correlation_matrix(np.zeros((4, 0)), np.zeros((4, 3)), np.ones(4)).values.shape == (0, 3)


def test_what_is_only_rounding_of_the_whole_has_no_variance_in_a_part():
    whole = np.array([10.0, 0, 0, 1e6, 1, 5])  # n | n y | n x | n y^2 | n x^2 | n y x
    part = np.array([3.0, 0, 0, 1e-7, 0.5, 1e-4])
    assert np.isfinite(centred_sums(part, 1, 1).correlations).all()
    assert np.isnan(centred_sums(part, 1, 1, whole).correlations).all()


def test_no_session_at_all_gives_no_correlation():
    assert np.isnan(centred_sums(np.zeros((3, 1 + 2 * 2 + 2 * 1 + 2)), 2, 1).correlations).all()
