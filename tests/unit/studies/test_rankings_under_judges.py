"""The order of rankings under two judges: against SciPy, plain loops, and known orders."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from clickassay.studies.judges.rankings import rankings_under
from support.tiers import first


def worlds(seed, *, runs=6, queries=60, spread=0.1, bias=0.03):
    """Return true means under two judges, and values (Q,) of each run by each."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0.5, spread, runs)
    other = true + rng.normal(0, bias, runs)
    base = rng.normal(0, 0.2, (queries, runs))
    one, two = true + base, other + base + rng.normal(0, 0.1, (queries, runs))
    named = tuple({f"r{at}": side[:, at] for at in range(runs)} for side in (one, two))
    return (true, other), named


def compared(sides):
    orders, pairs = rankings_under(("a", "b"), "nDCG@10", sides)
    return orders.row(0, named=True), pairs


def means(side):
    return np.array([values.mean() for values in side.values()])


def tau_ap(of, by):
    """Yilmaz, Aslam and Robertson (2008): the list `of` ranked, correct by the order of `by`."""
    order = list(np.argsort(-np.asarray(of)))
    right = [
        sum(by[above] > by[order[place]] for above in order[:place]) / place for place in range(1, len(order))
    ]
    return 2 / (len(order) - 1) * sum(right) - 1


@pytest.mark.parametrize("seed", range(5))
def test_tau_is_that_of_scipy_and_tau_ap_the_mean_of_both_directions(seed):
    _, sides = worlds(seed)
    row, _ = compared(sides)
    one, two = (means(side) for side in sides)
    assert row["tau"] == pytest.approx(stats.kendalltau(one, two).statistic)
    assert row["tau_ap"] == pytest.approx((tau_ap(one, two) + tau_ap(two, one)) / 2)
    assert row["tau_low"] <= row["tau"] <= row["tau_high"]
    assert row["tau_ap_low"] <= row["tau_ap"] <= row["tau_ap_high"]


def test_ties_count_as_in_scipy():
    sides = tuple(
        {"r": v, "s": v, "t": v + 1 + np.arange(9) % 2} for v in (np.arange(9.0), np.arange(9.0) ** 2)
    )
    row, _ = compared(sides)
    assert row["tau"] == pytest.approx(1)
    assert row["tau_low"] == pytest.approx(1 / 3)  # runs that are equal in these queries settle nothing
    assert row["tau_high"] == 1


_VALUE = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.integers(2, 5), st.integers(2, 12), st.data())
def test_tau_is_that_of_scipy_and_lies_within_its_interval_whatever_is_tied(runs, queries, data):
    one, two = (data.draw(arrays(float, (queries, runs), elements=_VALUE)) for _ in range(2))
    two = np.where(data.draw(arrays(bool, (queries, 1))), two, one)
    two += data.draw(st.sampled_from([0, 1])) * np.arange(runs)[::-1]  # another order, known for sure
    row, _ = compared(tuple({f"r{at}": side[:, at] for at in range(runs)} for side in (one, two)))
    plain = stats.kendalltau(one.mean(axis=0), two.mean(axis=0)).statistic
    assert row["tau"] is None if np.isnan(plain) else row["tau"] == pytest.approx(plain)
    if row["tau"] is not None:
        assert row["tau_low"] <= row["tau"] <= row["tau_high"]
    assert row["tau_ap_low"] <= row["tau_ap"] <= row["tau_ap_high"]


@pytest.mark.parametrize("queries", [10, 25])
def test_intervals_of_tau_hold_where_judges_differ_rarely_and_much(queries):
    held = []
    for seed in range(60):
        rng = np.random.default_rng((seed, queries))
        one = np.clip(rng.normal(0.5, 0.08, 4) + rng.normal(0, 0.2, (2_000, 4)), 0, 1)
        two = one.copy()  # but for 5% of the queries, for which it takes the worst run for the best
        two[:100, one.mean(axis=0).argmin()], two[:100, one.mean(axis=0).argmax()] = 1, 0
        drawn = rng.integers(0, 2_000, queries)
        row, _ = compared(tuple({f"r{at}": side[drawn, at] for at in range(4)} for side in (one, two)))
        truth = stats.kendalltau(one.mean(axis=0), two.mean(axis=0)).statistic
        held.append(row["tau_low"] - 1e-9 <= truth <= row["tau_high"] + 1e-9)
    assert np.mean(held) >= 0.95


def test_pairs_have_the_tests_of_scipy_corrected_by_holm():
    _, sides = worlds(7)
    _, pairs = compared(sides)
    plain = {}
    for one, two in combinations(sides[0], 2):
        a, b = (side[two] - side[one] for side in sides)
        plain[one, two] = (a.mean(), stats.ttest_1samp(a, 0).pvalue, stats.ttest_1samp(b - a, 0).pvalue)
    ordered = sorted(p for _, p, _ in plain.values())
    holm = {
        p: max(min(1, q * (len(ordered) - k)) for k, q in enumerate(ordered[: at + 1]))
        for at, p in enumerate(ordered)
    }
    for row in pairs.iter_rows(named=True):
        difference, p, _ = plain[row["baseline"], row["run"]]
        assert row["difference_a"] == pytest.approx(difference)
        assert row["p_holm_a"] == pytest.approx(holm[p])
        assert row["change"] == pytest.approx(row["difference_b"] - row["difference_a"])
        assert row["ci_low"] < row["change"] < row["ci_high"]
    smallest = min(p for _, _, p in plain.values())
    assert pairs["p_holm"].min() == pytest.approx(min(1, smallest * len(plain)))


@pytest.mark.parametrize("seeds", first(1, [range(80), range(80, 200)]), ids=str)
def test_intervals_of_tau_hold_the_true_tau(seeds):
    held = []
    for seed in seeds:
        (true, other), sides = worlds(
            seed, runs=4 + seed % 5, queries=20 + seed % 180, spread=0.02 + seed % 10 / 30
        )
        row, _ = compared(sides)
        tau = stats.kendalltau(true, other).statistic
        held.append(row["tau_low"] - 1e-9 <= tau <= row["tau_high"] + 1e-9)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize("seeds", first(1, [range(80), range(300)]), ids=str)
def test_two_equal_judges_change_no_pair(seeds):
    alarms = []
    for seed in seeds:
        _, sides = worlds(seed, bias=0.0)
        row, _ = compared(sides)
        alarms.append(row["changed"] > 0)
        assert row["opposite"] == 0
    assert np.mean(alarms) <= 0.075  # 0.05, and what 300 worlds leave open


def test_a_judge_that_turns_two_rankings_around_is_found():
    rng = np.random.default_rng(0)
    base = rng.normal(0.5, 0.1, 100)
    sides = (
        {"old": base, "new": base + rng.normal(0.1, 0.1, 100), "same": base + rng.normal(0.0, 0.01, 100)},
        {"old": base, "new": base + rng.normal(-0.1, 0.1, 100), "same": base + rng.normal(0.0, 0.01, 100)},
    )
    row, pairs = compared(sides)
    assert row["opposite"] >= 1
    turned = pairs.filter(baseline="old", run="new").row(0, named=True)
    assert turned["difference_a"] > 0 > turned["difference_b"]
    assert turned["p_holm"] < 0.001
    assert row["tau_high"] < 1


def test_rankings_that_are_all_equal_have_no_tau():
    values = np.arange(30.0)
    row, pairs = compared(({"r": values, "s": values}, {"r": values, "s": values + np.arange(30)}))
    assert row["tau"] is None
    assert pairs["p_holm_a"].to_list() == [None]
    assert row["only_b"] == 1
