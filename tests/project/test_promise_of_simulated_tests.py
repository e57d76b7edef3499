"""What is promised of tests, against the committed result of simulated logs, from files to reports."""

import polars as pl

from clickassay.inputs.simulate.tests import A_A, RAMP_UP, RELATIONS, SAME_RANKERS, TRAPS, TRAPS_OF_DRAFTS
from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "simulated_tests.csv")


def share(what, **where):
    """Return in which share of all tests it happens."""
    rows = FOUND.filter(pl.col("what") == what, **where)
    assert rows.height
    return (rows["share"] * rows["tests"]).sum() / rows["tests"].sum()


def test_every_relation_was_measured_on_hundreds_of_tests():
    assert set(FOUND["relation"]) == set(RELATIONS)
    assert FOUND.filter(pl.col("what").is_in(["cover", "contradict"]))["tests"].min() >= 300


def test_intervals_hold_the_truth_and_sound_tests_are_left_in_peace():
    assert share("cover") >= 0.93
    assert 0.93 <= share("cover_users") <= 0.98
    assert share("check") <= 0.01


def test_a_metric_that_users_agree_with_is_not_contradicted_and_its_order_of_tests_is_told_from_chance():
    assert share("contradict", relation="related") <= 0.005
    assert share("sign") >= 0.95
    assert share("in_order", relation="related") >= 0.65
    for relation in ("unrelated", "gated"):
        assert 0.4 <= share("in_order", relation=relation) <= 0.6


def test_each_test_that_is_wrong_is_found():
    # users of the test that grows take part on one day: it has too few sessions in logs of so many tests
    wrong = {*TRAPS, *TRAPS_OF_DRAFTS} - {A_A, SAME_RANKERS, RAMP_UP}
    assert {name: share(name) for name in wrong} == dict.fromkeys(wrong, 1.0)
