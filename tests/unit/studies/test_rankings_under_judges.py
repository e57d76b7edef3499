"""The order of rankings under two judges: against SciPy, plain loops, and known orders."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from clickassay.studies.judges.rankings import rankings_under


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
        {"r": v, "s": v, "t": v + extra} for v, extra in ((np.arange(9.0), 1), (np.arange(9.0) ** 2, 1))
    )
    row, _ = compared(sides)
    assert row["tau"] == pytest.approx(1)
    assert row["tau_low"] == 1 == row["tau_high"]  # what is the same for every query needs no test


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


def test_intervals_of_tau_hold_the_true_tau():
    held = []
    for seed in range(300):
        (true, other), sides = worlds(
            seed, runs=4 + seed % 5, queries=20 + seed % 180, spread=0.02 + seed % 10 / 30
        )
        row, _ = compared(sides)
        tau = stats.kendalltau(true, other).statistic
        held.append(row["tau_low"] - 1e-9 <= tau <= row["tau_high"] + 1e-9)
    assert np.mean(held) >= 0.95


def test_two_equal_judges_change_no_pair():
    alarms = []
    for seed in range(300):
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
