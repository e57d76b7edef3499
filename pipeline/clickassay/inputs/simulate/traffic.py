"""Who searches what, and when: a log's time is cut into periods, each of which is drawn separately.

A period's users search in that part of the day only, at most one visit a day, so their visits lie
far more than an hour apart and a session never crosses from one period into another.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.inputs.simulate.corpus import RANKERS
from clickassay.inputs.simulate.indices import Shares, firsts_of_runs, stable_order
from clickassay.inputs.simulate.worlds import Noise

Integers = NDArray[np.int64]

DAYS = 7
FIRST_DAY_MS = 1_767_571_200_000
"""2026-01-05T00:00Z, a Monday."""

DAY_MS = 86_400_000
PERIOD_SEARCHES = 100_000
"""Most searches of a period: what is held in memory does not grow with the log."""

NEW_VISIT_SHARE = 0.45
"""Chance that a search begins a visit: 2.2 searches a visit on average."""

MEAN_GAP_MS = 90_000
LONGEST_VISIT_MS = 30 * 60_000
USERS_PER_SEARCH = 1.5
"""Users of a period per search in it: about one in three comes on a given day."""

BOT_VISIT_SEARCHES = 80
"""Mean searches of a bot's visit."""

FIRST_MARKET_TENTHS = 6
"""Tenths of the users who belong to the first of two markets."""

HUMAN, CLICKS_ALL, CLICKS_NONE = 0, 1, 2


@dataclass(frozen=True)
class Period:
    """A part of one day."""

    number: int  # 0, 1, ... in time.
    # begin_ms, end_ms: First and first-after-last millisecond, UTC.
    begin_ms: int
    end_ms: int
    searches: int  # Searches in it.
    first_search: int  # Search id of its first search.
    # first_user, users: Its users have the ids first_user .. first_user + users - 1, the same every day.
    first_user: int
    users: int


@dataclass(frozen=True)
class Traffic:
    """The n searches of a period in order of time; each array is (n,)."""

    # search, user, time_ms: Search id, user id, and time.
    search: Integers
    user: Integers
    time_ms: Integers
    # Number of the visit within the period; a visit has one user and lasts at most half an hour.
    visit: Integers
    # query, ranker, market: Index of the query, of the ranker that answers, and of the market (0 without
    # markets).
    query: Integers
    ranker: Integers
    market: Integers
    repeated: NDArray[np.bool_]  # Whether the search repeats the query before it in the visit on purpose.
    actor: NDArray[np.int8]  # HUMAN, CLICKS_ALL or CLICKS_NONE.


def periods(searches: int) -> Iterator[Period]:
    """Cut a log of `searches` searches into periods of at most `PERIOD_SEARCHES`, in order of time."""
    peak = 1.6
    per_day = max(24, int(np.ceil(peak * searches / (DAYS * (PERIOD_SEARCHES - 1)))))
    # Fewest searches in the small hours, most twelve hours later.
    hours = 1 - (peak - 1) * np.cos(2 * np.pi * (np.arange(per_day) / per_day - 1 / 6))
    share = np.cumsum(np.tile(hours, DAYS))
    ends = np.rint(searches * (share / share[-1])).astype(np.int64)
    begins = np.concatenate(([0], ends[:-1]))
    counts = (ends - begins).reshape(DAYS, per_day)
    users = np.ceil(USERS_PER_SEARCH * counts.max(axis=0)).astype(np.int64)
    first_users = 1 + np.cumsum(users) - users
    for number in range(DAYS * per_day):
        day, part = divmod(number, per_day)
        yield Period(
            number,
            FIRST_DAY_MS + day * DAY_MS + part * DAY_MS // per_day,
            FIRST_DAY_MS + day * DAY_MS + (part + 1) * DAY_MS // per_day,
            int(counts[day, part]),
            1 + int(begins[number]),
            int(first_users[part]),
            int(users[part]),
        )


def ranker_shares() -> NDArray[np.float64]:
    """Return the shares of the rankers in the searches of the first market; the second has them turned."""
    shares: NDArray[np.float64] = np.arange(RANKERS + 2, 2, -1) / np.arange(3, RANKERS + 3).sum()
    return shares


def draw_traffic(
    period: Period, popularity: Shares, noise: Noise, markets: int, rng: np.random.Generator
) -> Traffic:
    """Draw the searches of a period.

    If `noise` has no repeated searches, no user searches a query twice in a visit, so that every
    search is a session of its own.

    period: day, and part of the day.
    popularity: shares of the Q queries.
    noise: how often users repeat a query, and the share of bots.
    markets: number of markets: 0, 1 or 2.
    """
    visit, actor = _visits(period.searches, noise.bot_searches, rng)
    time_ms = _times(visit, period, rng)
    own = np.arange(len(visit))
    repeats = (np.diff(visit, prepend=-1) == 0) & (rng.random(len(visit)) < noise.repeated_search)
    source = np.asarray(np.maximum.accumulate(np.where(repeats, 0, own)))
    query = popularity.draw(period.searches, rng)[source]
    if not noise.repeated_search:
        visit = _split_repeats(visit, query)
    user = period.first_user + rng.permutation(period.users)[visit]
    market = (user % 10 >= FIRST_MARKET_TENTHS).astype(np.int64) if markets > 1 else np.zeros_like(user)
    # A repeated search gets the ranker of its source, or with chance `other_list` its own. In the first
    # market good rankers answer more often, in the second bad ones.
    drawn = Shares(np.cumsum(ranker_shares())).draw(len(market), rng)
    drawn = np.where(market == 0, drawn, RANKERS - 1 - drawn)
    ranker = np.where(rng.random(len(market)) < noise.other_list, drawn, drawn[source])
    order = stable_order(time_ms)
    return Traffic(
        search=period.first_search + np.arange(period.searches),
        user=user[order],
        time_ms=time_ms[order],
        visit=visit[order],
        query=query[order],
        ranker=ranker[order],
        market=market[order],
        repeated=(source != own)[order],
        actor=actor[order],
    )


def _visits(count: int, bot_share: float, rng: np.random.Generator) -> tuple[Integers, NDArray[np.int8]]:
    begins = rng.random(count) < NEW_VISIT_SHARE
    actor = np.full(count, HUMAN, dtype=np.int8)
    for _ in range(rng.poisson(count * bot_share / BOT_VISIT_SEARCHES)):
        length = min(count, 1 + int(rng.poisson(BOT_VISIT_SEARCHES)))
        first = int(rng.integers(count - length + 1))
        begins[first + 1 : first + length] = False
        begins[first : first + length + 1 : length] = True
        actor[first : first + length] = rng.choice([CLICKS_ALL, CLICKS_NONE])
    begins[:1] = True
    return np.cumsum(begins) - 1, actor


def _times(visit: Integers, period: Period, rng: np.random.Generator) -> Integers:
    """Draw times such that every visit lies within its period and within `LONGEST_VISIT_MS`."""
    if not len(visit):
        return visit
    begins = np.flatnonzero(np.diff(visit, prepend=-1))
    gaps = rng.exponential(MEAN_GAP_MS, len(visit))
    gaps[begins] = 0
    elapsed = np.cumsum(gaps)
    elapsed -= elapsed[begins][visit]
    length_ms = period.end_ms - period.begin_ms
    spans = np.maximum.reduceat(elapsed, begins)
    shrink = np.minimum(1, min(LONGEST_VISIT_MS, length_ms // 2) / np.maximum(spans, 1))
    start = rng.random(len(begins)) * (length_ms - 1 - spans * shrink)
    return np.asarray(period.begin_ms + (start[visit] + elapsed * shrink[visit]).astype(np.int64))


def _split_repeats(visit: Integers, query: Integers) -> Integers:
    """Give every search that repeats a query of its visit a visit, and so a user, of its own."""
    pairs = visit * (int(query.max(initial=0)) + 1) + query
    order = stable_order(pairs)
    again = np.empty(len(visit), dtype=np.bool_)
    again[order] = ~firsts_of_runs(pairs[order])
    split = visit.copy()
    split[again] = visit.max(initial=-1) + 1 + np.arange(again.sum())
    return split
