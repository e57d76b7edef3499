"""What is promised of interleaved tests, against the committed result."""

import polars as pl

from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "interleaving.csv")
SIGN = pl.col("what").str.starts_with("sign of")


def shares(promise, what, cell=""):
    """Return the shares of worlds in which it happens, in the cells whose names begin so."""
    rows = FOUND.filter(pl.col("cell").str.starts_with(cell), promise=promise, what=what)
    assert rows.height
    return rows["share"]


def test_every_cell_was_measured_in_a_thousand_worlds():
    assert FOUND.filter(~SIGN)["worlds"].unique().to_list() == [1000]
    cells = FOUND.unique(["promise", "cell"]).group_by("promise").len().sort("promise")
    assert cells.rows() == [("first", 7), ("preference", 12), ("whole", 10)]
    assert FOUND.filter(SIGN)["worlds"].min() >= 200  # worlds in which the rankers differ by an error


def test_intervals_of_the_preference_hold_the_truth_and_identical_rankers_are_not_told_apart():
    assert shares("preference", "cover").is_between(0.93, 0.98).all()
    assert shares("preference", "alarm").max() <= 0.07


def test_a_ranker_that_comes_first_too_often_is_found_and_a_fair_draft_is_left_in_peace():
    assert shares("first", "found").min() >= 0.95
    assert shares("first", "refused").max() <= 0.01
    assert shares("whole", "check").max() <= 0.01


def test_the_parts_of_a_metric_have_the_sign_of_the_rankers_and_an_interval_for_other_queries():
    assert FOUND.filter(SIGN)["share"].min() >= 0.93
    assert shares("whole", "cover").is_between(0.93, 0.98).all()


def test_verdicts_are_rarely_false():
    assert shares("whole", "contradict", "truth agrees").max() <= 0.005
    assert shares("whole", "contradict", "clicks do not move").max() <= 0.03
    assert shares("whole", "contradict", "B unjudged").max() <= 0.08
    assert shares("whole", "unequally_judged", "identical").max() <= 0.06
    assert shares("whole", "unequally_judged", "truth agrees").max() <= 0.06
