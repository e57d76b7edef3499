"""How the embedded engine reads a log: Polars decodes, and texts become 64-bit fingerprints at once.

Texts are expensive. So SQL sees numbers only; the texts of a batch stay in Polars, and those that a later
step needs are taken by row number. An integer id is its own fingerprint; a text has Polars' hash of it.
Fingerprints mean nothing outside one process and are never stored.
"""

from collections.abc import Callable

import numpy as np
import polars as pl

from clickassay.inputs.normalise import MAY_BE_UNNORMALISED

_TEXT_OF_PAIR, _MARKET_OF_PAIR, _LIST = 0, 1, 2  # seeds: independent hashes, so that an XOR names a pair
_SUB_BATCH_ROWS = 400_000
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd: no two numbers are mixed to the same one


class BatchRows:
    """The rows of one batch, decoded once: numbers for SQL, and the rows as they were read.

    Parameters
    ----------
    numbers
        Fingerprints and numbers, without gaps in `row_nr`, from 0.
    parts
        The same rows in the same order with their texts, in pieces.
    register
        Called with the numbers whenever they change, so that SQL sees them.
    """

    def __init__(
        self, numbers: pl.DataFrame, parts: list[pl.DataFrame], register: Callable[[pl.DataFrame], None]
    ) -> None:
        self._read, self._registered = numbers, numbers
        self._parts, self._register = parts, register
        register(numbers)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._read.height

    def take(self, row_nrs: pl.Series, columns: tuple[str, ...] | None = None) -> pl.DataFrame:
        """Return the rows of these numbers as they were read, in that order."""
        parts = self._parts if columns is None else [part.select(columns) for part in self._parts]
        if not row_nrs.is_sorted():
            return pl.concat(parts, rechunk=False)[row_nrs]
        # part by part: texts of a frame in pieces are gathered by way of a copy of each
        ends = np.cumsum([part.height for part in parts])
        cuts = row_nrs.search_sorted(pl.Series(ends, dtype=row_nrs.dtype)).to_list()
        gathered = [
            part[row_nrs[start:end] - (stop - part.height)]
            for part, stop, start, end in zip(parts, ends, [0, *cuts], cuts, strict=False)
        ]
        rows: pl.DataFrame = pl.concat(gathered, rechunk=False)
        return rows

    def map_values(
        self, column: str, mapping: pl.DataFrame, *, only: tuple[str, pl.Series] | None = None
    ) -> None:
        """Replace fingerprints, or lists of them, of a column as it was read: mapping.old by mapping.new.

        In rows whose column only[0] has one of the values only[1]; in all by default.
        """
        if mapping.is_empty() or (only is not None and only[1].is_empty()):
            return
        values = self._read[column]
        if only is None:
            self._set(column, _map_values(values, mapping))
            return
        concerned = self._read[only[0]].is_in(only[1].implode()).arg_true()
        places = np.arange(self.height)
        places[concerned.to_numpy()] = self.height + np.arange(len(concerned))
        self._set(column, values.append(_map_values(values.gather(concerned), mapping)).gather(places))

    def keep_only(self, query_fps: pl.Series) -> pl.DataFrame:
        """Keep the lists of these queries, as read; others become one empty list for each market.

        Returns
        -------
        market, list_fp: the placeholders of the lists that are left out.
        """
        market = pl.concat([part.select("market") for part in self._parts])
        numbers = self._read.with_columns(
            pl.col("raw_query_fp").is_in(query_fps.implode()).fill_null(False).alias("is_kept"),
            market.to_series().hash(_MARKET_OF_PAIR).alias("of_market"),
        )
        others = pl.col("urls").list.head(0)
        self._read = numbers.with_columns(
            pl.when("is_kept").then("list_fp").otherwise("of_market").alias("list_fp"),
            pl.when("is_kept").then("urls").otherwise(others).alias("urls"),
        ).drop("of_market")
        self._registered = self._read
        self._register(self._registered)
        left_out = market.with_columns(self._read["list_fp"]).filter(~self._read["is_kept"])
        return left_out.unique().drop_nulls("market")

    def possible_repeats(self, columns: tuple[str, str]) -> pl.Series:
        """Return the numbers of rows whose two values may recur in another row: all that do, few others."""
        one, other = (self._registered[name].to_physical() for name in columns)
        pairs = one.cast(pl.UInt64, wrap_numerical=True).fill_null(0).to_numpy() * _MIXER
        pairs ^= other.fill_null(0).to_numpy()
        in_order = np.sort(pairs)
        again = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
        return pl.Series("row_nr", pairs).is_in(pl.Series(again).implode()).arg_true().alias("row_nr")

    def set_bits(self, column: str, row_nrs: pl.Series, bits: pl.Series) -> None:
        """Set a column to the bit-or of the bits given for each row; 0 where there are none."""
        masks = np.zeros(self.height, dtype=np.int64)
        np.bitwise_or.at(masks, row_nrs.to_numpy(), bits.to_numpy())
        self._set(column, pl.Series(masks))

    def _set(self, column: str, values: pl.Series) -> None:
        self._registered = self._registered.with_columns(values.alias(column))
        self._register(self._registered)


def _map_values(values: pl.Series, mapping: pl.DataFrame) -> pl.Series:
    is_list = values.dtype == pl.List(pl.UInt64)
    new = (pl.element() if is_list else pl.col(values.name)).replace(mapping["old"], mapping["new"])
    return values.to_frame().select(pl.col(values.name).list.eval(new) if is_list else new).to_series()


def read_rows(
    what: str, frame: pl.LazyFrame, report: Callable[[int], None], register: Callable[[pl.DataFrame], None]
) -> BatchRows:
    """Read ``searches`` or ``clicks`` once; `report` is called with the number of rows read since."""
    numbers: list[pl.DataFrame] = []
    parts: list[pl.DataFrame] = []
    raw = frame.collect_schema().names()

    def each(rows: pl.DataFrame) -> None:
        before = sum(part.height for part in parts)
        parts.append(rows.select(raw))
        numbers.append(_numbers_of(what, rows).with_row_index("row_nr", offset=before))
        report(rows.height)

    rows = _FINGERPRINTED[what](frame)
    each(rows.clear().collect())  # so that the columns are there, even without a row
    rows.sink_batches(each, chunk_size=_SUB_BATCH_ROWS, maintain_order=False)
    return BatchRows(pl.concat(numbers, rechunk=False), parts, register)


def unnormalised_urls(urls: pl.Series) -> pl.Series:
    """Return the distinct URLs that may have another normal form; nearly all are ruled out cheaply."""
    return urls.filter(urls.str.contains(MAY_BE_UNNORMALISED)).unique()


def lists_with_unnormalised_urls(lists: pl.Series) -> pl.Series:
    """Return which lists show a URL that may have another normal form."""
    may_be = lists.list.eval(pl.element().str.contains(MAY_BE_UNNORMALISED))
    return may_be.list.any().fill_null(False)


def url_fingerprints(urls: pl.Series) -> pl.Series:
    """Return the fingerprints of URLs."""
    return urls.hash()


def query_fingerprints(queries: pl.DataFrame) -> pl.Series:
    """Return the fingerprints of pairs (market, query)."""
    return queries.select(_query_fingerprint()).to_series()


def id_fingerprint(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """Return the fingerprint of an id: an integer is its own, a text has its hash; null stays null."""
    column = pl.col(name)
    if frame.collect_schema()[name].is_integer():
        return column.cast(pl.Int64)
    return pl.when(column.is_not_null()).then(column.hash())


def _query_fingerprint() -> pl.Expr:
    return pl.col("query").hash(_TEXT_OF_PAIR) ^ pl.col("market").hash(_MARKET_OF_PAIR)


def _searches(frame: pl.LazyFrame) -> pl.LazyFrame:
    hashed = frame.with_columns(
        id_fingerprint(frame, "search_id").alias("search_fp"),
        id_fingerprint(frame, "user_id").alias("user_fp"),
        _query_fingerprint().alias("query_fp"),
        pl.col("results").list.eval(pl.element().hash()).alias("urls"),
    )
    # the list and its query in one number: equal lists of two queries are two configurations
    return hashed.with_columns(list_fp=pl.col("urls").hash(_LIST) ^ pl.col("query_fp").hash(_LIST))


def _clicks(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.with_columns(
        id_fingerprint(frame, "search_id").alias("search_fp"), id_fingerprint(frame, "url").alias("url_fp")
    )


_FINGERPRINTED: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {"searches": _searches, "clicks": _clicks}


def _numbers_of(what: str, rows: pl.DataFrame) -> pl.DataFrame:
    time = pl.col("timestamp").alias("time_ms")
    if what == "clicks":
        return rows.select("carried", "search_fp", time, "url_fp", pl.col("position").alias("place"))
    return rows.select(
        "carried", "search_fp", "user_fp", "user_id", "query_fp", "list_fp", time, "page", "urls",
        pl.col("query_fp").alias("raw_query_fp"),
        pl.lit(True).alias("is_kept"),
        pl.lit(0, dtype=pl.Int64).alias("click_mask"),
        pl.col("query").is_null().alias("no_query"),
        pl.col("market").is_null().alias("no_market"),
        pl.col("results").list.len().cast(pl.Int64).alias("n_results"),
        _null_in_list(rows),
    )  # fmt: skip


def _null_in_list(rows: pl.DataFrame) -> pl.Series:
    """Return which lists hold a null; Arrow counts the nulls of all lists, mostly none, at no cost."""
    level = pl.CompatLevel.newest()
    chunks = [chunk.to_arrow(compat_level=level) for chunk in rows["results"].get_chunks()]
    if not any(chunk.values.null_count for chunk in chunks):
        return pl.repeat(False, rows.height, dtype=pl.Boolean, eager=True).alias("holds_null")
    nulls = rows["results"].list.eval(pl.element().is_null()).list.any().fill_null(False)
    return nulls.alias("holds_null")
