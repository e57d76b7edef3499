"""Inputs that SQL selects: what it may read, what is refused, and by what the rows are known."""

import hashlib

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.sources.fingerprint import FileFingerprint, file_fingerprint, input_fingerprint
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no statement; only a single SELECT"),
        ("COPY (SELECT 1) TO 'x.csv'", "is COPY; only a single SELECT"),
        ("SELECT 1; DROP TABLE t", "is SELECT, DROP; only a single SELECT"),
        ("ATTACH 'x.duckdb'", "is ATTACH"),
        ("SELEC 1", "cannot be run: Parser Error"),
        ("FROM nowhere", "check the name, or give --database"),
        ("FROM read_csv([])", "cannot be run: "),
        ("FROM '\ud800.csv'", "is not UTF-8; convert it to UTF-8"),
        (f"SELECT {'+'.join(['grade'] * 900)} FROM 'judgments.parquet'", "is nested too deeply; shorten"),
        ("FROM 'nowhere.parquet'", "names nowhere.parquet, but there is no such file; correct the path"),
        ("FROM read_csv(['no*.csv'])", "names no*.csv, but there is no such file; correct the path"),
        ("FROM read_text('/nowhere/x')", "names /nowhere/x, but there is no such file; correct the path"),
        ("FROM read_csv('judg' || 'ments.csv')", "name files as plain text"),
        ("FROM 's3://bucket/x.parquet'", "network addresses are not read"),
        ("SELECT content FROM read_text('/etc/host' || 'name')", "name files as plain text"),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "SELECT content FROM read_text('sec' || 'ret.txt'), 'judgments.parquet'",
        "SELECT content FROM read_text('sec' || 'ret.txt'), 'judg*.parquet'",
        "SELECT content FROM read_text('./sec' || 'ret.txt'), read_csv('plain.csv', delim = '/')",
        "SELECT content FROM read_text('./sec' || 'ret.txt'), read_csv('plain.csv', nullstr = 'secret.txt')",
        "SELECT content FROM read_text('sec' || 'ret.txt'), unnest(['secret.txt', '.'])",
        "SELECT content FROM read_text(concat('secret.txt')) WHERE content <> 'secret.txt'",
        "SELECT content FROM query('FROM read_text(''secret.txt'')')",
        "SELECT file FROM glob('*.t' || 'xt'), 'judgments.parquet'",
        "WITH \"secret.txt\" AS (SELECT 1) SELECT content FROM read_text('sec' || 'ret.txt'), \"secret.txt\"",
    ],
)
@pytest.mark.parametrize("folder", [None, "."])
def test_no_file_is_read_that_sql_does_not_name(here, text, folder):
    (here / "secret.txt").write_text("a secret")
    (here / "plain.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="name files as plain text"):
        rows_of(InputSql(text, folder=folder and here / folder))


def test_a_folder_that_sql_names_is_refused_with_the_files_to_name(here):
    (here / "log.parquet").mkdir()
    tiny.judgments().write_parquet(here / "log.parquet" / "part.parquet")
    for text in ("FROM 'log.parquet'", "FROM read_parquet('log.parquet')"):
        with pytest.raises(
            InputError, match=r"folder log\.parquet; name its files, such as 'log\.parquet/\*"
        ):
            rows_of(InputSql(text))
    assert rows_of(InputSql("FROM 'log.parquet/*.parquet'")).equals(tiny.judgments())
    with pytest.raises(InputError, match=r"names the folder \./log\.parquet/\.; name its files"):
        rows_of(InputSql("FROM './log.parquet/.'"))
    with pytest.raises(InputError, match="names gone/days, but there is no such file"):
        rows_of(InputSql("FROM 'gone/days'"))
    with pytest.raises(InputError, match="name gone does not exist!; check the name, or give"):
        rows_of(InputSql("FROM gone"))


def test_links_that_sql_names_are_followed_and_their_content_is_known(here, tmp_path_factory):
    own = tmp_path_factory.mktemp("elsewhere") / "own.parquet"
    tiny.judgments().write_parquet(own)
    (here / "days").mkdir()
    for link in ("link.parquet", "days/1.parquet"):
        (here / link).symlink_to(own)
    known = hashlib.sha256(own.read_bytes()).hexdigest()
    for text in ("FROM 'link.parquet'", "FROM 'days/*.parquet'", "FROM read_parquet(['link.parquet'])"):
        with scratch():
            made = selected("judgments", InputSql(text))
            assert pl.read_parquet(made.path).equals(tiny.judgments())
        (origin,) = made.origins.values()
        assert [one.digest for one in origin.fingerprint.read] == [f"sha256:{known}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "FROM read_parquet('judgments.parquet')",
        f"{JUDGED};\n-- the end",
        "FROM judgments.parquet",
        "FROM './judg*.parquet'",
        "FROM read_parquet(['judgments.parquet'::VARCHAR, 'judgments.parquet']) ORDER BY ALL",
        "SELECT parse_filename(filename) AS file, judgments.* FROM 'judgments.parquet'",
        "FROM labels",
        "FROM main.labels",
        'FROM "labels.csv"',
        "WITH \"labels.csv\" AS (SELECT 'ö''\n' AS x, 1e300 AS y, {'a': [1]} AS z) FROM \"labels.csv\"",
        "SELECT *, rank() OVER (PARTITION BY query ORDER BY url) AS n FROM labels QUALIFY n < 3 ORDER BY ALL",
        "FROM (PIVOT 'judgments.parquet' ON grade IN (0, 1) USING count(*) GROUP BY query) ORDER BY query",
        "FROM (SUMMARIZE labels)",
        "FROM (SUMMARIZE 'judgments.parquet')",
        "FROM read_csv('labels.csv', delim = ',', types = {'grade': 'VARCHAR'})",
        "SELECT list_transform([1, 2], lambda x: x + grade) AS a FROM labels ORDER BY url",
        "FROM labels ANTI JOIN (VALUES ('x')) AS v(query) USING (query) LIMIT 50%",
    ],
)
def test_sql_of_another_folder_reads_what_it_reads_there(here, monkeypatch, text):
    (here / "labels.csv").write_text("query,url,grade\nx,y,1\n")
    with duckdb.connect(str(here / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE labels AS FROM 'judgments.parquet'")
        connection.execute("CREATE TABLE \"labels.csv\" AS FROM 'judgments.parquet' LIMIT 2")
    there = rows_of(InputSql(text, None, here / "shop.duckdb"))
    other = here / "other [1]"
    other.mkdir()
    tiny.judgments().head(1).write_parquet(
        other / "judgments.parquet"
    )  # one of the same name, to be left alone
    monkeypatch.chdir(other)
    rows = rows_of(InputSql(text, None, here / "shop.duckdb", here))
    assert rows.equals(there)
    assert rows.height > 0
    with pytest.raises(InputError, match=r"names nowhere\.csv, but .* counts from"):
        rows_of(InputSql("FROM 'nowhere.csv'", folder=here))


def test_the_fingerprint_is_of_the_text_and_of_the_files_that_it_reads(here):
    def digest(sql):
        with scratch():
            made = selected("judgments", sql)
            (origin,) = made.origins.values()
            return origin.fingerprint.digest

    with scratch():
        (origin,) = selected("judgments", InputSql(JUDGED)).origins.values()
    known = FileFingerprint.recorded(origin.fingerprint.entry())  # as a store keeps it
    assert [one.name for one in known.read] == ["judgments.parquet"]
    assert input_fingerprint([known])["read"] == input_fingerprint(
        [file_fingerprint(here / "judgments.parquet")]
    )
    first = digest(InputSql(JUDGED))
    assert first == digest(InputSql(JUDGED))
    assert first.startswith("sql:")
    assert first != digest(InputSql(f"{JUDGED} ORDER BY url"))
    tiny.judgments().head(3).write_parquet(here / "judgments.parquet")
    assert first != digest(InputSql(JUDGED))


def test_a_database_that_is_in_use_or_none_has_one_line(here):
    file = here / "shop.duckdb"
    with pytest.raises(InputError, match=r"database .*shop\.duckdb does not exist; give --database"):
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


def test_sql_without_a_row_of_searches_is_said(here):
    with scratch(), pytest.raises(InputError, match=r"searches: the given SQL returned no rows"):
        selected("searches", InputSql("FROM 'searches.parquet' WHERE query = 'none'"))
    assert rows_of(InputSql("FROM 'judgments.parquet' WHERE query = 'none'")).is_empty()


LISTS = """
SELECT n AS search_id, 'u' AS user_id, 'q' AS query, TIMESTAMPTZ '2026-01-05 12:00:00+00' AS timestamp,
    CASE n % 4 WHEN 0 THEN ['a', 'b'] WHEN 1 THEN [] WHEN 2 THEN NULL ELSE [NULL, 'b'] END AS docs
FROM range(200_001) AS numbers(n)
"""


def test_lists_that_stay_in_memory_are_those_that_are_written():
    rows = []
    with scratch():
        for engine in ("arrays", "duckdb"):
            settings = Settings(column=("searches.results=docs",), engine=engine)
            table = opened("searches", InputSql(LISTS), settings)
            assert bool(table.parts[0].lists) == (engine == "arrays")
            rows.append(table.frame.collect().sort("search_id"))
    assert rows[0].equals(rows[1])
    assert rows[0].head(4)["results"].to_list() == [["a", "b"], [], None, [None, "b"]]


def test_a_value_that_fails_after_others_were_read_is_said():
    text = LISTS.replace("'q' AS", "CASE n WHEN 150_000 THEN error('odd') ELSE 'q' END AS")
    with scratch(), pytest.raises(InputError, match=r"cannot be run: .*odd; correct it"):
        selected("searches", InputSql(text), lists_in="docs")
