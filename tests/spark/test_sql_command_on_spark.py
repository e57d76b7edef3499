"""The script that `clickassay sql` prints for Spark leaves there what the default engine makes of a log."""

import pytest

from clickassay.core.errors import PatternError
from clickassay.core.settings import load_settings
from clickassay.jobs.patterns import log_to_patterns
from clickassay.patterns.folders.table_folder import read_patterns
from support.logs import tiny
from support.logs.messy import write_log
from support.logs.written_sql import differing, edited, printed, script_for, statements
from support.oracle.messy_logs import seeded_log
from support.places import SAMPLE_LOG as SAMPLE

pytest.importorskip("pyspark")

# Both have markets, pages, odd URLs, several deliveries, ambiguous ids and seven folds. The first has times
# in milliseconds, text users, and visits by query; the second has ids of text, in folders of two files.
SEEDS = (176, 141)
ROWS = {"searches": 20_059, "clicks": 28_938}  # as data_samples/README.md says
HOSTILE = 'it\'s; `DROP` "TABLE" x -- $HOME é'


@pytest.fixture
def session(spark):
    """Return a session of its own: a script changes settings and names views."""
    return spark.newSession()


@pytest.fixture
def schema(session):
    """Return the name of a schema that is dropped afterwards with its tables."""
    session.sql("CREATE SCHEMA of_sql_command")
    yield "of_sql_command"
    session.sql("DROP SCHEMA of_sql_command CASCADE")


def run_on_spark(session, script):
    for statement in statements(script):
        session.sql(statement).collect()


@pytest.mark.parametrize("seed", [SEEDS[0], pytest.param(SEEDS[1], marks=pytest.mark.thorough)])
def test_the_script_leaves_the_table_that_the_default_engine_makes(session, tmp_path, seed):
    searches, clicks, judgments, _, chosen = seeded_log(seed)
    paths = write_log(tmp_path / HOSTILE, seed, searches=searches, clicks=clicks, judgments=judgments)
    settings = load_settings(**chosen)
    out, work = tmp_path / f"{HOSTILE} out", tmp_path / f"{HOSTILE} work"
    run_on_spark(session, script_for("spark", paths, out, settings, work=str(work)))
    expected = log_to_patterns(paths["searches"], paths["clicks"], settings)
    found = read_patterns(out)
    assert differing(found, expected) == []
    assert found.info["inputs"]["clicks"]["names"] == [str(paths["clicks"])]
    assert found.info["settings"]["clock"] == settings.clock
    # tables between the steps, which hold user ids, are gone
    assert [path.name for path in work.rglob("*") if path.is_dir()] == ["clickassay_steps"]
    assert {path.name for path in tmp_path.iterdir()} == {HOSTILE, out.name, work.name}


def test_a_script_that_fails_leaves_nothing_of_an_earlier_run_to_pass_for_its_own(session, tmp_path):
    log = tiny.write_log(tmp_path / "log")
    stale = tmp_path / "out" / "clickassay_steps" / "02_repeated_ids" / "part-0.parquet"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of an earlier run")
    places = ("--searches", log.searches, "--clicks", log.clicks, "--out", tmp_path / "out")
    script = printed("--dialect", "spark", *places, "--no-market", "--no-page")
    script = edited(script, "searches", "(?m)^    user_id,$", "    CAST(user_id AS DOUBLE) AS user_id,")
    with pytest.raises(Exception, match=r"searches_log\.user_id must be BIGINT or STRING"):
        run_on_spark(session, script)
    assert not stale.exists()
    with pytest.raises(PatternError, match="is unfinished"):
        read_patterns(tmp_path / "out")


def test_tables_are_read_by_their_names_though_a_step_or_a_semicolon_is_in_them(session, schema, tmp_path):
    session.read.parquet(SAMPLE["searches"]).write.saveAsTable(f"{schema}.searches")
    session.read.parquet(SAMPLE["clicks"]).createOrReplaceTempView("given")
    session.sql("CREATE TEMPORARY VIEW `we``ird; it's` AS TABLE given")
    places = ("--searches", f"{schema}.searches", "--clicks", "`we``ird; it's`", "--out", tmp_path / "out")
    script = statements(printed("--dialect", "spark", *places, "--no-page"))
    for half in ("searches", "clicks"):
        (view,) = [statement for statement in script if f"VIEW {half}_log AS" in statement]
        session.sql(view)
    session.range(1).createOrReplaceTempView("searches")  # as a step of the script does
    for half, rows in ROWS.items():
        assert session.table(f"{half}_log").count() == rows
