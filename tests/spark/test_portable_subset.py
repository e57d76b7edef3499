"""What a step may say means the same on both engines that run it, NULLs and all.

What it may say is listed in ``test_house.py``. Each expression and function of that list occurs here in a
SELECT that both engines run on the same rows; and SELECTs that they answer differently are not allowed there.
"""

from collections import Counter
from functools import cache

import duckdb
import polars as pl
import pytest
import sqlglot

from clickassay.core.settings import load_settings
from clickassay.logs.spark.session import spark_session
from support.sql_subset import EXPRESSIONS, FUNCTIONS, complaints

LEAST, MOST = -(2**63), 2**63 - 1
ROWS = pl.DataFrame(
    {
        "k": [1, 2, 3, 4, 5, 6, 7, 8],
        "g": [1, 1, 1, 2, 2, None, None, 3],
        "n": [7, -7, None, 0, 2**62, LEAST, MOST, -1],
        "m": [2, 2, 3, -3, None, 7, 1, 0],
        "t": ["b", "B", None, "", "\uffee", "\U0001f600", "10", "9"],
        "u": ["a", "b", "c", None, "\U0001f600", "\uffee", "9", "10"],
        "p": [True, False, None, True, None, False, True, False],
        "q": [None, None, None, False, True, True, True, False],
        "xs": [[1, 2], [], None, [None], [3, None], [1], [2, 2], [5]],
        # without a NULL in a list: about where that comes, engines do not agree
        "ts": [["a", "b"], [], ["a"], ["\uffee"], ["\U0001f600"], ["a", ""], ["B"], ["\uffee", "a"]],
    },
    schema={
        **dict.fromkeys(("k", "g", "n", "m"), pl.Int64),
        **dict.fromkeys(("t", "u"), pl.String),
        **dict.fromkeys(("p", "q"), pl.Boolean),
        "xs": pl.List(pl.Int64),
        "ts": pl.List(pl.String),
    },
)

SCALARS = (
    # arithmetic: of negative numbers, and with NULL
    *("m + m", "m - 5", "3 - -2", "m * 3", "-m", "- -m", "abs(m)", "m % 3", "m % -3", "n % 2147483647"),
    *("-7% 3", "7% -3", "(m + 2) * 3", "m + 2 * 3", "m - (2 - 3)"),
    # comparison: of whole numbers at their ends, of texts by code point, of NULL
    *("n = 9223372036854775807", "n < 0", "m <> 2", "m >= 2", "m <= 2", "m > 2", "m = NULL", "NULL IS NULL"),
    *("t = u", "t <> u", "t < u", "t >= 'a'", "t = 'b '", "t = 'B'", "t BETWEEN 'a' AND u"),
    *("m BETWEEN -1 AND 2", "NOT m BETWEEN 0 AND k", "m IN (2, 3)", "m IN (NULL)", "m IN (2, NULL)"),
    *("NOT m IN (2, NULL)", "t IN ('b', u)", "m IS NULL", "NOT m IS NULL", "xs IS NULL"),
    # logic of three values
    *("p AND q", "p OR q", "NOT p", "p = q", "p IS NULL", "p > q"),
    *("p AND NOT q OR m > 0", "NOT p OR q", "TRUE", "FALSE AND q"),
    # choice, and the first that is no NULL; the greatest and least pass NULL by
    *("coalesce(m, 0)", "coalesce(t, u, 'z')", "greatest(m, 1)", "least(m, 1)", "greatest(m, NULL)"),
    *("greatest(t, u)", "least(t, u)", "least(n, m, 0)", "CASE WHEN p THEN m ELSE 0 END"),
    *("CASE WHEN p THEN 1 WHEN q THEN 2 END", "CASE m WHEN 2 THEN 'two' ELSE 'more' END"),
    # whole numbers of another width; texts as they are written
    *("CAST(m % 7 AS INTEGER)", "CAST(0 AS BIGINT)", r"'a\b'", r"'a\\b\n'", "'it''s'", "'$a {b} %_'"),
)
AGGREGATES = (
    *("count(*)", "count(m)", "count(t)", "count(DISTINCT m)", "count(DISTINCT t)", "CAST(sum(m) AS BIGINT)"),
    *("CAST(sum(DISTINCT m) AS BIGINT)", "min(m)", "max(m)", "min(n)", "max(n)", "min(t)", "max(t)"),
    *("min(p)", "max(p)", "bit_or(m)", "bit_or(n)", "count(*) FILTER (WHERE m > 0)"),
    *(
        "CAST(sum(m) FILTER (WHERE p) AS BIGINT)",
        "max(m) FILTER (WHERE q)",
        "max(CASE WHEN p THEN 1 ELSE 0 END)",
    ),
    *("CAST(coalesce(sum(m), 0) AS BIGINT)", "CAST(count(*) AS BIGINT)", "CAST(min(m) AS BIGINT)"),
)
WINDOWS = (
    "row_number() OVER (PARTITION BY g ORDER BY m, k)",
    "row_number() OVER (PARTITION BY t ORDER BY k DESC)",
    "rank() OVER (ORDER BY m)",  # NULL comes last
    "rank() OVER (ORDER BY m DESC)",
    "rank() OVER (PARTITION BY g ORDER BY m NULLS FIRST)",
    "rank() OVER (ORDER BY t)",
    "rank() OVER (ORDER BY n)",
    "rank() OVER (ORDER BY ts)",
    "dense_rank() OVER (ORDER BY p, q)",
    "first_value(t) OVER (PARTITION BY g ORDER BY m, k)",
    "lag(m) OVER (PARTITION BY g ORDER BY k)",
    "lead(m, 2) OVER (ORDER BY k)",
    "max(m) OVER (PARTITION BY g)",
    "max(m) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
    "CAST(sum(m) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT)",
    "CAST(sum(m) OVER (ORDER BY g) AS BIGINT)",  # rows that are equal in the order come together
    "count(*) OVER (PARTITION BY g, m)",
    "count(m) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
)
SELECTS = (
    "SELECT DISTINCT g FROM s",
    "SELECT DISTINCT t, u FROM s",
    "SELECT DISTINCT xs FROM s",
    "SELECT min(ts) AS a, max(ts) AS b FROM s",
    "SELECT g, m FROM s UNION SELECT m, g FROM s",
    "SELECT g FROM s UNION ALL SELECT m FROM s",
    "SELECT a.k, b.k AS j FROM s AS a INNER JOIN s AS b ON a.g = b.m",
    "SELECT a.k, b.k AS j FROM s AS a INNER JOIN s AS b ON a.t = b.u",
    "SELECT a.k, b.k AS j FROM s AS a LEFT JOIN s AS b ON a.g = b.m AND b.p",
    "SELECT a.k, b.k AS j FROM s AS a RIGHT JOIN s AS b ON a.g = b.m AND NOT a.p",
    "SELECT a.k, b.k AS j FROM s AS a FULL JOIN s AS b ON a.g = b.m",
    "SELECT a.k, b.k AS j FROM s AS a CROSS JOIN s AS b",
    "SELECT a.k FROM s AS a SEMI JOIN s AS b ON a.g = b.m",
    "SELECT a.k FROM s AS a SEMI JOIN s AS b ON a.g = b.m OR b.m IS NULL",
    "SELECT a.k FROM s AS a ANTI JOIN s AS b ON a.g = b.m",
    "SELECT a.k FROM s AS a ANTI JOIN s AS b ON a.g = b.g AND b.k > 7",
    "SELECT k FROM s WHERE p",
    "SELECT k FROM s WHERE NOT p",
    "SELECT k FROM s WHERE FALSE",
    "SELECT k FROM s WHERE g IN (SELECT m FROM s)",
    "SELECT k FROM s WHERE NOT g IN (SELECT m FROM s)",
    "SELECT a.k FROM s AS a WHERE EXISTS (SELECT 1 AS one FROM s AS b WHERE b.m = a.k)",
    "SELECT a.k FROM s AS a WHERE NOT EXISTS (SELECT 1 AS one FROM s AS b WHERE b.m = a.k)",
    "SELECT g, count(*) AS c FROM s GROUP BY g HAVING count(*) > 1",
    "SELECT t, u, count(*) AS c FROM s GROUP BY t, u",
    "SELECT CASE WHEN p THEN g END AS x, count(*) AS c FROM s GROUP BY CASE WHEN p THEN g END",
    "SELECT -g AS g, count(*) AS c FROM s GROUP BY g",
    "SELECT k, unnest(xs) AS x FROM s",
    "SELECT count(*) AS c FROM s WHERE FALSE",
    "SELECT max(m) AS a, CAST(sum(m) AS BIGINT) AS b, bit_or(m) AS c FROM s WHERE FALSE",
    "SELECT x.k FROM (SELECT k FROM s WHERE m > 0) AS x",
    "SELECT k + 1 AS k, k AS j FROM s",
    "WITH a AS (SELECT k FROM s), b AS (SELECT k FROM a WHERE k > 3) SELECT b.k FROM b",
    "SELECT k FROM s WHERE m > $depth OR $by_url",
)
# key of a row, what is asked of it, and the rest of the SELECT: asked all at once, so that Spark plans once
ASKED = {
    "of a row": ("k", SCALARS, "FROM s"),
    "of all rows": ("0", AGGREGATES, "FROM s"),
    "of some rows": ("g", AGGREGATES, "FROM s GROUP BY g"),
    "of the rows around": ("k", WINDOWS, "FROM s"),
}
EXPRESSIONS_ASKED = [(name, at) for name, (_, asked, _) in ASKED.items() for at in range(len(asked))]
AGREED = (
    *(f"SELECT {key} AS key, {one} AS x {rest}" for key, asked, rest in ASKED.values() for one in asked),
    *SELECTS,
)

# where one engine has an answer and the other another, or none
DIFFERENT = (
    "SELECT CAST(1.5 AS BIGINT) AS x", "SELECT CAST('1.5' AS BIGINT) AS x",
    "SELECT CAST(1e20 AS TEXT) AS x", "SELECT m / 0 AS x FROM s", "SELECT round(5 / 2.0) AS x",
    "SELECT sign(m) AS x FROM s", "SELECT ln(3) AS x", "SELECT -1 << 2 AS x",
    "SELECT substr('abc', 0, 2) AS x", r"SELECT t LIKE '\' AS x FROM s", "SELECT hash(m) AS x FROM s",
    "SELECT len(xs) AS x FROM s", "SELECT xs[1] AS x FROM s", "SELECT list_position(xs, 1) AS x FROM s",
    "SELECT count(DISTINCT g, m) AS x FROM s", "SELECT list(m) AS x FROM s",
    "SELECT arg_max(t, m) AS x FROM s GROUP BY g", "SELECT corr(m, k) AS x FROM s GROUP BY g",
    "SELECT stddev(m) AS x FROM s GROUP BY g", "SELECT product(m) AS x FROM s",
)  # fmt: skip
VALUES = {"depth": 2, "by_url": False}


@pytest.fixture(scope="module")
def engines(spark):
    """Return functions that run a SELECT on DuckDB and on Spark."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("s", ROWS.to_arrow())
    with spark_session(load_settings(engine="spark")) as session:  # one like those that steps run on
        session.createDataFrame(ROWS.to_arrow()).createOrReplaceTempView("s")
        yield (
            lambda sql: connection.sql(filled(sql)).fetchall(),
            lambda sql: session.sql(in_spark(sql)).collect(),
        )
    connection.close()


def filled(sql):
    """Return a SELECT with its parameters filled in."""
    for name, value in VALUES.items():
        sql = sql.replace(f"${name}", str(value))
    return sql


def in_spark(sql):
    return sqlglot.transpile(filled(sql), "duckdb", "spark", unsupported_level=sqlglot.ErrorLevel.RAISE)[0]


def answer(run, sql):
    """Return the rows of a SELECT in no order, each value with its type; or that there is none."""
    try:
        rows = run(sql)
    except Exception:
        return "an error"
    return Counter(tuple(map(typed, row)) for row in rows)


def typed(value):
    return tuple(map(typed, value)) if isinstance(value, list) else (type(value).__name__, repr(value))


@pytest.fixture(scope="module")
def answers(engines):
    """Return a function that gives the rows of both engines to all that is asked in one go."""

    @cache
    def given(name):
        key, asked, rest = ASKED[name]
        columns = ", ".join(f"{one} AS x{at}" for at, one in enumerate(asked))
        return [run(f"SELECT {key} AS key, {columns} {rest}") for run in engines]

    return given


@pytest.mark.parametrize(("name", "at"), EXPRESSIONS_ASKED, ids=AGREED[: len(EXPRESSIONS_ASKED)])
def test_engines_agree_about_what_a_step_may_ask(answers, name, at):
    ours, theirs = (sorted(typed([row[0], row[1 + at]]) for row in rows) for rows in answers(name))
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("sql", SELECTS)
def test_engines_agree_about_the_selects_that_a_step_may_be(engines, sql):
    ours, theirs = (answer(run, sql) for run in engines)
    assert ours == theirs
    assert ours != "an error"


@pytest.mark.parametrize("sql", AGREED)
def test_what_engines_agree_about_is_what_a_step_may_say(sql):
    assert complaints(sql) == []


def test_every_expression_and_function_that_a_step_may_use_is_among_these():
    used = {type(node) for sql in AGREED for node in sqlglot.parse_one(sql, dialect="duckdb").walk()}
    assert sorted(one.__name__ for one in set(EXPRESSIONS + FUNCTIONS) - used) == []


@pytest.mark.parametrize("sql", DIFFERENT)
def test_engines_do_not_agree_about_what_a_step_may_not_say(engines, sql):
    ours, theirs = (answer(run, sql) for run in engines)
    assert ours != theirs
    assert complaints(sql) != []
