"""Spark leaves the bytes of the embedded engine, and what is worked out by hand, of logs with an oddity each.

All logs whose ids are whole numbers are files of one folder and so one log of one run, and so are all whose
ids are text: a market separates what each of them leaves.
"""

import pyarrow as pa
import pytest

from clickassay.patterns.folder import read_patterns
from support.logs.small_logs import click, session_counts
from support.spark.odd_logs import DEPTH, OddLog, search, typed, write_parquet
from support.spark.spark_logs import both_engines, differing_tables

SCRIPTS = (
    "ﷺ" * 500,
    "नमस्ते\u200d",
    "😀👩\u200d👩\u200d👧",
    "e\u0301",
    "é",
    "\u202eabc",
    "a\u0000b",
    "\x1f",
    "\\u",
)
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
        [
            search(2**63 - 1, 0, user=-(2**63)),
            search(-(2**63), 0, user=2**63 - 1),
            search(-1, 0, user=-1),
        ],
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


@pytest.fixture(scope="module", params=["whole", pytest.param("text", marks=pytest.mark.thorough)])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def made(spark, kind, tmp_path_factory):
    """Return the pattern tables of both engines."""
    folder = tmp_path_factory.mktemp(kind)
    for number, log in enumerate(KINDS[kind]):
        log.put(folder, number)
    settings = {"depth": (DEPTH,), "max_rejected": 0.9}
    return both_engines(folder / "searches", folder / "clicks", folder, **settings)


def test_both_engines_leave_the_same_bytes(made):
    assert differing_tables(*made) == []


def test_each_log_leaves_what_is_worked_out_by_hand(made, kind):
    found = {}
    for (market, _query, results, mask), sessions in session_counts(read_patterns(made[1])).items():
        found.setdefault(market, {})[results, mask] = sessions
    assert found == {log.known_as: log.left for log in KINDS[kind]}
