"""Click metrics of configurations: means and variances over sessions, against lists of single sessions."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from clickassay.core.errors import PatternError
from clickassay.metrics.clicks import CLICK_METRICS, click_entropy, click_values

DEPTH = 5
PATTERNS = st.lists(
    st.tuples(st.integers(0, 2**DEPTH - 1), st.integers(1, 7)),
    min_size=1,
    max_size=6,
    unique_by=lambda p: p[0],
)
WORLDS = st.lists(st.tuples(PATTERNS, st.integers(0, 2**DEPTH - 1)), min_size=1, max_size=5)


def session_values(mask, good):
    """The seven metrics of one session in the order of method 5, from a list of positions."""
    clicked = [position for position in range(1, 63) if mask >> (position - 1) & 1]
    if not clicked:
        return [0.0] * 7
    reciprocal = [1 / position for position in clicked]
    success = float(any(good >> (position - 1) & 1 for position in clicked))
    mean = sum(reciprocal) / len(reciprocal)
    count = len(clicked)
    return [1.0, reciprocal[0], mean, reciprocal[-1], count / clicked[-1], success, float(count)]


def rows_of(world):
    rows = [(index, mask, n) for index, (patterns, _) in enumerate(world) for mask, n in sorted(patterns)]
    return (*np.array(rows, dtype=np.int64).T, np.array([good for _, good in world], dtype=np.int64))


def compute(rows, order=slice(None), depth=DEPTH):
    configuration, masks, sessions, good = rows
    return click_values(configuration[order], masks[order], sessions[order], good, depth=depth)


@given(WORLDS)
def test_means_and_variances_are_those_of_the_list_of_sessions(world):
    found = compute(rows_of(world))
    for index, (patterns, good) in enumerate(world):
        sessions = [session_values(mask, good) for mask, n in patterns for _ in range(n)]
        assert found.sessions[index] == len(sessions)
        for column, values in enumerate(zip(*sessions, strict=True)):
            assert found.means[index, column] == pytest.approx(statistics.mean(values), rel=1e-14)
            if len(sessions) == 1:
                assert math.isnan(found.variances[index, column])
            else:
                expected = statistics.variance(values)
                assert found.variances[index, column] == pytest.approx(expected, rel=1e-12, abs=1e-30)


@given(WORLDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_a_bit(world, random):
    rows = rows_of(world)
    order = list(range(len(rows[0])))
    random.shuffle(order)
    plain, shuffled = compute(rows), compute(rows, order)
    assert plain.means.tobytes() == shuffled.means.tobytes()
    assert plain.variances.tobytes() == shuffled.variances.tobytes()


@given(WORLDS)
def test_spreading_sessions_over_several_rows_does_not_change_a_bit(world):
    configuration, masks, sessions, good = rows_of(world)
    spread = (
        np.repeat(configuration, sessions),
        np.repeat(masks, sessions),
        np.ones(sessions.sum(), int),
        good,
    )
    plain, single = compute((configuration, masks, sessions, good)), compute(spread)
    assert plain.means.tobytes() == single.means.tobytes()
    assert plain.variances.tobytes() == single.variances.tobytes()


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 62))
def test_a_metric_that_is_the_same_in_all_sessions_has_exactly_that_mean_and_no_variance(a, b, position):
    mask = 2 ** (position - 1)
    found = click_values(
        np.array([0, 1]), np.array([mask, mask]), np.array([a, b]), np.zeros(2, int), depth=62
    )
    maxrr = CLICK_METRICS.index("MaxRR")
    assert found.means[:, maxrr].tolist() == [1 / position, 1 / position]
    assert all(variance == 0 or math.isnan(variance) for variance in found.variances[:, maxrr])


def test_a_deep_table_gives_the_same_values_as_a_shallow_one_where_both_can():
    rng = np.random.default_rng(5)
    pairs = np.unique(rng.integers(0, [50, 1024], size=(800, 2)), axis=0)
    pairs = np.unique(np.concatenate([pairs, np.stack([np.arange(50), np.zeros(50, int)], axis=1)]), axis=0)
    rows = (pairs[:, 0], pairs[:, 1], rng.integers(1, 9, len(pairs)), rng.integers(0, 1024, 50))
    shallow, deep = compute(rows, depth=10), compute(rows, depth=40)
    assert shallow.means.tobytes() == deep.means.tobytes()


def test_unsigned_columns_in_any_order_are_read_as_numbers():
    found = click_values(
        np.array([1, 0], dtype=np.uint32),
        np.array([1, 2]),
        np.array([3, 4], dtype=np.uint8),
        np.array([0, 0]),
        depth=2,
    )
    assert found.means[:, CLICK_METRICS.index("MaxRR")].tolist() == [0.5, 1.0]
    assert found.sessions.tolist() == [4, 3]


def test_no_configuration_gives_empty_arrays():
    none = np.zeros(0, dtype=np.int64)
    found = click_values(none, none, none, none, depth=5)
    assert found.means.shape == found.variances.shape == (0, 7)


@pytest.mark.parametrize(
    ("configuration", "masks", "sessions", "good", "depth", "complaint"),
    [
        ([0], [32], [1], [0], 5, "click mask 32 does not fit depth 5"),
        ([0], [-1], [1], [0], 5, "click mask -1"),
        ([0], [1], [0], [0], 5, "0 sessions"),
        ([1], [1], [1], [0], 5, "outside the 1 configurations"),
        ([-1], [1], [1], [0], 5, "outside the 1 configurations"),
        ([0], [1], [1], [0, 0], 5, "1 of 2 configurations have no pattern row"),
        ([0], [1], [1], [0], 63, "expected 1..62"),
    ],
)
def test_rows_that_cannot_be_are_refused(configuration, masks, sessions, good, depth, complaint):
    columns = [np.array(column, dtype=np.int64) for column in (configuration, masks, sessions, good)]
    with pytest.raises(PatternError, match=complaint):
        click_values(*columns, depth=depth)


CLICKED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 20)), max_size=12)


@given(CLICKED)
def test_click_entropy_is_scipys_entropy_in_bits_of_the_summed_clicks(rows):
    table = np.zeros((4, 6))
    for query, url, clicks in rows:
        table[query, url] += clicks
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    found = click_entropy(*columns, queries=4)
    expected = [entropy(row, base=2) if row.sum() else 0.0 for row in table]
    np.testing.assert_allclose(found, expected, atol=1e-14)


@given(CLICKED, st.permutations(range(6)), st.randoms(use_true_random=False))
def test_click_entropy_knows_neither_the_order_of_rows_nor_the_numbers_of_urls(rows, renumbered, random):
    shuffled = [(query, renumbered[url], clicks) for query, url, clicks in rows]
    random.shuffle(shuffled)
    plain, other = (
        click_entropy(*np.array(each, dtype=np.int64).reshape(-1, 3).T, queries=4)
        for each in (rows, shuffled)
    )
    assert plain.tobytes() == other.tobytes()


def test_click_entropy_of_four_urls_clicked_alike_is_two_bits():
    query, url, clicks = np.zeros(4, int), np.arange(4), np.full(4, 7)
    assert click_entropy(query, url, clicks, queries=2).tolist() == [2.0, 0.0]


@pytest.mark.parametrize(("query", "clicks"), [(0, -1), (2, 1), (-1, 1)])
def test_click_entropy_refuses_negative_clicks_and_unknown_queries(query, clicks):
    with pytest.raises(PatternError, match="must not be negative"):
        click_entropy(np.array([query]), np.array([0]), np.array([clicks]), queries=2)
