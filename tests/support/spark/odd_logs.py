"""Small logs, each with an oddity of its files or of its rows, and what it leaves worked out by hand.

Each log has a market of its own, so that many of them, as files of one folder, are one log of one run, and
what each of them leaves can still be distinguished.
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
    "search_id": pa.int64(), "user_id": pa.int64(), "query": pa.string(), "timestamp": TIME,
    "results": pa.list_(pa.string()), "market": pa.string(), "page": pa.int64(), "url": pa.string(),
    "position": pa.int64(),
}  # fmt: skip
APART = 100  # ids of plain rows are below; those of other logs are moved so far

Row = dict[str, Any]
Left = dict[tuple[tuple[str, ...], int], int]


@dataclass(frozen=True)
class OddLog:
    """A log of a few rows.

    name: Also its market, unless `market` says otherwise.
    searches, clicks: Rows as dicts; times in milliseconds.
    left: Sessions by (results down to `DEPTH`, click mask): what the log leaves.
    types: Arrow types of columns that are not those of `TYPES`, in both halves.
    write: Writes a half: (table, folder of the half, name of the log).
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
        clicked = [{"position": None} | row for row in self.clicks]
        for half, rows in (("searches", named), ("clicks", clicked)):
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


SCRIPTS = (
    "ﷺ" * 500, "नमस्ते\u200d", "😀👩\u200d👩\u200d👧", "e\u0301", "é", "\u202eabc", "a\u0000b", "\x1f", "\\u",
)  # fmt: skip
EDGE = "é" * 100_000
LONG = "x" * 1_000_000


def in_small_pieces(table, folder, name):
    write_parquet(table, folder, name, row_group_size=1, data_page_size=1, compression="gzip")


def in_pages_of_two(table, folder, name):
    write_parquet(table, folder, name, data_page_version="2.0", compression="lz4", use_dictionary=False)


def nested_in_folders(table, folder, name):
    (folder / f"part={name}" / "hour=07").mkdir(parents=True)
    write_parquet(table, folder / f"part={name}" / "hour=07", name)


def with_more_columns(table, folder, name):
    write_parquet(table.append_column("Query", [["other"] * table.num_rows]), folder, name)


def in_another_order(table, folder, name):
    write_parquet(table.select(table.column_names[::-1]), folder, name)


LARGE_LISTS = pa.large_list(pa.large_string())
WHOLE = (
    typed("times in microseconds", timestamp=pa.timestamp("us", tz="UTC")),
    typed("times in nanoseconds", timestamp=pa.timestamp("ns", tz="UTC")),
    typed("times in seconds", timestamp=pa.timestamp("s")),
    typed("times of no zone", timestamp=pa.timestamp("us")),
    typed("times of a far zone", timestamp=pa.timestamp("ms", tz="Pacific/Kiritimati")),
    typed("times as numbers", timestamp=pa.int64()),
    typed("small numbers", search_id=pa.int32(), user_id=pa.int16(), page=pa.int8()),
    typed("unsigned numbers", search_id=pa.uint32(), user_id=pa.uint16(), page=pa.uint8()),
    typed("large unsigned numbers", timestamp=pa.uint64(), page=pa.uint64()),
    typed("large texts", **dict.fromkeys(("query", "url"), pa.large_string()), results=LARGE_LISTS),
    typed("views of texts", query=pa.string_view(), url=pa.string_view()),
    typed("words of a dictionary", query=pa.dictionary(pa.int32(), pa.string())),
    typed("urls as numbers", texts=("7", "8", "9"), results=pa.list_(pa.int64())),
    typed("row groups of a row", write=in_small_pieces),
    typed("pages of version two", write=in_pages_of_two),
    typed("folders in folders", write=nested_in_folders),
    typed("a column named like another", write=with_more_columns),
    typed("columns in another order", write=in_another_order),
    typed("long", texts=(LONG + "a", LONG + "b", LONG + "c")),
    *(typed(f"script {number}", texts=(text, f"{text} ", f" {text}")) for number, text in enumerate(SCRIPTS)),
    typed("market", market='mar\'ket; "x" \\ \n % é 😀'),
    OddLog(
        "ids at the ends of 64 bits",
        [search(2**63 - 1, 0, user=-(2**63)), search(-(2**63), 0, user=2**63 - 1), search(-1, 0, user=-1)],
        [click(2**63 - 1, 1, "a"), click(-(2**63), 1, "b"), click(-(2**63), 1, "c")],
        {(("a", "b", "c"), 0b001): 1, (("a", "b", "c"), 0b110): 1, (("a", "b", "c"), 0): 1},
    ),
    OddLog(
        "equal times",
        [search(5, 0, "ab"), search(4, 0, "ba"), search(6, 0, "cd")],  # the least id comes first
        [click(5, 1, "a"), click(6, 1, "b")],
        {(("b", "a"), 0b011): 1},
    ),
    OddLog(
        "an hour, and a millisecond more",
        [search(7, 0), search(8, 60), search(9, 120 + 1 / 60_000)],
        [click(9, 120, "b")],  # before its search, and in time
        {(("a", "b", "c"), 0): 1, (("a", "b", "c"), 0b010): 1},
    ),
    OddLog(
        "urls that are spelt in ways",
        [search(10, 0, ("HTTP://A.example:80/", "https://b.example/x/#y", "c"))],
        [click(10, 1, "http://a.example"), click(10, 2, "https://B.example:443/x")],
        {(("http://a.example", "https://b.example/x", "c"), 0b011): 1},
    ),
    OddLog(
        "queries of 200,000 bytes, and of a byte more",
        [
            search(18 + n, 0, query=text)
            for n, text in enumerate((EDGE, EDGE + "x", "é" * 100_001, "x" + " " * 200_000))
        ],
        [click(18, 1, "b"), click(19, 1, "a")],
        {(("a", "b", "c"), 0b010): 1},
    ),
    OddLog(
        "positions of other results",
        [search(30, 0), search(31, 0, "aba", user=2), search(32, 0, "abcd", user=3)],
        [
            click(30, 1, "a") | {"position": 1},
            click(30, 2, "b") | {"position": 3},  # shows c
            click(30, 3, "elsewhere") | {"position": 2},  # shows b
            click(30, 4, "a") | {"position": None},
            click(30, 5, "a") | {"position": 0},
            click(30, 6, "a") | {"position": 2**62},
            click(31, 1, "a") | {"position": 3},  # shows a again
            click(32, 1, "a") | {"position": 4},  # shows d, below the depth
        ],
        {(("a", "b", "c"), 0b011): 1, (("a", "b"), 0b001): 1, (("a", "b", "c"), 0b001): 1},
    ),
    OddLog(
        "nulls",
        [
            search(11, 0),
            search(12, 0, user=None),
            search(None, 0),
            search(13, 0, query=None),
            search(14, 0, ("a", None)),
            search(15, 0, ()),
            search(16, 0, page=None),
            search(17, 0, user=2) | {"timestamp": None},
        ],
        [click(11, 1, None), click(None, 1, "a"), click(11, 1, "b") | {"timestamp": None}, click(11, 1, "c")],
        {(("a", "b", "c"), 0b100): 1},
    ),
)
ALIKE = ("x1", "x01", " x1", "x1 ", "X1", "", "é", "e\u0301", "x\u0000")
NAMES = {"search_id": pa.string(), "user_id": pa.string()}
TEXT = (
    typed("text", **NAMES),
    typed("large text", search_id=pa.large_string(), user_id=pa.large_string()),
    typed("text of a dictionary", **dict.fromkeys(NAMES, pa.dictionary(pa.int32(), pa.string()))),
    typed("64 bits without a sign", **dict.fromkeys(NAMES, pa.uint64())),
    OddLog(
        "beyond 63 bits",
        [search(2**64 - 1, 0, user=2**64 - 1), search(2**63, 0, user=2**63)],
        [click(2**64 - 1, 1, "a")],
        {(("a", "b", "c"), 0b001): 1, (("a", "b", "c"), 0): 1},
        dict.fromkeys(NAMES, pa.uint64()),
    ),
    OddLog(
        "ids that look alike",
        [search(name, 0, user=name) for name in ALIKE],
        [click(" x1", 1, "a"), click("e\u0301", 1, "b"), click("", 1, "c"), click("x1\n", 1, "c")],
        {
            (("a", "b", "c"), 0b001): 1,
            (("a", "b", "c"), 0b010): 1,
            (("a", "b", "c"), 0b100): 1,
            (("a", "b", "c"), 0): 6,
        },
        NAMES,
    ),
    OddLog(
        "equal times of ids beyond the first plane",
        [search("\U0001f600", 0, "ab"), search("\uffee", 0, "ba")],  # by code point: UTF-16 turns them round
        [click("\U0001f600", 1, "a")],
        {(("b", "a"), 0b010): 1},
        NAMES,
    ),
)
KINDS = {"whole": WHOLE, "text": TEXT}
