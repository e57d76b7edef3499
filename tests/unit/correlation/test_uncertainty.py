"""Intervals by leaving out queries, of ratios, and tails of sessions: against loops and SciPy."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.uncertainty import intervals
from clickassay.correlation.uncertainty.intervals import (
    CORRELATION_INDEX,
    DIFFERENCE_INDEX,
    BlockSums,
    Deviations,
    Spread,
    cautions,
    difference_interval,
    fisher_interval,
    is_heavy,
    left_out,
    no_rounding,
    p_value,
    ratio_interval,
    tail_index,
)
from support.one_correlation import jackknife as by_definition

VALUES = arrays(np.float64, st.integers(3, 30), elements=st.integers(-50, 50).map(lambda n: n / 8))


def mean(sums):
    return sums[..., 0] / sums[..., 1]


def contributions(values):
    return np.stack([values, np.ones(len(values))], axis=1)


def mean_spread(values):
    return spread_of(contributions(values), mean)


def spread_of(sums, statistic):
    gathered = Deviations()
    for found in left_out(sums, statistic):
        gathered.add(found - statistic(sums.sum(axis=0)))
    return gathered.spread()


@given(VALUES)
def test_the_error_of_a_mean_is_the_standard_deviation_by_the_root_of_n(values):
    assume(values.std() > 0)
    assert mean_spread(values).error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_and_p_value_of_a_mean_of_short_tailed_values_are_those_of_the_t_test(seed):
    values = np.random.default_rng(seed).uniform(-1, 1.5, size=17)  # a kurtosis below 3: all n - 1 degrees
    spread = mean_spread(values)
    assert spread.degrees == pytest.approx(16, rel=1e-12)
    test = stats.ttest_1samp(values, 0)
    expected = test.confidence_interval(0.95)
    assert difference_interval(values.mean(), spread) == pytest.approx(
        (expected.low, expected.high), rel=1e-9
    )
    assert p_value(values.mean(), spread) == pytest.approx(test.pvalue, rel=1e-9)


@settings(max_examples=40)
@given(arrays(np.float64, st.tuples(st.integers(3, 12), st.just(3)), elements=st.integers(1, 40).map(float)))
def test_errors_and_degrees_of_any_statistic_are_those_of_a_loop(sums):
    def statistic(part):
        return np.log(part[..., 0] / part[..., 1]) + part[..., 2]

    values = [float(statistic(np.delete(sums, query, axis=0).sum(axis=0))) for query in range(len(sums))]
    assume(np.std(values) > 1e-3)
    spread = spread_of(sums, statistic)
    assert (spread.error, spread.degrees) == pytest.approx(by_definition(values), rel=1e-6)


@given(
    arrays(np.float64, st.tuples(st.integers(4, 20), st.just(2)), elements=st.floats(-1, 1)),
    st.integers(1, 19),
)
def test_deviations_may_come_in_any_blocks(deviations, cut):
    assume((deviations.std(axis=0) > 1e-2).all())
    at_once, in_two = Deviations(), Deviations()
    at_once.add(deviations)
    for part in (deviations[:cut], deviations[cut:]):
        in_two.add(part)
    assert at_once.queries == in_two.queries == len(deviations)
    for name in ("error", "degrees"):
        np.testing.assert_allclose(
            getattr(in_two.spread(), name), getattr(at_once.spread(), name), rtol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("at_once", [1, 2, 8, 16])
def test_sums_are_the_same_bit_for_bit_however_many_queries_come_at_once(monkeypatch, at_once):
    monkeypatch.setattr(intervals, "QUERIES_AT_ONCE", 16)
    values = np.random.default_rng(5).normal(size=(39, 3))
    sums = BlockSums()
    for first in range(0, len(values), at_once):
        sums.add(values[first : first + at_once])
    blocks = [values[first : first + 16] for first in range(0, 39, 16)]
    expected = np.zeros(3)
    for block in blocks:
        of_block = np.zeros(3)
        for row in block:
            of_block += row
        expected += of_block
    assert (sums.queries, sums.total.tolist()) == (39, expected.tolist())


def test_leaving_out_in_small_blocks_leaves_out_the_same():
    sums = contributions(np.random.default_rng(3).normal(size=23))
    whole = np.concatenate(list(left_out(sums, mean)))
    blocks = list(left_out(sums, mean, at_once=4))
    assert [len(block) for block in blocks] == [4, 4, 4, 4, 4, 3]
    assert np.concatenate(blocks).tolist() == whole.tolist()
    expected = [np.delete(sums[:, 0], query).mean() for query in range(23)]
    np.testing.assert_allclose(whole, expected, rtol=1e-12)


def test_what_is_left_is_exactly_0_when_the_only_query_is_left_out():
    sums = np.array([[0.1, 0.0], [0.2, 0.0], [0.3, 7.3]])
    (left,) = left_out(sums, lambda sums: sums)
    without_last = left[2]
    assert without_last[1] == 0
    assert without_last[0] == pytest.approx(0.3)


EQUAL = [[each] * queries for queries in (2, 3, 7) for each in (0.25, -0.1, 1 / 3, 1e-15)]


@pytest.mark.parametrize("deviations", [*EQUAL, [0.25, 0.25 + 1e-15, 0.25 - 1e-15, 0.25]])
def test_deviations_that_are_equal_but_for_rounding_give_no_interval_and_no_small_p_value(deviations):
    gathered = Deviations()
    gathered.add(np.array(deviations))
    spread = gathered.spread()
    assert np.isnan(difference_interval(np.array(0.5), spread)).all()
    assert math.isnan(p_value(np.array(0.5), spread))


SPREADS = st.tuples(st.floats(1e-6, 10), st.floats(1, 5000))


@given(st.floats(-5, 5), SPREADS)
def test_the_p_value_is_that_of_students_t_with_two_times_the_degrees(difference, error_and_degrees):
    error, degrees = error_and_degrees
    found = p_value(np.array(difference), Spread(np.array(error), np.array(degrees), 1001))
    expected = 2 * stats.t.sf(abs(difference) / error, min(2 * degrees, 1000))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-300)


@given(st.floats(-5, 5), SPREADS)
def test_the_p_value_is_below_5_percent_where_the_interval_leaves_out_0(difference, error_and_degrees):
    spread = Spread(*map(np.array, error_and_degrees), 300)
    low, high = difference_interval(np.array(difference), spread)
    assume(min(abs(low), abs(high)) > 1e-9 * max(abs(low), abs(high)))
    assert p_value(np.array(difference), spread) < 0.05 or low <= 0 <= high


def test_no_difference_without_spread_has_p_value_1():
    assert p_value(np.zeros(1), Spread(np.zeros(1), np.full(1, np.nan), 9)).tolist() == [1.0]


@given(st.floats(-0.999, 0.999), st.floats(1e-3, 3), st.floats(1, 500))
def test_the_interval_of_a_correlation_is_that_of_its_artanh_and_stays_within_1(value, error, degrees):
    low, high = fisher_interval(np.array(value), Spread(np.array(error), np.array(degrees), 9))
    reach = stats.t.ppf(0.975, degrees) * error
    assert (low, high) == pytest.approx(
        (math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)), rel=1e-7, abs=1e-9
    )
    assert -1 <= low <= value <= high <= 1


def test_cautions_name_the_first_trouble():
    values = np.array([[math.nan, 0.5, 0.5], [0.5, 0.5, 0.5]])
    low = np.array([[math.nan, math.nan, 0.1], [0.1, 0.1, 0.1]])
    none, few = "no interval: too few queries vary", "fewer than 50 queries"
    assert cautions(values, low, 50) == [None, none, *[None] * 4]
    assert cautions(values, low, 50, heavy_tail=True) == [None, none, *[HEAVY] * 4]
    assert cautions(values, low, 49, heavy_tail=True) == [None, none, *[few] * 4]


def test_differences_of_correlations_that_are_only_rounding_are_0():
    assert no_rounding(np.array([1e-12, -9e-13, 2e-12, -0.5])).tolist() == [0.0, 0.0, 2e-12, -0.5]


# ---- ratios ----
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


# ---- tails of sessions ----
HEAVY = "a few very frequent queries dominate, and similar ones may be missing from the log"


def drawn(rng, law, spread, queries, mean=60):
    """Whole sessions of queries, one or more."""
    if law == "lognormal":
        raw = np.exp(spread * rng.standard_normal(queries) - spread**2 / 2)
    else:
        raw = (spread - 1) / spread * rng.random(queries) ** (-1 / spread)
    return np.maximum(1, np.round(mean * raw))


def test_the_index_is_that_worked_by_hand():
    # the upper half is 10, 40 and 4000; the threshold is 9.5
    sessions = np.array([1.0, 2.0, 10.0, 40.0, 4000.0])
    logs = [math.log(n / 9.5) for n in (10, 40, 4000)]
    assert tail_index(sessions) == pytest.approx(3 / sum(logs))


def test_sessions_that_are_alike_or_none_have_no_tail():
    assert tail_index(np.full(80, 7.0)) == math.inf
    assert tail_index(np.array([])) == math.inf
    assert tail_index(np.array([4.0])) == math.inf


def test_small_counts_are_left_out_where_there_are_enough_others():
    large = drawn(np.random.default_rng(1), "pareto", 1.5, 400, mean=300)
    small = np.repeat([1.0, 2.0, 3.0, 4.0], 300)
    by_hand = 1 / np.mean([math.log(n / (large.min() - 0.5)) for n in large])
    assert tail_index(np.concatenate([small, large])) == pytest.approx(by_hand)


@given(st.lists(st.integers(1, 10**6), max_size=80))
def test_the_order_of_queries_does_not_matter(sessions):
    values = np.array(sessions, dtype=np.float64)
    assert tail_index(values) == tail_index(values[::-1])


@pytest.mark.parametrize(
    ("law", "spread", "least", "fewest", "most"),
    [
        ("pareto", 1.2, DIFFERENCE_INDEX, 0.9, 1),
        ("pareto", 1.5, DIFFERENCE_INDEX, 0.9, 1),
        ("pareto", 2.5, DIFFERENCE_INDEX, 0, 0.05),
        ("pareto", 2.5, CORRELATION_INDEX, 0.9, 1),
        ("pareto", 4.0, CORRELATION_INDEX, 0, 0.05),
        ("lognormal", 1.15, CORRELATION_INDEX, 0, 0.05),
        ("lognormal", 1.5, CORRELATION_INDEX, 0, 0.05),
    ],
)
def test_heavy_tails_are_found_and_lognormal_ones_are_not_taken_for_them(law, spread, least, fewest, most):
    rng = np.random.default_rng(3)
    share = np.mean([is_heavy(drawn(rng, law, spread, 500), least) for _ in range(100)])
    assert fewest <= share <= most


def test_a_comparison_has_a_caution_below_the_index_of_differences(make_sample):
    sample = make_sample(8, queries=200, configurations=200, clicks=1, editorial=2)
    sample = dataclasses.replace(sample, query_index=np.arange(200))
    for spread, caution in ((1.3, HEAVY), (2.6, None)):
        places = (np.arange(200) + 0.5) / 200  # the quantiles of a power law
        sessions = np.round(20 * places ** (-1 / spread)).astype(np.int64)
        found = comparisons(dataclasses.replace(sample, sessions=sessions))
        assert found["caution"].to_list() == [caution]
