"""Visits numbered for many users at once, however far apart their searches lie."""

import numpy as np

from clickassay.logs.arrays.columns import Clicks, Searches, mixed_pair
from clickassay.logs.arrays.steps.clicks import AttributedClicks
from clickassay.logs.arrays.steps.visits import VisitLimits, _numbered, visits

HOUR = 3_600_000
FIRST_MS, LAST_MS = 631_152_000_000, 4_133_980_799_999  # 1990 and the end of 2100


def test_a_century_between_searches_of_millions_of_users_does_not_overflow():
    users = 3_000_000
    first = np.tile([True, False], users)
    time = np.tile(np.array([FIRST_MS, LAST_MS]), users)
    time[-1] = time[-2] + 1  # only the last user comes back within the limit
    expected = np.arange(1, 2 * users + 1)
    expected[-1] -= 1
    assert (_numbered(first, time, time, HOUR) == expected).all()


def test_two_users_whose_searches_share_a_mixed_key_have_visits_of_their_own():
    mixer, other = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
    twin = (mixer ^ other) * pow(mixer, -1, 2**64) % 2**64  # as user 1 for query 0, for query 1
    user, pairs = np.array([1, twin], np.uint64).view(np.int64), np.array([0, 1], np.int32)
    assert len(set(mixed_pair(user, pairs).tolist())) == 1
    searches = some_searches(user, time=np.array([0, HOUR]))
    counts, limits = np.ones(2, bool), VisitLimits(HOUR, watermark_ms=2 * HOUR, per_query=True)
    formed = visits(searches, counts, pairs, *no_clicks(), limits)
    assert len(set(formed.visit.tolist())) == 2
    assert formed.is_open.tolist() == [False, True]


def some_searches(user, time):
    """Return searches with ids 0, 1, 2 …."""
    rows, zeros = np.arange(len(user)), np.zeros(len(user), np.int32)
    return Searches(rows, user, time, zeros, zeros, rows + 1, zeros.astype(np.uint16), zeros.astype(bool))


def no_clicks():
    none = np.zeros(0, np.int64)
    clicks = Clicks(none, none, none.astype(np.int32), none, none.astype(bool))
    few, tiny = none.astype(np.int32), none.astype(np.int8)
    return clicks, AttributedClicks(none, few, few, tiny, none.astype(bool), out_of_time=0)
