"""Columns of an input under names of its own: which column of the files is which of ours.

A name with dots goes into records: ``user.id`` is the field `id` of the column `user`, and
``items.product.id`` of a column of lists the fields of its items. A column whose whole name has dots is meant
before such a path.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.text.words import did_you_mean
from clickassay.inputs.types.columns import (
    ACTIONS_SHOWN,
    CANONICAL,
    CLICKED,
    IMPRESSIONS,
    OF_SIGNALS,
    OUTCOMES,
    SAYS_CLICKED,
    SCORES,
    Wanted,
    required,
)

Names = Mapping[str, str]
"""The path in the files of each of our columns that has another name there."""

OUR_NAMES: Names = MappingProxyType({})
"""Names of files whose columns are called as ours."""

LIKELY: Mapping[str, tuple[str, ...]] = {
    "search_id": ("request_id", "query_id", "impression_id", "serp_id", "event_id", "id"),
    "user_id": ("uid", "user", "visitor_id", "client_id", "customer_id", "cookie_id", "session_id"),
    "query": ("q", "query_text", "search_query", "search_term", "keyword", "keywords", "term", "text"),
    "timestamp": ("ts", "time", "event_time", "created_at", "datetime", "occurred_at", "t"),
    "results": (
        "result_ids",
        "product_ids",
        "item_ids",
        "doc_ids",
        "documents",
        "docs",
        "items",
        "hits",
        "urls",
    ),
    "url": (
        "product_id",
        "item_id",
        "doc_id",
        "document_id",
        "docid",
        "document",
        "doc",
        "result",
        "sku",
        "asin",
    ),
    "position": ("rank", "pos", "slot", "place"),
    "grade": ("label", "rating", "relevance", "judgment", "judgement", "score"),
    "judge": ("assessor", "annotator", "rater"),
    "market": ("country", "locale", "site", "region"),
    "page": ("page_number", "page_no"),
    "clicked": ("is_clicked", "was_clicked", "click", "is_click"),
    "clicked_at": ("click_time", "click_ts", "click_timestamp", "clicked_time", "clicked_ts"),
    "action": ("event_type", "event_name", "action_name", "action_type", "event", "interaction"),
    "dwell_seconds": ("dwell_time", "dwell", "dwell_s", "time_on_page"),
    "added_to_cart": ("add_to_cart", "in_cart", "carted", "atc"),
    "purchased": ("purchase", "is_purchased", "bought", "ordered", "converted", "conversion"),
}
"""What a column is called elsewhere, the likeliest first; for messages, never for reading."""


_NAMING = ("id", "url", "uri", "text", "value", "name")
"""Fields that name what a record is about, the likeliest first."""


def _columns_of(what: str) -> tuple[Wanted, ...]:
    """Return the columns that a table may have; of searches, in either shape."""
    more = {"searches": IMPRESSIONS, "scores": SCORES, "outcomes": OUTCOMES}
    return (*CANONICAL.get(what, ()), *more.get(what, ()))


def names_of(what: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the names of a table among texts such as ``searches.search_id=request_id``.

    Raises
    ------
    SettingsError
        If one is of a column that the table cannot have, or a column is named twice.
    """
    known = list(dict.fromkeys(want.name for want in _columns_of(what)))
    found: dict[str, str] = {}
    for text in columns:
        name, _, source = text.partition("=")
        table, _, column = name.partition(".")
        if table != what:
            continue
        if column not in known:
            hint = did_you_mean(column, known, str)
            raise SettingsError(f"--column {text}: {what} have no column {column}; {hint}")
        if found.get(column, source) != source:
            raise SettingsError(f"--column {text}: {column} of {what} is named twice; give it once")
        found[column] = source
    return found


def columns_under(
    what: str, file: object, schema: pl.Schema, names: Names
) -> dict[str, tuple[pl.Expr, pl.DataType]]:
    """Return what selects each column of files under our names, and its type.

    Parameters
    ----------
    what, file
        Name of the input and the first of its files, for messages.
    schema
        Columns and types of the files.
    names
        The columns that have another name there.

    Raises
    ------
    InputError
        If the files lack one.
    """
    used = {*names, *names.values()}
    found = {name: (pl.col(name), dtype) for name, dtype in schema.items() if name not in used}
    for name, path in names.items():
        at = _at(schema, path)
        if at is None:
            raise InputError(
                f"{what}: no column {path} in {file}, which --column {what}.{name}={path} names; it has: "
                f"{', '.join(schema)}"
            )
        found[name] = (at[0].alias(name), at[1])
    return found


def needed_columns(what: str, columns: Sequence[str], names: Names) -> list[str] | None:
    """Return the columns of files that an input is read from, in their order; None where all are kept.

    Columns that `likely_signals` names are kept too.
    """
    there = {*names, *columns} - set(names.values())
    shapes = {"searches": (CANONICAL["searches"], IMPRESSIONS)}.get(what, (_columns_of(what),))
    is_whole = all(path.partition(".")[0] in columns or path in columns for path in names.values())
    if what == "queries" or not is_whole or not any(required(shape) <= there for shape in shapes):
        return None  # the message of what is missing names all that there is
    ours = {want.name for want in _columns_of(what)}
    paths = [names.get(name, name) for name in ours]
    likely = {one for name in ours & {*OF_SIGNALS, *ACTIONS_SHOWN} for one in LIKELY[name]}
    return [
        one
        for one in columns
        if one in paths or one.lower() in likely or any(path.startswith(f"{one}.") for path in paths)
    ]


def spelled_out(what: str, schema: pl.Schema, names: Names) -> list[str]:
    """Return the columns of texts that are read as times, numbers or lists; none if there are no rows."""
    kinds = {names.get(want.name, want.name): want.kind for want in _columns_of(what)}
    texts = (pl.String, pl.Categorical, pl.Enum)
    return [
        name
        for name, dtype in schema.items()
        if isinstance(dtype, texts) and kinds.get(name) in ("time", "integer", "flag", "seconds", "texts")
    ]


def _at(schema: pl.Schema, path: str) -> tuple[pl.Expr, pl.DataType] | None:
    """Return a column, or a field of records in it, and its type; None if there is no such thing."""
    if path in schema:
        return pl.col(path), schema[path]
    fields = path.split(".")
    for size in range(len(fields) - 1, 0, -1):
        first = ".".join(fields[:size])
        if first in schema:
            return _field(pl.col(first), schema[first], fields[size:])
    return None


def _dtype(dtype: object) -> pl.DataType:
    """Return a type that a record or a list declares as one of its own kind."""
    return dtype() if isinstance(dtype, type) else dtype  # type: ignore[return-value]


def _field(column: pl.Expr, dtype: pl.DataType, fields: list[str]) -> tuple[pl.Expr, pl.DataType] | None:
    if not fields:
        return column, dtype
    if isinstance(dtype, pl.List | pl.Array):
        inner = _field(pl.element(), _dtype(dtype.inner), fields)
        items = column.arr.to_list() if isinstance(dtype, pl.Array) else column
        return None if inner is None else (items.list.eval(inner[0]), pl.List(inner[1]))
    if not isinstance(dtype, pl.Struct):
        return None
    types = {field.name: field.dtype for field in dtype.fields}
    for size in range(len(fields), 0, -1):
        name = ".".join(fields[:size])
        if name in types:
            return _field(column.struct.field(name), _dtype(types[name]), fields[size:])
    return None


def likely_columns(what: str, missing: Sequence[str], schema: pl.Schema) -> dict[str, str]:
    """Return the columns that missing ones may be, each at most once; of records a field."""
    ours = {want.name for want in _columns_of(what)}
    lower = {name.lower(): name for name in reversed(schema.names()) if name not in ours}
    found: dict[str, str] = {}
    for name in missing:
        names = (name, *LIKELY.get(name, ()), *get_close_matches(name, lower, n=1, cutoff=0.75))
        match = next((lower.pop(one) for one in names if one in lower), None)
        if match is not None:
            found[name] = _leaf(match, schema[match])
    return found


def likely_signals(what: str, table: Collection[str], schema: pl.Schema) -> Iterator[str]:
    """Yield what to say of columns that are not read and may say more than that a result was clicked.

    Parameters
    ----------
    what, table
        Name of the input, and which of our columns it has.
    schema
        All columns of its files.
    """
    lower = {name.lower(): name for name in schema.names()}
    for want in _columns_of(what):
        if want.name in (*OF_SIGNALS, *ACTIONS_SHOWN) and want.name not in table:
            found = next((lower[one] for one in LIKELY[want.name] if one in lower), None)
            if found is not None:
                yield (
                    f"{what}: column {found} is not read; if it is {want.name} ({want.meaning}), add "
                    f"--column {what}.{want.name}={found}"
                )


def _leaf(path: str, dtype: pl.DataType) -> str:
    """Return the path of what a column of records is likely to be read for; of any other column its own."""
    inner = _dtype(dtype.inner) if isinstance(dtype, pl.List | pl.Array) else dtype
    if not isinstance(inner, pl.Struct):
        return path
    types = {field.name: _dtype(field.dtype) for field in inner.fields}
    name = next((name for name in _NAMING if name in types), next(iter(types)))
    return _leaf(f"{path}.{name}", types[name])


def advice(what: str, missing: Sequence[str], schema: pl.Schema) -> str:
    """Return what to add to a command so that missing columns are found; '' where nothing is likely."""
    table = likely_table(schema) if what == "searches" else None
    found = table.names if table and table.is_impressions else likely_columns(what, missing, schema)
    options = " ".join(f"--column {what}.{name}={path}" for name, path in found.items())
    return f"; are these meant? Then add {options}" if found else ""


@dataclass(frozen=True)
class LikelyTable:
    """What a file of no known layout may be."""

    name: str  # A table of `CANONICAL`.
    names: Names  # The columns that it calls otherwise.
    is_impressions: bool = False  # Whether it has one row for each result shown.

    @property
    def options(self) -> str:
        """The options that say so, but for the file."""
        return " ".join(f"--column {self.name}.{name}={path}" for name, path in self.names.items())


def likely_table(schema: pl.Schema) -> LikelyTable | None:
    """Return the table that has all it needs among these columns, under names that are likely; None if none.

    A table of queries needs one column only, which says too little.
    """
    for name, wanted, is_impressions in (
        ("searches", CANONICAL["searches"], False),
        ("searches", IMPRESSIONS, True),
        ("clicks", CANONICAL["clicks"], False),
        ("judgments", CANONICAL["judgments"], False),
    ):
        of_clicks = CLICKED if name == "clicks" else frozenset[str]()
        asked = [
            want.name for want in wanted if not want.optional or want.name in {*of_clicks, *SAYS_CLICKED}
        ]
        missing = [one for one in asked if one not in schema]
        found = likely_columns(name, missing, schema)
        lacks = (required(wanted) - set(schema)) - set(found)
        is_clicked = not of_clicks or bool(of_clicks & {*schema, *found})
        if not lacks and is_clicked and not (is_impressions and not _says_clicks(schema, found)):
            return LikelyTable(name, found, is_impressions)
    return None


def _says_clicks(schema: pl.Schema, found: Names) -> bool:
    return bool(SAYS_CLICKED & {*schema, *found})
