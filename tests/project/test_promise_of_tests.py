"""What is promised of A/B tests and interleaved tests in a log, against the committed results."""

import polars as pl

from support.places import ROOT

TESTS, MIXED = (
    pl.read_csv(ROOT / "reports" / "calibration" / f"{name}.csv") for name in ("tests", "interleaving")
)
SIGN = pl.col("what").str.starts_with("sign of")


def shares(found, promise, what, cell=""):
    """Return the shares of worlds in which it happens, in the cells whose names begin so."""
    rows = found.filter(pl.col("cell").str.starts_with(cell), promise=promise, what=what)
    assert rows.height
    return rows["share"]


def cells(found, *of):
    """Return the number of cells of each promise."""
    return dict(found.unique(["promise", *of]).group_by("promise").len().rows())


def test_every_cell_was_measured_in_a_thousand_worlds():
    assert TESTS["worlds"].unique().to_list() == MIXED.filter(~SIGN)["worlds"].unique().to_list() == [1000]
    measured = {"bound": 3, "healthy": 5, "queries": 18, "split": 1, "users": 9, "verdict": 9}
    assert cells(TESTS, "cell", "size") == measured
    assert cells(MIXED, "cell") == {"first": 7, "preference": 12, "whole": 10}
    assert MIXED.filter(SIGN)["worlds"].min() >= 200  # worlds in which the rankers differ by an error


def test_intervals_of_the_effect_on_users_and_of_the_preference_hold_the_truth_and_find_none_where_none_is():
    for found, promise in ((TESTS, "users"), (MIXED, "preference")):
        assert shares(found, promise, "cover").is_between(0.93, 0.98).all()
        assert shares(found, promise, "alarm").max() <= 0.07


def test_intervals_on_common_queries_hold_the_truth_of_other_queries():
    # above 98% where few queries have most of the weight: their intervals are wide, not false
    assert shares(TESTS, "queries", "cover", "lognormal 1").is_between(0.93, 0.98).all()
    assert shares(TESTS, "queries", "cover").is_between(0.93, 0.99).all()
    assert shares(TESTS, "queries", "cover_matched").is_between(0.93, 0.98).all()


def test_healthy_tests_and_fair_drafts_are_left_in_peace_and_a_wrong_split_or_draft_is_found():
    assert shares(TESTS, "healthy", "check").max() <= 0.01
    assert shares(TESTS, "healthy", "caution").max() <= 0.01
    assert shares(TESTS, "healthy", "unequally_judged").max() <= 0.06
    assert shares(TESTS, "split", "found").min() >= 0.99
    assert shares(MIXED, "first", "found").min() >= 0.95
    assert shares(MIXED, "first", "refused").max() <= 0.01
    assert shares(MIXED, "whole", "check").max() <= 0.01


def test_the_parts_of_a_metric_have_the_sign_of_the_rankers_and_an_interval_for_other_queries():
    assert MIXED.filter(SIGN)["share"].min() >= 0.93
    assert shares(MIXED, "whole", "cover").is_between(0.93, 0.98).all()


def test_verdicts_are_rarely_false():
    for found, promise, unjudged in (
        (TESTS, "verdict", "better rankings unjudged"),
        (MIXED, "whole", "B unjudged"),
    ):
        assert shares(found, promise, "contradict", "truth agrees").max() <= 0.005
        assert shares(found, promise, "contradict", "clicks do not move").max() <= 0.03
        assert shares(found, promise, "contradict", unjudged).max() <= 0.08
    assert shares(TESTS, "verdict", "metric_clear", "better rankings unjudged").max() <= 0.08
    fair = TESTS.filter(pl.col("cell") != "better rankings unjudged")
    assert shares(fair, "verdict", "unequally_judged").max() <= 0.06
    assert shares(TESTS, "bound", "no_effect_above").max() <= 0.03
    for cell in ("identical", "truth agrees"):
        assert shares(MIXED, "whole", "unequally_judged", cell).max() <= 0.06
