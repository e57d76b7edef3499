"""Dwell times: how long after a click its visit goes on elsewhere (contract, section 11).

For nearly all users no visit is formed: two events of a user that follow each other are of one visit if they
are at most the idle limit apart, unless a click comes before its own search, by a clock that differs.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.inputs.normalise import normalise_url
from clickassay.logs.arrays.clicks import AttributedClicks
from clickassay.logs.arrays.columns import (
    UNKNOWN,
    Clicks,
    Flags,
    Keys,
    Numbers,
    ReadClicks,
    Rows,
    Searches,
    Small,
    among,
    distinct,
    is_in,
)
from clickassay.logs.arrays.visits import Visits
from clickassay.patterns.sums import order_of, sorted_values

_BITS = 64


@dataclass(frozen=True)
class SatisfactionRule:
    """When a click is satisfied: its dwell time (ms), or whether one that nothing follows counts."""

    # satisfied_ms, last_click_counts, idle_ms: As the settings have them.
    satisfied_ms: int
    last_click_counts: bool
    idle_ms: int
    # by_url, normalise_urls: Whether clicks name a URL, and whether that is brought to a normal form.
    by_url: bool
    normalise_urls: bool
    in_full: bool  # Whether the visits of all users are formed.


Counts = list[tuple[str, bool, int]]


def searches_before_clicks(searches: Searches, clicks: Clicks, placed: AttributedClicks) -> Rows:
    """Return the searches that have a click before them: the visits of their users are formed."""
    early = clicks.time.take(placed.click) < searches.time.take(placed.search)
    rows: Rows = placed.search[early].astype(np.int64)
    return rows


def satisfied_clicks(
    searches: Searches,
    counts: Flags,
    read: ReadClicks,
    placed: AttributedClicks,
    formed: Visits,
    rule: SatisfactionRule,
) -> tuple[Flags, Flags, Counts]:
    """Return which of the clicks in time are satisfied, and which of these nothing follows; and the counts.

    The counts are of what decided it, for the funnel.

    counts: which searches count.
    read, placed: the clicks of a batch, and those in time.
    formed: visits, at least of the users of `searches_before_clicks`.
    """
    clicked = read.clicks.time.take(placed.click)
    until_next, key, events = _events(searches, counts, clicked, placed, formed, rule)
    is_last = until_next == 0
    given = read.clicks.dwell
    is_given = np.zeros(len(clicked), bool) if given is None else given.take(placed.click) >= 0
    satisfied = until_next >= rule.satisfied_ms
    if given is not None:
        satisfied = np.where(is_given, given.take(placed.click) >= rule.satisfied_ms, satisfied)
    by_last = is_last & ~is_given
    satisfied[by_last] = rule.last_click_counts
    repeats, shared = _at_one_time(read, placed, key, events, rule)
    is_distinct = np.ones(len(clicked), bool)
    is_distinct[repeats] = False
    found = {
        "given": is_given,
        "next event": ~is_given & ~is_last,
        "last click": by_last,
        "satisfied by last click": by_last & satisfied,
        "satisfied": satisfied,
        "of no use": np.zeros(len(clicked), bool) if given is None else given.take(placed.click) == -1,
        "distinct": is_distinct,
    }
    is_open = formed.is_open.take(placed.search)
    any_open = bool(is_open.any())
    counted: Counts = [("at one time", now, int((is_open[shared] == now).sum())) for now in (False, True)]
    for step, flags in found.items():
        still_open = int((flags & is_open).sum()) if any_open else 0
        counted += [(step, True, still_open), (step, False, int(flags.sum()) - still_open)]
    return satisfied, by_last & satisfied, [one for one in counted if one[2]]


def _events(
    searches: Searches,
    counts: Flags,
    clicked: Rows,
    placed: AttributedClicks,
    formed: Visits,
    rule: SatisfactionRule,
) -> tuple[Rows, Keys, Keys]:
    """Return ms until the next event of each click's visit (0 = none), its key, and the keys of all."""
    if not rule.in_full:
        users, bits = _user_numbers(searches.user)
        keys = _packed(users, bits, searches.time, clicked, placed.search, rule.idle_ms)
        if keys is None:
            keys = _counted_on(users, searches.time, clicked, placed.search, rule.idle_ms)
        of_searches, of_clicks = keys
        until_next, events = _until_next(of_searches[counts], of_clicks)
        until_next[until_next > rule.idle_ms] = 0
        _put_early(until_next, searches, counts, clicked, placed, formed)
        return until_next, of_clicks, events
    of_searches, of_clicks, bits = _in_visits(searches.time, clicked, placed.search, formed.visit)
    until_next, events = _without_own(of_searches[counts], of_clicks, of_searches.take(placed.search), bits)
    return until_next, of_clicks, events


def _user_numbers(users: Rows) -> tuple[Keys, int]:
    """Return small numbers for users, and the bits of the largest."""
    low, high = int(users.min(initial=0)), int(users.max(initial=0))
    span = high - low
    if span < 1 << 31:
        return (users - low).view(np.uint64), span.bit_length()
    numbers = Numbers()
    found = numbers.get_or_add(users.view(np.uint64), lambda _rows: None)
    return found.astype(np.uint64), numbers.count.bit_length()


def _packed(
    users: Keys, bits: int, time: Rows, clicked: Rows, search: Small, idle_ms: int
) -> tuple[Keys, Keys] | None:
    """Return (user, time) as one number of each search and click; None if it has too many bits.

    Numbers of different users are further apart than the idle limit.
    """
    low = min(int(time.min(initial=0)), int(clicked.min(initial=0))) if len(time) else 0
    low = int(min(time.min(), clicked.min())) if len(time) and len(clicked) else low
    high = max(int(time.max(initial=low)), int(clicked.max(initial=low)))
    time_bits = (high - low + idle_ms + 1).bit_length()
    if bits + time_bits > _BITS:
        return None
    head = users << np.uint64(time_bits)
    of_searches = head | (time - low).view(np.uint64)
    of_clicks = head.take(search) | (clicked - low).view(np.uint64)
    return of_searches, of_clicks


def _counted_on(users: Keys, time: Rows, clicked: Rows, search: Small, idle_ms: int) -> tuple[Keys, Keys]:
    """Return the same for any users and times: gaps beyond the idle limit, and between users, are cut."""
    user, times = np.concatenate([users, users.take(search)]), np.concatenate([time, clicked])
    order = order_of(user, times)
    user, times = user[order], times[order]
    step = np.minimum(np.diff(times), idle_ms + 1)
    step[user[1:] != user[:-1]] = idle_ms + 1
    keys = np.zeros(len(order), np.uint64)
    keys[order[1:]] = np.cumsum(step)
    return keys[: len(time)], keys[len(time) :]


def _until_next(of_searches: Keys, of_clicks: Keys, bits: int | None = None) -> tuple[Rows, Keys]:
    """Return the distance from the key of each click to the next larger one, and all keys in order.

    It is 0 if there is none, or, with `bits`, if the keys differ above so many.

    To sort rows and look at the neighbour takes a fifth of the time of looking each click up.
    """
    keys = np.concatenate([of_searches, of_clicks])
    order = np.argsort(keys)
    events = keys.take(order)
    until = np.zeros(len(events), np.uint64)
    np.subtract(events[1:], events[:-1], out=until[:-1])
    equal = np.flatnonzero(until[:-1] == 0)
    if bits is not None:
        until[:-1][(events[1:] ^ events[:-1]) >> np.uint64(bits) != 0] = 0
    if len(equal):  # events at one time are followed by what follows the last of them
        ends = np.flatnonzero(np.diff(equal, append=-1) != 1)
        until[equal] = until[equal[ends] + 1].repeat(np.diff(ends, prepend=-1))
    clicks = np.flatnonzero(order >= len(of_searches))
    of_rows = np.empty(len(of_clicks), np.int64)
    of_rows[order.take(clicks) - len(of_searches)] = until.take(clicks).view(np.int64)
    return of_rows, events


def _put_early(
    until_next: Rows,
    searches: Searches,
    counts: Flags,
    clicked: Rows,
    placed: AttributedClicks,
    formed: Visits,
) -> None:
    """Put the times until the next event of users with a click before its search, whose visits are formed."""
    early = clicked < searches.time.take(placed.search)
    if not early.any():
        return
    users = distinct(searches.user[placed.search[early]])
    rows = np.flatnonzero(counts & is_in(searches.user, users))
    own = np.flatnonzero(is_in(searches.user.take(placed.search), users))
    search = placed.search[own]
    of_searches, of_clicks, bits = _in_visits(searches.time, clicked[own], search, formed.visit)
    until_next[own], _ = _without_own(of_searches[rows], of_clicks, of_searches.take(search), bits)


def _in_visits(time: Rows, clicked: Rows, search: Small, visit: Small) -> tuple[Keys, Keys, int]:
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


def _without_own(of_searches: Keys, of_clicks: Keys, own: Keys, bits: int) -> tuple[Rows, Keys]:
    """Return the same of events of visits; a click's own search, if it alone comes next, is no event."""
    until, events = _until_next(of_searches, of_clicks, bits)
    following = of_clicks + until.view(np.uint64)
    met = np.flatnonzero((until > 0) & (following == own))
    if len(met):
        first, end = (np.searchsorted(events, own[met], side=side) for side in ("left", "right"))
        alone = met[end - first == 1]
        later = events.take(np.searchsorted(events, own[alone], side="right"), mode="clip")
        is_later = (later >> np.uint64(bits) == own[alone] >> np.uint64(bits)) & (later > own[alone])
        until[alone] = np.where(is_later, later - of_clicks[alone], np.uint64(0)).view(np.int64)
    return until, events


def _at_one_time(
    read: ReadClicks, placed: AttributedClicks, key: Keys, events: Keys, rule: SatisfactionRule
) -> tuple[Rows, Rows]:
    """Return the clicks that repeat an equal one, and distinct clicks that share their time with others."""
    again = distinct(events[1:][events[1:] == events[:-1]])
    rows = among(key, again) if len(again) else np.zeros(0, np.int64)
    rows = rows[is_in(key[rows], again)]
    url = _urls(read, placed, rows, rule)
    order = order_of(key[rows], placed.search[rows], url)
    in_order = rows[order]
    at, search = key[in_order], placed.search[in_order]
    same = np.zeros(len(order), bool)
    same[1:] = (at[1:] == at[:-1]) & (search[1:] == search[:-1]) & (url[order][1:] == url[order][:-1])
    repeats, kept = in_order[same], in_order[~same]
    left = np.searchsorted(events, key[kept], "right") - np.searchsorted(events, key[kept], "left")
    lost = sorted_values(key[repeats])
    left -= np.searchsorted(lost, key[kept], "right") - np.searchsorted(lost, key[kept], "left")
    return repeats, kept[left > 1]


def _urls(
    read: ReadClicks, placed: AttributedClicks, rows: Rows, rule: SatisfactionRule
) -> NDArray[np.int64]:
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
