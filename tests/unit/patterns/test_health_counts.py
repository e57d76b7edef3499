"""Counts of a log's health, against plain Python, and how they add up."""

import hashlib
from collections import Counter

import numpy as np
import polars as pl
import pytest

from clickassay.patterns.digests import digests_of_numbers, digests_of_texts
from clickassay.patterns.health import LOWEST_BITS, USER_BUCKETS, LogCounts, distinct_users, merged_counts

PRIME = 2**31 - 1


def oracle(times, users):
    found, bits = Counter(), {}
    for time, user in zip(times, users, strict=True):
        digest = int(hashlib.md5(user.encode(), usedforsecurity=False).hexdigest()[:15], 16)
        spread = (digest % PRIME) ** 2 % PRIME
        found["searches_by_day", time // 86_400_000] += 1
        found["searches_by_minute", time // 60_000 % 1440] += 1
        found["searches_by_users", spread % 4096] += 1
        above = spread // 4096
        lowest = next((bit for bit in range(19) if above >> bit & 1), 19)
        bits[spread % 4096] = max(bits.get(spread % 4096, 0), 2**lowest)
    return {**found, **{(LOWEST_BITS, bucket): bit for bucket, bit in bits.items()}}


def test_counts_are_those_of_plain_python_and_parts_add_up_to_the_whole():
    rng = np.random.default_rng(1)
    times = 1_700_000_000_000 + rng.integers(5 * 86_400_000, size=3_000)
    users = [f"user {number}" for number in rng.integers(700, size=3_000)]
    digests = digests_of_texts(pl.Series(users))
    parts = [LogCounts(), LogCounts()]
    for part, rows in zip(parts, (slice(0, 1_000), slice(1_000, None)), strict=True):
        part.add_searches(times[rows], digests[rows])
    whole = merged_counts(pl.concat([part.frame() for part in parts]))
    found = {(name, key): value for name, key, value in whole.iter_rows()}
    assert found == oracle(times.tolist(), users)


@pytest.mark.parametrize("users", [1, 500, 20_000, 300_000])
def test_the_number_of_users_is_estimated_even_if_their_ids_follow_each_other(users):
    counts = LogCounts()
    counts.add_searches(np.full(users, 10**12), digests_of_numbers(np.arange(users) + 5))
    rows = counts.frame().filter(name=LOWEST_BITS)
    bits = np.zeros(USER_BUCKETS, np.int64)
    bits[rows["key"].to_numpy()] = rows["value"].to_numpy()
    assert distinct_users(bits) == pytest.approx(users, rel=0.07)
