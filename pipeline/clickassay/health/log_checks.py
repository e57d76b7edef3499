"""Checks of a log alone: what became of its clicks, its days, minutes and users."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.text.words import count, listed, percent, plural, visible
from clickassay.health.checks import BY_NAME, Measured, too_few
from clickassay.patterns.funnel import MERGED
from clickassay.patterns.health import (
    CLICKS_BY_DAY,
    LOWEST_BITS,
    MINUTES,
    SEARCHES_BY_DAY,
    SEARCHES_BY_MINUTE,
    SEARCHES_BY_USERS,
    USER_BUCKETS,
    distinct_users,
)

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Days:
    """Counts of a log."""

    first: int  # The first day with a search, in days since 1970-01-01.
    # searches, clicks: (D,) by day from `first` on.
    searches: Numbers
    clicks: Numbers
    minutes: Numbers  # (1440,) searches by minute of the day, UTC.
    by_users: Numbers  # (4096,) searches by bucket of their users.
    users: float  # Estimated number of users.


def days_of(health: pl.DataFrame) -> Days | None:
    """Return the counts of a table `health` as arrays; None if it counts no search."""
    days = health.filter(name=SEARCHES_BY_DAY)["key"].to_numpy()
    if not len(days):
        return None
    first, size = int(days.min()), int(days.max() - days.min()) + 1
    bits = _array(health, LOWEST_BITS, 0, USER_BUCKETS)
    return Days(
        first=first,
        searches=_array(health, SEARCHES_BY_DAY, first, size),
        clicks=_array(health, CLICKS_BY_DAY, first, size),
        minutes=_array(health, SEARCHES_BY_MINUTE, 0, MINUTES),
        by_users=_array(health, SEARCHES_BY_USERS, 0, USER_BUCKETS),
        users=distinct_users(bits),
    )


def _array(health: pl.DataFrame, name: str, first: int, size: int) -> Numbers:
    rows = health.filter(pl.col("name") == name, pl.col("key").is_between(first, first + size - 1))
    values = np.zeros(size, np.int64)
    values[rows["key"].to_numpy() - first] = rows["value"].to_numpy()
    return values


_FEW_CLICKS = 50
"""Of fewer clicks, shares say little."""
_FEW_ACTIONS = 3
"""Actions that are named."""
_FEW_ROWS = 1000
"""Fewer searches say nothing about how they lie in time, or among users."""
_TIMES_AS_BUSY = 20
"""A group of users stands out if it has so many times its part of the searches; small logs have few users."""
_FEW_DAYS = 3
"""Of fewer days, none is usual."""
_ENOUGH_CLICKS = 20
"""A day without a click is one of which so many were to be expected."""


def log_checks(funnel: pl.DataFrame, health: pl.DataFrame) -> Iterator[Measured]:
    """Yield the numbers of the checks of a log.

    funnel, health: Tables of a pattern table.
    """
    yield from _click_checks(funnel)
    yield from _repeats_check(funnel)
    days = days_of(health)
    if days is not None:
        yield from _minute_checks(days)
        yield from _user_checks(days)
        yield from _day_checks(days)


def zone_checks(mixed: Mapping[str, Sequence[int]]) -> Iterator[Measured]:
    """Yield the number of the check of times that have a zone in one row and none in another.

    mixed: by table, how many times have a zone, and how many have none; only tables that have both.
    """
    if not mixed:
        return
    zoned, local = (sum(counts) for counts in zip(*mixed.values(), strict=True))
    each = listed(
        f"{count(without)} times without a zone and {count(with_)} with one in column timestamp of {what}"
        for what, (with_, without) in mixed.items()
    )
    yield Measured(
        "times_without_zone", local / (local + zoned),
        f"There are {each}; times without a zone are taken as UTC.",
        "Where they are local times, name their zone, as --time-zone Europe/Berlin; if all are UTC, "
        "--health-limit times_without_zone=off.",
    )  # fmt: skip


def _repeats_check(funnel: pl.DataFrame) -> Iterator[Measured]:
    """Yield the share of lists that show a result again, of the lists that are known."""
    rows = {
        (source, step): int(number)
        for source, step, number in funnel.filter(depth=0)
        .group_by("source", "step")
        .agg(pl.col("rows").sum())
        .iter_rows()
    }
    lists = rows.get(("searches", "kept"), 0) - rows.get(("lists", "left out"), 0)
    again = rows.get(("lists", "shortened"), 0)
    if lists <= 0:
        return
    merged = int(funnel.filter(source="lists", reason=MERGED)["rows"].sum())
    of_these = "all of these" if merged == again else f"{count(merged)} of these"
    yield Measured(
        "repeated_results", again / lists,
        f"{percent(again / lists)} of the lists ({count(again)} of {count(lists)}) show a result again; "
        "each result counts at its first place."
        + (f" In {of_these}, URLs that differ as written have one normal form." if merged else ""),
        "If such URLs are different results, as the anchors of one page are, add --no-normalise-urls."
        if merged else
        "Check the join that made results: a row that matches several others repeats a result.",
    )  # fmt: skip


def _click_checks(funnel: pl.DataFrame) -> Iterator[Measured]:
    clicks = _Clicks(funnel)
    yield Measured("no_clicks", clicks.read, *_no_click(funnel))
    if not clicks.read:
        return
    checks = [*_lost_checks(clicks), *_rejected_checks(clicks), *_elsewhere(clicks)]
    if clicks.read >= _FEW_CLICKS:
        yield from checks
        return
    speaking = clicks.in_vain
    yield from (one for one in checks if one.name in speaking)
    silent = (one.name for one in checks if one.name not in speaking)
    yield from too_few(clicks.read, _FEW_CLICKS, "clicks", *silent)


def _no_click(funnel: pl.DataFrame) -> tuple[str, str]:
    """Return what a log without a click is, and what to do: perhaps its clicks have another name."""
    actions = funnel.filter(source="actions")
    rows = int(actions.filter(step="read")["rows"].sum())
    if not rows:
        return "The log has no click.", "Check that --clicks names the clicks of this log."
    names = actions.filter(pl.col("reason") != "", step="kept")["reason"].unique().sort().head(_FEW_ACTIONS)
    such = f", such as {listed(visible(name) for name in names)}" if len(names) else ""
    return (
        f"The log has no click: in {plural(rows, 'row')} of clicks, action says something else{such}.",
        "Write click, or nothing, as the action of clicks.",
    )


def _elsewhere(clicks: "_Clicks") -> Iterator[Measured]:
    if not clicks.in_time:
        return
    kept = clicks.rows("kept")
    where = "not on the first result" if clicks.depth == 1 else f"on none of the first {clicks.depth} results"
    yield Measured(
        "misplaced_clicks", clicks.misplaced / kept,
        f"{clicks.part(clicks.misplaced, kept)} of the clicks have a position at which their list shows "
        "another result than their URL; the URL counts.",
        "Find out which of the two is right; if it is the position, leave the column url out.",
    )  # fmt: skip
    yield Measured(
        "clicks_elsewhere", clicks.elsewhere / clicks.in_time,
        f"{clicks.part(clicks.elsewhere, clicks.in_time)} of the clicks are {where} of their search.",
        "Write URLs alike in clicks and results; if users click further down, set a larger --depth.",
    )  # fmt: skip


def _lost_checks(clicks: "_Clicks") -> Iterator[Measured]:
    unmatched, late = clicks.rows("unmatched"), clicks.rows("out of time")
    yield Measured(
        "lost_clicks",
        (unmatched + late) / clicks.read,
        f"Of {plural(clicks.read, 'click')}, {clicks.part(unmatched + late)} have no search that they could "
        f"belong to: {count(unmatched)} name one that the log does not have, {count(late)} are beyond its "
        "idle limit.",
        "Check search_id and the time zone of both tables: `clickassay inspect` shows examples.",
    )
    yield Measured(
        "unmatched_clicks",
        unmatched / clicks.read,
        f"{clicks.part(unmatched)} of the clicks name a search that the log does not have.",
        "Write search_id alike in both tables (case, spaces, prefix), and give the searches of all days.",
    )
    yield Measured(
        "late_clicks",
        late / clicks.read,
        f"{clicks.part(late)} of the clicks are beyond the idle limit of their search.",
        "Give the times of both tables in UTC; if clicks really come so late, set --idle-minutes.",
    )


def _rejected_checks(clicks: "_Clicks") -> Iterator[Measured]:
    ambiguous, below = (
        clicks.rows("rejected", "ambiguous search_id"),
        clicks.rows("rejected", "position below 1"),
    )
    yield Measured(
        "ambiguous_clicks",
        ambiguous / clicks.read,
        f"{clicks.part(ambiguous)} of the clicks name a search_id that several different searches have.",
        "Give each search an id of its own.",
    )
    yield Measured(
        "positions_from_zero",
        below / clicks.read,
        f"{clicks.part(below)} of the clicks are at a position below 1.",
        "Positions count from 1: add 1 to those of a log that counts from 0.",
    )


class _Clicks:
    """Rows of the funnel that are clicks."""

    def __init__(self, funnel: pl.DataFrame) -> None:
        self._rows = funnel.filter(source="clicks")
        self.misplaced = int(funnel.filter(source="positions")["rows"].sum())
        self.read = self.rows("read")
        self.depth = int(self._rows["depth"].max() or 0)  # type: ignore[arg-type]
        deepest = self._rows.filter(pl.col("depth") == self.depth, pl.col("depth") > 0)
        landed = dict(deepest.group_by("step").agg(pl.col("rows").sum()).iter_rows())
        self.elsewhere = int(landed.get("elsewhere", 0))
        self.in_time = self.elsewhere + int(landed.get("again", 0)) + int(landed.get("in patterns", 0))

    def rows(self, step: str, reason: str | None = None) -> int:
        """Return the clicks of a step."""
        rows = self._rows.filter(pl.col("depth") == 0, pl.col("step") == step)
        return int((rows if reason is None else rows.filter(reason=reason))["rows"].sum())

    @property
    def in_vain(self) -> set[str]:
        """The checks that speak of however few clicks, as no click has a search, or none is on a result."""
        if self.rows("unmatched") + self.rows("out of time") == self.read:
            return {"unmatched_clicks", "late_clicks"}
        return {"clicks_elsewhere"} if self.elsewhere == self.in_time else set()

    def part(self, rows: int, of: int | None = None) -> str:
        """Return clicks as a share and as a number."""
        return f"{percent(rows / (of or self.read))} ({count(rows)} of {count(of or self.read)})"


def _minute_checks(days: Days) -> Iterator[Measured]:
    searches, busiest = int(days.minutes.sum()), int(days.minutes.argmax())
    if searches < _FEW_ROWS:
        yield from too_few(searches, _FEW_ROWS, "searches", "same_minute", "busy_minute")
        return
    share, at = int(days.minutes[busiest]) / searches, f"{busiest // 60:02d}:{busiest % 60:02d} UTC"
    text = f"{percent(share)} of the searches ({count(int(days.minutes[busiest]))}) are at {at} of their day."
    yield Measured(
        "same_minute", share, text, "Give times, not dates: they put searches and clicks in order."
    )
    if share > BY_NAME["same_minute"].threshold:
        return
    yield Measured(
        "busy_minute", share, text, "If a program sends them, leave it out: it does not click as people do."
    )


def _user_checks(days: Days) -> Iterator[Measured]:
    searches, busiest = int(days.by_users.sum()), int(days.by_users.max())
    if searches < _FEW_ROWS:
        yield from too_few(searches, _FEW_ROWS, "searches", "busy_user", "one_search_each")
        return
    usual = _TIMES_AS_BUSY / min(days.users, len(days.by_users))
    share = busiest / searches
    yield Measured(
        "busy_user", share if share > usual else 0.0,
        f"One user, or a few of {count(round(days.users))}, have {percent(share)} of the searches "
        f"({count(busiest)}).",
        "If this is a program, or an id that many share, leave it out of the log.",
    )  # fmt: skip
    yield Measured(
        "one_search_each", searches / days.users,
        f"{count(searches)} searches are of about {count(round(days.users))} users: nearly all have one.",
        "Check that user_id names a person or a browser, not a request: visits cannot be seen otherwise.",
    )  # fmt: skip


def _day_checks(days: Days) -> Iterator[Measured]:
    median = float(np.median(days.searches[days.searches > 0]))
    missing = np.flatnonzero(days.searches == 0)
    yield Measured(
        "missing_days", len(missing),
        f"{plural(len(missing), 'day')} between the first and the last {_have(missing)} no search, "
        f"{_dates(days, missing)}.",
        "Check that every day was delivered, and that no time is years away.",
    )  # fmt: skip
    yield from _double_days(days, median)
    yield from _days_without_clicks(days)


def _double_days(days: Days, median: float) -> Iterator[Measured]:
    searches, there = int(days.searches.sum()), int(np.count_nonzero(days.searches))
    if searches < _FEW_ROWS:
        yield from too_few(searches, _FEW_ROWS, "searches", "double_days")
        return
    if there < _FEW_DAYS:
        yield from too_few(there, _FEW_DAYS, "days", "double_days")
        return
    double = np.flatnonzero(days.searches > 2 * median)
    yield Measured(
        "double_days", len(double),
        f"{plural(len(double), 'day')} {_have(double)} more than twice the {count(round(median))} searches "
        f"of the median day, {_dates(days, double)}.",
        "Check that no day was delivered twice.",
    )  # fmt: skip


def _days_without_clicks(days: Days) -> Iterator[Measured]:
    expected = days.searches * (days.clicks.sum() / max(1, days.searches.sum()))
    if expected.max() < _ENOUGH_CLICKS:
        yield from too_few(int(expected.max()), _ENOUGH_CLICKS, "clicks a day", "days_without_clicks")
        return
    silent = np.flatnonzero((days.clicks == 0) & (expected >= _ENOUGH_CLICKS))
    yield Measured(
        "days_without_clicks", len(silent),
        f"{plural(len(silent), 'day')} {_have(silent)} searches and no click, {_dates(days, silent)}.",
        "Deliver the clicks of these days, or leave the days out: they count as searches without a click.",
    )  # fmt: skip


def _have(days: np.ndarray) -> str:
    return "has" if len(days) == 1 else "have"


def _dates(days: Days, places: np.ndarray) -> str:
    if not len(places):
        return "none"
    first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days.first + int(places[0]))
    return f"{first:%Y-%m-%d}" if len(places) == 1 else f"the first on {first:%Y-%m-%d}"
