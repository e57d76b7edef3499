"""Queries can be personal: those of few users stand as digests, and so do their results."""

import polars as pl

from pipeline.digests import digest


def labels(market: str, queries: pl.Series, users: pl.DataFrame | None, min_users: int) -> pl.DataFrame:
    """Say how each query is shown.

    Parameters
    ----------
    market
        Market of the queries.
    queries
        Distinct normalised queries.
    users
        The run's table `queries` (market, query, users_at_least), or None when the run has none: then
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
    frame = (
        frame.with_columns(hidden=pl.lit(True)) if users is None else _few(market, frame, users, min_users)
    )
    shown = [
        digest("query", market, query) if hidden else query
        for query, hidden in frame.select("query", "hidden").iter_rows()
    ]
    return frame.select("query", pl.Series("label", shown, dtype=pl.String), "hidden")


def _few(market: str, frame: pl.DataFrame, users: pl.DataFrame, min_users: int) -> pl.DataFrame:
    known = users.filter(pl.col("market") == market).select("query", "users_at_least")
    joined = frame.join(known, on="query", how="left", maintain_order="left")
    return joined.with_columns(hidden=pl.col("users_at_least").fill_null(0) < min_users)
