"""Draws: they follow q, nothing is paid twice, the budget holds, and more of it only adds draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling import plan
from clickassay.studies.labelling.plan import BLOCK, draw


def rng(seed=3):
    return np.random.default_rng(seed)


PLANS = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 5)), min_size=1, max_size=12).filter(
    lambda rows: any(pull for _, pull in rows)
)


@given(rows=PLANS, budget=st.integers(1, 40), seed=st.integers(0, 1000))
@settings(max_examples=150)
def test_algorithm_1_one_draw_after_the_other(rows, budget, seed):
    costs = np.array([cost / 2 for cost, _ in rows])
    q = np.array([pull for _, pull in rows]) / sum(pull for _, pull in rows)
    found = draw(costs, q, budget, rng(seed))
    paid, spent = set(), 0.0
    for place, first in zip(found.queries, found.paid, strict=True):
        assert q[place] > 0
        assert first == (place not in paid)
        spent += costs[place] if first else 0
        paid.add(place)
    assert found.spent == spent <= budget
    if len(paid) == np.count_nonzero(q):
        assert found.paid[-1]
    elif len(found.queries) < 100 * len(
        rows
    ):  # the next draw of the same generator would have passed the budget
        following = draw(costs, q, 10_000, rng(seed))
        place = following.queries[len(found.queries)]
        assert place not in paid
        assert spent + costs[place] > budget


@given(rows=PLANS, budget=st.integers(1, 20), more=st.integers(0, 20))
@settings(max_examples=60)
def test_a_larger_budget_only_adds_draws(rows, budget, more):
    q = np.array([pull for _, pull in rows]) / sum(pull for _, pull in rows)
    costs = np.array([cost for cost, _ in rows], dtype=float)
    small, large = draw(costs, q, budget, rng()), draw(costs, q, budget + more, rng())
    assert small.queries.tolist() == large.queries[: len(small.queries)].tolist()
    assert small.paid.tolist() == large.paid[: len(small.paid)].tolist()


def test_draws_of_several_blocks_follow_q(monkeypatch):
    monkeypatch.setattr(plan, "MAX_DRAWS_PER_QUERY", BLOCK)
    q = np.array([0.5, 0.3, 0.2, 1e-12, 0])  # the fourth keeps the pool from being complete
    found = draw(np.array([1, 1, 1, 1, 1], dtype=float), q, 3, rng()).queries
    counts = np.bincount(found, minlength=5)
    assert counts[3:].tolist() == [0, 0]
    assert stats.chisquare(counts[:3], np.array([0.5, 0.3, 0.2]) * 5 * BLOCK).pvalue > 0.001


def test_draws_are_independent_of_each_other(monkeypatch):
    monkeypatch.setattr(plan, "MAX_DRAWS_PER_QUERY", 7_000)
    q = np.array([0.25, 0.75, 1e-12])
    found = draw(np.array([1, 1, 1], dtype=float), q, 2, rng()).queries
    pairs = np.bincount(2 * found[:-1:2] + found[1::2], minlength=4)
    expected = np.outer(q[:2], q[:2]).ravel()
    assert stats.chisquare(pairs, expected / expected.sum() * pairs.sum()).pvalue > 0.001


def test_it_ends_after_a_hundred_draws_for_each_query():
    found = draw(np.array([1, 1, 9], dtype=float), np.array([0.5, 0.5 - 1e-9, 1e-9]), 5, rng())
    assert len(found.queries) == 300
    assert found.paid.sum() == 2


def test_an_empty_budget_is_refused():
    with pytest.raises(ActiveError, match="a budget of 0 buys no label"):
        draw(np.array([1], dtype=float), np.array([1.0]), 0, rng())
