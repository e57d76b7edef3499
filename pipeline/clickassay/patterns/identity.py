"""The content address of a configuration (method 4)."""

import hashlib

import polars as pl

_SEPARATOR = "\x1f"


def configuration_id(market: str, query: str, results: list[str]) -> str:
    """Return the content address of a configuration: md5 of its texts, joined so that no two look alike."""
    joined = _SEPARATOR.join((market, query, *results))
    if "\\" in joined or joined.count(_SEPARATOR) > len(results) + 1:
        texts = (text.replace("\\", "\\\\").replace(_SEPARATOR, "\\u") for text in (market, query, *results))
        joined = _SEPARATOR.join(texts)
    return hashlib.md5(joined.encode(), usedforsecurity=False).hexdigest()


def configuration_ids(rows: pl.DataFrame) -> pl.Series:
    """Compute `configuration_id` of each row; texts are joined in bulk where none needs care."""
    parts = ("market", "query", pl.col("results").list.join(_SEPARATOR))
    joined = rows.select(pl.concat_str(*parts, separator=_SEPARATOR).alias("text"))["text"]
    most = rows["results"].list.len() + 1
    careful = joined.str.contains("\\", literal=True) | (joined.str.count_matches(_SEPARATOR) > most)
    ids = [hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in joined]
    for row in careful.arg_true():
        ids[row] = configuration_id(*rows.select("market", "query", "results").row(row))
    return pl.Series(ids, dtype=pl.String)
