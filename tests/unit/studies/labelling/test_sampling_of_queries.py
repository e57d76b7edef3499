"""Sampling distributions against the formula over all labels, the lemma, and expected errors by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling.moments import MEASURES, Moments, measure_moments
from clickassay.studies.labelling.pool import RankedDocuments, pool_of
from clickassay.studies.labelling.sampling import (
    VARIANTS,
    expected_error,
    introspective,
    sampling_distribution,
)
from support.runs.enumerated import distribution
from support.runs.given_pools import pool_from, small_pools


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rankings", [1, 2])
@given(data=st.data())
@settings(max_examples=25)
def test_q_is_the_formula_over_all_vectors_of_labels(rankings, measure, variant, data):
    grades, queries = data.draw(small_pools(rankings))
    found = sampling_distribution(pool_from(queries, grades), measure, variant)
    # squares of spreads agree to 1e-12; what is 0 may be the root of what rounding leaves where means meet
    assert list(found.q) == pytest.approx(distribution(queries, measure, variant), rel=1e-12, abs=1e-12)


def pool_of_three(*, probabilities=None, costs=(1, 4, 1), weights=(2, 1, 1), rankings=1):
    lists = [RankedDocuments(np.arange(3), np.arange(4))] * rankings
    rows = [[0.5, 0.5], [0.5, 0.5], [1, 0]] if probabilities is None else probabilities
    return pool_of(["a", "b", "c"], np.arange(4), rows, lists, costs=costs, weights=weights)


def test_what_a_budget_buys_worked_by_hand():
    # q = p: sum p^2/q E (L - R)^2 = (34/2 + 34/4 + 18/4)/128 = 30/128; a draw costs 1/2 + 1 + 1/4 = 7/4
    pool = pool_of_three()
    moments = measure_moments(pool, "DCG")
    passive = expected_error(pool, moments, pool.weights, 70)
    assert passive.value == pytest.approx(3 / 8)
    assert passive.sigma == pytest.approx(math.sqrt(30 / 128))
    assert passive.draws == pytest.approx(40)
    assert passive.error == pytest.approx(math.sqrt(30 / 128 / 40))
    assert passive.passive_budget == pytest.approx(70)
    best = expected_error(pool, moments, sampling_distribution(pool, "DCG").q, 70)
    assert best.error < passive.error
    assert expected_error(pool, moments, pool.weights, best.passive_budget).error == pytest.approx(best.error)


@pytest.mark.parametrize("measure", MEASURES)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_no_other_distribution_promises_a_smaller_error(measure, data, seed):
    grades, queries = data.draw(small_pools(1))
    pool = pool_from(queries, grades)
    moments = measure_moments(pool, measure)
    best = expected_error(pool, moments, sampling_distribution(pool, measure, moments=moments).q, 10)
    for other in np.random.default_rng(seed).dirichlet(np.ones(len(queries)), 20):
        assert expected_error(pool, moments, other, 10).error >= best.error * (1 - 1e-9)


def test_without_any_spread_queries_are_drawn_as_they_are_asked():
    found = sampling_distribution(pool_of_three(probabilities=[[0, 1]] * 3), "ERR")
    assert found.no_spread
    assert found.q.tolist() == [0.5, 0.25, 0.25]
    certain = pool_of_three(probabilities=[[0, 1]] * 3)
    expected = expected_error(certain, measure_moments(certain, "ERR"), found.q, 5)
    assert expected.error == 0
    assert math.isnan(expected.passive_budget)


def test_a_defence_mixes_with_p_and_bounds_the_weights():
    pool = pool_of_three(probabilities=[[0.5, 0.5], [0.5, 0.5], [1, 0]], weights=[1, 0, 1])
    plain = sampling_distribution(pool, "ERR").q
    defended = sampling_distribution(pool, "ERR", defensive_share=0.25).q
    assert defended == pytest.approx(0.75 * plain + 0.25 * pool.weights)
    asked = pool.weights > 0
    assert (pool.weights[asked] / defended[asked]).max() <= 4
    assert sampling_distribution(pool, "ERR", defensive_share=1).q == pytest.approx(pool.weights)


def test_a_query_that_matters_and_is_never_drawn_makes_the_error_infinite():
    pool = pool_of_three()
    found = expected_error(pool, measure_moments(pool, "DCG"), np.array([0.5, 0.5, 0]), 70)
    assert found.error == math.inf
    assert found.passive_budget == 0


def test_without_information_lists_that_agree_are_not_drawn_without_a_defensive_share():
    # both lists of "a" are the same: with equal probabilities for all grades its difference is 0, as is Delta
    probabilities = [[1, 0]] * 4
    lists = [
        RankedDocuments(np.array(places), np.array([0, 2, 4])) for places in ([0, 1, 2, 3], [0, 1, 3, 2])
    ]
    pool = pool_of(["a", "b"], [0, 2, 4], probabilities, lists, costs=[1, 1])
    assert sampling_distribution(pool, "ERR", "uniform relevance").q.tolist() == [0, 1]
    defended = sampling_distribution(pool, "ERR", "uniform relevance", defensive_share=0.2).q
    assert defended == pytest.approx([0.1, 0.9])


def test_what_rounding_leaves_of_no_difference_is_no_difference():
    pool = pool_of_three(weights=[1, 1, 2])
    left = Moments(np.array([0.1, 0.2, -0.15 + 1e-16]), np.full(3, 0.01))
    assert introspective(pool, left) == 0
    assert introspective(pool, Moments(np.array([0.1, 0.2, -0.1]), np.full(3, 0.01))) == pytest.approx(0.025)


def test_unknown_variants_shares_out_of_range_and_empty_budgets_are_refused():
    pool = pool_of_three()
    with pytest.raises(ActiveError, match="variant 'best' is unknown: give one of active, uniform relevance"):
        sampling_distribution(pool, "ERR", "best")
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(ActiveError, match="give a number from 0 to 1"):
            sampling_distribution(pool, "ERR", defensive_share=share)
    for budget in (0, -1, math.inf, math.nan):
        with pytest.raises(ActiveError, match="buys no label"):
            expected_error(pool, measure_moments(pool, "ERR"), pool.weights, budget)
