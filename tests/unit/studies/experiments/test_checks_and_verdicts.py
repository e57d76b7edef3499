"""Checks of a test's data, the verdict on a metric, and what a project file declares."""

import re
import shlex
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from clickassay.core.errors import SettingsError
from clickassay.core.settings import load_settings
from clickassay.core.settings.of_tests import DeclaredTest, control_of
from clickassay.patterns.table import USERS_KEPT
from clickassay.studies.experiments.checks import Users, checks, sample_ratio, users_of
from clickassay.studies.experiments.verdicts import Compared, Difference, is_unequal, verdict

UNTIL = date(2026, 1, 7)
DAYS = [UNTIL - timedelta(left) for left in range(6, -1, -1)]
TOLD = DeclaredTest(until=UNTIL)


def sessions(seed=0, share=0.5, folds=16):
    """Return (2, 7, F) sessions of an even test."""
    rng = np.random.default_rng(seed)
    mean = np.array([1 - share, share])[:, None, None]
    return rng.poisson(200 * mean, (2, 7, folds)).astype(float)


def checked(users=None, by_day=None, short=None, days=DAYS, share=0.5, told=TOLD):
    by_day = sessions() if by_day is None else by_day
    short = by_day.sum(axis=1) * 0.02 if short is None else short
    found = checks(users or Users((500, 510), 2, 1.0), by_day, short, days, share, told)
    return {row["check"]: row for row in found}


def test_a_healthy_test_passes_every_check():
    found = checked()
    assert sorted(found) == ["ends", "folds", "sample_ratio", "short_lists", "split", "two_variants"]
    assert {row["status"] for row in found.values()} == {"ok"}
    assert {row["remedy"] for row in found.values()} == {""}


@pytest.mark.parametrize(("kept", "share"), [((500, 510), 0.5), ((9000, 1100), 0.1), ((0, 30), 0.5)])
def test_the_sample_ratio_is_pearsons_chi_square(kept, share):
    expected = chisquare(kept, np.array([1 - share, share]) * sum(kept)).pvalue
    assert sample_ratio(kept, share) == pytest.approx(expected)


def test_a_wrong_split_is_a_finding_that_proposes_the_nearest_usual_one():
    row = checked(Users((9000, 1010), 0, 1.0))["sample_ratio"]
    assert row["status"] == "finding"
    assert "if 90:10 was planned, write it as shares" in row["remedy"]
    told = DeclaredTest(shares={"a": 0.9, "b": 0.1}, until=UNTIL)
    assert checked(Users((9000, 1010), 0, 1.0), share=0.1, told=told)["sample_ratio"]["status"] == "ok"
    row = checked(Users((9000, 1010), 0, 1.0), told=DeclaredTest(shares={"a": 0.5, "b": 0.5}))["sample_ratio"]
    assert "planned were 50.0%: find out where users are lost" in row["remedy"]


@pytest.mark.parametrize(("in_two", "status"), [(10, "ok"), (11, "finding")])
def test_more_than_one_user_in_a_hundred_in_two_variants_is_a_finding(in_two, status):
    row = checked(Users((500, 1000 - 500 - in_two), in_two, 1.0))["two_variants"]
    assert (row["status"], row["value"]) == (status, in_two / 1000)


@pytest.mark.parametrize(("folds", "status"), [(8, "ok"), (7, "finding")])
def test_fewer_than_eight_folds_of_users_in_both_arms_are_a_finding(folds, status):
    by_day = sessions()
    by_day[1, :, folds:] = 0
    assert checked(by_day=by_day)["folds"]["status"] == status


def test_short_rankings_that_differ_clearly_are_a_caution():
    by_day = sessions()
    short = by_day.sum(axis=1) * np.array([[0.02], [0.06]])
    row = checked(by_day=by_day, short=short)["short_lists"]
    assert row["status"] == "caution"
    assert "2.0% of control's sessions, 6.0% of treatment's" in row["remedy"]


def test_a_split_that_changes_between_days_is_a_caution():
    ramp = sessions() * np.linspace(0.2, 1, 7)[None, :, None] ** np.array([0, 1])[:, None, None]
    assert checked(by_day=ramp)["split"]["status"] == "caution"
    assert {checked(by_day=sessions(seed))["split"]["status"] for seed in range(30)} == {"ok"}
    assert checked(by_day=sessions()[:, :1])["split"]["status"] == "too few"


def test_a_test_without_end_or_that_goes_on_is_a_caution():
    assert "write the last day as until" in checked(told=DeclaredTest())["ends"]["remedy"]
    row = checked(days=[*DAYS[:4], None])["ends"]
    assert (row["status"], row["value"]) == ("caution", 3)
    assert "ends 3 days before the test" in row["remedy"]


def test_users_are_counted_once_and_those_of_two_variants_apart():
    rows = [("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 4), ("c", 1), ("b", 5)]
    found = users_of(pl.DataFrame(rows, schema=["variant", "digest"], orient="row"), "a", "b")
    assert (found.kept, found.in_two, found.whole) == ((0, 2), 2, (0, 2))


def test_more_users_than_are_kept_are_estimated_from_the_largest_digest():
    rng = np.random.default_rng(0)
    digests = np.sort(rng.integers(0, 2**64, 400_000, dtype=np.uint64))[:USERS_KEPT]
    variants = np.where(rng.random(USERS_KEPT) < 0.25, "b", "a")
    found = users_of(pl.DataFrame({"variant": variants, "digest": digests}), "a", "b")
    assert sum(found.kept) == USERS_KEPT
    assert found.whole == (pytest.approx(300_000, rel=0.02), pytest.approx(100_000, rel=0.02))


UP, DOWN, NONE, TIGHT = (0.02, 0.01, 0.03), (-0.02, -0.03, -0.01), (0.001, -0.02, 0.022), (0.0, -0.002, 0.002)


@pytest.mark.parametrize(
    ("users", "offline", "matched", "kind", "words"),
    [
        (UP, UP, UP, "agree", "it covers 62% of the sessions"),
        (DOWN, DOWN, NONE, "agree", "it covers 62% of the sessions"),
        (UP, DOWN, UP, "contradict", "on judged rankings alone users contradict it too"),
        (DOWN, UP, NONE, "contradict", "on judged rankings alone users show no such difference"),
        (NONE, UP, UP, "offline_only", "about 27.6 times the users would show an effect of 1%"),
        (TIGHT, UP, UP, "offline_only", "no effect on users above 1%"),
        (
            UP,
            NONE,
            UP,
            "online_only",
            "at least 274 judged queries would show that the metric differs by 0.022",
        ),
        (UP, (0.0, 0.0, 0.0), UP, "online_only", "the same in both arms"),
        (NONE, NONE, NONE, "neither", "about 27.6 times the users would show an effect of 1%"),
        ((0.002, -0.001, 0.0045), UP, UP, "offline_only", "an effect on users above 1% is possible"),
        (UP, (0.1, np.nan, np.nan), UP, None, "too few users or judged queries"),
    ],
)
def test_the_verdict_is_the_first_that_applies(users, offline, matched, kind, words):
    said = Compared(Difference(*users), Difference(*offline), Difference(*matched), 0.004, "1%", 0.62, 300)
    found, reason = verdict(said)
    assert found == kind
    assert words in reason


@pytest.mark.parametrize(
    ("judged", "unequal"),
    [
        ((0.05, 0.01, 0.09), True),
        ((0.05, -0.01, 0.11), False),
        ((0.03, 0.02, 0.04), False),
        ((-0.2, -0.3, -0.1), True),
    ],
)
def test_arms_are_judged_unequally_by_over_three_points_and_clearly(judged, unequal):
    assert is_unequal(Difference(*judged)) == unequal


def test_tests_are_declared_in_texts_sections_and_dicts(tmp_path):
    file = tmp_path / "clickassay.toml"
    file.write_text(
        '[tests.new]\ncontrol = "old"\nshares = { old = 90, b = 10 }\n'
        'from = 2026-01-01\nuntil = "2026-01-07"\n'
        '[tests.aa]\nis_aa = true\ngroup = "idle"\n'
    )
    shares = {"old": 0.9, "b": 0.1}
    wanted = {
        "new": DeclaredTest("old", shares, date(2026, 1, 1), date(2026, 1, 7)),
        "aa": DeclaredTest(group="idle", is_aa=True),
    }
    assert load_settings(file).tests == wanted
    new = {"control": "old", "shares": {"old": 90, "b": 10}, "from": "2026-01-01", "until": "2026-01-07"}
    assert load_settings(test={"new": new, "aa": {"is_aa": True, "group": "idle"}}).tests == wanted


@pytest.mark.parametrize("name", ["search.ranker.v2", "a b", "q\"uo'te", "über.control.x", "="])
@pytest.mark.parametrize("arms", [("new", "old"), ("a=b", "x.y")])
def test_a_test_of_any_name_is_declared_as_the_message_says(tmp_path, name, arms):
    """The lines that a refusal proposes are taken as they stand, by a shell and by TOML."""
    with pytest.raises(SettingsError, match="not known which is control") as error:
        control_of(name, arms, DeclaredTest())
    said = str(error.value)
    section, value = re.search(r"write (\[tests\..*\]) with (control = .*) \(or another\)", said).groups()
    file = tmp_path / "clickassay.toml"
    file.write_text(f"{section}\n{value}\n", encoding="utf-8")
    wanted = {name: DeclaredTest(control=arms[0])}
    assert load_settings(file).tests == wanted
    option = shlex.split(said.partition("--test ")[2].partition(", or --test none")[0])
    assert load_settings(test=option).tests == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("new", "must be TEST.KEY=VALUE"),
        ("new.contol=a", "unknown contol of test new; did you mean control"),
        ("new.control=", "must be TEST.KEY=VALUE"),
        ("search.new.v2.contol=a", "unknown contol of test search.new.v2; did you mean control"),
        ("none\nnew.control=a", "must be TEST.KEY=VALUE, such as new_ranker.control=old, or none alone"),
        ("new.is_aa=1", "is_aa of test new must be true or false"),
        ("new.until=7.1.2026", "until of test new must be a day (UTC), such as 2026-01-05"),
        ("new.from=2026-02-01\nnew.until=2026-01-01", "from 2026-02-01 is after until 2026-01-01"),
        ("new.control=a\nnew.control=b", "control of test new occurs twice"),
        ("new.shares=3", "shares have a number for each variant"),
        ("new.shares.a=1", "must be a number above 0 for each variant"),
        ("new.shares.a=1\nnew.shares.b=0", "must be a number above 0 for each variant"),
    ],
)
def test_a_wrong_declaration_is_named(text, words):
    with pytest.raises(SettingsError, match="setting test") as error:
        load_settings(test=text)
    assert words in str(error.value)


def test_a_wrong_section_of_a_file_is_named(tmp_path):
    file = tmp_path / "clickassay.toml"
    for text in ("tests = 3", "[tests]\nnew = 3", '[tests.new]\ncontol = "a"'):
        file.write_text(text)
        with pytest.raises(SettingsError, match=r"clickassay\.toml: .*tests"):
            load_settings(file)
