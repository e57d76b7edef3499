"""Visits numbered for many users at once, however far apart their searches lie."""

import numpy as np

from clickassay.logs.arrays.visits import _numbered

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


def test_activity_prolongs_a_visit_of_its_own_user_only():
    first = np.array([True, False, False, True, False])
    time = np.array([0, HOUR + 1, 3 * HOUR, 0, HOUR + 1])
    active = time + np.array([1, 0, 0, 0, 0])  # the first user was active a moment longer
    assert _numbered(first, time, active, HOUR).tolist() == [1, 1, 2, 3, 4]
