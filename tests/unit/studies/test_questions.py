"""Each ready question, asked of a run that is small enough to answer by hand."""

from itertools import combinations

import polars as pl
import pytest
import sqlglot

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.studies.questions import ask, question
from support.places import ROOT
from support.runs.expected_answers import EXPECTED
from support.runs.tiny_run import configuration_row, tables, write_run

FILES = {file.stem: file for file in (ROOT / "sql" / "questions").rglob("*.sql")}
NAMES = sorted(FILES)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("tiny") / "run.duckdb", tables())


def test_every_question_has_an_expected_answer_and_no_answer_lacks_its_question():
    assert sorted(EXPECTED) == NAMES
    assert len(NAMES) >= 10
    assert all(EXPECTED.values())


def same(found, expected):
    """Compare values; floats to twelve digits."""
    if isinstance(expected, float) and isinstance(found, float):
        return found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    return type(found) is type(expected) and found == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_one_worked_out_by_hand(name, run):
    found = ask(run, question(name).sql).rows()
    assert len(found) == len(EXPECTED[name])
    for row, expected in zip(found, EXPECTED[name], strict=True):
        assert len(row) == len(expected)
        assert [pair for pair in zip(row, expected, strict=True) if not same(*pair)] == []


@pytest.fixture(scope="module")
def empty_run(tmp_path_factory):
    empty = {table.name: table.empty() for table in RUN_TABLES}
    empty["configurations"] = tables()["configurations"].clear()
    return write_run(tmp_path_factory.mktemp("empty") / "run.duckdb", empty)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_question_to_an_empty_run_has_an_empty_answer_with_the_same_columns(name, run, empty_run):
    answer = ask(empty_run, question(name).sql)
    assert answer.height == 0
    assert answer.schema == ask(run, question(name).sql).schema


@pytest.mark.parametrize("name", NAMES)
def test_the_file_says_in_its_first_line_what_it_answers_and_is_one_select(name):
    text = FILES[name].read_text(encoding="utf-8")
    first, rest = text.split("\n", 1)
    assert first.startswith("-- ")
    assert first.endswith("?")
    assert "--" not in rest
    assert "/*" not in rest
    statements = sqlglot.parse(text, dialect="duckdb")
    assert [type(statement).__name__ for statement in statements] == ["Select"]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_ranking_keeps_is_what_its_order_puts_first(name):
    tree = sqlglot.parse_one(FILES[name].read_text(encoding="utf-8"), dialect="duckdb")
    order = [part.sql() for part in tree.args["order"].expressions]
    if tree.args.get("qualify"):
        window = tree.args["qualify"].find(sqlglot.exp.Window)
        groups = [f"{part.sql()} NULLS LAST" for part in window.args["partition_by"]]
        assert order == groups + [part.sql() for part in window.args["order"].expressions]
    assert len(order) >= 3


def answered(name, rows, folder):
    """Return the answer of a run with these configurations."""
    run = write_run(folder / "run.duckdb", tables() | {"configurations": pl.DataFrame(rows)})
    return ask(run, question(name).sql)


def test_a_ranking_shows_the_twenty_worst_of_each_market_and_no_more(tmp_path):
    # ERR rises while clicks fall: the gap is largest at both ends, and weights break no tie by chance
    rows = [
        configuration_row(
            (market, "editor", f"{market}-{i:02}", f"q{i}", "a b", (1, 0), 1, i / 30, 0.5, 1 - i / 30)
        )
        for market in ("uk", "us")
        for i in range(30)
    ]
    answer = answered("worst_disagreements", rows, tmp_path)
    assert answer["market"].to_list() == ["uk"] * 20 + ["us"] * 20
    worst = sorted(range(30), key=lambda i: (-abs(2 * i - 29), i))[:20]
    assert answer.filter(pl.col("market") == "us")["query"].to_list() == [f"q{i}" for i in worst]


def test_opposite_changes_of_one_query_are_all_pairs_that_a_double_loop_finds(tmp_path):
    points = [(0.1, 0.5), (0.2, 0.4), (0.3, 0.6), (0.4, 0.1), (0.4, 0.9)]
    rows = [
        configuration_row(("uk", "editor", f"id{i}", "q", f"a{i} b", (1, 0), 10, err, 0.5, clicks))
        for i, (err, clicks) in enumerate(points)
    ]
    answer = answered("opposite_changes", rows, tmp_path)
    found = set(zip(answer["results_from"].list.first(), answer["results_to"].list.first(), strict=True))
    expected = {
        (f"a{i}", f"a{j}")
        for i, j in combinations(range(5), 2)
        if points[i][0] < points[j][0] and points[i][1] > points[j][1]
    }
    assert found == expected
    assert len(expected) == 4


def test_opposite_changes_leave_the_rarest_of_many_configurations_aside(tmp_path):
    # ERR and clicks agree in 30 configurations; the 31st, with one session, contradicts all of them
    points = [(i / 100, i / 100, 10) for i in range(30)] + [(0.9, 0.0, 1)]
    rows = [
        configuration_row(("uk", "editor", f"id{i}", "q", f"a{i} b", (1, 0), sessions, err, 0.5, clicks))
        for i, (err, clicks, sessions) in enumerate(points)
    ]
    for count, pairs in ((31, 0), (30, 20)):
        (tmp_path / str(count)).mkdir()
        found = answered("opposite_changes", rows[31 - count :], tmp_path / str(count))
        assert found.height == pairs


def test_without_the_only_query_that_varies_there_is_no_correlation(tmp_path):
    rows = [
        configuration_row(("uk", "editor", f"id{i}", f"q{max(i, 1)}", "a b", (1, 0), 7 + i, err, 0.5, i / 10))
        for i, err in enumerate((0.1, 0.9, 1 / 3, 1 / 3, 1 / 3))
    ]
    answer = answered("influential_queries", rows, tmp_path)
    assert answer["query"][0] == "q1"
    assert answer["correlation_without"].is_null().to_list() == [True, False, False, False]


def test_a_question_of_the_correlation_survives_a_metric_that_never_changes(tmp_path):
    # the mean of equal numbers is not always that number: rounding must not pass for variance
    rows = [
        configuration_row((f"m{err}", "editor", f"id{i}", f"q{i}", "a b", (1, 0), 7 + i, err, 0.5, i / 10))
        for err in (1 / 3, 0.1, 0.7, 0.95, 0.0)
        for i in range(5)
    ]
    answer = answered("influential_queries", rows, tmp_path)
    assert answer["correlation"].to_list() == [None] * 25
    assert answer["correlation_without"].to_list() == [None] * 25
