"""Intervals of correlations against SciPy's bootstrap, and laws; their numbers are those of the oracle."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.correlation.comparisons import comparisons
from support.one_correlation import jackknife, overall, ranked
from support.runs.given_sample import sample_of

NO_INTERVAL = "no interval: too few queries vary"
ENDS = ("ci_low", "ci_high", "noise_corrected_low", "noise_corrected_high")


def tables_of(sample):
    return overall(sample), ranked(sample), comparisons(sample)


def finite(frame):
    return not frame.select(pl.any_horizontal(pl.col(pl.Float64).is_finite().not_().any())).item()


def weighted(sample, rows, click=0, editorial=0):
    both = np.stack([sample.click_values[rows, click], sample.editorial_values[rows, editorial]], axis=1)
    return DescrStatsW(both, weights=sample.sessions[rows]).corrcoef[0, 1]


def without_each_query(sample):
    return [np.flatnonzero(sample.query_index != query) for query in range(len(sample.queries))]


def test_the_interval_is_near_that_of_scipys_bootstrap_of_queries(make_sample):
    sample = make_sample(4, queries=80, configurations=160)
    of_query = [np.flatnonzero(sample.query_index == query) for query in range(80)]

    def z(drawn):
        return math.atanh(weighted(sample, np.concatenate([of_query[query] for query in drawn.astype(int)])))

    found = stats.bootstrap(
        (np.arange(80),), z, vectorized=False, n_resamples=799, method="BCa", rng=np.random.default_rng(6)
    )
    (row,) = overall(sample).filter(click_metric="C0", editorial_metric="E0").to_dicts()
    left_out = [weighted(sample, rows) for rows in without_each_query(sample)]
    error, degrees = jackknife(np.arctanh(left_out))
    low, high = math.atanh(row["ci_low"]), math.atanh(row["ci_high"])
    assert (high - low) / 2 / stats.t.ppf(0.975, degrees) == pytest.approx(error, rel=1e-7)
    assert found.standard_error == pytest.approx(error, rel=0.2)
    assert low == pytest.approx(found.confidence_interval.low, abs=0.6 * error)
    assert high == pytest.approx(found.confidence_interval.high, abs=0.6 * error)


@pytest.mark.slow
def test_19_of_20_intervals_cover_the_correlation_of_the_world():
    rng, held, worlds = np.random.default_rng(8), 0, 300
    for _ in range(worlds):
        x = rng.normal(size=(60, 1))
        sample = sample_of(0.5 * x + math.sqrt(0.75) * rng.normal(size=(60, 1)), x)
        (row,) = overall(sample).to_dicts()
        held += row["ci_low"] <= 0.5 <= row["ci_high"]
    assert 0.91 <= held / worlds <= 0.985


@pytest.mark.parametrize("slope", [3.0, -0.25])
def test_a_correlation_that_is_perfect_whatever_query_is_left_out_is_its_own_interval(make_sample, slope):
    x = make_sample(5, queries=40, configurations=90, editorial=1).editorial_values
    index = make_sample(5, queries=40, configurations=90).query_index
    sample = sample_of(slope * x + 7, x, query_index=index)
    for table, value in ((overall(sample), "correlation"), (ranked(sample), "exact")):
        assert table[value].to_list() == [pytest.approx(math.copysign(1, slope), abs=1e-12)]
        assert table["ci_low"].to_list() == table["ci_high"].to_list() == table[value].to_list()
        assert table["caution"].to_list() == ["fewer than 50 queries"]
        assert finite(table)


def test_where_one_query_has_nearly_all_sessions_the_interval_has_a_caution(make_sample):
    sample = make_sample(8, queries=80, configurations=200)
    heavy = np.where(sample.query_index == 7, 10**6, sample.sessions)
    table = overall(dataclasses.replace(sample, sessions=heavy))
    assert (
        "a few very frequent queries dominate, and similar ones may be missing from the log"
        in table["caution"].to_list()
    )
    assert overall(sample)["caution"].null_count() == 6
    assert finite(table)


VALUE = st.integers(0, 12).map(lambda n: n / 4)
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 40), st.tuples(VALUE, VALUE), st.tuples(VALUE, VALUE, VALUE)),
    min_size=1,
    max_size=14,
)


def of_rows(rows):
    rows = sorted(rows)
    _, index = np.unique([row[0] for row in rows], return_inverse=True)
    sessions = np.array([row[1] for row in rows])
    variances = np.where(sessions[:, None] > 1, [[row[1] / 50, 0.1] for row in rows], np.nan)
    clicks, editorial = (np.array([row[part] for row in rows]) for part in (2, 3))
    return sample_of(clicks, editorial, sessions, index, variances)


@settings(max_examples=20)
@given(ROWS)
def test_no_table_of_any_small_sample_has_a_nan_or_a_value_out_of_range(rows):
    sample = of_rows(rows)
    for table in tables_of(sample):
        assert finite(table)
        half = table["ci_low"].is_null() == table["ci_high"].is_null()
        assert half.all()
    for table, value in zip(tables_of(sample), ("correlation", "exact", "difference"), strict=True):
        known = table.filter(pl.col("ci_low").is_not_null())
        assert (known["ci_low"] <= known[value] + 1e-12).all()
        assert (known[value] <= known["ci_high"] + 1e-12).all()
        # perfect, or two that are one, whatever query is left out: nothing else has no width
        certain = known[value] == 0 if value == "difference" else known[value].abs() >= 1 - 1e-9
        assert (certain | (known["ci_low"] < known["ci_high"])).all()
        missing = table.filter(pl.col(value).is_not_null() & pl.col("ci_low").is_null())
        assert set(missing["caution"]) <= {NO_INTERVAL}
    compared = comparisons(sample)
    assert compared["p_value"].drop_nulls().is_between(0, 1).all()
    assert (compared["p_adjusted"].drop_nulls() >= compared["p_value"].drop_nulls()).all()
    assert (compared["queries_needed"].drop_nulls() >= 2).all()


def assert_nearly_equal(found, expected):
    assert_frame_equal(found, expected, rel_tol=1e-7, abs_tol=1e-9)


def test_a_change_of_scale_or_origin_of_a_metric_changes_no_number(make_sample):
    sample = make_sample(10, queries=60, configurations=150, most_sessions=5)
    changed = dataclasses.replace(
        sample,
        click_values=sample.click_values * [3.0, 0.01] + [5, -1],
        click_variances=sample.click_variances * [9.0, 0.0001],
        editorial_values=sample.editorial_values * [100, 1 / 7, 1] + [0, 1, -40],
    )
    for found, expected in zip(tables_of(changed), tables_of(sample), strict=True):
        assert_nearly_equal(found, expected)


@settings(max_examples=8)
@given(st.permutations(range(12)))
def test_the_order_of_queries_and_configurations_does_not_matter(order):
    rng = np.random.default_rng(2)
    size = np.arange(12) % 3 + 1
    index = np.repeat(np.arange(12), size)
    n = len(index)
    sessions = rng.integers(1, 9, n)
    variances = np.where(sessions[:, None] > 1, rng.random((n, 1)), np.nan)
    sample = sample_of(rng.normal(size=(n, 1)), rng.normal(size=(n, 2)), sessions, index, variances)
    rows = np.concatenate([np.flatnonzero(index == query)[::-1] for query in order])
    shuffled = dataclasses.replace(sample, query_index=np.argsort(order)[index]).of_rows(rows)
    for found, expected in zip(tables_of(shuffled), tables_of(sample), strict=True):
        drop = [column for column in found.columns if column.startswith("monte_carlo")]
        assert_nearly_equal(found.drop(drop), expected.drop(drop))


@settings(max_examples=30)
@given(ROWS, st.data())
def test_splitting_a_configuration_in_two_of_the_same_values_changes_no_correlation_or_interval(rows, data):
    rows = [row for row in rows if row[1] > 1]
    if not rows:
        return
    place = data.draw(st.integers(0, len(rows) - 1))
    query, sessions, *values = rows[place]
    part = data.draw(st.integers(1, sessions - 1))
    split = [*rows[:place], (query, part, *values), (query, sessions - part, *values), *rows[place + 1 :]]
    columns = ("correlation", "ci_low", "ci_high", "n_queries", "n_sessions")
    assert_nearly_equal(overall(of_rows(split)).select(columns), overall(of_rows(rows)).select(columns))
