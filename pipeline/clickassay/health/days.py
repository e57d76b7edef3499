"""The counts of a log by day, minute and users, as arrays."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.patterns.health import (
    CLICKS_BY_DAY,
    LOWEST_BITS,
    MINUTES,
    SEARCHES_BY_DAY,
    SEARCHES_BY_MINUTE,
    SEARCHES_BY_USERS,
    USER_BUCKETS,
    distinct_users,
)

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Days:
    """Counts of a log.

    Attributes
    ----------
    first
        The first day with a search, in days since 1970-01-01.
    searches, clicks
        (D,) by day from `first` on.
    minutes
        (1440,) searches by minute of the day, UTC.
    by_users
        (4096,) searches by bucket of their users.
    users
        Estimated number of users.
    """

    first: int
    searches: Numbers
    clicks: Numbers
    minutes: Numbers
    by_users: Numbers
    users: float


def days_of(health: pl.DataFrame) -> Days | None:
    """Return the counts of a table `health` as arrays; None if it counts no search."""
    days = health.filter(name=SEARCHES_BY_DAY)["key"].to_numpy()
    if not len(days):
        return None
    first, size = int(days.min()), int(days.max() - days.min()) + 1
    bits = _array(health, LOWEST_BITS, 0, USER_BUCKETS)
    return Days(
        first=first,
        searches=_array(health, SEARCHES_BY_DAY, first, size),
        clicks=_array(health, CLICKS_BY_DAY, first, size),
        minutes=_array(health, SEARCHES_BY_MINUTE, 0, MINUTES),
        by_users=_array(health, SEARCHES_BY_USERS, 0, USER_BUCKETS),
        users=distinct_users(bits),
    )


def _array(health: pl.DataFrame, name: str, first: int, size: int) -> Numbers:
    rows = health.filter(pl.col("name") == name, pl.col("key").is_between(first, first + size - 1))
    values = np.zeros(size, np.int64)
    values[rows["key"].to_numpy() - first] = rows["value"].to_numpy()
    return values
