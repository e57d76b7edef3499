"""`clickassay sql` prints SQL that makes the pattern table elsewhere, and `report` takes what it leaves.

Scripts run here on plain connections of DuckDB; tests/spark runs one on Spark.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import PatternError
from clickassay.core.settings import load_settings
from clickassay.jobs.patterns import log_to_patterns
from clickassay.patterns.folders.table_folder import read_patterns
from support.logs import tiny
from support.logs.messy import write_log
from support.logs.written_sql import (
    differing,
    of_log,
    printed,
    run_on_duckdb,
    run_past_errors,
    script_for,
)
from support.oracle.messy_logs import seeded_log
from support.places import SAMPLE_LOG as SAMPLE
from support.tiers import first

LOGS, CHUNK = 30, 10
DIALECTS = ("duckdb", "spark")
TABLES = ("configurations", "patterns", "queries", "shown")


def of_sample(*options):
    """Return the options of a script over the sample log, which has no column page."""
    return ("--searches", SAMPLE["searches"], "--clicks", SAMPLE["clicks"], "--no-page", *options)


@pytest.fixture
def left(tmp_path):
    """Return a tiny log, and the folder that the script has left of it."""
    log = tiny.write_log(tmp_path / "log")
    run_on_duckdb(of_log(log, tmp_path / "left", "--depth", 3))
    return log, tmp_path / "left"


def reported(log, folder, out, *more):
    """Run the report on a folder."""
    places = ("--patterns", str(folder), "--judgments", log.judgments, "--out", str(out))
    return tiny.inside("report", *places, *tiny.QUICK[:4], *more)


# ---- the same table ---------------------------------------------------------------------------


def test_the_script_leaves_the_table_of_the_sample_that_the_default_engine_makes(tmp_path):
    run_on_duckdb(printed("--dialect", "duckdb", *of_sample("--out", tmp_path / "june")))
    found, expected = read_patterns(tmp_path / "june"), log_to_patterns(*SAMPLE.values(), load_settings())
    assert differing(found, expected) == []
    assert found.stored_depth == expected.stored_depth == 10


@pytest.mark.parametrize("start", first(1, range(0, LOGS, CHUNK)))
def test_the_script_agrees_with_the_default_engine_on_messy_logs(start, tmp_path):
    for seed in range(start, start + CHUNK):
        searches, clicks, judgments, _, chosen = seeded_log(seed)
        if any("url" in click for click in clicks):  # a script by URL reads no positions
            clicks = [{name: value for name, value in one.items() if name != "position"} for one in clicks]
        folder = tmp_path / str(seed)
        paths = write_log(folder, seed, searches=searches, clicks=clicks, judgments=judgments)
        settings = load_settings(**chosen)
        run_on_duckdb(script_for("duckdb", paths, folder / "left", settings))
        expected = log_to_patterns(paths["searches"], paths["clicks"], settings)
        assert differing(read_patterns(folder / "left"), expected) == [], f"seed {seed}"


def test_the_options_of_the_table_are_those_of_patterns(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('depth = [2, 3]\nidle-scope = "query"\nfolds = 2\n')
    options = ("--settings", file, "--folds", 3, "--no-normalise-urls", "--idle-minutes", 0.5)
    options += ("--clock", "2030-01-01")
    run_on_duckdb(printed("--dialect", "duckdb", *of_sample(*options, "--out", tmp_path / "left")))
    wanted = load_settings(depth=[3], idle_scope="query", folds=3, normalise_urls=False, idle_minutes=0.5)
    found = read_patterns(tmp_path / "left")
    assert differing(found, log_to_patterns(*SAMPLE.values(), wanted)) == []
    assert found.info["settings"] == {
        "depth": [3], "idle_minutes": 0.5, "idle_scope": "query", "normalise_urls": False, "folds": 3,
        "only_judged": False, "clock": "2030-01-01T00:00:00+00:00",
    }  # fmt: skip


# ---- the clock --------------------------------------------------------------------------------


def too_late(table):
    """Return the numbers of searches and of clicks that were rejected for their time."""
    rows = table.funnel.filter(reason="time out of range").sort("source")
    return dict(rows.select("source", "rows").rows())


@pytest.mark.parametrize("seconds", [0, 10, 95])
def test_a_script_of_a_clock_rejects_what_a_run_with_that_clock_rejects(tmp_path, seconds):
    log = tiny.write_log(tmp_path)
    clock = f"2024-04-30T12:{seconds // 60:02}:{seconds % 60:02}"
    run_on_duckdb(of_log(log, tmp_path / "left", "--depth", 3, "--clock", clock))
    found = read_patterns(tmp_path / "left")
    wanted = log_to_patterns(log.searches, log.clicks, load_settings(depth=[3], clock=clock, max_rejected=1))
    assert differing(found, wanted) == []
    assert found.info["settings"]["clock"] == wanted.info["settings"]["clock"]
    # searches come every ten seconds from noon of the next day on
    assert too_late(found)["searches"] == sum(10 * row > seconds for row in range(tiny.ROWS))


def test_a_search_of_2099_is_rejected_by_a_script_without_a_clock_which_names_the_time_of_its_run(tmp_path):
    is_moved = pl.col("search_id") == 1
    moved = tiny.searches().with_columns(
        pl.when(is_moved).then(datetime(2099, 1, 1, tzinfo=UTC)).otherwise("timestamp").alias("timestamp")
    )
    log = tiny.write_log(tmp_path, searches=moved)
    script = of_log(log, tmp_path / "left", "--depth", 3)
    begun = datetime.now(UTC).replace(microsecond=0)
    run_on_duckdb(script)
    found = read_patterns(tmp_path / "left")
    assert too_late(found)["searches"] == 1
    clock = found.info["settings"]["clock"]
    assert begun <= datetime.fromisoformat(clock) <= datetime.now(UTC)
    run_on_duckdb(of_log(log, tmp_path / "again", "--depth", 3, "--clock", clock))
    again = read_patterns(tmp_path / "again")
    assert (differing(again, found), again.info) == ([], found.info)


def test_a_log_in_tables_of_a_catalog_is_read_by_their_names(tmp_path):
    places = ("--searches", "memory.main.searches", "--clicks", '"the ""log""".clicks')
    script = printed("--dialect", "duckdb", *places, "--no-page", "--out", tmp_path / "left")
    with duckdb.connect() as connection:
        connection.execute('CREATE SCHEMA "the ""log"""')
        connection.from_parquet(SAMPLE["searches"]).create("searches")
        connection.from_parquet(SAMPLE["clicks"]).create('"the ""log""".clicks')
        connection.execute(script)
    assert (
        differing(read_patterns(tmp_path / "left"), log_to_patterns(*SAMPLE.values(), load_settings())) == []
    )


def test_a_script_that_runs_again_in_the_same_session_leaves_the_same(left):
    log, folder = left
    before = read_patterns(folder)
    script = of_log(log, folder, "--depth", 3)
    with duckdb.connect() as connection:
        connection.execute(script)
        connection.execute(script)
    assert differing(read_patterns(folder), before) == []


# ---- the report -------------------------------------------------------------------------------


def test_the_report_of_what_the_script_left_is_the_report_of_the_same_log(left, tmp_path):
    log, folder = left
    tiny.counted(log)
    for patterns, out in ((folder, tmp_path / "a"), (log.out, tmp_path / "b")):
        outcome = reported(log, patterns, out)
        assert outcome.code == 0, outcome.err
    made = sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.parquet"))
    assert len(made) >= 10
    for file in made:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    inputs = json.loads((tmp_path / "a" / "settings.json").read_text())["inputs"]
    assert inputs["searches"]["names"] == [log.searches]
    assert log.clicks in (tmp_path / "a" / "report.md").read_text().replace("\\", "")


def test_a_log_with_too_many_unusable_rows_is_refused_by_the_report_and_only_there(tmp_path):
    damaged = tiny.searches().with_columns(
        pl.when(pl.col("search_id") > 6).then("user_id").alias("user_id")  # 6 of 24 rows have none
    )
    log = tiny.write_log(tmp_path / "log", searches=damaged)
    run_on_duckdb(of_log(log, tmp_path / "left", "--depth", 3))
    line = tiny.one_line(reported(log, tmp_path / "left", tmp_path / "out"))
    assert "6 of 24 rows are unusable (6 with null user_id)" in line
    assert not (tmp_path / "out").exists()
    assert reported(log, tmp_path / "left", tmp_path / "out", "--max-rejected", "0.25").code == 0


def test_two_logs_have_two_digests_and_one_log_has_one(left, tmp_path):
    log, folder = left
    run_on_duckdb(of_log(log, tmp_path / "again", "--depth", 3))
    other = tiny.write_log(tmp_path / "other", clicks=tiny.clicks().head(-1))
    run_on_duckdb(of_log(other, tmp_path / "third", "--depth", 3))
    digests = [
        read_patterns(place).info["inputs"]["clicks"]["digest"]
        for place in (folder, tmp_path / "again", tmp_path / "third")
    ]
    assert digests[0] == digests[1] != digests[2]


# ---- as Spark leaves it -----------------------------------------------------------------------


def test_a_table_may_be_a_folder_of_part_files(left):
    _, folder = left
    before = read_patterns(folder)
    for file in list(folder.rglob("*.parquet")):
        frame = pl.read_parquet(file)
        file.unlink()
        file.mkdir()
        half = frame.height // 2
        frame.head(half).write_parquet(file / "part-00000-a.zstd.parquet")
        frame.slice(half).write_parquet(file / "part-00001-a.zstd.parquet")
        for other in ("_SUCCESS", ".part-00000-a.zstd.parquet.crc", "_temporary.parquet", ".hidden.parquet"):
            (file / other).write_bytes(b"no Parquet")
    assert differing(read_patterns(folder), before) == []


def test_user_buckets_may_be_signed_and_then_the_sign_is_the_highest_bit(left):
    _, folder = left
    queries = pl.read_parquet(folder / "queries.parquet").sort("query")
    assert queries["query"].to_list() == ["maps", "news", "weather today"]
    signed = pl.Series("user_buckets", [-1, -(2**63), 5], dtype=pl.Int64)
    queries.with_columns(signed).write_parquet(folder / "queries.parquet")
    assert read_patterns(folder).queries["user_buckets"].to_list() == [2**64 - 1, 2**63, 5]


# ---- folders that are no result ---------------------------------------------------------------


def changed(frame, **columns):
    """Return a function that rewrites a file: with other columns, or by a function of its frame."""
    return lambda file: frame(pl.read_parquet(file)).with_columns(**columns).write_parquet(file)


def as_it_is(frame):
    return frame


FAULTS = [
    *(
        (name, fault, "is broken")
        for name in ("settings", *TABLES, "counts/rows_read", "counts/sessions")
        for fault in (tiny.cut_short, lambda file: file.write_bytes(b""))
    ),
    *((name, Path.unlink, "is broken") for name in (*TABLES[:-1], "counts/orphan_clicks")),
    ("shown", Path.unlink, None),  # as scripts of older versions left it
    ("counts/click_positions", Path.unlink, "is broken"),
    ("settings", Path.unlink, "is not a pattern table"),
    ("patterns", lambda file: (file.unlink(), file.mkdir()), "holds no Parquet file"),
    ("settings", changed(lambda frame: frame.clear()), "settings has 0 rows"),
    ("settings", changed(lambda frame: pl.concat([frame, frame])), "settings has 2 rows"),
    ("settings", changed(as_it_is, folds=pl.lit(None)), "without nulls"),
    ("settings", changed(lambda frame: frame.drop("idle_minutes")), "expected stored_depth, idle_minutes"),
    ("settings", changed(as_it_is, stored_depth=pl.lit("ten")), "is broken"),
    ("settings", changed(as_it_is, faults=pl.lit(2)), "checks of the SQL that filled it found 2 rows"),
    ("patterns", changed(lambda frame: frame.head(-1)), "sessions, but 24 were counted"),
    ("shown", changed(lambda frame: frame.head(-1)), "sessions, but 24 were counted"),
    ("patterns", changed(lambda frame: pl.concat([frame, frame])), "is not unique"),
    ("patterns", changed(lambda frame: frame.rename({"fold": "folds"})), "missing columns fold"),
    ("configurations", changed(lambda frame: frame.head(-1)), "of different configurations"),
    ("queries", changed(lambda frame: frame.head(-1)), "queries lack those of 2 configurations"),
    ("counts/searches", changed(as_it_is, kept=pl.col("kept").cast(pl.String)), None),
    ("counts/searches", changed(as_it_is, usable=pl.lit(5)), "24 rows were read but 5 accounted for"),
    ("counts/rows_read", changed(lambda frame: frame.clear()), "is broken"),
    ("counts/sessions", changed(lambda frame: frame.drop("is_kept")), "counts/sessions has columns market"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault", "words"), FAULTS)
def test_a_folder_that_is_damaged_is_refused_in_one_line(left, tmp_path, name, fault, words):
    log, folder = left
    fault(folder / f"{name}.parquet")
    if words is None:  # another type that holds the same values does no harm
        read_patterns(folder)
        return
    line = tiny.one_line(reported(log, folder, tmp_path / "out"))
    assert words in line
    assert str(folder) in line
    assert not (tmp_path / "out").exists()


def test_a_folder_that_the_sql_of_an_older_version_left_is_refused_in_one_line(left, tmp_path):
    log, folder = left
    (folder / "counts" / "attributed_clicks.parquet").rename(folder / "counts" / "click_fates.parquet")
    line = tiny.refusal(
        "report", "--patterns", folder, "--judgments", log.judgments, "--out", tmp_path / "run"
    )
    assert f"{folder} was left by the SQL of an older clickassay" in line
    assert "`clickassay sql`" in line


def test_a_folder_of_a_script_that_had_no_clock_is_refused_as_an_older_one(left):
    _, folder = left
    changed(lambda frame: frame.drop("clock_ms"))(folder / "settings.parquet")
    with pytest.raises(PatternError, match="was left by the SQL of an older clickassay"):
        read_patterns(folder)


@pytest.mark.parametrize("name", ["settings", *TABLES, "counts/rows_read", "counts/sessions"])
def test_a_script_that_has_not_come_to_its_end_leaves_no_result(left, name):
    log, folder = left
    unfinished = [line for line in of_log(log, folder).splitlines() if line.startswith("COPY (SELECT 'the")]
    (statement,) = [line for line in unfinished if f"/{name}.parquet" in line]
    duckdb.execute(statement)
    with pytest.raises(PatternError, match=f"is unfinished: .* before it wrote {name}"):
        read_patterns(folder)


def test_what_an_earlier_run_left_does_not_pass_for_the_result_of_one_that_failed(left):
    log, folder = left
    read_patterns(folder)
    Path(log.clicks).unlink()
    told = run_past_errors(of_log(log, folder, "--depth", 3))
    assert log.clicks in told[0]
    with pytest.raises(PatternError, match="is unfinished"):
        read_patterns(folder)


def test_a_check_that_finds_something_stops_the_script_and_spoils_the_result(left):
    log, folder = left
    script = of_log(log, folder, "--depth", 3)
    script, found = re.subn(r"(MACRO query_fingerprint\(.*?\) AS) .*;", r"\1 7;", script)  # all queries alike
    assert found == 1
    with pytest.raises(
        duckdb.Error, match="check checks/query_fingerprint_collisions found rows where there must be none"
    ):
        run_on_duckdb(script)
    with pytest.raises(PatternError, match="is unfinished"):
        read_patterns(folder)
    assert len(run_past_errors(script)) >= 1
    with pytest.raises(PatternError, match="checks of the SQL that filled it found"):
        read_patterns(folder)
