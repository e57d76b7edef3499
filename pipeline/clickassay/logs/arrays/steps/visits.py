"""Visits, formed only where they matter (method 3).

Consecutive searches of a user for one query that are at most the idle limit apart are in one visit, whatever
else the user did: activity only prolongs a visit. So visits are formed only for users with a wider gap
between two of these, and for users who were active shortly before the batch ends.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.numbering import Rows, Small
from clickassay.logs.arrays import columns
from clickassay.logs.arrays.steps.clicks import AttributedClicks
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
    begins: columns.Flags  # Which of them are the first of their user and query.
    visit: Small  # The visit of each search of the batch, where visits are formed; else 0.
    is_open: columns.Flags  # Whether the visit of each search may still grow.
    order: Rows  # Rows of the searches whose visits are formed, by visit, time and id.


def visits(
    searches: columns.Searches,
    counts: columns.Flags,
    pairs: Small,
    clicks: columns.Clicks,
    placed: AttributedClicks,
    limits: VisitLimits,
    also: Rows | None = None,
) -> Visits:
    """Form the visits of a batch, also of users of searches `also`; `pairs`: numbers of (market, query)."""
    active = searches.time.copy()
    np.maximum.at(active, placed.search, clicks.time.take(placed.click))
    keys = columns.mixed_pair(searches.user, pairs)
    rows = columns.among(keys, columns.repeated(keys))
    repeats = _in_order(searches, rows[counts[rows]], searches.user, pairs)
    begins = columns.changes(repeats, searches.user, pairs)
    time = searches.time[repeats]
    wide = ~begins
    wide[1:] &= time[1:] - time[:-1] > limits.idle_ms
    late = np.flatnonzero((active >= limits.open_ms) & counts)
    scope = keys if limits.per_query else searches.user.view(np.uint64)
    rows = np.concatenate([repeats[wide], late, *(() if also is None else (also,))])
    if limits.every:
        rows = np.flatnonzero(counts)
    elif len(rows):  # all that count of their scopes, and rarely others
        rows = columns.among(scope, columns.distinct(scope[rows]))
        rows = rows[counts[rows]]
    visit = np.zeros(len(searches), np.int32)
    is_open = np.zeros(len(searches), bool)
    if len(rows):
        scopes = (searches.user, pairs) if limits.per_query else (searches.user,)
        rows = _in_order(searches, rows, *scopes)
        visit[rows] = _numbered(
            columns.changes(rows, *scopes), searches.time[rows], active[rows], limits.idle_ms
        )
        last = np.zeros(int(visit[rows[-1]]) + 1, np.int64)
        np.maximum.at(last, visit[rows], active[rows])
        is_open[rows] = last[visit[rows]] >= limits.open_ms
    return Visits(repeats, begins, visit, is_open, rows)


def _in_order(searches: columns.Searches, rows: Rows, *keys: NDArray[Any]) -> Rows:
    texts = searches.id_text
    ids = searches.id[rows] if texts is None else texts.gather(rows).rank("dense").to_numpy()
    return rows[order_of(*(key[rows] for key in keys), searches.time[rows], ids)]


def _numbered(first: columns.Flags, time: Rows, active: Rows, idle_ms: int) -> Rows:
    """Return each search's visit, from 1, in order of scope and time: a gap over the limit begins one."""
    begins, times = first.copy(), columns.distinct(active)
    # scopes ascend, so that the highest (scope, place of the time) so far is of the row's own scope
    highest = np.maximum.accumulate((np.cumsum(first) << 32) | np.searchsorted(times, active))
    before = times[highest & 0xFFFFFFFF]
    begins[1:] |= time[1:] - before[:-1] > idle_ms
    return np.cumsum(begins)
