"""What is promised of tests in a log, against the committed result."""

import polars as pl

from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "tests.csv")


def shares(promise, what):
    """Return the shares of worlds in which it happens, cell by cell."""
    found = FOUND.filter(promise=promise, what=what)["share"]
    assert len(found)
    return found


def test_every_cell_was_measured_in_a_thousand_worlds():
    assert FOUND["worlds"].unique().to_list() == [1000]
    cells = FOUND.unique(["promise", "cell", "size"]).group_by("promise").len().sort("promise")
    assert cells.rows() == [
        ("bound", 3), ("healthy", 5), ("queries", 18), ("split", 1), ("users", 9), ("verdict", 9),
    ]  # fmt: skip


def test_intervals_of_the_effect_on_users_hold_the_truth():
    assert shares("users", "cover").is_between(0.93, 0.98).all()
    assert shares("users", "alarm").max() <= 0.07


def test_intervals_on_common_queries_hold_the_truth_of_other_queries():
    # above 98% where few queries have most of the weight: their intervals are wide, not false
    is_even = FOUND["cell"].str.starts_with("lognormal 1") & (FOUND["what"] == "cover")
    assert FOUND.filter(is_even, promise="queries")["share"].is_between(0.93, 0.98).all()
    assert shares("queries", "cover").is_between(0.93, 0.99).all()
    assert shares("queries", "cover_matched").is_between(0.93, 0.98).all()


def test_healthy_tests_are_left_in_peace_and_a_wrong_split_is_found():
    assert shares("healthy", "check").max() <= 0.01
    assert shares("healthy", "caution").max() <= 0.01
    assert shares("healthy", "unequally_judged").max() <= 0.06
    assert shares("split", "found").min() >= 0.99


def test_verdicts_are_rarely_false():
    contradict = {
        cell: FOUND.filter(promise="verdict", cell=cell, what="contradict")["share"].max()
        for cell in ("truth agrees", "clicks do not move", "better rankings unjudged")
    }
    assert contradict["truth agrees"] <= 0.005
    assert contradict["clicks do not move"] <= 0.03
    assert contradict["better rankings unjudged"] <= 0.08
    hidden = FOUND.filter(promise="verdict", cell="better rankings unjudged", what="metric_clear")["share"]
    assert hidden.max() <= 0.08
    fair = FOUND.filter(
        pl.col("cell") != "better rankings unjudged", promise="verdict", what="unequally_judged"
    )
    assert fair["share"].max() <= 0.06
    assert shares("bound", "no_effect_above").max() <= 0.03
