"""Small logs, each with an oddity of its files or of its rows, and what it leaves worked out by hand.

Each log has a market of its own, so that many of them, as files of one folder, are one log of one run on
Spark, and what each of them leaves can still be distinguished.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.logs import small_logs
from support.logs.small_logs import click

DEPTH = 3
TIME = pa.timestamp("ms", tz="UTC")
TYPES = {
    "search_id": pa.int64(),
    "user_id": pa.int64(),
    "query": pa.string(),
    "timestamp": TIME,
    "results": pa.list_(pa.string()),
    "market": pa.string(),
    "page": pa.int64(),
    "url": pa.string(),
    "position": pa.int64(),
}
APART = 100  # ids of plain rows are below; those of other logs are moved so far

Row = dict[str, Any]
Left = dict[tuple[tuple[str, ...], int], int]


@dataclass(frozen=True)
class OddLog:
    """A log of a few rows.

    Attributes
    ----------
    name
        Also its market, unless `market` says otherwise.
    searches, clicks
        Rows as dicts; times in milliseconds.
    left
        Sessions by (results down to `DEPTH`, click mask): what the log leaves.
    types
        Arrow types of columns that are not those of `TYPES`, in both halves.
    write
        Writes a half: (table, folder of the half, name of the log).
    """

    name: str
    searches: list[Row]
    clicks: list[Row]
    left: Left
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    write: Callable[..., object] | None = None
    market: str | None = None

    @property
    def known_as(self) -> str:
        """The market by which a pattern table shows what this log leaves."""
        return self.name if self.market is None else self.market

    def put(self, folder, number=0):
        """Write the log into ``searches`` and ``clicks`` of a folder, with ids of its own."""
        named = [{"market": self.known_as} | row for row in self.searches]
        for half, rows in (("searches", named), ("clicks", self.clicks)):
            (folder / half).mkdir(parents=True, exist_ok=True)
            moved = [{name: own(name, value, number) for name, value in row.items()} for row in rows]
            (self.write or write_parquet)(table_of(moved, self.types), folder / half, self.name)


def own(name, value, number):
    """Keep the ids of logs apart; only those of plain rows are moved."""
    is_plain = name in ("search_id", "user_id") and isinstance(value, int) and 0 < value < APART
    return value + APART * number if is_plain else value


def table_of(rows, types):
    """Return rows as a table whose columns have these types, or else those of `TYPES`."""
    wanted = {name: types.get(name, TYPES[name]) for name in rows[0]}
    return pa.table({name: column_of([row[name] for row in rows], wanted[name]) for name in wanted})


def column_of(values, dtype):
    """Return plain values as a column: numbers spelled out if it is text, times by their milliseconds."""
    if pa.types.is_dictionary(dtype):
        return column_of(values, dtype.value_type).dictionary_encode()
    if pa.types.is_timestamp(dtype):
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms", tz=dtype.tz)).cast(dtype)
    return pa.array([fitting(value, dtype) for value in values], dtype)


def fitting(value, dtype):
    """Return a value as a Python value that Arrow takes for one of a type."""
    if value is None or pa.types.is_null(dtype):
        return None
    if isinstance(value, list):
        return [fitting(one, dtype.value_type) for one in value]
    return int(value) if pa.types.is_integer(dtype) else str(value) if is_text(dtype) else value


def is_text(dtype):
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)


def write_parquet(table, folder, name, **options):
    """Write a table as one file."""
    pq.write_table(table, folder / f"{name}.parquet", **options)


def search(number, minutes, results="abc", **more):
    """Return a search without a market: `OddLog.put` gives each log its own."""
    row = small_logs.search(number, minutes, results, **more)
    del row["market"]
    return row


def plain(one="a", two="b", three="c"):
    """Return searches, clicks and what they leave: two sessions with a list, and one with another."""
    searches = [
        search(1, 0, (one, two, three)),
        search(2, 10, (two, one, three)),  # of the same session, whose list is the first
        search(3, 90, (one, two, three)),
        search(4, 0, (three, two, one), user=2),
    ]
    clicks = [click(1, 1, one), click(2, 11, two), click(3, 91, "elsewhere"), click(4, 1, three)]
    left = {((one, two, three), 0b011): 1, ((one, two, three), 0): 1, ((three, two, one), 0b001): 1}
    return searches, clicks, left


def typed(name, *, market=None, write=None, texts=(), **types):
    """Return the plain log with columns of other types."""
    return OddLog(name, *plain(*texts), types, write, market)
