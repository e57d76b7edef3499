"""Moments against enumeration of all labels, drawn labels, and laws."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling.moments import (
    MEASURES,
    difference_moments,
    measure_moments,
    performance_moments,
)
from clickassay.studies.labelling.moments import performance as performance_by_labels
from clickassay.studies.labelling.pool import RankedDocuments, pool_of
from support.runs.enumerated import Query, moments, performance
from support.runs.given_pools import pool_from, small_pools

EXACT = partial(pytest.approx, rel=1e-12, abs=1e-12)


def agree(found, queries, measure):
    expected = [moments(query, measure) for query in queries]
    assert list(found.mean) == EXACT([float(mean) for mean, _ in expected])
    assert list(found.second) == EXACT([float(second) for _, second in expected])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rankings", [1, 2])
@given(data=st.data())
@settings(max_examples=30)
def test_moments_are_those_of_all_vectors_of_labels(measure, rankings, data):
    grades, queries = data.draw(small_pools(rankings))
    agree(measure_moments(pool_from(queries, grades), measure), queries, measure)


@pytest.mark.parametrize("measure", MEASURES)
@given(data=st.data(), k=st.integers(1, 3))
@settings(max_examples=40)
def test_a_cut_off_leaves_the_moments_of_shorter_lists(measure, data, k):
    grades, queries = data.draw(small_pools(2))
    shorter = [Query(q.probabilities, [places[:k] for places in q.rankings]) for q in queries]
    whole = pool_from(queries, grades)
    cut = tuple(one.cut_each(np.full(len(queries), k)) for one in whole.rankings)
    agree(difference_moments(replace(whole, rankings=cut), measure), shorter, measure)


@pytest.mark.parametrize("measure", MEASURES)
@given(data=st.data())
@settings(max_examples=40)
def test_performance_by_labels_is_its_definition_and_nan_where_a_label_lacks(measure, data):
    grades, queries = data.draw(small_pools(1))
    pool = pool_from(queries, grades)
    size = len(pool.probabilities)
    drawn = data.draw(st.lists(st.integers(-1, grades - 1), min_size=size, max_size=size))
    labels = np.array(drawn, dtype=int)
    found = performance_by_labels(pool, pool.rankings[0], labels, measure)
    for number, query in enumerate(queries):
        own = labels[pool.offsets[number] : pool.offsets[number + 1]]
        if any(own[z] < 0 for z in query.rankings[0]):
            assert math.isnan(found[number])
        else:
            expected = performance(query.rankings[0], [int(y) for y in own], measure, grades)
            assert found[number] == EXACT(float(expected))


def long_pool(lists, copies=1):
    """Copies of one query of 1,200 documents, whose lists have them nearly in the order of relevance."""
    rng = np.random.default_rng(11)
    relevant = np.linspace(0.4, 0.02, 1200)
    row = np.stack([1 - relevant, 0.6 * relevant, 0.3 * relevant, 0.1 * relevant], axis=1)
    offsets = 1200 * np.arange(copies + 1)
    orders = [np.argsort(np.arange(1200) + rng.normal(0, 20, 1200)) for _ in range(lists)]
    rankings = [RankedDocuments((order + offsets[:-1, None]).ravel(), offsets) for order in orders]
    probabilities = np.tile(row, (copies, 1))
    return pool_of(range(copies), offsets, probabilities, rankings, costs=np.ones(copies))


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("lists", [1, 2])
def test_lists_of_1200_documents_have_the_moments_of_drawn_labels(measure, lists):
    found = measure_moments(long_pool(lists), measure)
    assert np.isfinite([found.mean, found.variance]).all()
    pool = long_pool(lists, copies=1000)
    chance = np.random.default_rng(12).random((len(pool.probabilities), 1))
    labels = (chance > np.cumsum(pool.probabilities, axis=1)[:, :-1]).sum(axis=1)
    each = [performance_by_labels(pool, ranking, labels, measure) for ranking in pool.rankings]
    drawn = each[0] - each[1] if lists == 2 else each[0]
    for power, expected in ((1, found.mean), (2, found.second)):
        sample = drawn**power
        assert abs(sample.mean() - expected[0]) < 4 * sample.std() / math.sqrt(len(sample))


@pytest.mark.parametrize("measure", MEASURES)
def test_a_ranking_does_not_differ_from_itself(measure):
    pool = long_pool(1)
    pool = pool_of(pool.queries, pool.offsets, pool.probabilities, pool.rankings * 2, costs=pool.costs)
    found = difference_moments(pool, measure)
    assert found.mean.tolist() == [0]
    assert found.variance.tolist() == [0]


def difference_of_the_last_two(probabilities, size):
    """Return the moments of ERR of two lists of like documents, of which the last two change places."""
    lists = [[*range(size)], [*range(size - 2), size - 1, size - 2]]
    rankings = [RankedDocuments(np.array(places), np.array([0, size])) for places in lists]
    return difference_moments(
        pool_of(["a"], [0, size], np.tile(probabilities, (size, 1)), rankings, costs=[1]), "ERR"
    )


def test_a_difference_far_down_two_long_lists_keeps_its_variance():
    # the last two of 100 change places: delta = prod (1 - l) (l_a - l_b - ...) by a pool of these two alone
    found = difference_of_the_last_two([0.5, 0.5], 100)
    # V = l_a / 99 + (1 - l_a) l_b / 100, l = 0 or 1/2: a and b count (l_a - l_b)(1/99 - 1/100);
    # E (l_a - l_b)^2 = 2 Var l = 1/8, and E (1 - l)^2 = (1 + 1/4) / 2 = 5/8 for each of 98 before them
    assert found.mean.tolist() == [0]
    assert found.variance[0] == pytest.approx((1 / 99 - 1 / 100) ** 2 / 8 * (5 / 8) ** 98, rel=1e-9)


def test_lists_that_share_a_long_top_of_doubtful_documents_have_finite_moments():
    # E P^2 / (E P)^2 of 1,300 such documents is beyond 1e308; P itself is all but 0
    found = difference_of_the_last_two([0.5, 0, 0, 0, 0.5], 1302)
    assert found.mean.tolist() == [0]
    assert 0 <= found.variance[0] < 1e-300


def test_unknown_measures_lacking_rankings_and_grades_off_the_scale_are_refused():
    pool = long_pool(1)
    with pytest.raises(ActiveError, match="measure 'MAP' is unknown: give one of ERR, DCG"):
        performance_moments(pool, pool.rankings[0], "MAP")
    with pytest.raises(ActiveError, match="a difference needs two rankings"):
        difference_moments(pool, "ERR")
    for grade in (4, -2):
        with pytest.raises(ActiveError, match=r"off the scale 0\.\.3"):
            performance_by_labels(pool, pool.rankings[0], np.full(1200, grade), "ERR")
