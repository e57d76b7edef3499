"""SS when click patterns ignore the grades, against loops, hand-worked shares and dealt patterns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.correlation.weighted import deviations, null_of_deviations
from clickassay.metrics import clicks as null
from clickassay.metrics.clicks import null_success

MASKS = st.lists(st.tuples(st.integers(0, 31), st.integers(1, 9)), min_size=1, max_size=8)


def success(good, patterns):
    masks, sessions = (np.array(column, dtype=np.int64) for column in zip(*patterns, strict=True))
    return null_success(np.array(good, dtype=np.int64), masks, sessions)


def null_correlations(success, editorial, sessions):
    return null_of_deviations(success, deviations(editorial, sessions), sessions)


@given(st.lists(st.integers(0, 31), max_size=8), MASKS)
def test_a_share_counts_the_sessions_whose_pattern_meets_a_good_place(good, patterns):
    total = sum(sessions for _, sessions in patterns)
    expected = [sum(sessions for mask, sessions in patterns if mask & one) / total for one in good]
    assert success(good, patterns).tolist() == pytest.approx(expected, rel=1e-14)


@given(st.lists(st.integers(0, 31), min_size=1, max_size=8), MASKS, st.data())
def test_patterns_may_be_repeated_and_in_any_order(good, patterns, data):
    mask, sessions = patterns[0]
    part = data.draw(st.integers(0, sessions))
    split = data.draw(st.permutations([(mask, part), (mask, sessions - part), *patterns[1:]]))
    assert success(good, split).tolist() == success(good, patterns).tolist()


def test_deep_masks_keep_all_their_places():
    last = 1 << 61
    assert success([last, 1], [(last, 1), (0, 3)]).tolist() == [0.25, 0.0]


def test_work_in_small_blocks_gives_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    good = rng.integers(0, 32, 40).tolist()
    patterns = list(zip(rng.integers(0, 32, 20).tolist(), rng.integers(1, 9, 20).tolist(), strict=True))
    whole = success(good, patterns)
    monkeypatch.setattr(null, "_PAIRS_AT_ONCE", 30)
    assert success(good, patterns).tolist() == whole.tolist()


def test_the_most_frequent_masks_stand_for_all_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(null, "MASKS_USED", 2)
    assert success([0b01, 0b10], [(0b10, 1), (0b01, 30), (0b11, 2), (0b00, 10)]).tolist() == [0.75, 0.0]


def test_no_configuration_or_no_session_gives_no_share():
    assert success([], [(1, 1)]).shape == (0,)
    assert null_success(np.array([1]), np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == [0.0]


def test_the_null_correlation_is_that_of_patterns_dealt_regardless_of_grades():
    """Every session of every configuration takes a pattern at random; SS then looks at the grades."""
    rng = np.random.default_rng(4)
    grades = rng.choice(5, size=(400, 5), p=[0.4, 0.25, 0.2, 0.1, 0.05])
    good = (grades >= 2) @ (1 << np.arange(5))
    sessions = rng.integers(1, 40, 400)
    discount = 1 / np.log2(np.arange(2, 7))
    editorial = np.stack([(2.0**grades - 1) @ discount, grades[:, 0], -grades[:, 4]], axis=1)
    masks = np.array([0b0, 0b1, 0b10, 0b11, 0b10100])
    chances = np.array([0.5, 0.3, 0.1, 0.06, 0.04])
    owner = np.repeat(np.arange(400), sessions)
    dealt = []
    for _ in range(300):
        met = rng.choice(masks, size=len(owner), p=chances) & good[owner] != 0
        shares = np.bincount(owner, weights=met) / sessions
        y = shares - np.average(shares, weights=sessions)
        x = editorial - np.average(editorial, axis=0, weights=sessions)
        products, squares = (sessions * y) @ x, ((sessions * y) @ y) * (sessions @ x**2)
        dealt.append(products / np.sqrt(squares))
    expected = np.mean(dealt, axis=0)
    assert expected[0] > 0.3  # SS goes with DCG though no click looks at grades
    share = null_success(good, masks, (chances * 10_000).astype(np.int64))
    found = null_correlations(share, editorial, sessions)
    error = np.std(dealt, axis=0) / np.sqrt(300)
    assert (np.abs(found - expected) < 4 * error + 0.002).all()


def test_endless_sessions_leave_the_plain_correlation_of_the_shares():
    rng = np.random.default_rng(5)
    share, editorial = rng.random(30), rng.random((30, 2))
    found = null_correlations(share, editorial, np.full(30, 10**9))
    np.testing.assert_allclose(found, np.corrcoef(share, editorial, rowvar=False)[0, 1:], rtol=1e-6)


def test_single_sessions_are_as_noisy_as_a_coin():
    # two configurations, one session each: sum of squares 2 0.1^2 + (0.24 + 0.24)(1 - 1/2)
    found = null_correlations(np.array([0.4, 0.6]), np.array([[1.0], [2.0]]), np.array([1, 1]))
    assert found == pytest.approx([0.1 / np.sqrt((0.02 + 0.24) * 0.5)], rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_success_that_is_certain_or_impossible_has_no_null_correlation(share):
    assert np.isnan(
        null_correlations(np.full(3, share), np.array([[1.0], [2], [4]]), np.array([3, 1, 2]))
    ).all()


def test_a_success_as_likely_everywhere_has_a_null_correlation_of_0():
    found = null_correlations(np.full(3, 0.3), np.array([[1.0, 5], [2, 5], [4, 5]]), np.array([3, 1, 2]))
    assert found[0] == 0
    assert np.isnan(found[1])  # the metric does not vary
