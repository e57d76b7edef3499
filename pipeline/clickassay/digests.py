"""What stands for a text that is not to be shown: the same name wherever a rare query is hidden.

A digest of the text alone could be tried against a list of guesses. So it is keyed with all queries of the
run, which stay in the run folder: who has a report alone cannot try a guess, who has the run looks it up.
"""

import hashlib

import polars as pl

DIGITS = 6
"""Hexadecimal digits of a digest."""


def run_key(queries: pl.DataFrame) -> str:
    """Return the key of a run's digests, from its queries with the users of each."""
    rows = queries.select("market", "query", "users_at_least").sort("market", "query").rows()
    return _sha256(repr(rows))


def digest(key: str, market: str, text: str) -> str:
    """Return what stands for a query or URL in a run with this key."""
    return _sha256(f"{key}\n{market}\n{text}")[:DIGITS]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
