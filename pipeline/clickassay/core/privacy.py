"""Rare queries can be personal: who may be named, and what stands for who may not.

A digest of the text alone could be tried against a list of guesses. So it is keyed with all queries of the
run, which stay in the run folder: who has a report alone cannot try a guess, who has the run looks it up.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from clickassay.core.text import visible

UNKNOWN = "query unknown"
"""What stands for a query that the run's table of queries lacks."""


DIGITS = 6
"""Hexadecimal digits of a digest."""


class QueryNames:
    """What the queries of a run are called in its report.

    Parameters
    ----------
    queries
        The run's table ``queries``.
    min_users
        Users who must have issued a query, at least, for it to be named.
    """

    def __init__(self, queries: pl.DataFrame, *, min_users: int) -> None:
        self._queries = queries
        self.min_users = min_users

    @cached_property
    def _named(self) -> frozenset[tuple[str, str]]:
        enough = self._queries.filter(pl.col("users_at_least") >= self.min_users)
        return frozenset(enough.select("market", "query").iter_rows())

    def may_be_named(self, row: Mapping[str, Any]) -> bool:
        """Tell whether the report may show the query of a row that has `market` and `query`."""
        return (row["market"], row["query"]) in self._named

    def name(self, row: Mapping[str, Any]) -> str:
        """Return the query of a row, or its digest."""
        if self.may_be_named(row):
            return visible(row["query"])
        found = self._queries.filter(market=row["market"], query=row["query"])["digest"]
        return f"query {found[0]}" if len(found) else UNKNOWN

    def renamed(self, frame: pl.DataFrame, *also: str) -> pl.DataFrame:
        """Return `frame` with digests for rare queries, and without the texts of the columns `also` there."""
        known = self._queries.select("market", "query", "users_at_least", "digest")
        found = frame.join(known, on=["market", "query"], how="left", maintain_order="left")
        hidden = pl.col("users_at_least").fill_null(0) < self.min_users
        digests = (pl.lit("query ") + pl.col("digest")).fill_null(UNKNOWN)
        texts = (pl.when(hidden).then(None).otherwise(pl.col(name)).alias(name) for name in also)
        shown = pl.when(hidden).then(digests).otherwise(pl.col("query")).alias("query")
        return found.with_columns(shown, *texts).drop("users_at_least", "digest")

    @property
    def rule(self) -> str:
        """The rule in words."""
        if self.min_users == 1:
            return "Every query is named."
        return (
            f"A query is named only if at least {self.min_users} users issued it; the others count, but "
            "appear as digests."
        )


def run_key(queries: pl.DataFrame) -> str:
    """Return the key of a run's digests, from its queries with the users of each."""
    rows = queries.select("market", "query", "users_at_least").sort("market", "query").rows()
    return _sha256(repr(rows))


def digest(key: str, market: str, text: str) -> str:
    """Return what stands for a query or URL in a run with this key."""
    return _sha256(f"{key}\n{market}\n{text}")[:DIGITS]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def labels(market: str, queries: pl.Series, users: pl.DataFrame | None, min_users: int) -> pl.DataFrame:
    """Say how each query is shown.

    Parameters
    ----------
    market
        Market of the queries.
    queries
        Distinct normalised queries.
    users
        The run's table `queries` (market, query, users_at_least, digest), or None when the run has none: then
        nothing is known of the users of a query.
    min_users
        A query of fewer users is hidden; 1 hides none.

    Returns
    -------
    Columns query, label (its text or digest) and hidden, one row per query.
    """
    frame = queries.alias("query").to_frame()
    if min_users <= 1:
        return frame.with_columns(label=pl.col("query"), hidden=pl.lit(False))
    if users is None:
        digests = [f"query {digest('', market, query)}" for query in frame["query"]]
        return frame.with_columns(label=pl.Series(digests, dtype=pl.String), hidden=pl.lit(True))
    return _few(market, frame, users, min_users).select("query", "label", "hidden")


def _few(market: str, frame: pl.DataFrame, users: pl.DataFrame, min_users: int) -> pl.DataFrame:
    known = users.filter(pl.col("market") == market).select("query", "users_at_least", "digest")
    joined = frame.join(known, on="query", how="left", maintain_order="left")
    hidden = pl.col("users_at_least").fill_null(0) < min_users
    stand_in = pl.lit("query ") + pl.col("digest").fill_null("unknown")
    return joined.with_columns(hidden=hidden, label=pl.when(hidden).then(stand_in).otherwise(pl.col("query")))
