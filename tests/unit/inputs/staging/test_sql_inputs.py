"""Inputs that SQL selects: what it may read, what is refused, and by what the rows are known."""

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.staging.sql import InputSql, selected
from clickassay.jobs.inputs import opened
from support.logs import tiny

JUDGED = """SELECT query, url, grade FROM 'judgments.parquet'"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.write_log(tmp_path)
    return tmp_path


def rows_of(sql):
    with scratch():
        return pl.read_parquet(selected("judgments", sql).path)


def test_sql_reads_files_and_a_database(here):
    with duckdb.connect(str(here / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE labels AS FROM 'judgments.parquet'")
    for text in (JUDGED, f"{JUDGED};\n-- the end", "FROM read_parquet(['judgments.parquet'])"):
        assert rows_of(InputSql(text)).equals(tiny.judgments())
    assert rows_of(InputSql("FROM labels", database=here / "shop.duckdb")).equals(tiny.judgments())
    both = "SELECT l.* FROM labels AS l SEMI JOIN 'judgments.parquet' AS j USING (query, url)"
    assert rows_of(InputSql(both, database=here / "shop.duckdb")).height == tiny.judgments().height


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no statement; give one SELECT"),
        ("COPY (SELECT 1) TO 'x.csv'", "is COPY; give one SELECT"),
        ("SELECT 1; DROP TABLE t", "is SELECT, DROP; give one SELECT"),
        ("ATTACH 'x.duckdb'", "is ATTACH"),
        ("SELEC 1", "cannot be run: Parser Error"),
        ("FROM nowhere", "check the name, or give --database"),
        ("FROM read_csv('judg' || 'ments.csv')", "SQL reads files that it names as plain text"),
        ("FROM 's3://bucket/x.parquet'", "and no address of a network"),
        ("SELECT content FROM read_text('/etc/host' || 'name')", "SQL reads files that it names"),
        ("SELECT 1 / x FROM 'judgments.parquet'", "cannot be run: Binder Error"),
    ],
)
def test_what_is_no_select_or_reads_what_it_does_not_name_is_refused_in_a_line(here, text, message):
    with scratch(), pytest.raises(InputError) as refused:
        selected("judgments", InputSql(text))
    line = str(refused.value)
    assert message in line
    assert line.startswith("judgments: the given SQL ")
    assert "\n" not in line
    assert sorted(file.name for file in here.iterdir()) == [
        "clicks.parquet",
        "judgments.parquet",
        "searches.parquet",
    ]


def test_the_fingerprint_is_of_the_text_and_of_the_files_that_it_reads(here):
    def digest(sql):
        with scratch():
            made = selected("judgments", sql)
            (origin,) = made.origins.values()
            return origin.fingerprint.digest

    first = digest(InputSql(JUDGED))
    assert first == digest(InputSql(JUDGED))
    assert first.startswith("sql:")
    assert first != digest(InputSql(f"{JUDGED} ORDER BY url"))
    tiny.judgments().head(3).write_parquet(here / "judgments.parquet")
    assert first != digest(InputSql(JUDGED))


def test_a_database_that_is_in_use_or_none_has_one_line(here):
    file = here / "shop.duckdb"
    with pytest.raises(InputError, match=r"there is no database .*shop\.duckdb; give --database"):
        rows_of(InputSql("FROM labels", database=file))
    file.write_text("no database")
    with pytest.raises(InputError, match=r"cannot open .*shop\.duckdb: "):
        rows_of(InputSql("FROM labels", database=file))


def test_a_column_that_sql_lacks_is_missing_in_the_sql(here):
    (here / "labels.sql").write_text("SELECT query, grade AS label FROM 'judgments.parquet'")
    with pytest.raises(InputError) as refused, scratch():
        opened("judgments", InputSql.of("labels.sql", None), Settings())
    assert "columns url, grade are missing in labels.sql; it has: query, label" in str(refused.value)


def test_a_file_of_sql_that_is_missing_is_said(here):
    with pytest.raises(InputError, match=r"cannot read the SQL of none\.sql"):
        InputSql.of("none.sql", None)
