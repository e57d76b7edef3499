"""Queries can be personal: those of few users stand as digests, and so do their results."""

import polars as pl

from clickassay.digests import digest


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
