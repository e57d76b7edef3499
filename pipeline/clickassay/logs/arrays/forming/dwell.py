"""Dwell times: how long after a click its visit goes on elsewhere (contract, section 11)."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.inputs.normalise import normalise_url
from clickassay.logs.arrays.clicks import AttributedClicks
from clickassay.logs.arrays.columns.batch import UNKNOWN, ReadClicks, Searches
from clickassay.logs.arrays.columns.numbers import Flags, Keys, Rows, Small
from clickassay.logs.arrays.forming.visits import Visits
from clickassay.patterns.sums import order_of, sorted_values


@dataclass(frozen=True)
class SatisfactionRule:
    """When a click is satisfied: its dwell time (ms), or whether one that nothing follows counts.

    Attributes
    ----------
    satisfied_ms, last_click_counts
        As the settings have them.
    by_url, normalise_urls
        Whether clicks name a URL, and whether that is brought to a normal form.
    """

    satisfied_ms: int
    last_click_counts: bool
    by_url: bool
    normalise_urls: bool


@dataclass(frozen=True)
class _Times:
    """The times of visits at which something happens: (visit, time) as one number each, and events then."""

    keys: Keys
    events: Rows
    bits: int

    @classmethod
    def of(cls, keys: Keys, bits: int) -> "_Times":
        in_order = sorted_values(keys)
        starts = np.flatnonzero(np.diff(in_order, prepend=np.uint64(2**64 - 1)))
        return cls(in_order[starts], np.diff(starts, append=len(in_order)), bits)

    def at(self, keys: Keys) -> Rows:
        """Return the place of each time."""
        places: Rows = np.searchsorted(self.keys, keys)
        return places

    def after(self, places: Rows, own: Keys) -> Keys:
        """Return the next time of the visit, but that of the own search if it is alone then; 0 for none."""
        keys = np.append(self.keys, np.zeros(2, np.uint64))
        events = np.append(self.events, np.zeros(2, np.int64))
        is_own = (keys[places + 1] == own) & (events[places + 1] == 1)
        following = keys[places + 1 + is_own]
        bits = np.uint64(self.bits)
        is_same = (following >> bits) == (self.keys[places] >> bits)
        return np.where(is_same, following, np.uint64(0))


Counts = list[tuple[str, bool, int]]


def satisfied_clicks(
    searches: Searches,
    counts: Flags,
    read: ReadClicks,
    placed: AttributedClicks,
    formed: Visits,
    rule: SatisfactionRule,
) -> tuple[Flags, Counts]:
    """Return which of the clicks in time are satisfied, and what decided that, as the funnel counts it.

    Parameters
    ----------
    counts
        Which searches count.
    read, placed
        The clicks of a batch, and those in time.
    formed
        The visits of all searches that count.
    """
    clicks = read.clicks
    rows = np.flatnonzero(counts)
    of_searches, of_clicks, bits = _keys(
        searches.time, clicks.time.take(placed.click), placed.search, formed.visit
    )
    times = _Times.of(np.concatenate([of_searches[rows], of_clicks]), bits)
    places = times.at(of_clicks)
    following = times.after(places, of_searches.take(placed.search))
    is_last = following == 0
    until_next = np.where(is_last, 0, following - of_clicks).astype(np.int64)
    given = np.full(len(placed.click), -2) if clicks.dwell is None else clicks.dwell.take(placed.click)
    is_given = given >= 0
    satisfied = np.where(is_given, given, until_next) >= rule.satisfied_ms
    satisfied[is_last & ~is_given] = rule.last_click_counts
    is_open = formed.is_open.take(placed.search)
    by_last = is_last & ~is_given
    shared = np.flatnonzero(times.events.take(places) > 1)
    repeats, alone = _of_shared(read, placed, places, times, shared, rule)
    distinct = np.ones(len(placed.click), bool)
    distinct[repeats] = False
    at_one_time = np.zeros(len(placed.click), bool)
    at_one_time[shared] = True
    at_one_time[repeats] = at_one_time[alone] = False
    found = {
        "given": is_given,
        "next event": ~is_given & ~is_last,
        "last click": by_last,
        "satisfied by last click": by_last & satisfied,
        "satisfied": satisfied,
        "of no use": given == -1,
        "distinct": distinct,
        "at one time": at_one_time,
    }
    counted = [
        (step, now, int((flags & (is_open == now)).sum()))
        for step, flags in found.items()
        for now in (False, True)
    ]
    return satisfied, [one for one in counted if one[2]]


def _keys(time: Rows, clicked: Rows, search: Small, visit: Small) -> tuple[Keys, Keys, int]:
    """Return (visit, time) as one number for each search and click, and the bits of the time.

    Times count from the first event of their visit: so they are small.
    """
    start = np.full(int(visit.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(start, visit, time)
    of_click = visit.take(search)
    np.minimum.at(start, of_click, clicked)
    searched, clicked = time - start.take(visit), clicked - start.take(of_click)
    bits = int(max(searched.max(initial=0), clicked.max(initial=0))).bit_length()
    shift = np.uint64(bits)
    return (
        (visit.astype(np.uint64) << shift) + searched.astype(np.uint64),
        (of_click.astype(np.uint64) << shift) + clicked.astype(np.uint64),
        bits,
    )


def _of_shared(
    read: ReadClicks,
    placed: AttributedClicks,
    places: Rows,
    times: _Times,
    shared: Rows,
    rule: SatisfactionRule,
) -> tuple[Rows, Rows]:
    """Return, of clicks that share their time, repeats of another, and clicks alone without these."""
    url = _urls(read, placed, shared, rule)
    order = order_of(places[shared], placed.search[shared], url)
    in_order = shared[order]
    same = np.zeros(len(order), bool)
    at, search = places[in_order], placed.search[in_order]
    same[1:] = (at[1:] == at[:-1]) & (search[1:] == search[:-1]) & (url[order][1:] == url[order][:-1])
    repeats = in_order[same]
    lost = np.bincount(places[repeats], minlength=len(times.keys))
    left = times.events - lost
    return repeats, shared[left.take(places[shared]) == 1]


def _urls(read: ReadClicks, placed: AttributedClicks, rows: Rows, rule: SatisfactionRule) -> Rows:
    """Return a number for each URL of some clicks in time: the same for the same normal form."""
    url = placed.url[rows].astype(np.int64)
    if not rule.by_url:
        return np.maximum(url, -1)
    raw = read.clicks.url.take(placed.click[rows])
    unknown = np.flatnonzero((url < 0) & (raw <= UNKNOWN))
    if len(unknown):
        texts = read.unknown.gather(UNKNOWN - raw[unknown].astype(np.int64))
        normal = [normalise_url(text) for text in texts] if rule.normalise_urls else texts.to_list()
        url[unknown] = -2 - pl.Series(normal, dtype=pl.String).rank("dense").cast(pl.Int64).to_numpy()
    return url
