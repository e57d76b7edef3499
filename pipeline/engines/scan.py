"""How the embedded engine reads a log: Polars decodes, and texts become 64-bit fingerprints at once.

Strings are what costs. So SQL sees numbers only; the texts of a batch stay beside it, and those that
were not seen before are kept. An integer id is its own fingerprint; a text has Polars' hash of it.
Fingerprints mean nothing outside one process and are never stored.
"""

from collections.abc import Callable

import polars as pl

from pipeline.normalise import MAY_BE_ODD

_TEXT_OF_PAIR, _MARKET_OF_PAIR, _LIST = 0, 1, 2  # seeds: independent hashes, so that an XOR names a pair


def fingerprinted(what: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add fingerprints to the rows of ``searches``, ``clicks`` or ``ids``; all texts stay."""
    return _FINGERPRINTED[what](frame)


def numbers_of(what: str, batch: pl.DataFrame) -> pl.DataFrame:
    """Return what SQL sees of a fingerprinted batch, with `row_nr` that counts its rows from 0."""
    numbers = batch.select(name for name in batch.columns if name not in _TEXTS)
    if what == "searches":
        numbers = numbers.with_columns(_missing_results(batch))
    return numbers.with_row_index("row_nr")


def places_of(lists: pl.DataFrame) -> pl.DataFrame:
    """Return one row per place of each list: list_fp, place (from 1), url_fp, odd and the url."""
    return (
        lists.lazy()
        .select("list_fp", url="results", place=pl.int_ranges(1, pl.col("results").list.len() + 1))
        .explode("url", "place")
        .select(
            "list_fp",
            pl.col("place").cast(pl.Int64),
            pl.col("url").hash().alias("url_fp"),
            pl.col("url").str.contains(MAY_BE_ODD).alias("odd"),
            "url",
        )
        .collect()
    )


def odd_urls(urls: pl.Series) -> pl.Series:
    """Return the URLs that may have another normal form; nearly all others are ruled out cheaply."""
    return urls.filter(urls.str.contains(MAY_BE_ODD))


def fingerprints_of(texts: pl.DataFrame) -> pl.DataFrame:
    """Replace every text column x by its fingerprint x_fp."""
    return texts.select(pl.col(name).hash().alias(f"{name}_fp") for name in texts.columns)


_TEXTS = ("query", "market", "results", "url", "search_id")


def _searches(frame: pl.LazyFrame) -> pl.LazyFrame:
    pair = pl.col("query").hash(_TEXT_OF_PAIR) ^ pl.col("market").hash(_MARKET_OF_PAIR)
    return frame.select(
        _fingerprint(frame, "search_id").alias("search_fp"),
        _fingerprint(frame, "user_id").alias("user_fp"),
        "user_id",
        pair.alias("query_fp"),
        # the list and its query in one number: equal lists of two queries are two configurations
        (pl.col("results").hash(_LIST) ^ pair.hash(_LIST)).alias("list_fp"),
        pl.col("query").is_null().alias("no_query"),
        pl.col("market").is_null().alias("no_market"),
        pl.col("results").list.len().cast(pl.Int64).alias("n_results"),
        pl.col("timestamp").alias("time_ms"),
        "page",
        "market",
        "query",
        "results",
    )


def _clicks(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select(
        _fingerprint(frame, "search_id").alias("search_fp"),
        pl.col("timestamp").alias("time_ms"),
        _fingerprint(frame, "url").alias("url_fp"),
        pl.col("position").alias("place"),
        "url",
    )


def _ids(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select(
        _fingerprint(frame, "search_id").alias("search_fp"), pl.col("search_id").alias("id_value")
    )


_FINGERPRINTED: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "searches": _searches,
    "clicks": _clicks,
    "ids": _ids,
}


def _fingerprint(frame: pl.LazyFrame, name: str) -> pl.Expr:
    column = pl.col(name)
    if frame.collect_schema()[name].is_integer():
        return column.cast(pl.Int64)
    return pl.when(column.is_not_null()).then(column.hash())


def _missing_results(batch: pl.DataFrame) -> pl.Series:
    """Tell which lists hold a null: the places of all lists together know cheaply that none does."""
    results = batch["results"]
    places = results.drop_nulls().filter(results.drop_nulls().list.len() > 0).explode()
    if not places.null_count():
        return pl.repeat(False, batch.height, eager=True).alias("holds_null")
    return results.list.eval(pl.element().is_null()).list.any().fill_null(False).alias("holds_null")
