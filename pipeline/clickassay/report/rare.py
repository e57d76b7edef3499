"""Rare queries can be personal: a report names a query only if several users issued it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from clickassay.report.words import visible

UNKNOWN = "query unknown"
"""What stands for a query that the run's table of queries lacks."""


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
