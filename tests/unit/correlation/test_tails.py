"""The shape of sessions per query: power laws are found, and told from lognormal ones."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.uncertainty.intervals import (
    CORRELATION_INDEX,
    DIFFERENCE_INDEX,
    is_heavy,
    tail_index,
)

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
