"""Leaderboards and classes of queries: against SciPy and plain loops."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clickassay as ca
from clickassay.metrics.names import MEASURES, parse_measures
from clickassay.studies.evaluation.comparing import MOST, UNKNOWN, by_class, leaderboard
from clickassay.studies.evaluation.report import highest

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


def as_sets(board):
    return {run: set(group.split()) for run, group in board.select("run", "group").rows()}


def test_runs_are_in_the_order_of_their_means_and_share_a_letter_where_tests_do_not_tell_them_apart():
    found = evaluated({"a": 0.3, "b": 0.9, "c": 0.7, "d": 0.45, "e": 0.3})
    board = found.leaderboard
    means = dict(found.means.select("run", "mean").rows())
    assert board["run"].to_list() == sorted(means, key=means.get, reverse=True)
    assert board["place"].to_list() == [1, 2, 3, 4, 5]
    letters = as_sets(board)
    tests = found.comparisons.select("baseline", "run", "p_holm").rows()
    for one, two, p in tests:
        assert (p < 0.05) != bool(letters[one] & letters[two])
    assert 0 < sum(p < 0.05 for *_, p in tests) < len(tests)
    assert len(set.union(*letters.values())) > 2
    assert "a" in letters["b"]
    assert board["p_best"].to_list()[0] is None
    assert board["below_best"].to_list() == pytest.approx(
        [max(means.values()) - means[run] for run in board["run"]]
    )


def test_letters_of_many_runs_are_never_shared_by_two_that_differ():
    rng = np.random.default_rng(1)
    runs = [f"r{at:03d}" for at in range(MOST + 30)]
    means = np.sort(rng.normal(0, 1, len(runs)))[::-1]
    rows = [
        (runs[i], runs[j], float(means[i] - means[j] + 0.2 * rng.standard_normal() < 0.7))
        for i, j in combinations(range(len(runs)), 2)
    ]
    given = {"mean": means, "ci_low": means, "ci_high": means}
    measures = parse_measures("RR")
    board = leaderboard(
        measures,
        pl.DataFrame({"run": runs, **given}).with_columns(measure=pl.lit(str(measures[0]))),
        pl.DataFrame(rows, ["baseline", "run", "p_holm"], orient="row").with_columns(
            measure=pl.lit(str(measures[0]))
        ),
    )
    letters = as_sets(board)
    for one, two, p in rows:
        assert p == 1 or not letters[one] & letters[two]
    assert all(letters.values())
    assert len(set.union(*letters.values())) > 5


@pytest.mark.parametrize(
    ("p_values", "means", "said"),
    [
        ((None, 1.0, 0.01), (0.5, 0.4, 0.3), "highest mean RR; y is not significantly different from it."),
        ((None, 0.2, None), (0.5, 0.4, 0.3), "highest mean RR; no run is significantly different from it."),
        ((None, 0.01, 0.01), (1.0, 2.0, 3.0), "lowest mean RR; all other runs are significantly different."),
    ],
)
def test_one_sentence_says_who_does_not_differ_from_the_run_with_the_highest_mean(p_values, means, said):
    board = pl.DataFrame({"measure": "RR", "run": ["x", "y", "z"], "mean": means, "p_best": p_values})
    assert highest(board) == f"x has the {said}"


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
    assert ca.evaluate(qrels, runs, "RR").leaderboard["group"].to_list() == ["a", "a", "a"]


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
