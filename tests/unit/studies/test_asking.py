"""Asking a run: what a question may do, and how an answer is written out."""

import csv
import io
import json
import sqlite3
from datetime import date, datetime
from decimal import Decimal

import duckdb
import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.errors import QueryError
from clickassay.core.escape import as_csv, as_json, printable
from clickassay.studies.questions import ask, cells, question
from support.runs.tiny_run import tables, write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_run(folder / "run.duckdb", tables())
    return folder


def test_a_run_is_named_by_its_folder_or_by_its_database_file(folder):
    for run in (folder, folder / "run.duckdb"):
        assert ask(run, "SELECT count(*) AS n FROM configurations").rows() == [(10,)]


@pytest.mark.parametrize("table", RUN_TABLES, ids=lambda table: table.name)
def test_every_table_of_a_run_can_be_read(folder, table):
    assert ask(folder, f"FROM {table.name}").height == tables()[table.name].height


def test_the_order_of_the_question_is_the_order_of_the_answer(folder):
    answer = ask(folder, "SELECT DISTINCT query FROM configurations ORDER BY query DESC")
    assert answer["query"].to_list() == ["weather", "news", "myspace", "maps", "jobs", "cats"]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 1 AS n) SELECT n FROM a",
        "VALUES (1)",
        "SELECT 1; -- and a remark",
        "SELECT ';' AS semicolon",
        "DESCRIBE patterns",
        "SHOW TABLES",
        "SUMMARIZE statistics",
    ],
)
def test_one_statement_that_returns_rows_is_answered(folder, sql):
    assert ask(folder, sql).height >= 1


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("", "found 0 SQL statements"),
        ("-- nothing", "found 0 SQL statements"),
        ("SELECT 1; SELECT 2", "found 2 SQL statements"),
        ("CREATE TEMP TABLE x AS SELECT 1", "found a CREATE statement"),
        ("INSERT INTO funnel SELECT * FROM funnel RETURNING rows", "found a INSERT statement"),
        ("DELETE FROM funnel", "found a DELETE statement"),
        ("DROP TABLE funnel", "found a DROP statement"),
        ("ATTACH 'other.duckdb'", "found a ATTACH statement"),
        ("SET threads = 1", "found a SET statement"),
        ("EXPLAIN ANALYZE SELECT 1", "found a EXPLAIN statement"),
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM funnel", "nothing"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT $market", "market"),
        ("SELECT CAST(query AS INTEGER) FROM configurations", "Could not convert string"),
        ("SELECT INTERVAL 3 DAYS", "interval"),
    ],
)
def test_anything_else_is_refused_in_one_line(folder, sql, complaint):
    with pytest.raises(QueryError, match=complaint) as error:
        ask(folder, sql)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM sqlite_scan('{secret}', 'x')",
        "SELECT * FROM read_csv('https://example.invalid/x.csv')",
        "SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{folder}/log'}})",
        "COPY funnel TO '{folder}/stolen.csv'",
        "EXPORT DATABASE '{folder}/stolen'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "CALL enable_logging()",
    ],
)
def test_a_question_reaches_no_other_file_and_writes_none(folder, tmp_path, sql):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    before = (folder / "run.duckdb").read_bytes()
    with pytest.raises(QueryError):
        ask(folder, sql.format(secret=secret, folder=tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]
    assert [file.name for file in folder.iterdir()] == ["run.duckdb"]
    assert (folder / "run.duckdb").read_bytes() == before


def test_variables_of_the_program_are_no_tables(folder):
    visible = pl.DataFrame({"a": [1]})
    with pytest.raises(QueryError, match="visible"):
        ask(folder, "SELECT * FROM visible")
    assert visible.height == 1


def test_a_run_that_the_same_program_holds_open_is_refused_in_one_line(folder):
    opened = duckdb.connect(str(folder / "run.duckdb"), read_only=True)
    with opened, pytest.raises(QueryError, match="cannot be answered"):
        ask(folder, "SELECT 1")
    assert ask(folder, "SELECT 1 AS n").rows() == [(1,)]


def test_a_missing_run_says_what_was_expected(tmp_path):
    for run in (tmp_path, tmp_path / "nowhere", tmp_path / "run.duckdb"):
        with pytest.raises(QueryError, match="expected the folder of a finished run"):
            ask(run, "SELECT 1")


def test_a_file_that_is_no_run_is_refused_and_left_as_it_is(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database" * 1000)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    for file in (text, other):
        before = file.read_bytes()
        with pytest.raises(QueryError, match="cannot be answered"):
            ask(file, "SELECT 1")
        assert file.read_bytes() == before


def test_an_unknown_question_names_the_closest_and_all_others():
    with pytest.raises(QueryError, match=r"no question 'coverge'; did you mean 'coverage'\?") as error:
        question("coverge")
    assert "grade_inversions" in str(error.value)
    with pytest.raises(QueryError, match="no question") as error:
        question("zzzzzz")
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["../sessions/visits", "/etc/passwd", "", "coverage.sql", "explore/coverage"]
)
def test_a_question_cannot_name_a_file_elsewhere(name):
    with pytest.raises(QueryError, match="no question"):
        question(name)


HOSTILE = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", 'a"b', "a,b", "a\nb", "", "plain", "é日本", "a=1"]
GUARDED = ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\rx", *HOSTILE[6:]]


def test_csv_gives_back_every_text_with_formulas_disarmed():
    text = as_csv(pl.DataFrame({"=name": HOSTILE, "n": [-1] * len(HOSTILE)}))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["'=name", "n"]
    assert [row[0] for row in rows[1:]] == GUARDED
    assert {row[1] for row in rows[1:]} == {"-1"}
    assert text.endswith("\n")


def test_csv_keeps_numbers_exact_nulls_empty_and_lists_as_json():
    frame = pl.DataFrame(
        {
            "x": [0.1 + 0.2, -1e-300, None, float("inf")],
            "whole": [2**63 - 1, -5, None, 0],
            "sure": [True, False, None, True],
            "urls": [["=a", 'b"c'], [], None, ["d", None]],
        }
    )
    rows = list(csv.DictReader(io.StringIO(as_csv(frame), newline="")))
    assert [row["x"] for row in rows] == ["0.30000000000000004", "-1e-300", "", "inf"]
    assert [row["whole"] for row in rows] == ["9223372036854775807", "-5", "", "0"]
    assert [row["sure"] for row in rows] == ["true", "false", "", "true"]
    assert [json.loads(row["urls"]) for row in rows if row["urls"]] == [["=a", 'b"c'], [], ["d", None]]


def test_csv_tells_null_from_an_empty_text_and_keeps_every_row():
    assert as_csv(pl.DataFrame({"a": ["", None, "x"], "b": [1, None, None]})) == 'a,b\n"",1\n,\nx,\n'
    rows = list(csv.reader(io.StringIO(as_csv(pl.DataFrame({"a": [None, "x", None]})))))
    assert rows == [["a"], [""], ["x"], [""]]


def test_json_is_an_array_of_records_with_null_for_what_is_no_number():
    frame = pl.DataFrame(
        {
            "text": ["é日本\n\x1b", None, '"'],
            "x": [float("nan"), float("-inf"), 0.1],
            "list": [[1.5, float("nan")], [], None],
            "big": [2**53 + 1, -1, None],
            "day": [date(2026, 11, 21), None, None],
            "pair": [{"a": 1, "b": "x"}, None, None],
            "exact": [Decimal("12"), Decimal("1.5"), None],
            "bytes": [b"\x00\xff", None, None],
        }
    )
    text = as_json(frame)
    assert json.loads(text) == [
        {
            **{"text": "é日本\n\x1b", "x": None, "list": [1.5, None], "big": 9007199254740993},
            **{"day": "2026-11-21", "pair": {"a": 1, "b": "x"}, "exact": 12, "bytes": "00ff"},
        },
        {
            **{"text": None, "x": None, "list": [], "big": -1},
            **{"day": None, "pair": None, "exact": 1.5, "bytes": None},
        },
        {
            **{"text": '"', "x": 0.1, "list": None, "big": None},
            **{"day": None, "pair": None, "exact": None, "bytes": None},
        },
    ]
    assert "é日本" in text
    assert json.loads(as_json(frame.clear())) == []


def test_json_writes_out_what_a_terminal_would_obey():
    hostile = "\x1b[31m \x9b31m \u202egnp.exe \u2028"
    text = as_json(pl.DataFrame({"query": [hostile]}))
    assert not set(text) & {"\x1b", "\x9b", "\u202e", "\u2028"}
    assert json.loads(text) == [{"query": hostile}]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\r\tc\x00\x7f", r"a\x0ab\x0d\x09c\x00\x7f"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("\u2066a\u2069\u200e\ufeff\u200b", r"\u2066a\u2069\u200e\ufeff\u200b"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("\U000e0041", r"\U000e0041"),
        ("日本 café مرحبا", "日本 café مرحبا"),
        ("ゼロ\u200c幅", "ゼロ\u200c幅"),
        ("👩\u200d🔬", "👩\u200d🔬"),
    ],
)
def test_display_text_writes_out_characters_that_act_and_leaves_the_rest(text, shown):
    assert printable(text) == shown
    assert cells(pl.DataFrame({"query": [text], "urls": [[text, "x"]]})) == [[shown, f"{shown}, x"]]


def test_display_shows_numbers_to_four_digits():
    numbers = [0.123456, 12.3456, 12345.678, 0.00001234567, 0.0, -0.0, -0.5, 1e20, 100.0, float("nan"), None]
    shown = ["0.1235", "12.35", "12346", "1.235e-05", "0", "0", "-0.5", "1e+20", "100", "NaN", ""]
    assert [row[0] for row in cells(pl.DataFrame({"x": numbers}))] == shown


def test_display_shows_every_type():
    frame = pl.DataFrame(
        {
            "whole": [1234567],
            "sure": [True],
            "grades": pl.Series([[4, None, 0]], dtype=pl.List(pl.Int8)),
            "when": [datetime(2026, 11, 21, 12, 30)],
            "exact": [Decimal("2.50")],
            "pair": [{"a": "\x1b"}],
        }
    )
    assert cells(frame) == [
        ["1234567", "true", "4, null, 0", "2026-11-21T12:30:00", "2.5", '{"a": "\\u001b"}']
    ]


def test_an_error_message_cannot_drive_the_terminal(folder):
    with pytest.raises(QueryError) as error:
        ask(folder, "SELECT CAST(chr(27) || '[2J' AS INTEGER)")
    assert "\x1b" not in str(error.value)
    assert r"\x1b[2J" in str(error.value)
