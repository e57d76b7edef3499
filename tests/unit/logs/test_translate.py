"""Steps in the words of another engine: values and macros filled in; what they mean, SQL cases tell on Spark.

What a translated expression means is judged by its syntax tree, parsed again: it must be that of a text with
every parenthesis written out by hand.
"""

import re

import pytest
import sqlglot
from sqlglot import exp

from clickassay.core.errors import EngineError
from clickassay.core.files.sql import sql_folders, sql_names, sql_text
from clickassay.core.settings import Settings
from clickassay.logs.sql import translate as dialect
from clickassay.logs.sql.steps import NEVER_MS, step_values
from clickassay.logs.sql.translate import translate_step

FOLDERS = [folder for folder in sql_folders() if not folder.startswith(("macros", "questions"))]
STEPS = [f"{folder}/{name}" for folder in FOLDERS for name in sql_names(folder)]
VALUES = {**step_values(Settings(), by_url=True), "watermark_ms": NEVER_MS, "is_open": False}
MACROS = frozenset(re.findall(r"\bMACRO\s+(\w+)\s*\(", sql_text("macros/duckdb")))
PARAMETER = re.compile(r"\$(\w+)")


def tree(sql):
    """Return the syntax tree of Spark's SQL as text; parentheses that only group leave no trace in it."""
    parsed = sqlglot.parse_one(sql, dialect="spark")
    for group in reversed(list(parsed.find_all(exp.Paren))):
        group.replace(group.this)
    return repr(parsed)


@pytest.fixture
def given_step(monkeypatch):
    """Return a function that translates the text of a step with macros that a test made up."""

    def forget():
        dialect._macros.cache_clear()
        dialect._translate.cache_clear()

    def given(text, macros="", **values):
        monkeypatch.setattr(dialect, "sql_text", {"step": text, "macros/spark": macros}.__getitem__)
        forget()
        return translate_step("step", "spark", values)

    yield given
    monkeypatch.undo()
    forget()


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_no_macro_and_no_placeholder_is_left_in_a_step_and_a_value_that_it_lacks_is_named(step):
    parsed = sqlglot.parse_one(translate_step(step, "spark", VALUES), dialect="spark")
    assert isinstance(parsed, exp.Query)
    names = {node.name.lower() for node in parsed.find_all(exp.Anonymous)}
    assert sorted(names & MACROS) == []
    assert list(parsed.find_all(exp.Placeholder, exp.Parameter)) == []
    assert parsed.named_selects == sqlglot.parse_one(sql_text(step), dialect="duckdb").named_selects
    if lacking := PARAMETER.search(sql_text(step)):
        without = {name: value for name, value in VALUES.items() if name != lacking[1]}
        with pytest.raises(EngineError, match=re.escape(f"step {step} needs a value for ${lacking[1]}")):
            translate_step(step, "spark", without)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (-5, "-5"),
        (2**62, str(2**62)),
        (True, "TRUE"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("$k", "'$k'"),
    ],
)
def test_a_value_takes_the_place_of_its_parameter_and_others_are_ignored(given_step, value, literal):
    found = given_step("SELECT a - $x AS b FROM t", x=value, y=1)
    assert tree(found) == tree(f"SELECT a - ({literal}) AS b FROM t")


MADE_UP = r"""
CREATE OR REPLACE TEMP MACRO sum_of(x, y) AS x + y;
CREATE OR REPLACE TEMP MACRO double(x) AS x * 2;
CREATE OR REPLACE TEMP MACRO minus_of(x) AS -x;
CREATE OR REPLACE TEMP MACRO is_small(x) AS x BETWEEN 0 AND 9;
CREATE OR REPLACE TEMP MACRO either(x, y) AS x OR y;
CREATE OR REPLACE TEMP MACRO neither(x, y) AS NOT either(x, y);
CREATE OR REPLACE TEMP MACRO chosen(x, y, z) AS CASE WHEN x THEN y ELSE z END;
CREATE OR REPLACE TEMP MACRO rounds() AS 3;
CREATE OR REPLACE TEMP MACRO first_of(xs, k) AS slice(xs, 1, k);
CREATE OR REPLACE TEMP MACRO later(x) AS t.x + x;
CREATE OR REPLACE TEMP MACRO increased(xs) AS transform(xs, x -> x + 1);
CREATE OR REPLACE TEMP MACRO tidy(url) AS lower(trim(url));
CREATE OR REPLACE TEMP MACRO spelt(urls) AS transform(urls, url -> tidy(url));
CREATE OR REPLACE TEMP MACRO text_of(x) AS concat(x, '\\', '\u0130', '\t', 'it\'s', '^[\\x1C-\\x20]+\\z');
"""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("double(a + b)", "(a + b) * 2"),
        ("c - sum_of(a, b)", "c - (a + b)"),
        ("double(sum_of(a, double(b)))", "(a + (b * 2)) * 2"),
        ("minus_of(minus_of(a))", "-(-a)"),
        ("minus_of(-1)", "-(-1)"),
        ("is_small(a) AND b", "(a BETWEEN 0 AND 9) AND b"),
        ("a AND either(b, c)", "a AND (b OR c)"),
        ("NOT neither(a AND b, c)", "NOT (NOT ((a AND b) OR c))"),
        ("chosen(either(a, b), rounds(), double(c))", "CASE WHEN (a OR b) THEN 3 ELSE (c * 2) END"),
        ("DOUBLE(a)", "a * 2"),
        ("first_of(xs, $k)", "slice(xs, 1, 7)"),
        ("later(y)", "t.x + y"),  # a parameter is no column of a table
        ("increased(increased(xs))", "transform(transform(xs, x -> x + 1), x -> x + 1)"),
        ("spelt(url)", "transform(url, url -> lower(trim(url)))"),  # a lambda keeps its variables
        ("text_of(a)", r"concat(a, '\\', '\u0130', '\t', 'it\'s', '^[\\x1C-\\x20]+\\z')"),
    ],
)
def test_a_macro_means_in_its_place_what_it_means_by_itself(given_step, written, meant):
    found = given_step(f"SELECT {written} AS x FROM t", MADE_UP, k=7)
    assert tree(found) == tree(f"SELECT {meant} AS x FROM t")


@pytest.mark.parametrize("name", sorted(MACROS))
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_macro_has_a_name_that_is_no_function_yet(engine, name):
    # SQLGlot would take the call for that function, and the macro would not come in its place
    call = sqlglot.parse_one(f"SELECT {name}(a)", dialect=engine).selects[0]
    assert isinstance(call, exp.Anonymous)


def test_a_macro_with_too_few_values_is_an_error(given_step):
    with pytest.raises(ValueError, match="shorter"):
        given_step("SELECT sum_of(a) AS x FROM t", MADE_UP)
