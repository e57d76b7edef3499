"""Asking a run: what a question may do, and how an answer is written out."""

import sqlite3
import threading
from datetime import date, datetime
from decimal import Decimal

import duckdb
import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.errors import QueryError
from clickassay.core.files.tables import as_csv
from clickassay.core.text.escape import terminal
from clickassay.studies.questions import MOST_ROWS, PageQuestions, ask, cells, frame_of, question
from support.reports.harmful import HARMS
from support.runs.tiny_run import tables, write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_run(folder / "run.duckdb", tables())
    return folder


def test_a_run_is_named_by_its_folder_or_by_its_database_file(folder):
    for run in (folder, folder / "run.duckdb"):
        assert ask(run, "SELECT count(*) AS n FROM configurations").rows() == [(10,)]


@pytest.mark.slow
@pytest.mark.parametrize("table", RUN_TABLES, ids=lambda table: table.name)
def test_every_table_of_a_run_can_be_read(folder, table):
    assert ask(folder, f"FROM {table.name}").height == tables()[table.name].height


def test_the_order_of_the_question_is_the_order_of_the_answer(folder):
    answer = ask(folder, "SELECT DISTINCT query FROM configurations ORDER BY query DESC")
    assert answer["query"].to_list() == ["weather", "news", "myspace", "maps", "jobs", "cats"]


def test_a_sum_has_the_same_digits_whenever_it_is_asked_for(folder):
    total = "SELECT sum(1.0::DOUBLE / (range + 1)) AS total FROM range(2_000_000)"
    for answer in (ask, PageQuestions().ask):
        assert len({answer(folder, total).item() for _ in range(5)}) == 1
        assert (
            answer(folder, "SELECT current_setting('threads') AS threads").item() == 1
        )  # two have no fixed order


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


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT timestamp 'infinity' AS t, 1 AS n", ("infinity", 1)),
        ("SELECT date '-infinity' AS t", ("-infinity",)),
        ("SELECT timestamptz 'infinity' AS t", ("infinity",)),
        ("SELECT timestamp_ns '-infinity' AS a, timestamp_s 'infinity' AS b", ("-infinity", "infinity")),
        ("SELECT timestamp '20000-01-01' AS \"a year\"", ("20000-01-01 00:00:00",)),
        ("SELECT [timestamp 'infinity'] AS t", ("[infinity]",)),
        ("SELECT interval '3 months' AS t", ("3 months",)),
        ("SELECT timestamp '2026-11-21 12:30:00' AS t", (datetime(2026, 11, 21, 12, 30),)),
        ("SELECT {'a': date '9999-12-31'} AS t", ({"a": date(9999, 12, 31)},)),
    ],
)
def test_times_that_python_has_no_type_for_are_answers(folder, sql, answer):
    found = ask(folder, sql)
    assert found.row(0) == answer
    assert all(as_csv(found).splitlines())
    assert cells(found)


def test_a_question_of_a_page_ends_with_the_page_and_leaves_the_next_one_alone(folder):
    page, said = PageQuestions(), []
    page.interrupt()  # nothing is asked: nothing happens

    def asked():
        try:
            page.ask(folder, "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b")
        except QueryError as error:
            said.append(str(error))

    asking = threading.Thread(target=asked)
    asking.start()
    while asking.is_alive():
        page.interrupt()
        asking.join(0.05)
    assert said == ["the question was interrupted: its page was closed"]
    assert page.ask(folder, "SELECT 1 AS n").rows() == [(1,)]


def test_a_page_gets_the_first_rows_of_a_long_answer_in_their_order(folder):
    found = PageQuestions().ask(folder, "SELECT range AS n FROM range(1000000) ORDER BY n DESC")
    assert found["n"].to_list() == list(range(999_999, 999_999 - MOST_ROWS, -1))
    assert PageQuestions().ask(folder, "SHOW TABLES").height == len(RUN_TABLES)


def test_questions_of_a_command_and_of_all_pages_take_a_half_and_a_quarter_of_the_memory(folder):
    asked = "SELECT current_setting('memory_limit') AS gib"
    half, quarter = (
        float(found["gib"].item().removesuffix(" GiB"))
        for found in (ask(folder, asked), PageQuestions().ask(folder, asked))
    )
    assert half / quarter == pytest.approx(2, rel=0.05)


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


def test_a_run_of_another_layout_is_refused_with_what_to_run(tmp_path):
    file = write_run(tmp_path / "run.duckdb", tables())
    with duckdb.connect(str(file)) as connection:
        connection.execute("ALTER TABLE cascade_effects RENAME TO collapses")
    for run in (tmp_path, file):
        with pytest.raises(QueryError, match=r"run\.duckdb was made by another version .* `clickassay run`"):
            ask(run, "SELECT 1")


def test_an_unknown_question_names_the_closest_and_all_others():
    with pytest.raises(QueryError, match=r"no question 'coverge'; did you mean coverage") as error:
        question("coverge")
    assert "grade_inversions" in str(error.value)
    with pytest.raises(QueryError, match="no question") as error:
        question("zzzzzz")
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["../steps/5_visits/visits", "/etc/passwd", "", "coverage.sql", "questions/log/coverage"]
)
def test_a_question_cannot_name_a_file_elsewhere(name):
    with pytest.raises(QueryError, match="no question"):
        question(name)


@pytest.mark.parametrize("text", HARMS, ids=ascii)
def test_display_text_writes_out_characters_that_act(text):
    shown = terminal(text)
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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1::TINYINT AS a, 2::SMALLINT AS b, 3::INTEGER AS c, 4::BIGINT AS d, true AS e, 'ü' AS f",
        "SELECT 'nan'::DOUBLE AS a, '-inf'::FLOAT AS b, NULL::VARCHAR AS c, NULL::DOUBLE AS d, NULL AS e",
        "SELECT 1 AS a WHERE false",
        "SELECT 1 AS a, 2 AS a",
        "SELECT 1::HUGEINT AS a, 1.5::DECIMAL(3, 1) AS b, [1, 2] AS c, {'x': 1} AS d, DATE '2020-02-03' AS e",
    ],
)
def test_answers_have_the_types_that_duckdb_gives_them_as_arrow(sql):
    with duckdb.connect() as connection:
        found, expected = frame_of(connection.sql(sql)), connection.sql(sql).pl()
    assert found.schema == expected.schema
    assert repr(found.rows()) == repr(expected.rows())  # NaN does not equal itself
