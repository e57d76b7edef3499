"""Algorithm 3 and its limit against plain loops, big Monte Carlo runs, and known sampling noise."""

import dataclasses
import math

import numpy as np
import pytest

from clickassay.correlation import rankers
from clickassay.correlation.rankers import (
    draw_pairs,
    exact_correlations,
    monte_carlo_correlations,
    query_covariances,
    ranker_differences,
    within_queries,
)
from clickassay.correlation.tables import differences


def exact(sample):
    within = within_queries(sample)
    return exact_correlations(query_covariances(within).sum(axis=0), within.n_clicks)


def drawn(sample, *, iterations=50, seed=0):
    return drawn_within(within_queries(sample), iterations, seed).values


def drawn_within(within, iterations, seed):
    deltas = ranker_differences(within, iterations=iterations, rng=np.random.default_rng(seed))
    return monte_carlo_correlations(deltas, within.n_clicks)


def table(sample, *, iterations=50, seed=0):
    return differences(sample, iterations=iterations, rng=np.random.default_rng(seed))[0]


def array(frame, column):
    return frame[column].cast(float).fill_null(math.nan).to_numpy().reshape(2, 3)


def test_many_iterations_tend_to_the_closed_form(make_sample):
    sample = make_sample(2)
    iterations = 60_000
    found = table(sample, iterations=iterations)
    limit = exact(sample)
    error = (1 - limit**2) / math.sqrt(iterations)
    assert (np.abs(array(found, "monte_carlo") - limit) < 4.5 * error).all()
    np.testing.assert_allclose(array(found, "monte_carlo_se"), error, rtol=0.1)


def test_every_query_gives_two_different_configurations_all_ordered_pairs_equally_often():
    sizes = np.array([2, 3, 5])
    a, b = draw_pairs(sizes, iterations=60_000, rng=np.random.default_rng(3))
    for query, size in enumerate(sizes):
        pairs = a[:, query] * size + b[:, query]
        found = np.bincount(pairs, minlength=size * size).reshape(size, size) / len(pairs)
        assert np.diag(found).tolist() == [0.0] * size
        np.testing.assert_allclose(found[~np.eye(size, dtype=bool)], 1 / (size * (size - 1)), atol=0.009)


@pytest.mark.parametrize(
    "constants", [{"DRAWS_AT_ONCE": 2000}, {"MAX_PLACES": 1}, {"MAX_PLACES": 3, "DRAWS_AT_ONCE": 300}, {}]
)
def test_the_differences_are_those_of_a_loop_over_the_same_pairs(make_sample, monkeypatch, constants):
    for name, value in constants.items():
        monkeypatch.setattr(rankers, name, value)
    sample = make_sample(2)
    within = within_queries(sample)
    found = ranker_differences(within, iterations=100, rng=np.random.default_rng(5))
    rng, looped = np.random.default_rng(5), np.zeros((100, 5))
    order = sorted(range(len(within.sizes)), key=lambda query: within.sizes[query])
    block = max(1, rankers.DRAWS_AT_ONCE // 100)
    values = np.concatenate([sample.click_values, sample.editorial_values], axis=1)
    for first in range(0, len(order), block):
        queries = order[first : first + block]
        a, b = draw_pairs(within.sizes[queries], iterations=100, rng=rng)
        for iteration in range(100):
            for place, query in enumerate(queries):
                rows = within.rows[within.starts[query] :]
                looped[iteration] += values[rows[a[iteration, place]]] - values[rows[b[iteration, place]]]
    np.testing.assert_allclose(found, looped / len(order), rtol=1e-9, atol=1e-13)


def test_draws_that_never_differ_have_no_correlation(make_sample):
    sample = make_sample(1, queries=1, configurations=2)
    within = within_queries(sample)
    seeds = [
        seed for seed in range(50) if len(set((np.random.default_rng(seed).random(2) < 0.5).tolist())) == 1
    ]
    found = drawn_within(within, 2, seeds[0])
    assert np.isnan(found.values).all()
    assert "every draw" in found.reasons[0][0]


def test_draws_depend_on_the_seed_and_the_depth_and_the_closed_form_on_neither(make_sample):
    sample = make_sample(1, queries=40, configurations=130)
    deeper = dataclasses.replace(sample, key=dataclasses.replace(sample.key, depth=10))
    here, same, other = (table(sample, iterations=20, seed=seed) for seed in (1, 1, 2))
    assert here.equals(same)
    drawn = ["depth", "monte_carlo", "monte_carlo_se"]
    for found in (other, table(deeper, iterations=20, seed=1)):
        assert found.drop(drawn).equals(here.drop(drawn))
        assert not found["monte_carlo"].equals(here["monte_carlo"])
