"""Query classes (method 9): ways to split the queries of a sample."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import InputError
from clickassay.core.records import Sample, Split
from clickassay.core.text.words import did_you_mean

MAX_CLASSES = 50
"""An attribute with more distinct values describes single queries, not classes of them."""

UNKNOWN = "unknown"
LENGTHS = ("1", "2", "3", "4+")
DECILES = tuple(str(decile) for decile in range(1, 11))
TERCILES = ("low", "middle", "high")
DIGITS = 9
"""Decimals of click entropy that count: smaller differences are rounding."""
GROUP = "group"
"""Column of the table of queries that says which are one unit: near-duplicates, or one intent."""
OURS = (EVERY, "length", "frequency", "click_entropy")


def query_splits(
    sample: Sample, attributes: pl.DataFrame | None = None
) -> tuple[tuple[Split, ...], tuple[str, ...]]:
    """Split the queries of `sample` in every way that is reported.

    attributes: columns `query` (normalised), perhaps `market` and `group` (see `with_units`), and any others:
      each of these becomes a split named after it. Booleans give the classes true and false, other values
      their text; a null or a query that is not in the frame gives the class unknown, which comes last.

    Returns the splits: ``all``, ``length`` (words; the empty query counts as one), ``frequency`` (tenths by
    sessions, 1 = rarest), the attributes in their order, and ``click_entropy`` (thirds of the queries with a
    click, equal values together, and those without) when no attribute is called ``navigational``. Then the
    names of the columns that are no split because they have more than 50 distinct values or values without a
    text form.

    Raises InputError if `attributes` has no column `query`, a column has the name of a split of ours, or a
    query of the sample has two different values.
    """
    size = len(sample.queries)
    words = np.array([len(query.split()) for query in sample.queries], dtype=np.int64)
    sessions, tenths = np.zeros((2, size), dtype=np.int64)
    np.add.at(sessions, sample.query_index, sample.sessions)
    # queries are sorted by text, so ties go by text
    tenths[np.argsort(sessions, kind="stable")] = len(DECILES) * np.arange(size) // max(1, size)
    splits = [
        unsplit(sample),
        Split("length", LENGTHS, np.clip(words, 1, len(LENGTHS)) - 1),
        Split("frequency", DECILES, tenths),
    ]
    left_out: tuple[str, ...] = ()
    if attributes is not None:
        left_out = left_out_columns(attributes)
        names = [name for name in attributes.columns if name not in _NO_SPLITS]
        _check(attributes, names)
        splits += [_attribute(sample, attributes, name) for name in names if name not in left_out]
    if not any(split.name == "navigational" for split in splits):
        clicked = np.zeros(size, dtype=np.bool_)
        clicked[sample.query_index[(sample.click_values > 0).any(axis=1)]] = True
        labels = np.full(size, len(TERCILES), dtype=np.int64)
        # by the mean of the ranks of equal values: no border lies between these
        entropy = np.round(sample.click_entropy[clicked], DIGITS)
        _, index, counts = np.unique(entropy, return_inverse=True, return_counts=True)
        twice_rank = 2 * (np.cumsum(counts) - 1) - counts + 1
        labels[clicked] = (len(TERCILES) * twice_rank // (2 * max(1, len(entropy))))[index]
        splits.append(Split("click_entropy", (*TERCILES, "no clicks"), labels))
    return tuple(splits), left_out


def unsplit(sample: Sample) -> Split:
    """Return the split that has one class: all queries."""
    return Split(EVERY, (EVERY,), np.zeros(len(sample.queries), dtype=np.int64))


_NO_SPLITS = ("query", "market", GROUP)


def has_groups(attributes: pl.DataFrame | None) -> bool:
    """Tell whether a table of queries says which of them are one unit."""
    return attributes is not None and GROUP in attributes.columns and not _named(attributes).is_empty()


def _named(attributes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose group has a name, as text: neither NaN nor empty text is one."""
    if attributes[GROUP].dtype.is_nested():
        raise InputError(
            f"query attributes: column {GROUP} cannot be converted to text; give each group a name"
        )
    name = pl.col(GROUP).cast(pl.String).str.strip_chars()
    return attributes.with_columns(name).filter(~pl.col(GROUP).is_in(["", "NaN"]))


def groups_of(queries: pl.DataFrame, attributes: pl.DataFrame | None) -> pl.DataFrame:
    """Return the queries (market, query) with a `query_group`; InputError if one has two, or no text."""
    columns = {"market": pl.String, "query": pl.String, "query_group": pl.String}
    if attributes is None or not has_groups(attributes):
        return pl.DataFrame(schema=columns)
    named = _named(attributes)
    rows = [
        (market, query, group)
        for (market,), own in queries.group_by("market")
        for query, group in _values_of(str(market), own["query"], named, GROUP).items()
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")


def with_unit(rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return rows with `unit`: a query's query_group of `groups`, or else the query; the two never meet."""
    named = groups.select("market", "query", "query_group")
    joined = rows.join(named, on=["market", "query"], how="left", maintain_order="left")
    texts = pl.format("group {}", "query_group"), pl.format("query {}", "query")
    return joined.with_columns(unit=pl.coalesce(texts)).drop("query_group")


def unit_column(rows: pl.DataFrame) -> str:
    """Name the column of the units of rows: `unit` (see `with_unit`), or without it each query is one."""
    return "unit" if "unit" in rows.columns else "query"


def with_units(sample: Sample, groups: pl.DataFrame) -> Sample:
    """Return the sample with the unit of each query (method 7.1); unchanged where none has a group."""
    own = pl.DataFrame({"query": sample.queries}, schema={"query": pl.String})
    own = own.with_columns(market=pl.lit(sample.key.market))
    known = groups.filter(pl.col("query_group").is_not_null())
    if own.join(known, on=["market", "query"], how="semi").is_empty():
        return sample
    return replace(sample, units=tuple(with_unit(own, known)["unit"]))


def class_columns(attributes: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return queries (normalised) with the text of their class in each column of `by`; none = all that are.

    Raises InputError if the table lacks a column, or a query has two classes.
    """
    _check(attributes, list(attributes.columns))
    names = [name for name in attributes.columns if name not in _NO_SPLITS]
    for name in by:
        if name not in names:
            raise InputError(f"query attributes: no column {name}; {did_you_mean(name, names)}")
    taken = by or [name for name in names if _is_class(attributes[name])]
    queries = attributes["query"].drop_nulls().unique(maintain_order=True)
    frame = pl.DataFrame({"query": queries})
    for name in taken:
        values = _values_of(EVERY, queries, attributes, name)
        texts = [values.get(query) for query in queries]
        frame = frame.with_columns(pl.Series(name, texts, dtype=pl.String))
    return frame


def left_out_columns(attributes: pl.DataFrame) -> tuple[str, ...]:
    """Name the attribute columns that are no split: too many values, or values without a text form."""
    names = (name for name in attributes.columns if name not in _NO_SPLITS)
    return tuple(name for name in names if not _is_class(attributes[name]))


def _check(attributes: pl.DataFrame, names: list[str]) -> None:
    if "query" not in attributes.columns:
        raise InputError(f"query attributes: no column query among {', '.join(attributes.columns)}")
    ours = [name for name in names if name in OURS]
    if ours:
        raise InputError(
            f"query attributes: column {ours[0]} has the name of a built-in split; rename the column"
        )


def _is_class(column: pl.Series) -> bool:
    return not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration, pl.Object)) and (
        column.drop_nulls().n_unique() <= MAX_CLASSES
    )


def _attribute(sample: Sample, attributes: pl.DataFrame, name: str) -> Split:
    rows = _rows_of(sample.key.market, attributes, name)
    distinct = rows[name].unique().sort(descending=rows[name].dtype == pl.Boolean)  # true before false
    classes = (*(text for text in dict.fromkeys(_texts(distinct)) if text != UNKNOWN), UNKNOWN)
    value_of = _values_of(sample.key.market, sample.queries, attributes, name)
    code_of = {text: code for code, text in enumerate(classes)}
    labels = [code_of[value_of.get(query, UNKNOWN)] for query in sample.queries]
    return Split(name, classes, np.array(labels, dtype=np.int64))


def _rows_of(market: str, attributes: pl.DataFrame, name: str) -> pl.DataFrame:
    rows = attributes.filter(pl.col(name).is_not_null(), pl.col("query").is_not_null())
    if "market" in rows.columns and market != EVERY:
        rows = rows.filter(pl.col("market") == market)
    return rows


def _values_of(
    market: str, queries: Sequence[str] | pl.Series, attributes: pl.DataFrame, name: str
) -> dict[str, str]:
    """Return the value of each of the queries that has one, as text."""
    rows = _rows_of(market, attributes, name)
    ours = pl.DataFrame({"query": queries}, schema={"query": pl.String})
    pairs = rows.select("query", pl.Series("value", _texts(rows[name]), dtype=pl.String)).unique()
    pairs = pairs.join(ours, on="query", how="semi")
    twice = pairs.filter(pl.col("query").is_duplicated()).sort("query", "value")
    if len(twice):
        query = twice["query"][0]
        values = twice.filter(pl.col("query") == query)["value"].to_list()
        raise InputError(
            f"query attributes: {twice['query'].n_unique()} queries have more than one {name}, "
            f"e.g. {query!r}: {', '.join(values)}; keep one row per query"
        )
    return dict(pairs.iter_rows())


def _texts(column: pl.Series) -> list[str]:
    return column.cast(pl.String).to_list()
