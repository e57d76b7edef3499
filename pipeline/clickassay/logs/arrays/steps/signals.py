"""Dwell times: how long after a click its visit goes on elsewhere (contract, section 11).

For nearly all users no visit is formed: two events of a user that follow each other are of one visit if they
are at most the idle limit apart, unless a click comes before its own search, by a clock that differs.
"""

import numpy as np
import polars as pl

from clickassay.core.numbering import Keys, Numbers, Rows, Small
from clickassay.core.settings import Settings
from clickassay.inputs.normalise import normalise_url
from clickassay.logs.arrays.columns import (
    NOT_GIVEN,
    UNKNOWN,
    Clicks,
    Flags,
    ReadClicks,
    Searches,
    among,
    changes,
    distinct,
    is_in,
)
from clickassay.logs.arrays.steps.clicks import AttributedClicks
from clickassay.logs.arrays.steps.sessions import Formed
from clickassay.patterns.sums import order_of, sorted_values

_BITS = 64


Counts = list[tuple[str, bool, int]]


def searches_before_clicks(searches: Searches, clicks: Clicks, placed: AttributedClicks) -> Rows:
    """Return the searches that have a click before them: the visits of their users are formed."""
    early = clicks.time.take(placed.click) < searches.time.take(placed.search)
    return placed.search[early].astype(np.int64)


def satisfied_clicks(formed: Formed, settings: Settings, *, by_url: bool) -> tuple[Flags, Flags, Counts]:
    """Return the clicks in time that are satisfied, those of them that nothing follows, and funnel counts.

    formed: with visits at least of users of `searches_before_clicks`; of all where they are per query.
    """
    read, placed = formed.read, formed.placed
    clicked = read.clicks.time.take(placed.click)
    if settings.idle_scope == "query":
        visit = formed.visits.visit
        of_searches, key, bits = _in_visits(formed.searches.time, clicked, placed.search, visit)
        own = of_searches.take(placed.search)
        until_next, events = _without_own(of_searches[formed.counts], key, own, bits)
    else:
        until_next, key, events = _until_next_of_users(formed, clicked, settings.idle_ms)
    is_last = until_next == 0
    given = read.clicks.dwell
    dwell = np.full(len(clicked), NOT_GIVEN) if given is None else given.take(placed.click)
    is_given = dwell >= 0
    satisfied = np.where(is_given, dwell, until_next) >= settings.satisfied_ms
    by_last = is_last & ~is_given
    satisfied[by_last] = settings.last_click == "satisfied"
    repeats, shared = _at_one_time(read, placed, key, events, settings, by_url=by_url)
    is_distinct = np.ones(len(clicked), bool)
    is_distinct[repeats] = False
    found = {
        "given": is_given,
        "next event": ~is_given & ~is_last,
        "last click": by_last,
        "satisfied by last click": by_last & satisfied,
        "satisfied": satisfied,
        "of no use": dwell == -1,
        "distinct": is_distinct,
    }
    is_open = formed.visits.is_open.take(placed.search)
    any_open = bool(is_open.any())
    counted: Counts = [("at one time", now, int((is_open[shared] == now).sum())) for now in (False, True)]
    for step, flags in found.items():
        still_open = int((flags & is_open).sum()) if any_open else 0
        counted += [(step, True, still_open), (step, False, int(flags.sum()) - still_open)]
    return satisfied, by_last & satisfied, [one for one in counted if one[2]]


def _until_next_of_users(formed: Formed, clicked: Rows, idle_ms: int) -> tuple[Rows, Keys, Keys]:
    """Return ms until the next event of each click's visit (0 = none), its key, and the keys of all.

    Visits are of users. They are formed of those with a click before its search alone, where they matter.
    """
    searches, counts, placed = formed.searches, formed.counts, formed.placed
    low, high = int(searches.user.min(initial=0)), int(searches.user.max(initial=0))
    if high - low < 1 << 31:
        users, bits = (searches.user - low).view(np.uint64), (high - low).bit_length()
    else:  # small numbers for users
        numbers = Numbers()
        users = numbers.get_or_add(searches.user.view(np.uint64), lambda _rows: None).astype(np.uint64)
        bits = numbers.count.bit_length()
    keys = _packed(users, bits, searches.time, clicked, placed.search, idle_ms)
    if keys is None:
        keys = _counted_on(users, searches.time, clicked, placed.search, idle_ms)
    of_searches, of_clicks = keys
    until_next, events = _until_next(of_searches[counts], of_clicks)
    until_next[until_next > idle_ms] = 0
    early = clicked < searches.time.take(placed.search)
    if early.any():
        few = distinct(searches.user[placed.search[early]])
        rows = np.flatnonzero(counts & is_in(searches.user, few))
        own = np.flatnonzero(is_in(searches.user.take(placed.search), few))
        search = placed.search[own]
        in_visits, clicks, bits = _in_visits(searches.time, clicked[own], search, formed.visits.visit)
        until_next[own], _ = _without_own(in_visits[rows], clicks, in_visits.take(search), bits)
    return until_next, of_clicks, events


def _packed(
    users: Keys, bits: int, time: Rows, clicked: Rows, search: Small, idle_ms: int
) -> tuple[Keys, Keys] | None:
    """Return (user, time) as numbers, users apart by the idle limit; None if it has too many bits."""
    low = int(min(time.min(), clicked.min())) if len(time) and len(clicked) else 0
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
    """Return distances from clicks to the next larger key (0 = none, or beyond `bits`), and the sorted keys.

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


def _in_visits(time: Rows, clicked: Rows, search: Small, visit: Small) -> tuple[Keys, Keys, int]:
    """Return (visit, time from its start: small) of searches and clicks, and the bits of the time."""
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
    read: ReadClicks, placed: AttributedClicks, key: Keys, events: Keys, settings: Settings, *, by_url: bool
) -> tuple[Rows, Rows]:
    """Return the clicks that repeat an equal one, and distinct clicks that share their time with others."""
    again = distinct(events[1:][events[1:] == events[:-1]])
    rows = among(key, again) if len(again) else np.zeros(0, np.int64)
    rows = rows[is_in(key[rows], again)]
    url = placed.url[rows].astype(np.int64)  # a number: the same for the same normal form
    if by_url:
        raw = read.clicks.url.take(placed.click[rows])
        unknown = np.flatnonzero((url < 0) & (raw <= UNKNOWN))
        texts = read.unknown.gather(UNKNOWN - raw[unknown].astype(np.int64))
        normal = [normalise_url(text) for text in texts] if settings.normalise_urls else texts.to_list()
        url[unknown] = -2 - pl.Series(normal, dtype=pl.String).rank("dense").cast(pl.Int64).to_numpy()
    else:
        url = np.maximum(url, -1)
    order = order_of(key[rows], placed.search[rows], url)
    in_order = rows[order]
    is_repeat = ~changes(order, key[rows], placed.search[rows], url)
    repeats, kept = in_order[is_repeat], in_order[~is_repeat]
    left = np.searchsorted(events, key[kept], "right") - np.searchsorted(events, key[kept], "left")
    lost = sorted_values(key[repeats])
    left -= np.searchsorted(lost, key[kept], "right") - np.searchsorted(lost, key[kept], "left")
    return repeats, kept[left > 1]
