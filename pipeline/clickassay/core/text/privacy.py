"""Rare queries can be personal: which queries are named, and the digests that replace the others.

A digest of the text alone could be compared with digests of guesses. So it is keyed with all queries of the
run, which stay in the run folder: with the report alone nobody can test a guess, with the run anyone can look
the query up. A query that the run's table `queries` lacks has no digest and is called unknown.
"""

import hashlib
from collections.abc import Sequence

import polars as pl

from clickassay.core.settings import Settings

UNKNOWN = "unknown"
"""Replaces the digest of a query that the run's table of queries lacks, and of its results."""

DIGITS = 6
"""Hexadecimal digits of a digest."""

MIN_USERS: int = Settings.model_fields["min_users"].default
"""Users who must have issued a query for it to be named, by default."""

_NOTHING = pl.DataFrame(
    schema={"market": pl.String, "query": pl.String, "users_at_least": pl.Int32, "digest": pl.String}
)


class QueryLabels:
    """Labels of a run's queries and of their results, where only queries of enough users are named.

    queries: the run's table ``queries``; None: the users of a query are not known.
    min_users: users that a named query has at least; 1 names every query.
    """

    def __init__(self, queries: pl.DataFrame | None, min_users: int = MIN_USERS) -> None:
        self._queries = queries
        self.min_users = min_users

    def label(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` (market, query, ...) with the columns label (text or digest) and hidden (bool)."""
        labelled = self._with_users(frame)
        stand_in = pl.format("query {}", pl.col("digest").fill_null(UNKNOWN))
        label = pl.when("hidden").then(stand_in).otherwise("query")
        return labelled.with_columns(label=label).drop("users_at_least", "digest")

    def relabel(self, frame: pl.DataFrame, *texts: str) -> pl.DataFrame:
        """Return `frame` with labels as queries, and no text in the columns `texts` where one is hidden."""
        kept = (pl.when(pl.col("hidden").not_()).then(name).alias(name) for name in texts)
        return self.label(frame).with_columns(*kept, query="label").drop("label", "hidden")

    def result_labels(self, market: str, query: str, urls: Sequence[str]) -> tuple[str, ...]:
        """Return labels of results of a query: digests where the query itself has a digest for a label."""
        row = self._with_users(pl.DataFrame({"market": [market], "query": [query]})).row(0, named=True)
        if not row["hidden"]:
            return tuple(urls)
        if self._queries is None or row["digest"] is None:
            return tuple(f"result {UNKNOWN}" for _ in urls)
        key = run_key(self._queries)
        return tuple(f"result {digest(key, market, url)}" for url in urls)

    def _with_users(self, frame: pl.DataFrame) -> pl.DataFrame:
        known = _NOTHING if self._queries is None else self._queries.select(_NOTHING.columns)
        joined = frame.join(known, on=["market", "query"], how="left", maintain_order="left")
        rare = pl.col("users_at_least").fill_null(0) < self.min_users
        return joined.with_columns(hidden=rare & (self.min_users > 1))

    @property
    def rule(self) -> str:
        """The rule in words."""
        if self.min_users == 1:
            return "Every query is named."
        if self._queries is None:
            return "The run does not say how many users issued a query, so no query is named."
        return (
            f"A query is named only if at least {self.min_users} users issued it; all other queries count, "
            "but appear as digests."
        )


def with_digests(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the queries of a run (market, query, users_at_least) with their column `digest`."""
    key = run_key(queries)
    digests = [digest(key, *row) for row in queries.select("market", "query").iter_rows()]
    return queries.with_columns(digest=pl.Series(digests, dtype=pl.String))


def run_key(queries: pl.DataFrame) -> str:
    """Return the key of a run's digests, from its queries with the users of each."""
    rows = queries.select("market", "query", "users_at_least").sort("market", "query").rows()
    return _sha256(repr(rows))


def digest(key: str, market: str, text: str) -> str:
    """Return the digest of a query or URL in a run with this key."""
    return _sha256(f"{key}\n{market}\n{text}")[:DIGITS]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def number_rare_classes(
    correlations: pl.DataFrame, own_splits: tuple[str, ...], min_users: int
) -> pl.DataFrame:
    """Replace attribute values of fewer than `min_users` queries by numbers: they may be as personal.

    Splits of `own_splits` have no values that a user gave.
    """
    few = pl.col("split").is_in(own_splits).not_() & (pl.col("n_queries") < min_users)
    numbered = pl.lit("rare value ") + pl.col("class").rank("dense").over("split").cast(pl.String)
    return correlations.with_columns(pl.when(few).then(numbered).otherwise(pl.col("class")).alias("class"))
