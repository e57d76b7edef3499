"""Counts that show whether a log is sound: searches and clicks by day, minute and users (method 3).

They are kept with the pattern table and add up over batches. Users stand in buckets of their digests, so that
no user can be found in them.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.patterns import HEALTH
from clickassay.patterns.digests import MODULUS

DAY_MS, MINUTE_MS, MINUTES = 86_400_000, 60_000, 1440
USER_BUCKETS = 4096
RANK_BITS = 19
"""A digest's bits above its bucket whose lowest set bit is looked at: digests have 31 bits or more."""

SEARCHES_BY_DAY, CLICKS_BY_DAY = "searches_by_day", "clicks_by_day"
SEARCHES_BY_MINUTE = "searches_by_minute"
SEARCHES_BY_USERS, LOWEST_BITS = "searches_by_users", "lowest_bits_by_users"

Numbers = NDArray[np.int64]


class LogCounts:
    """Adds up the counts of the rows of a log, each row once."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, int, int]] = []
        self._minutes = np.zeros(MINUTES, np.int64)
        self._users = np.zeros(USER_BUCKETS, np.int64)
        self._bits = np.zeros(USER_BUCKETS, np.int64)

    def add_searches(self, times_ms: Numbers, digests: Numbers) -> None:
        """Count usable searches by (N,) times in ms since 1970, UTC, and digests of users; 0 or more."""
        minutes = times_ms // MINUTE_MS
        self._add_days(SEARCHES_BY_DAY, minutes // MINUTES)
        self._minutes += np.bincount(minutes % MINUTES, minlength=MINUTES)
        # numbers below 2^31 that look random, as `spread` of `sql/macros`: digests of whole numbers lie too
        # evenly to be counted by, where the numbers follow each other
        residues = digests % MODULUS
        spread = residues * residues % MODULUS
        buckets = spread % USER_BUCKETS
        self._users += np.bincount(buckets, minlength=USER_BUCKETS)
        marked = (spread // USER_BUCKETS) | (1 << RANK_BITS)  # the next higher bit if none is set
        np.maximum.at(self._bits, buckets, marked & -marked)  # the lowest set bit

    def add_clicks(self, times_ms: Numbers) -> None:
        """Count usable clicks at (N,) ms since 1970, UTC."""
        self._add_days(CLICKS_BY_DAY, times_ms // DAY_MS)

    def _add_days(self, name: str, days: Numbers) -> None:
        if not len(days):
            return
        first = int(days.min())
        numbers = np.bincount(days - first)
        places = np.flatnonzero(numbers)
        self._rows += zip(
            [name] * len(places), (places + first).tolist(), numbers[places].tolist(), strict=True
        )

    def add(self, other: "LogCounts") -> None:
        """Add the counts of other rows."""
        self._rows += other._rows
        self._minutes += other._minutes
        self._users += other._users
        np.maximum(self._bits, other._bits, out=self._bits)

    def add_rows(self, rows: Iterable[tuple[str, int, int]]) -> None:
        """Add counts in the form of the table: (name, key, value)."""
        self._rows += rows

    def frame(self) -> pl.DataFrame:
        """Return the counts in the form of `HEALTH`."""
        by_bucket = {
            SEARCHES_BY_MINUTE: self._minutes,
            SEARCHES_BY_USERS: self._users,
            LOWEST_BITS: self._bits,
        }
        frames = [pl.DataFrame(self._rows, schema=HEALTH.empty().schema, orient="row")]
        for name, values in by_bucket.items():
            keys = np.flatnonzero(values)
            rows = pl.DataFrame({"key": keys, "value": values[keys]})
            frames.append(rows.select(pl.lit(name).alias("name"), "key", "value"))
        return merged_counts(pl.concat(frames))


def merged_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Add up rows of the table `health`: numbers by summing, lowest bits by the highest of them."""
    value, is_bits = pl.col("value"), pl.col("name").first() == LOWEST_BITS
    merged = pl.when(is_bits).then(value.max()).otherwise(value.sum()).alias("value")
    return HEALTH.canonical(rows.group_by("name", "key").agg(merged))


def distinct_users(bits: Numbers) -> float:
    """Estimate how many users a log has, from `LOWEST_BITS` of all buckets; 0 = an empty bucket.

    HyperLogLog, with linear counting where few users leave many buckets empty (Flajolet et al. 2007,
    Figure 3); the standard error is 1.6%.
    """
    ranks = np.where(bits > 0, np.log2(np.maximum(bits, 1)) + 1, 0)
    share = 0.7213 / (1 + 1.079 / USER_BUCKETS)
    estimate = share * USER_BUCKETS**2 / float(np.sum(2.0**-ranks))
    empty = int(np.sum(bits == 0))
    if estimate <= 2.5 * USER_BUCKETS and empty:
        return float(USER_BUCKETS * np.log(USER_BUCKETS / empty))
    return estimate
