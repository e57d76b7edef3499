"""Sessions: what a user did for one query in one visit, from the list of its first search (method 3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.numbering import Rows, Small
from clickassay.logs.arrays.columns import Flags, ReadClicks, Searches
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.clicks import AttributedClicks, places
from clickassay.logs.arrays.steps.visits import Visits


@dataclass(frozen=True)
class Sessions:
    """Sessions of a batch, and where their clicks landed."""

    first: Rows  # Rows of their first searches.
    mask: Rows  # Their click masks.
    is_open: Flags  # Whether they may still grow.
    first_of: Small  # The first search of the session of each search.
    # search, place: Of each click in time, the first search of its session, and its place in the list of
    # that; 0 = not among its top results.
    search: Small
    place: NDArray[np.int8]


@dataclass(frozen=True)
class Formed:
    """A batch whose sessions are formed."""

    # searches, counts: Its searches, and which of them count; the others are repeated deliveries.
    searches: Searches
    counts: Flags
    # read, placed: Its clicks, and those in time.
    read: ReadClicks
    placed: AttributedClicks
    visits: Visits
    sessions: Sessions


def sessions(
    searches: Searches, counts: Flags, formed: Visits, placed: AttributedClicks, shown: LogTexts
) -> Sessions:
    """Form the sessions of a batch; `placed` are the clicks in time on the lists of their own searches."""
    height = len(searches)
    first_of = np.arange(height, dtype=np.int32)
    rows, visit = formed.repeats, formed.visit[formed.repeats]
    begins = formed.begins.copy()
    begins[1:] |= visit[1:] != visit[:-1]
    if len(rows):
        first_of[rows] = rows[begins][np.cumsum(begins) - 1]
    search, place = placed_in_sessions(searches, first_of, placed, shown)
    first = np.flatnonzero(counts & (first_of == np.arange(height, dtype=first_of.dtype)))
    bits = np.left_shift(1, np.arange(-1, 63).clip(0), dtype=np.int64)
    bits[0] = 0  # of clicks on none of the top results
    masks = np.zeros(height, np.int64)
    np.bitwise_or.at(masks, search, bits.take(place))
    return Sessions(first, masks.take(first), formed.is_open.take(first), first_of, search, place)


def placed_in_sessions(
    searches: Searches, first_of: Small, placed: AttributedClicks, shown: LogTexts
) -> tuple[Small, NDArray[np.int8]]:
    """Return the first search of the session of each click in time, and its place in the list of that."""
    search = first_of.take(placed.search)
    place = placed.place.copy()
    moved = np.flatnonzero(search != placed.search)
    place[moved] = places(shown.lists.top.values, searches.list[search[moved]], placed.url[moved])
    return search, place
