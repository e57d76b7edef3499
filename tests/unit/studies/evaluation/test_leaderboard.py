"""Leaderboards and classes of queries: against SciPy and plain loops."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clickassay as ca
from clickassay.metrics.names import MEASURES, parse_measures
from clickassay.studies.evaluation.comparing.by_class import UNKNOWN, by_class
from clickassay.studies.evaluation.comparing.leaderboard import leaderboard

NAMES = ("a", "b", "c", "d", "e")


def evaluated(levels, *, queries=60, seed=0, measure="nDCG@5"):
    """Runs of one document each that is good with the chance of its level."""
    rng = np.random.default_rng(seed)
    qrels, runs = {}, {name: {} for name in levels}
    for number in range(queries):
        query = f"q{number:03d}"
        qrels[query] = {"good": 3, "bad": 0}
        for name, level in levels.items():
            runs[name][query] = ["good", "bad"] if rng.random() < level else ["bad", "good"]
    return ca.evaluate(qrels, runs, measure)


def test_runs_are_in_the_order_of_their_means_and_groups_follow_the_tests():
    found = evaluated({"a": 0.3, "b": 0.9, "c": 0.85, "d": 0.35, "e": 0.3})
    board = found.leaderboard
    means = dict(found.means.select("run", "mean").rows())
    assert board["run"].to_list() == sorted(means, key=means.get, reverse=True)
    assert board["place"].to_list() == [1, 2, 3, 4, 5]
    p = {
        frozenset((one, two)): p
        for one, two, p in found.comparisons.select("baseline", "run", "p_holm").rows()
    }
    left, number, expected = board["run"].to_list(), 0, {}
    while left:
        number += 1
        leader = left[0]
        group = [run for run in left if run == leader or p[frozenset((leader, run))] >= 0.05]
        expected |= dict.fromkeys(group, number)
        left = [run for run in left if run not in group]
    assert dict(board.select("run", "group").rows()) == expected
    assert number == 2
    assert board["p_best"].to_list()[0] is None
    assert board["below_best"].to_list() == pytest.approx(
        [max(means.values()) - means[run] for run in board["run"]]
    )


def test_less_is_better_of_some_measures():
    found = evaluated({"a": 0.3, "b": 0.9, "c": 0.6}, measure="Inversions nDCG@5")
    orders = {
        name: part["run"].to_list()
        for (name,), part in found.leaderboard.group_by("measure", maintain_order=True)
    }
    assert set(map(tuple, orders.values())) == {("b", "c", "a")}
    for metric in MEASURES:
        assert metric.less_is_better == ("less is better" in metric.line), metric.name


def test_two_runs_and_runs_beside_a_baseline_need_no_leaderboard():
    assert evaluated({"a": 0.3, "b": 0.9}).leaderboard.is_empty()
    found = evaluated({"a": 0.3, "b": 0.9, "c": 0.5})
    alone = leaderboard(found.measures, found.means.filter(pl.col("run") != "a"), found.comparisons)
    assert alone.is_empty()
    qrels = {f"q{n}": {"x": 1} for n in range(3)}
    runs = {name: {key: ["x"] for key in qrels} for name in "abc"}
    assert ca.evaluate(qrels, runs, "RR", baseline="a").leaderboard.is_empty()


def test_equal_runs_are_one_group():
    qrels = {f"q{n}": {"x": 1} for n in range(30)}
    runs = {name: {key: ["x"] for key in qrels} for name in "abc"}
    assert ca.evaluate(qrels, runs, "RR").leaderboard["group"].to_list() == [1, 1, 1]


def test_classes_have_the_means_and_tests_of_their_queries():
    rng = np.random.default_rng(4)
    queries = [f"Q {n}" for n in range(50)]
    values = {name: rng.random((50, 2)) for name in NAMES[:3]}
    kinds = pl.DataFrame(
        {"query": [f"q {n}" for n in range(45)], "kind": ["x" if n % 3 else "y" for n in range(45)]}
    )
    measures = parse_measures("P@1 AP")
    means, pairs = by_class(measures, values, queries, kinds)
    rows = {"x": [n for n in range(45) if n % 3], "y": list(range(0, 45, 3)), UNKNOWN: list(range(45, 50))}
    assert set(means["class"]) == set(rows)
    for row in means.iter_rows(named=True):
        column = ["P@1", "AP"].index(row["measure"])
        own = values[row["run"]][rows[row["class"]], column]
        assert (row["mean"], row["n_queries"]) == (pytest.approx(own.mean()), len(own))
    tests = []
    for row in pairs.iter_rows(named=True):
        column = ["P@1", "AP"].index(row["measure"])
        apart = (values[row["run"]] - values[row["baseline"]])[rows[row["class"]], column]
        test = stats.ttest_1samp(apart, 0)
        low, high = test.confidence_interval()
        assert row["p_value"] == pytest.approx(test.pvalue)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))
        tests.append(test.pvalue)
    assert pairs["p_holm"].min() == pytest.approx(min(1, min(tests) * len(tests)))


def test_classes_come_from_a_table(tmp_path):
    qrels = {f"q{n}": {"x": n % 2} for n in range(30)}
    table = pl.DataFrame({"query": list(qrels), "kind": ["odd" if n % 2 else "even" for n in range(30)]})
    found = ca.evaluate(qrels, {"r": {key: ["x"] for key in qrels}}, "P@1", queries=table)
    assert dict(found.class_means.select("class", "mean").rows()) == {"odd": 1.0, "even": 0.0}
