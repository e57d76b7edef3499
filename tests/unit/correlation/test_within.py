"""Correlation within queries: worked by hand, and its laws."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample, SampleKey
from clickassay.correlation.comparisons import within_comparisons
from clickassay.correlation.tables import within
from clickassay.correlation.weighted import precision_weights
from clickassay.correlation.within.groups import NO_GROUP, all_markets, query_groups


def sample_of(queries, sessions, clicks, editorial, market="m", null=None):
    """A sample with one column of values for each name; a list of numbers is one metric."""
    names, index = np.unique(queries, return_inverse=True)
    order = np.argsort(index, kind="stable")
    clicks, editorial = (
        {"C": values} if not isinstance(values, dict) else values for values in (clicks, editorial)
    )
    y, x = (np.array(list(values.values()), dtype=float).T[order] for values in (clicks, editorial))
    n = np.array(sessions)[order]
    variances = np.where(n[:, None] < 2, np.nan, y * (1 - y) * n[:, None] / np.maximum(n[:, None] - 1, 1))
    success = np.array(y[:, 0] if null is None else np.array(null, dtype=float)[order])
    return Sample(
        SampleKey(market, 5, EVERY), tuple(names), index[order], n, tuple(clicks), y, variances, success,
        tuple(editorial), x, pl.Series([str(at) for at in order]), np.zeros(len(names)),
    )  # fmt: skip


def place(*given, **more):
    sample = sample_of(*given, **more)
    return query_groups([sample])[0]


def value(at, click="C", editorial="E"):
    (row,) = within(at).filter(click_metric=click, editorial_metric=editorial, split=EVERY).to_dicts()
    return row


def two_metrics(values):
    return {"E": values, "F": [number**2 for number in values]}


def test_two_queries_worked_by_hand():
    """Weights 1/2, 1/2 | 1/2, 2/3 (n = 4, 4 | 4, 8); deviations of a pair follow from its difference."""
    row = value(place(["a", "a", "b", "b"], [4, 4, 4, 8], [0.2, 0.6, 0.5, 0.1], {"E": [1, 3, 2, 1]}))
    # a pair with weights v, w and a difference d has w v / (v + w) d e: 1/4 and 2/7
    s_ec = 0.25 * 0.4 * 2 + 2 / 7 * 0.4 * 1
    s_ee, s_cc = 0.25 * 4 + 2 / 7, 0.25 * 0.16 + 2 / 7 * 0.16
    assert row["correlation"] == pytest.approx(s_ec / (s_ee * s_cc) ** 0.5, abs=1e-12)
    assert (row["n_queries"], row["n_configurations"], row["n_sessions"]) == (2, 4, 20)
    # the noise of a list is w (1 - w / W) s2 / n: 1/4 of both for a, 2/7 for b
    s2 = [0.2 * 0.8 * 4 / 3, 0.6 * 0.4 * 4 / 3, 0.5 * 0.5 * 4 / 3, 0.1 * 0.9 * 8 / 7]
    noise = 0.25 * (s2[0] / 4 + s2[1] / 4) + 2 / 7 * (s2[2] / 4 + s2[3] / 8)
    expected = None if noise >= s_cc else (1 - noise / s_cc) ** 0.5
    if expected is not None and expected < abs(row["correlation"]):
        expected = None  # so few lists tell no ceiling
    assert row["ceiling"] == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_a_list_has_half_the_weight_at_four_sessions():
    assert precision_weights(np.array([1, 4, 12, 996])).tolist() == [0.2, 0.5, 0.75, 0.996]


@pytest.mark.parametrize(
    ("clicks", "editorial", "reason"),
    [
        ([0.1, 0.1, 0.4, 0.4], [1, 2, 3, 4], "the click metric is the same in all rankings of each query"),
        ([0.1, 0.2, 0.4, 0.5], [1, 1, 3, 3], "the offline metric is the same in all rankings of each query"),
    ],
)
def test_what_differs_only_between_queries_has_no_value(clicks, editorial, reason):
    row = value(place(["a", "a", "b", "b"], [5, 5, 5, 5], clicks, {"E": editorial}))
    assert (row["correlation"], row["reason"], row["n_queries"]) == (None, reason, 2)


def test_queries_with_one_list_have_no_value_and_no_comparison():
    at = place(["a", "b"], [5, 5], [0.1, 0.2], two_metrics([1, 2]))
    row = value(at)
    assert (row["correlation"], row["reason"], row["n_queries"], row["n_sessions"]) == (None, NO_GROUP, 0, 0)
    assert within_comparisons(at).is_empty()


lists = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"), st.integers(1, 60), st.integers(0, 20), st.integers(0, 4)
    ),
    min_size=6, max_size=40,
)  # fmt: skip


def of(rows, **more):
    queries, sessions, clicks, grades = zip(*rows, strict=True)
    return place(list(queries), list(sessions), [c / 20 for c in clicks], two_metrics(grades), **more)


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


def test_ss_is_tested_against_what_clicks_that_ignore_grades_give():
    rng = np.random.default_rng(1)
    queries = np.repeat(np.arange(80), 2).astype(str).tolist()
    null = rng.random(160)
    sample = sample_of(
        queries,
        [30] * 160,
        {"SS": null, "C": rng.random(160)},
        {"E": null + 0.1 * rng.random(160)},
        null=null,
    )
    at = query_groups([sample])[0]
    row = value(at, "SS")
    assert 0.9 < row["null_correlation"] < row["correlation"]
    assert value(at)["null_correlation"] == 0


def test_simultaneous_intervals_are_wider_than_single_ones():
    rng = np.random.default_rng(2)
    queries = np.repeat(np.arange(100), 3).astype(str).tolist()
    editorial = {name: rng.random(300) for name in "EFGH"}
    at = place(queries, [9] * 300, rng.random(300), editorial)
    rows = within_comparisons(at)
    assert (rows["simultaneous_low"] < rows["ci_low"]).all()
    assert (rows["simultaneous_high"] > rows["ci_high"]).all()
    assert (rows["n_queries"] == 100).all()


def test_the_order_of_rows_does_not_matter():
    rows = [("a", 5, 3, 1), ("a", 9, 8, 3), ("b", 2, 4, 2), ("b", 7, 1, 0), ("c", 3, 9, 4), ("c", 3, 2, 1)]
    first = within(of(rows))
    again = within(of(rows[::-1]))
    names = [name for name, dtype in first.schema.items() if dtype == pl.Float64]
    for name in names:
        assert first[name].to_list() == pytest.approx(again[name].to_list(), abs=1e-12)


def test_metrics_may_be_left_out_without_changing_the_others():
    rows = [("a", 5, 3, 1), ("a", 9, 8, 3), ("b", 2, 4, 2), ("b", 7, 1, 0), ("c", 3, 9, 4), ("c", 3, 2, 1)]
    queries, sessions, clicks, grades = zip(*rows, strict=True)
    sample = sample_of(list(queries), list(sessions), [c / 20 for c in clicks], two_metrics(grades))
    alone = replace(sample, editorial_names=("E",), editorial_values=sample.editorial_values[:, :1])
    one, both = (value(query_groups([some])[0]) for some in (alone, sample))
    assert one["correlation"] == both["correlation"]
