"""Visits, formed only where they matter (method 3).

Consecutive searches of a user for one query that are at most the idle limit apart are in one visit, whatever
else the user did: activity only prolongs a visit. So visits are formed only for users with a wider gap
between two of these, and for users who were active shortly before the batch ends.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.logs.arrays.clicks import AttributedClicks
from clickassay.logs.arrays.columns import (
    Clicks,
    Flags,
    Keys,
    Rows,
    Searches,
    Small,
    among,
    changes,
    distinct,
    mixed_pair,
    repeated,
)
from clickassay.patterns.sums import order_of


@dataclass(frozen=True)
class VisitLimits:
    """The idle limit, the earliest time of later batches (both ms), and whether visits are per query.

    `every`: whether the visits of all users are formed, wherever they matter.
    """

    idle_ms: int
    watermark_ms: int
    per_query: bool
    every: bool = False

    @property
    def open_ms(self) -> int:
        """A visit that is active from here on may still grow."""
        return self.watermark_ms - self.idle_ms


@dataclass(frozen=True)
class Visits:
    """Visits of a batch."""

    # Rows of the searches whose user searched for the same query again, by user, query, time and id.
    repeats: Rows
    begins: Flags  # Which of them are the first of their user and query.
    visit: Small  # The visit of each search of the batch, where visits are formed; else 0.
    is_open: Flags  # Whether the visit of each search may still grow.
    order: Rows  # Rows of the searches whose visits are formed, by visit, time and id.


def visits(
    searches: Searches,
    counts: Flags,
    pairs: Small,
    clicks: Clicks,
    placed: AttributedClicks,
    limits: VisitLimits,
    also: Rows | None = None,
) -> Visits:
    """Form the visits of a batch.

    counts: which searches count.
    pairs: number of the (market, query) in normal form of each search.
    also: searches whose users' visits are formed too.
    """
    active = searches.time.copy()
    np.maximum.at(active, placed.search, clicks.time.take(placed.click))
    repeats, begins = _repeats(searches, counts, pairs)
    time = searches.time[repeats]
    wide = ~begins
    wide[1:] &= time[1:] - time[:-1] > limits.idle_ms
    late = np.flatnonzero((active >= limits.open_ms) & counts)
    scope = mixed_pair(searches.user, pairs) if limits.per_query else searches.user.view(np.uint64)
    wanted = np.concatenate([repeats[wide], late, *(() if also is None else (also,))])
    rows = np.flatnonzero(counts) if limits.every else _searches_of(scope, wanted, counts)
    visit = np.zeros(len(searches), np.int32)
    is_open = np.zeros(len(searches), bool)
    if len(rows):
        scopes = (searches.user, pairs) if limits.per_query else (searches.user,)
        rows = _in_order(searches, rows, *scopes)
        visit[rows] = _numbered(changes(rows, *scopes), searches.time[rows], active[rows], limits.idle_ms)
        last = np.zeros(int(visit[rows[-1]]) + 1, np.int64)
        np.maximum.at(last, visit[rows], active[rows])
        is_open[rows] = last[visit[rows]] >= limits.open_ms
    return Visits(repeats, begins, visit, is_open, rows)


def _repeats(searches: Searches, counts: Flags, pairs: Small) -> tuple[Rows, Flags]:
    """Return the searches whose (user, query) recurs, in order, and which of them begin a (user, query)."""
    keys = mixed_pair(searches.user, pairs)
    rows = among(keys, repeated(keys))
    rows = rows[counts[rows]]
    rows = _in_order(searches, rows, searches.user, pairs)
    return rows, changes(rows, searches.user, pairs)


def _searches_of(scopes: Keys, of: Rows, counts: Flags) -> Rows:
    """Return the rows that count and have the scope of some rows, and rarely others."""
    if not len(of):
        return of
    rows = among(scopes, distinct(scopes[of]))
    return rows[counts[rows]]


def _in_order(searches: Searches, rows: Rows, *keys: NDArray[Any]) -> Rows:
    """Return rows in the order of keys, then of time and search id."""
    order = order_of(*(key[rows] for key in keys), searches.time[rows], _id_ranks(searches, rows))
    return rows[order]


def _id_ranks(searches: Searches, rows: Rows) -> Rows:
    if searches.id_text is None:
        return searches.id[rows]
    ranks: Rows = searches.id_text.gather(rows).rank("dense").to_numpy()
    return ranks


def _numbered(first: Flags, time: Rows, active: Rows, idle_ms: int) -> Rows:
    """Return the number of each search's visit, from 1: a gap of more than the limit begins a new one.

    Rows are in order of scope and time; `first` are the first of their scope.
    """
    begins, times = first.copy(), distinct(active)
    # scopes ascend, so that the highest (scope, place of the time) so far is of the row's own scope
    highest = np.maximum.accumulate((np.cumsum(first) << 32) | np.searchsorted(times, active))
    before = times[highest & 0xFFFFFFFF]
    begins[1:] |= time[1:] - before[:-1] > idle_ms
    numbers: Rows = np.cumsum(begins)
    return numbers
