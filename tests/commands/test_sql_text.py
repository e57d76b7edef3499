"""The text that `clickassay sql` prints: the views to edit, names that would break out, and how it reads."""

import re
import subprocess
import sys

import duckdb
import polars as pl
import pytest
import sqlglot
from sqlglot import TokenType

from clickassay.core.errors import EngineError
from clickassay.core.settings import load_settings
from clickassay.jobs.patterns import log_to_patterns
from clickassay.logs.script.dialects import dialect
from clickassay.logs.script.write import _environment
from clickassay.patterns.folders.table_folder import read_patterns
from support.logs import tiny
from support.logs.written_sql import differing, edited, of_log, printed, run_on_duckdb, statements
from support.places import ROOT

DIALECTS = ("duckdb", "spark")

# ---- the views to edit ------------------------------------------------------------------------

MUST = "{}_log.{} must be {}"
WRONG = [
    ("searches", "^    search_id,$", "    CAST(search_id AS INT) AS search_id,", ("search_id", "BIGINT or")),
    ("clicks", "^    search_id,$", "    CAST(search_id AS VARCHAR) AS search_id,", None),
    ("searches", "^    user_id,$", "    CAST(user_id AS DOUBLE) AS user_id,", ("user_id", "BIGINT or")),
    ("searches", r"epoch_ms\(timestamp\)", "timestamp", ("timestamp", "BIGINT")),
    ("clicks", r"epoch_ms\(timestamp\)", "timestamp", ("timestamp", "BIGINT")),
    ("clicks", r"epoch_ms\(timestamp\)", "epoch_ms(epoch_ms(timestamp))", ("timestamp", "BIGINT")),
    ("searches", "^    results$", "    ['a'] AS urls, [1] AS results", ("results", "VARCHAR[]")),
    ("searches", "^    query,$", "    1 AS query,", ("query", "VARCHAR")),
    ("clicks", "^    url,$", "    ['a'] AS url,", ("url", "VARCHAR")),
]


@pytest.mark.parametrize(("half", "pattern", "replacement", "must"), WRONG)
def test_a_column_of_the_wrong_type_is_told_before_anything_is_counted(
    tmp_path, half, pattern, replacement, must
):
    words = MUST.format(half, *must) if must else "search_id must have one type in both views"
    log = tiny.write_log(tmp_path / "log")
    script = edited(of_log(log, tmp_path / "left"), half, f"(?m){pattern}", replacement)
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        run_on_duckdb(script)
    assert "unfinished" in pl.read_parquet(tmp_path / "left" / "counts" / "rows_read.parquet").columns


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_column_that_a_log_lacks_is_not_read_only_if_that_is_said(dialect):
    whole, bare = printed("--dialect", dialect), printed("--dialect", dialect, "--no-market", "--no-page")
    assert ("    market,\n" in whole, "    market,\n" in bare.split("FROM", 1)[0]) == (True, False)
    assert "CAST(page AS BIGINT) AS page" in whole
    assert "CAST(page AS BIGINT) AS page" not in bare
    assert "'all' AS market" in bare
    assert "CAST(1 AS BIGINT) AS page" in bare


@pytest.mark.parametrize("dialect", DIALECTS)
def test_clicks_name_a_url_or_a_position(dialect):
    by_url = printed("--dialect", dialect)
    by_position = printed("--dialect", dialect, "--clicks-by", "position")
    assert "CAST(NULL AS BIGINT) AS position" in by_url
    assert "CAST(position AS BIGINT) AS position" in by_position
    assert by_url != by_position


# ---- names that would break out ---------------------------------------------------------------

HOSTILE = 'it\'s; `DROP` "TABLE" x -- $HOME é'


def test_a_hostile_folder_is_read_and_written_and_nothing_else_is(tmp_path):
    log = tiny.write_log(tmp_path / HOSTILE)
    run_on_duckdb(
        of_log(log, tmp_path / f"{HOSTILE} out", "--depth", 3, "--work", tmp_path / f"{HOSTILE} work")
    )
    expected = log_to_patterns(log.searches, log.clicks, load_settings(depth=[3]))
    found = read_patterns(tmp_path / f"{HOSTILE} out")
    assert differing(found, expected) == []
    assert found.info["inputs"]["searches"]["names"] == [log.searches]
    assert {path.name for path in tmp_path.iterdir()} <= {HOSTILE, f"{HOSTILE} out", f"{HOSTILE} work"}


HOSTILE_NAMES = [
    HOSTILE,
    "a\\'; b/x",
    "a/';--",
    "x`; y`/",
    "${env:HOME}/x",
    "/*",
    "a\\",
    "'",
    "`a;b`.`c'd`",
    '"a;""b".c',
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_hostile_name_stays_one_literal_or_one_name(dialect, name):
    """Judged by SQLGlot's reading of the script."""
    plain = "a/x" if "`.`" not in name and '".' not in name else "a.x"
    tame = printed("--dialect", dialect, "--searches", plain)
    hostile = printed("--dialect", dialect, "--searches", name)
    kinds = [
        [token.token_type for token in sqlglot.tokenize(script, dialect=dialect)]
        for script in (tame, hostile)
    ]
    assert kinds[0].count(TokenType.SEMICOLON) == kinds[1].count(TokenType.SEMICOLON)
    assert kinds[0] == kinds[1]
    assert len(statements(tame)) == len(statements(hostile))


def test_texts_for_spark_hold_nothing_that_a_tool_could_fill_in_or_cut_at():
    script = printed("--dialect", "spark", "--searches", f"/{HOSTILE}/${{env:HOME}}", "--out", f"/{HOSTILE}")
    assert script.isascii()
    assert "${" not in script
    assert [line for line in script.splitlines() if ";" in line.rstrip(";")] == []


def test_templates_fill_in_nothing_that_was_not_spelt_as_sql():
    template = _environment().from_string("SELECT {{ name }}")
    assert template.render(name=dialect("duckdb").text("it's <b>")) == "SELECT 'it''s <b>'"
    with pytest.raises(TypeError, match="not quoted as SQL"):
        template.render(name="it's")


def session_masks():
    """Return the SELECT of a step without its comment."""
    file = ROOT / "sql" / "steps" / "6_sessions" / "session_masks.sql"
    return file.read_text(encoding="utf-8").split("\n", 1)[1].strip()


def test_values_of_steps_are_spelt_as_literals_and_must_be_given():
    select = dialect("duckdb").select
    text = session_masks()
    for value, spelt in ((10, "10"), (True, "TRUE"), ("it's", "'it''s'")):
        assert select("steps/6_sessions/session_masks", {"depth": value}) == text.replace("$depth", spelt)
    with pytest.raises(EngineError, match=r"step steps/6_sessions/session_masks needs a value for \$depth"):
        select("steps/6_sessions/session_masks", {})


REFUSED = [
    (("--searches", "searches"), "a step of the script has this name"),
    (("--clicks", "Visits"), "a step of the script has this name"),
    (("--clicks", "`click_masks`"), "give the table with its"),
    (("--searches", "logs.csv"), "the SQL reads tables and Parquet"),
    (("--clicks", "a/clicks.jsonl.gz"), "the SQL reads tables and Parquet"),
    (("--searches", ""), "--searches '' cannot be written into a script"),
    (("--out", "a\nb"), "--out 'a\\nb' cannot be written into a script"),
    (("--work", "a\x1b[2J"), "cannot be written into a script"),
    (("--out", "\udcff"), "is not UTF-8"),
    (("--depth", 63), "setting depth"),
    (("--folds", 0), "setting folds"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_cannot_be_written_is_told_in_one_line(dialect, options, words):
    outcome = tiny.inside("sql", "--dialect", dialect, *options)
    assert words in tiny.one_line(outcome)
    assert outcome.out == ""


def test_a_table_of_the_schema_main_could_be_taken_for_a_view_by_duckdb_but_not_by_spark():
    name = ("--searches", "main.searches")
    assert "catalog and schema in front" in tiny.refusal("sql", "--dialect", "duckdb", *name)
    assert "FROM `main`.`searches`;" in printed("--dialect", "spark", *name)


def test_signs_that_spark_reads_as_patterns_are_no_part_of_a_folder_to_write():
    line = tiny.refusal("sql", "--dialect", "spark", "--out", "a{b}")
    assert "spark takes { } in a path for a pattern" in line
    assert "a{b}/patterns.parquet" in printed("--dialect", "duckdb", "--out", "a{b}")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("only_judged = true", "only_judged = True"),
        ("time_zone = 'Europe/Berlin'", "time_zone = Europe/Berlin"),
        ("[columns.clicks]\nurl = 'item'", "column = clicks.url=item"),
    ],
)
def test_a_setting_of_the_log_that_the_sql_does_not_have_is_refused_in_one_line(
    tmp_path, dialect, setting, named
):
    file = tmp_path / "s.toml"
    file.write_text(f"{setting}\n")
    line = tiny.one_line(tiny.inside("sql", "--dialect", dialect, "--settings", file))
    assert f"{named} cannot be written as SQL; leave it out, " in line


def test_settings_that_are_not_of_the_log_or_are_the_default_leave_the_script_as_it_is(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text("only_judged = false\ntime_zone = 'UTC'\nrelevant_grade = 2\nmax_rejected = 0.5\n")
    assert printed("--dialect", "duckdb", "--settings", file) == printed("--dialect", "duckdb")


# ---- how it reads -----------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_step_is_named_by_its_file_and_told_in_its_words(dialect):
    script = printed("--dialect", dialect)
    named = re.findall(r"^-- (sql/[\w/]+\.sql)\n-- (.*)", script, flags=re.MULTILINE)
    assert len(named) > 50
    for file, comment in named:
        first = (ROOT / file).read_text(encoding="utf-8").splitlines()[0].removeprefix("-- ")
        plain = first.replace(";", ",").replace("'", "")
        assert plain.startswith(comment) or comment.startswith(plain), file
    parts = re.findall(r"^-- (\d)\. ", script, flags=re.MULTILINE)
    assert parts == ["1", "2", "3", "4"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_counts_and_all_checks_but_those_of_other_ways_are_written(dialect):
    script = printed("--dialect", dialect)
    counts = {path.stem for path in (ROOT / "sql" / "funnel").glob("*.sql")}
    beyond = {"actions", "dwell_times", "outcomes"}  # a script counts clicks alone
    assert {name for name in counts if f"-- sql/funnel/{name}.sql\n" in script} == counts - beyond
    checks = {path.stem for path in (ROOT / "sql" / "checks").glob("*.sql")}
    others = {"placeholder_collisions"}  # of tables that keep judged queries only
    assert {name for name in checks if f"-- sql/checks/{name}.sql\n" in script} == checks - others


def test_a_step_stands_in_the_script_for_duckdb_as_in_its_file():
    script = printed("--dialect", "duckdb", "--depth", 7)
    assert session_masks().replace("$depth", "7") in script


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_ends_its_statements_with_semicolons_and_its_comments_hold_none(dialect):
    script = printed("--dialect", dialect)
    assert script.endswith(";\n")
    comments = [line for line in script.splitlines() if line.lstrip().startswith("--")]
    of_macros = (ROOT / "sql" / "macros" / "duckdb.sql").read_text(encoding="utf-8").splitlines()
    assert [line for line in comments if re.search("[;']", line) and line not in of_macros] == []
    tokens = [token.token_type for token in sqlglot.tokenize(script, dialect=dialect)]
    assert len(statements(script)) == tokens.count(TokenType.SEMICOLON) > 80
    if dialect == "duckdb":
        assert len(statements(script)) == len(duckdb.extract_statements(script))


def test_the_script_for_spark_sets_what_steps_rely_on_in_every_session():
    pytest.importorskip("pyspark")
    from clickassay.logs.spark.session import _FASTER, _SESSION

    told = dict(re.findall(r"^SET ([\w.]+)=(\w+);$", printed("--dialect", "spark"), flags=re.MULTILINE))
    wanted = {**_SESSION, **_FASTER}
    assert {name: told.get(name) for name in wanted} == wanted


def test_a_script_is_the_same_whoever_prints_it():
    command = [sys.executable, "-m", "clickassay", "sql", "--dialect", "spark"]
    ended = subprocess.run(command, check=True, capture_output=True, env=tiny.environment() | {"LC_ALL": "C"})
    assert ended.stdout.decode("ascii") == printed("--dialect", "spark")


def test_a_reader_that_stops_early_is_no_error():
    command = f"{sys.executable} -m clickassay sql --dialect duckdb | head -5"
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, env=tiny.environment()
    )
    assert ended.returncode == 0
    assert ended.stderr == b""
    assert len(ended.stdout.splitlines()) == 5


def test_the_help_tells_what_is_printed_and_where_it_goes():
    text = " ".join(tiny.inside("sql", "--help").out.split())
    for words in (
        "Print the SQL",
        "clickassay report --patterns",
        "--dialect",
        "spark|duckdb",
        "| duckdb -bail",
    ):
        assert words in text
