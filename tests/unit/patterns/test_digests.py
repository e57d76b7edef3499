"""Digests of users and of search ids, against Python's own arithmetic and the macros of SQL."""

import hashlib

import duckdb
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.files.sql import sql_text
from clickassay.patterns.digests import digests_of_numbers, digests_of_texts, id_digests

EDGES = (-(2**63), 2**63 - 1, -1, 0, 2**31 - 2, 2**31 - 1, 2**31, -(2**31), 7 * (2**31 - 1), -7 * (2**31 - 1))
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1), st.integers(0, 10**6))


def mixed(number):
    """Return the digest of a whole number, by integers without bounds."""
    prime = 2**31 - 1
    quotient = abs(number) // prime * (1 if number >= 0 else -1)
    low = number % prime * 48271 + quotient % prime * 69621 + 11
    return (low % prime * 1103515245 + 12345) % prime


def in_sql(macro, column):
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(sql_text("macros/duckdb"))
        connection.register("given", pl.DataFrame({"x": column}).to_arrow())
        return [row[0] for row in connection.sql(f"FROM given SELECT {macro}(x)").fetchall()]


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_have_the_digest_of_unbounded_arithmetic(numbers):
    assert digests_of_numbers(np.array(numbers, np.int64)).tolist() == [mixed(number) for number in numbers]


def test_numbers_and_texts_have_the_digests_of_sql():
    numbers = [*EDGES, *range(-50, 50)]
    assert digests_of_numbers(np.array(numbers)).tolist() == in_sql("user_digest", numbers)
    texts = [*map(str, numbers), "", "user", "-", "12a", "007", "1" * 19, "٣", "ünï", "1\n", "-0"]
    assert digests_of_texts(pl.Series(texts)).tolist() == in_sql("user_digest", texts)
    assert id_digests(pl.Series(texts)).tolist() == in_sql("id_digest", texts)
    assert id_digests(pl.Series(["a"]))[0] == int(hashlib.md5(b"a").hexdigest()[:16], 16)  # noqa: S324
