"""Laws of correlations within queries; their numbers are those of the oracle."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample, SampleKey
from clickassay.correlation.tables import within
from clickassay.correlation.within.groups import all_markets, query_groups


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
