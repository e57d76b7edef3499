"""Pairs in order, calls and metrics compared, against SciPy, statsmodels and plain loops."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, norm
from statsmodels.stats.multitest import multipletests

from clickassay.correlation.uncertainty.intervals import benjamini_hochberg, difference_interval
from clickassay.studies.experiments.order import (
    BOLDNESS,
    PastTests,
    detectable,
    experiment_order,
    groups_needed,
    pairs_in_order,
)
from support.one_correlation import jackknife


def past(difference, values, *, ideas=None, error=0.1, changed=None, metrics=None):
    """Return tests with these differences of users and of metrics."""
    difference, values = np.array(difference, float), np.array(values, float)
    values = values.reshape(len(difference), -1)
    error = np.broadcast_to(np.array(error, float), difference.shape)
    names = tuple(f"t{at:03d}" for at in range(len(difference)))
    p = 2 * norm.sf(np.abs(difference / error))
    metrics = metrics or tuple("ABCDEFG"[: values.shape[1]])
    return PastTests(names, ideas or names, difference, error, p, metrics, values, changed)


def row_of(order, name="A"):
    return order.filter(editorial_metric=name).row(0, named=True)


def world(seed, tests=24, metrics=2, relation=0.7):
    rng = np.random.default_rng(seed)
    users = rng.standard_normal(tests)
    return users, relation * users[:, None] + 0.6 * rng.standard_normal((tests, metrics)), rng


@pytest.mark.parametrize("seed", range(5))
def test_pairs_in_order_are_kendalls_tau_of_all_pairs(seed):
    users, values, _ = world(seed)
    found = pairs_in_order(users, values, np.arange(len(users)))
    taus = [kendalltau(users, values[:, at]).statistic for at in range(values.shape[1])]
    assert found.value == pytest.approx([(1 + tau) / 2 for tau in taus], abs=1e-12)


def by_loop(users, values, groups, without=None):
    """Return the share by the definition: pairs of two groups, ties count half."""
    kept = [at for at in range(len(users)) if groups[at] != without]
    pairs = [(a, b) for a, b in combinations(kept, 2) if groups[a] != groups[b]]
    product = [np.sign(users[a] - users[b]) * np.sign(values[a] - values[b]) for a, b in pairs]
    return np.mean([(1 + one) / 2 for one in product])


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_left_out_as_in_a_plain_loop(seed):
    users, values, rng = world(seed, tests=30, metrics=1)
    users, values = users.round(1), values.round(1)  # ties
    groups = rng.integers(0, 12, 30)
    found = pairs_in_order(users, values, groups)
    assert found.value[0] == pytest.approx(by_loop(users, values[:, 0], groups))
    left = np.array([by_loop(users, values[:, 0], groups, one) for one in np.unique(groups)])
    assert found.deviations[:, 0] + found.value[0] == pytest.approx(left)
    assert found.spread.error[0] == pytest.approx(jackknife(left)[0])


def test_where_all_pairs_are_in_order_the_interval_is_not_a_point():
    users = np.arange(12.0)
    found = pairs_in_order(users, users[:, None], np.arange(12))
    low, high = difference_interval(found.value, found.spread)
    assert found.value[0] == 1
    assert 0.8 < low[0] < 1 < high[0]
    order = experiment_order(past(users, users), "A", 0.05)
    assert (row_of(order)["ci_high"], row_of(order)["kind"]) == (1.0, "follows")


def test_a_test_more_often_is_no_more_evidence_if_it_is_of_one_idea():
    users, values, _ = world(5, tests=15, metrics=1)
    ideas = tuple(f"i{at}" for at in range(15))
    once = row_of(experiment_order(past(users, values, ideas=ideas), "A", 0.05))
    often = past(np.repeat(users, 4), np.repeat(values, 4), ideas=tuple(np.repeat(ideas, 4)))
    again = row_of(experiment_order(often, "A", 0.05))
    assert [again[name] for name in ("in_order", "ci_low", "ci_high", "groups")] == pytest.approx(
        [once[name] for name in ("in_order", "ci_low", "ci_high", "groups")]
    )


@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_adjusted_as_statsmodels_adjusts_them(seed):
    p = np.random.default_rng(seed).random(40) ** 3
    p[::7] = p[3]  # ties
    holed = np.insert(p, 5, np.nan)
    found = benjamini_hochberg(holed)
    assert np.isnan(found[5])
    assert np.delete(found, 5) == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_calls_are_counted_among_the_tests_that_moved():
    users = [1.0, 2.0, -1.0, -2.0, 0.01, 3.0, 1.5]
    values = [1.0, -1.0, 1.0, -1.0, 1.0, 0.0, 1.0]
    row = row_of(experiment_order(past(users, values), "A", 0.05))
    assert {name: row[name] for name in ("moved", "always_better", "better_right")} == {
        "moved": 6, "always_better": 4, "better_right": 2,
    }  # fmt: skip
    assert (row["better_wrong"], row["worse_right"], row["worse_wrong"]) == (1, 1, 1)
    assert (row["kind"], row["in_order"], row["reason"]) == ("too_few", None, "fewer than 10 groups of tests")


def test_a_test_without_an_error_counts_in_the_order_alone():
    users, values, _ = world(1)
    error = np.full(24, 1e-4)
    whole = row_of(experiment_order(past(users, values, error=error), "A", 0.05))
    error[:4] = np.nan
    some = past(users, values, error=error)
    row = row_of(experiment_order(some, "A", 0.05))
    assert (whole["moved"], row["moved"], row["in_order"]) == (24, 20, whole["in_order"])
    table = some.experiments().filter(kind="click")
    assert table["moved"].null_count() == table["p_adjusted"].null_count() == 4


def test_a_metric_is_compared_on_the_tests_that_both_have():
    users, values, _ = world(2, tests=40)
    values[:12, 1] = np.nan
    order = experiment_order(past(users, values), "A", 0.05)
    row, kept = row_of(order, "B"), slice(12, None)
    a, b = (by_loop(users[kept], values[kept, at], np.arange(28)) for at in (0, 1))
    assert (row["tests"], row["left_out"]) == (28, 12)
    assert (row["in_order"], row["against_current"]) == pytest.approx((b, b - a))
    assert row["against_low"] < row["against_current"] < row["against_high"]


def test_better_worse_equivalent_and_inconclusive_metrics():
    users, _, rng = world(4, tests=80)
    good, other = users + 0.1 * rng.standard_normal(80), rng.standard_normal(80)
    values = np.column_stack([other, good, other, other + 2 * rng.standard_normal(80)])
    order = experiment_order(past(users, values), "A", 0.05)
    assert [row_of(order, name)["against"] for name in "ABCD"] == [
        None, "better", "equivalent", "inconclusive",
    ]  # fmt: skip
    assert row_of(order, "C")["p_adjusted"] == 1
    turned = experiment_order(past(users, values), "B", 0.05)
    assert row_of(turned, "A")["against"] == "worse"


def test_a_metric_that_never_differs_has_no_order_and_says_why():
    users, values, _ = world(6)
    values[:, 0] = 0.25
    order = experiment_order(past(users, values), "A", 0.05)
    assert "same difference in all tests" in row_of(order)["reason"]
    assert row_of(order)["in_order"] is None
    assert row_of(order, "B")["against_current"] is None  # there is nothing to compare it with
    same = experiment_order(past(np.ones(12), np.arange(12)), "A", 0.05)
    assert row_of(same)["reason"] == "all tests did the same to users"


def test_a_metric_that_the_share_of_changed_rankings_equals_has_a_caution():
    rng = np.random.default_rng(8)
    bold = rng.random(40)
    users = bold + 0.1 * rng.standard_normal(40)
    values = bold + 0.1 * rng.standard_normal(40)
    order = experiment_order(past(users, values, changed=bold), "A", 0.05)
    assert row_of(order)["caution"] == BOLDNESS
    assert (row_of(order, "changed")["caution"], row_of(order, "changed")["against"]) != (BOLDNESS, "better")
    apart = experiment_order(past(users, users, changed=rng.random(40)), "A", 0.05)
    assert row_of(apart)["caution"] is None


def test_more_groups_detect_less_and_as_many_as_are_needed_detect_it():
    found = [detectable(groups) for groups in (10, 20, 30, 50, 1000)]
    assert found == sorted(found, reverse=True)
    assert detectable(groups_needed(0.66)) <= 0.66 < detectable(groups_needed(0.66) - 1)
    assert groups_needed(0.501) is None


def test_a_share_that_is_called_detectable_is_found_in_about_four_of_five_worlds():
    groups, rng = 20, np.random.default_rng(0)
    relation = np.sin(np.pi / 2 * (2 * detectable(groups) - 1))  # of normal variables with this tau
    found = 0
    for _ in range(400):
        users = rng.standard_normal(groups)
        values = relation * users + np.sqrt(1 - relation**2) * rng.standard_normal(groups)
        order = pairs_in_order(users, values[:, None], np.arange(groups))
        found += difference_interval(order.value, order.spread)[0][0] > 0.5
    assert found / 400 == pytest.approx(0.8, abs=0.06)
