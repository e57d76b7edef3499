"""Checks of how a log's searches follow each other in time. They need its rows: `inspect` alone has them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.text.words import count, percent, plural
from clickassay.health.checks import Measured

_FEW_GAPS = 1000
_HOUR_MS, _DAY_HOURS = 3_600_000, 24
_TWO_DAYS_MS = 2 * _DAY_HOURS * _HOUR_MS
_FEW_DAYS = 3
"""Days of a log from which on an hour of the day has a usual number of searches."""
_ENOUGH_SEARCHES = 20
"""An hour without a search is one that usually has so many."""


def time_checks(searches: pl.LazyFrame, idle_ms: int) -> Iterator[Measured]:
    """Yield the numbers of the checks of time.

    searches: search_id, user_id, timestamp (ms since 1970, UTC): usable searches.
    idle_ms: the idle limit.
    """
    rows = searches.select("search_id", "user_id", "timestamp").unique().sort("user_id", "timestamp")
    gap = pl.col("timestamp").diff().filter(pl.col("user_id") == pl.col("user_id").shift())
    counts = rows.select(
        gaps=gap.len(),
        idle=(gap > idle_ms).sum(),
        none=(gap == 0).sum(),
        span=pl.col("timestamp").max() - pl.col("timestamp").min(),
    ).collect(engine="streaming")
    gaps, idle, none, span = counts.row(0)
    if gaps >= _FEW_GAPS:
        yield from _gap_checks(gaps, idle, none, span, idle_ms)
    hours = searches.group_by(hour=pl.col("timestamp") // _HOUR_MS).len().collect(engine="streaming")
    yield from _silent_hours(hours)


def _gap_checks(gaps: int, idle: int, none: int, span: int, idle_ms: int) -> Iterator[Measured]:
    if span > _TWO_DAYS_MS:
        yield Measured(
            "no_idle_gaps", idle / gaps,
            f"Of {count(gaps)} pauses between searches of a user, {count(idle)} "
            f"{'is' if idle == 1 else 'are'} longer than {idle_ms // 60_000} minutes, although the log "
            f"covers {span // (_DAY_HOURS * _HOUR_MS)} days: nearly every user has one visit.",
            "Check that user_id names a person or a browser, not a visit, and that times are not cut.",
        )  # fmt: skip
    yield Measured(
        "standing_time", none / gaps,
        f"{percent(none / gaps)} of the pauses between searches of a user ({count(none)} of {count(gaps)}) "
        "are of 0 ms: time stands still.",
        "Give the time of each search to the second or better; searches that a page sends at once are one.",
    )  # fmt: skip


def _silent_hours(hours: pl.DataFrame) -> Iterator[Measured]:
    if hours.is_empty():
        return
    first, last = int(hours["hour"].min()), int(hours["hour"].max())  # type: ignore[arg-type]
    begin = first // _DAY_HOURS * _DAY_HOURS
    days = (last - begin) // _DAY_HOURS + 1
    if days < _FEW_DAYS or days * _DAY_HOURS > 100 * hours.height + 1000:  # a time that is years away
        return
    counts = np.zeros(days * _DAY_HOURS, np.int64)
    counts[hours["hour"].to_numpy() - begin] = hours["len"].to_numpy()
    silent = _silent(counts.reshape(days, _DAY_HOURS))
    silent = silent[(silent >= first - begin) & (silent <= last - begin)]
    at = begin + int(silent[0]) if len(silent) else begin
    when = datetime.fromtimestamp(at * _HOUR_MS / 1000, UTC)
    yield Measured(
        "silent_hours", len(silent),
        f"{plural(len(silent), 'hour')} {'has' if len(silent) == 1 else 'have'} no search, although this "
        f"hour of the day usually has {_ENOUGH_SEARCHES} or more, "
        f"{'' if len(silent) == 1 else 'the first '}on {when:%Y-%m-%d at %H:%M} UTC.",
        "Check whether the clock jumped, or a part of the log was not delivered.",
    )  # fmt: skip


def _silent(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the hours, from 0 on, that are empty in (D, 24) counts; empty days are not looked at."""
    there = counts.sum(axis=1) > 0
    usual = np.median(counts[there], axis=0)
    silent: NDArray[np.int64] = np.flatnonzero((counts == 0) & there[:, None] & (usual >= _ENOUGH_SEARCHES))
    return silent
