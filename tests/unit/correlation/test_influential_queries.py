"""Influential queries against leaving them out from scratch."""

from dataclasses import replace

import numpy as np
import pytest

from clickassay.core.contracts.correlation import INFLUENCE
from clickassay.correlation.influence import MAX_QUERIES, influence
from support.one_correlation import weighted_correlation


def without(sample, queries, click=0, editorial=0):
    kept = ~np.isin(sample.query_index, [sample.queries.index(query) for query in queries])
    value, _ = weighted_correlation(
        sample.editorial_values[kept, editorial], sample.click_values[kept, click], sample.sessions[kept]
    )
    return value


def test_the_queries_named_are_those_whose_removal_moves_the_correlation_most(make_sample):
    sample = make_sample(4, queries=40, configurations=90)
    whole = without(sample, [])
    changes = {query: without(sample, [query]) - whole for query in sample.queries}
    rows = influence(sample).filter(click_metric="C0", editorial_metric="E0")
    for side, sign in (("raises", 1), ("lowers", -1)):
        expected = sorted(changes, key=lambda query: sign * changes[query])[:MAX_QUERIES]
        assert rows.filter(side=side)["query"].to_list() == expected


def test_correlations_without_one_and_without_several_are_recomputed_exactly(make_sample):
    sample = make_sample(7, queries=30, configurations=70)
    for (click, editorial, _), rows in influence(sample).group_by("click_metric", "editorial_metric", "side"):
        places = sample.click_names.index(click), sample.editorial_names.index(editorial)
        names = rows.sort("rank")["query"].to_list()
        for row in rows.iter_rows(named=True):
            assert row["without"] == pytest.approx(without(sample, [row["query"]], *places), abs=1e-10)
            these = names[: row["rank"]]
            assert row["without_these"] == pytest.approx(without(sample, these, *places), abs=1e-10)


def test_the_share_of_the_error_is_that_of_the_squared_changes(make_sample):
    sample = make_sample(2, queries=80, configurations=160, clicks=1, editorial=1)
    whole = without(sample, [])
    squares = {query: (without(sample, [query]) - whole) ** 2 for query in sample.queries}
    for row in influence(sample).iter_rows(named=True):
        assert row["error_share"] == pytest.approx(squares[row["query"]] / sum(squares.values()), abs=1e-9)


def test_sessions_are_those_of_the_query_and_ranks_ascend_without_gaps(make_sample):
    sample = make_sample(5, queries=25, configurations=60)
    rows = influence(sample)
    totals = np.bincount(sample.query_index, weights=sample.sessions)
    for row in rows.iter_rows(named=True):
        assert row["n_sessions"] == totals[sample.queries.index(row["query"])]
    for _, group in rows.group_by("click_metric", "editorial_metric", "side"):
        assert sorted(group["rank"]) == list(range(1, group.height + 1))
        assert group.height <= MAX_QUERIES


def test_a_query_without_which_there_is_no_correlation_ranks_first(make_sample):
    sample = make_sample(6, queries=60, configurations=60, clicks=1, editorial=1)
    editorial = np.zeros((60, 1))
    editorial[10] = 1
    first = influence(replace(sample, editorial_values=editorial)).filter(side="raises", rank=1)
    assert first["query"].to_list() == [sample.queries[10]]
    assert first.select("without", "without_these", "error_share").row(0) == (None, None, None)


def grouped(sample, size):
    """The sample whose queries are in groups of so many."""
    return replace(sample, units=tuple(f"group {place // size:03}" for place in range(len(sample.queries))))


def test_a_group_is_left_out_at_once_and_its_query_with_most_sessions_stands_for_it(make_sample):
    sample = grouped(make_sample(4, queries=40, configurations=90), 4)
    totals = np.bincount(sample.query_index, weights=sample.sessions)
    groups = [sample.queries[first : first + 4] for first in range(0, 40, 4)]
    whole = without(sample, [])
    changes = {}
    for place, group in enumerate(groups):
        most = group[int(np.argmax(totals[4 * place : 4 * place + 4]))]
        changes[most] = without(sample, group) - whole
    rows = influence(sample).filter(click_metric="C0", editorial_metric="E0")
    for side, sign in (("raises", 1), ("lowers", -1)):
        expected = sorted(changes, key=lambda one: sign * changes[one])
        expected = [query for query in expected if sign * changes[query] < 0][:MAX_QUERIES]
        found = rows.filter(side=side).sort("rank")
        assert found["query"].to_list() == expected
        for query, value in found.select("query", "without").iter_rows():
            assert value == pytest.approx(whole + changes[query], abs=1e-10)
    assert rows["n_sessions"].max() > totals.max()  # of the whole group


def test_one_query_alone_gives_an_empty_table(make_sample):
    sample = make_sample(1, queries=1, configurations=8)
    assert influence(sample).equals(INFLUENCE.empty())
