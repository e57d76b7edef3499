"""Checks of clicks by position, ids and time, on counts and rows made by hand."""

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.health.checks import BY_NAME, checked, checks_with
from clickassay.health.examples import _offset
from clickassay.health.measures import alike_numbers, log_numbers, position_numbers, time_numbers
from clickassay.patterns.health import LogCounts

HOUR, MINUTE = 3_600_000, 60_000
START = 1_750_000_000_000 // (24 * HOUR) * 24 * HOUR


def statuses(numbers):
    return {one.check: one.status for one in checked(numbers) if one.fires}


def outcome(name, numbers, limit=None):
    """A check of these numbers, perhaps with a threshold at which it fires."""
    checks = BY_NAME if limit is None else checks_with([f"{name}={limit}"])
    (found,) = (one for one in checked(numbers, checks) if one.check == name)
    return found


def funnel(reason, rows):
    """A log of 1,000 clicks, of which some are rejected for a reason."""
    found = [("read", "", 1_000), ("rejected", reason, rows), ("kept", "", 1_000 - rows)]
    frame = pl.DataFrame(found, schema=["step", "reason", "rows"], orient="row")
    return frame.with_columns(source=pl.lit("clicks"), depth=0, market=pl.lit(EVERY), judge=pl.lit(EVERY))


@pytest.mark.parametrize(
    ("reason", "check", "below"),
    [("position below 1", "positions_from_zero", 5), ("ambiguous search_id", "ambiguous_clicks", 50)],
)
def test_clicks_at_position_0_and_of_ambiguous_ids_are_a_finding_above_their_share(reason, check, below):
    health = LogCounts().frame()
    assert statuses(log_numbers(funnel(reason, below), health)) == {}
    assert statuses(log_numbers(funnel(reason, below + 1), health)) == {check: "finding"}


@pytest.mark.parametrize(
    ("positions", "fires"),
    [
        ([(10_000, 3_000)] * 3, True),  # flat
        ([(1000, 200), (1000, 300)], True),  # the second is clicked more
        ([(20, 6), (20, 6)], False),  # flat, but there are few
        ([(1000, 400), (1000, 300)], False),
        ([(1000, 330), (1000, 300)], False),  # 1.1 times as often
        ([(1000, 0), (1000, 0)], False),
    ],
)
def test_clicks_that_do_not_fall_with_the_position_are_named(positions, fires):
    assert statuses(position_numbers(positions)) == ({"flat_clicks": "caution"} if fires else {})


def test_an_offset_beyond_any_time_zone_is_not_called_one():
    def said(hours):
        rows = {"search_id": ["a"] * 3, "timestamp": [START] * 3, "clicked_ms": [START + hours * HOUR] * 3}
        return _offset(pl.DataFrame(rows), HOUR)

    assert "are 14 h late: the time zones probably differ" in said(14)
    assert "are 14 h early: the time zones probably differ" in said(-14)
    assert "zone" not in said(22)
    assert said(22).startswith("For example, search “a” is at")


def searches(times, users):
    numbers = [f"s{number}" for number in range(len(times))]
    return pl.LazyFrame({"search_id": numbers, "user_id": users, "timestamp": times})


def pauses(*parts):
    """Searches of one user each, by (pause in ms, how many); all begin within three days."""
    times, users = [], []
    for user, pause in enumerate(pause for pause, many in parts for _ in range(many)):
        begin = START + user * 3 * 24 * HOUR // 1500
        times += [begin, begin + pause]
        users += [user, user]
    return searches(times, users)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(MINUTE, 1500)], {"no_idle_gaps": "caution"}),
        ([(MINUTE, 1498), (2 * HOUR, 2)], {}),
        ([(MINUTE, 1500 - 305), (0, 305), (2 * HOUR, 2)], {"standing_time": "caution"}),
        ([(MINUTE, 1500 - 300), (0, 300), (2 * HOUR, 2)], {}),
        ([(MINUTE, 900)], {}),  # few
    ],
)
def test_visits_that_never_end_and_time_that_stands_still_are_named(parts, expected):
    found = statuses(time_numbers(pauses(*parts), HOUR))
    assert {name: status for name, status in found.items() if name != "silent_hours"} == expected


def test_the_pauses_are_counted():
    numbers = time_numbers(pauses((MINUTE, 1500), (HOUR, 1), (HOUR + 1, 1)), HOUR)
    found = outcome("no_idle_gaps", numbers)
    assert found.value == 1 / 1502
    assert "Of 1,502 pauses between searches of a user, 1 is longer than 60 minutes" in found.sentence


def by_hour(counts):
    """Searches of users of their own: so many in each hour."""
    hours = np.repeat(np.arange(len(counts)), counts)
    return searches((START + hours * HOUR).tolist(), list(range(len(hours))))


def test_hours_without_a_search_are_named_if_they_usually_have_some():
    day = [0] * 6 + [30] * 12 + [19] * 6
    jumped = [*day, *day[:10], 0, 0, *day[12:], *day, *day]
    numbers = time_numbers(by_hour(jumped), HOUR)
    found = outcome("silent_hours", numbers)
    assert (found.value, "the first on 2025-06-16 at 10:00 UTC" in found.sentence) == (2, True)
    assert statuses(numbers) == {"silent_hours": "caution"}
    for rare in range(18, 24):  # 19 are too few, and so are the hours of the night
        quiet = [*day, *day[:rare], 0, *day[rare + 1 :], *day, *day]
        assert statuses(time_numbers(by_hour(quiet), HOUR)) == {}
    assert statuses(time_numbers(by_hour([*day, *[0] * 24, *day, *day]), HOUR)) == {}  # a missing day


@pytest.mark.parametrize(
    ("depth", "where"), [(1, "not on the first result"), (5, "outside the first 5 results")]
)
def test_clicks_elsewhere_are_told_by_the_depth(depth, where):
    rows = [("read", "", 0, 1000), ("kept", "", 0, 1000)]
    rows += [("elsewhere", "", depth, 600), ("in patterns", "", depth, 400)]
    frame = pl.DataFrame(rows, schema=["step", "reason", "depth", "rows"], orient="row")
    log = frame.with_columns(source=pl.lit("clicks"), market=pl.lit(EVERY), judge=pl.lit(EVERY))
    found = outcome("clicks_elsewhere", log_numbers(log, LogCounts().frame()))
    assert f"of the clicks are {where} of their search." in found.sentence


@pytest.mark.parametrize(("alike", "fires"), [(10, False), (12, True)])
def test_queries_that_share_their_judged_results_are_a_caution_above_a_tenth(alike, fires):
    groups = pl.DataFrame(
        {"query": [f"q{n}" for n in range(alike)], "group": [f"q{n % 2}" for n in range(alike)]}
    )
    (own,) = checked(alike_numbers(100, groups))
    assert (own.status, own.value) == ("caution" if fires else "ok", alike / 100)
    if fires:
        assert "12 of 100 judged queries (12.0%)" in own.sentence
        assert "(2 groups)" in own.sentence


@pytest.mark.parametrize(("misplaced", "share"), [(0, 0.0), (2, 0.01), (3, 0.015)])
def test_the_share_of_kept_clicks_whose_position_is_of_another_result_is_measured(misplaced, share):
    rows = [
        *(("clicks", 0, "read", 250), ("clicks", 0, "unmatched", 50), ("clicks", 0, "kept", 200)),
        *(("clicks", 5, "in patterns", 200), ("positions", 0, "misplaced", misplaced)),
    ]
    log = pl.DataFrame(rows, schema=["source", "depth", "step", "rows"], orient="row")
    numbers = log_numbers(log.with_columns(reason=pl.lit("")), LogCounts().frame())
    found = outcome("misplaced_clicks", numbers)
    assert (found.value, found.fires) == (share, misplaced == 3)
    assert f"({misplaced} of 200)" in outcome("misplaced_clicks", numbers, limit=-1).sentence
