"""Laws of correlations within queries, and what a metric adds to a baseline, against statsmodels."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample, SampleKey, Shown
from clickassay.correlation.comparisons import within_comparisons
from clickassay.correlation.tables import within
from clickassay.correlation.within.groups import all_markets, query_groups
from support.one_correlation import jackknife


def sample_of(queries, sessions, clicks, editorial, market="m"):
    """A sample with one column of offline values for each name."""
    names, index = np.unique(queries, return_inverse=True)
    order = np.argsort(index, kind="stable")
    y, x = (np.array(list(values), dtype=float).T[order] for values in ([clicks], editorial.values()))
    n = np.array(sessions)[order]
    variances = np.where(n[:, None] < 2, np.nan, y * (1 - y) * n[:, None] / np.maximum(n[:, None] - 1, 1))
    return Sample(
        SampleKey(market, 5, EVERY), tuple(names), index[order], n, ("C",), y, variances, y[:, 0],
        tuple(editorial), x, pl.Series([str(at) for at in order]), np.zeros(len(names)),
    )  # fmt: skip


def place(*given, **more):
    sample = sample_of(*given, **more)
    return query_groups([sample])[0]


def value(at):
    (row,) = within(at).filter(editorial_metric="E", split=EVERY).to_dicts()
    return row


lists = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"), st.integers(1, 60), st.integers(0, 20), st.integers(0, 4)
    ),
    min_size=6, max_size=40,
)  # fmt: skip


def of(rows, **more):
    queries, sessions, clicks, grades = zip(*rows, strict=True)
    metrics = {"E": grades, "F": [grade**2 for grade in grades]}
    return place(list(queries), list(sessions), [c / 20 for c in clicks], metrics, **more)


@settings(max_examples=25)
@given(lists, st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-9, 9)))
def test_what_is_added_to_all_lists_of_a_query_changes_nothing(rows, added):
    moved = [(query, n, clicks, grade + added.get(query, 0)) for query, n, clicks, grade in rows]
    one, two = (value(of(some))["correlation"] for some in (rows, moved))
    assert two == (None if one is None else pytest.approx(one, abs=1e-9))


@settings(max_examples=25)
@given(lists)
def test_a_query_with_one_list_changes_nothing(rows):
    whole = within(of(rows)).drop("reason")
    more = within(of([*rows, ("only", 1000, 3, 4)])).drop("reason")
    assert more.equals(whole)


@settings(max_examples=25)
@given(lists)
def test_markets_together_are_the_sum_of_their_groups_and_a_query_is_counted_once(rows):
    one, other = of(rows, market="m"), of([(q, n, 20 - c, g) for q, n, c, g in rows], market="n")
    both = all_markets([one, other])
    assert both.key == SampleKey(EVERY, 5, EVERY)
    row = value(both)
    assert row["n_queries"] == value(one)["n_queries"]  # the same queries in both
    assert row["n_sessions"] == 2 * value(one)["n_sessions"]
    sums = [at.groups.values.sum(axis=0) for at in (one, other)]
    expected = both.correlations(sums[0] + sums[1])[0, 0]
    if row["correlation"] is not None:
        assert row["correlation"] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(lists)
def test_a_metric_that_orders_lists_as_clicks_do_has_one(rows):
    clicks = [c / 20 for _, _, c, _ in rows]
    at = place([q for q, *_ in rows], [n for _, n, *_ in rows], clicks, {"E": [2 * c + 1 for c in clicks]})
    row = value(at)
    if row["correlation"] is not None:
        assert row["correlation"] == pytest.approx(1, abs=1e-9)
        assert row["sign_agreement"] == pytest.approx(1, abs=1e-4)


def world(seed, adds, queries=16, lists=3, sessions=40):
    """Clicks that follow the first result, and what else a metric knows as much as `adds` says."""
    rng = np.random.default_rng(seed)
    size = queries * lists
    first, more = rng.integers(0, 5, size), rng.normal(size=size)
    clicks = 0.2 * first + adds * more + rng.normal(size=size)
    metrics = {"NDCG": first + more, "MeanGrade@1": first, "P@1": first > 2, "ERR": first + 0.1 * more}
    names = np.repeat([f"q{query:02}" for query in range(queries)], lists)
    return sample_of(names, rng.integers(1, sessions, size), clicks, metrics)


def regression(sample, metric, baseline, kept, *more):
    """Return the partial correlation of clicks with a metric: t / sqrt(t² + degrees of freedom)."""
    at = [sample.editorial_names.index(name) for name in (metric, baseline)]
    query = sample.query_index[kept]
    x = [
        sample.editorial_values[kept][:, at],
        query[:, None] == np.unique(query),
        *(one[kept] for one in more),
    ]
    n = sample.sessions[kept]
    fit = sm.WLS(sample.click_values[kept, 0], np.hstack(x).astype(float), weights=n / (n + 4)).fit()
    return fit.tvalues[0] / np.sqrt(fit.tvalues[0] ** 2 + fit.df_resid)


def rows_of(sample):
    every = within_comparisons(query_groups([sample])[0]).to_dicts()
    return {frozenset((row["metric_a"], row["metric_b"])): row for row in every}


@pytest.mark.parametrize("seed", range(3))
def test_values_and_errors_are_those_of_regressions_without_each_query(seed):
    sample = world(seed, adds=0.3)
    rows = rows_of(sample)
    for metric, baseline in (("NDCG", "MeanGrade@1"), ("NDCG", "P@1"), ("ERR", "MeanGrade@1")):
        row = rows[frozenset((metric, baseline))]
        everything = np.ones(len(sample.sessions), bool)
        value = regression(sample, metric, baseline, everything)
        assert row["partial"] == pytest.approx(value, abs=1e-9)
        q = len(sample.queries)
        left = [regression(sample, metric, baseline, sample.query_index != query) for query in range(q)]
        error, degrees = jackknife(np.arctanh(left))
        margin = t.ppf(0.975, degrees) * error
        ends = np.tanh(np.arctanh(value) + np.array([-margin, margin]))
        assert [row["partial_low"], row["partial_high"]] == pytest.approx(ends, abs=1e-9)
        p = 2 * t.sf(abs(np.arctanh(value)) / error, min(2 * degrees, q - 1))
        assert row["partial_p_value"] == pytest.approx(p, rel=1e-6)


def test_periods_are_regressors_too():
    sample = world(5, adds=0.3, queries=40)
    size = len(sample.sessions)
    counts = np.random.default_rng(6).integers(1, 9, (size, 4))
    counts[0] += counts.sum(axis=0).max() - counts.sum(axis=0)  # as many on each day: each is a period
    shares = counts / counts.sum(axis=1, keepdims=True)
    shown = Shown(np.repeat(np.arange(size), 4), np.tile(np.arange(4), size), counts.ravel())
    sample = replace(sample, sessions=counts.sum(axis=1), shown=shown)
    row = rows_of(sample)[frozenset(("NDCG", "P@1"))]
    everything = np.ones(size, bool)
    value = regression(sample, "NDCG", "P@1", everything, shares[:, 1:])
    assert row["partial"] == pytest.approx(value, abs=1e-9)
    assert row["partial"] != pytest.approx(regression(sample, "NDCG", "P@1", everything), abs=1e-3)


def test_only_a_metric_and_a_baseline_have_one_and_none_where_they_are_the_same():
    sample = world(1, adds=0.3)
    values = np.column_stack([sample.editorial_values, 2 * sample.editorial_values[:, 1]])
    sample = replace(sample, editorial_names=(*sample.editorial_names, "Twice"), editorial_values=values)
    known = {pair for pair, row in rows_of(sample).items() if row["partial"] is not None}
    metrics = {
        frozenset((metric, one)) for metric in ("NDCG", "ERR", "Twice") for one in ("MeanGrade@1", "P@1")
    }
    assert known == metrics - {frozenset(("Twice", "MeanGrade@1"))}
