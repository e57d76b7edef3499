"""Digests of users and search ids, and counts of health, against Python, SQL and how they add up."""

import hashlib
from collections import Counter

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.files.sql import sql_text
from clickassay.patterns.digests import digests_of_numbers, digests_of_texts, id_digests
from clickassay.patterns.health import LOWEST_BITS, USER_BUCKETS, LogCounts, distinct_users, merged_counts
from support.logs.odd_texts import PRIME, digest

EDGES = (-(2**63), 2**63 - 1, -1, 0, 2**31 - 2, 2**31 - 1, 2**31, -(2**31), 7 * (2**31 - 1), -7 * (2**31 - 1))
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1), st.integers(0, 10**6))


def in_sql(macro, column):
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(sql_text("macros/duckdb"))
        connection.register("given", pl.DataFrame({"x": column}).to_arrow())
        return [row[0] for row in connection.sql(f"FROM given SELECT {macro}(x)").fetchall()]


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_have_the_digest_of_unbounded_arithmetic(numbers):
    assert digests_of_numbers(np.array(numbers, np.int64)).tolist() == [digest(number) for number in numbers]


def test_numbers_and_texts_have_the_digests_of_sql():
    numbers = [*EDGES, *range(-50, 50)]
    assert digests_of_numbers(np.array(numbers)).tolist() == in_sql("user_digest", numbers)
    texts = [*map(str, numbers), "", "user", "-", "12a", "007", "1" * 19, "٣", "ünï", "1\n", "-0"]
    assert digests_of_texts(pl.Series(texts)).tolist() == in_sql("user_digest", texts)
    assert id_digests(pl.Series(texts)).tolist() == in_sql("id_digest", texts)
    assert id_digests(pl.Series(["a"]))[0] == int(hashlib.md5(b"a").hexdigest()[:16], 16)  # noqa: S324


def oracle(times, users):
    found, bits = Counter(), {}
    for time, user in zip(times, users, strict=True):
        head = int(hashlib.md5(user.encode(), usedforsecurity=False).hexdigest()[:15], 16)
        spread = (head % PRIME) ** 2 % PRIME
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
