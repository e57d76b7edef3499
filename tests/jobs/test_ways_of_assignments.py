"""Assignments of users to arms of A/B tests, and arms that searches name, by every way in."""

import json

import polars as pl
import pytest

import clickassay as ca
from clickassay.core.errors import InputError, RejectedRowsError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import load_settings
from clickassay.inputs.frames import Frame
from clickassay.inputs.staging.sql import InputSql
from clickassay.jobs.inputs import Sources, open_log
from clickassay.jobs.patterns import log_to_patterns
from clickassay.logs.assignments import check_controls, prepare_assignments
from support.logs import tiny

ROWS = [
    (1000, "control", "ranker", "2024-04-30 10:00:00", None),
    (1001, "new", "ranker", "2024-04-30 10:00:00", "2024-06-01 00:00:00"),
    (1002, "new", None, None, None),
]
TIMES = ("timestamp", "until")
GIVEN = pl.DataFrame(ROWS, ["user_id", "variant", "experiment", *TIMES], orient="row")
TYPED = GIVEN.with_columns(pl.col(TIMES).str.to_datetime(time_unit="ms", time_zone="UTC"))


@pytest.fixture
def log(tmp_path):
    return tiny.write_log(tmp_path / "log")


def opened(log, assignments, **settings):
    with scratch():
        given = Sources(log.searches, log.clicks, assignments=assignments)
        return open_log(given, load_settings(**settings)).assignments


def files(folder):
    """Write the rows in two files of CSV; return their folder."""
    place = folder / "given"
    place.mkdir()
    for number in range(2):
        GIVEN.slice(2 * number, 2).write_csv(place / f"{number}.csv")
    return place


def parquet(folder):
    TYPED.write_parquet(folder / "given.parquet")
    return f"{folder}/*.parquet"


WAYS = {
    "csv": files,
    "glob": parquet,
    "sql": lambda folder: InputSql(f"FROM '{parquet(folder)}'"),
    "lazy": lambda _: Frame(TYPED.lazy()),
    "pandas": lambda _: Frame(TYPED.to_pandas()),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_assignments(log, tmp_path, way):
    ms = [1_714_471_200_000, 1_714_471_200_000, None], [None, 1_717_200_000_000, None]
    found = opened(log, WAYS[way](tmp_path))
    assert found.columns == {"user_id", "variant", "experiment", *TIMES}
    ids = pl.col("user_id").cast(pl.Int64)  # text in files of text
    rows = found.rows.select(ids, "variant", "experiment", *TIMES)
    assert rows.rows() == [(*row[:3], *at) for row, *at in zip(ROWS, *ms, strict=True)]


def test_times_without_a_zone_are_of_the_zone_that_is_told(log, tmp_path):
    GIVEN.write_csv(tmp_path / "a.csv")
    berlin = opened(log, str(tmp_path / "a.csv"), time_zone="Europe/Berlin").rows["timestamp"]
    assert (berlin - opened(log, str(tmp_path / "a.csv")).rows["timestamp"])[0] == -2 * 3_600_000


@pytest.mark.parametrize("way", ["option", "sql", "variable", "project"])
def test_a_run_records_the_table_whoever_names_it(log, tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.parquet"
    TYPED.drop_nulls("experiment").rename({"user_id": "uid"}).write_parquet(file)
    given = ["--column", "assignments.user_id=uid"]
    if way == "option":
        given += ["--assignments", file]
    elif way == "sql":
        given = ["--assignments-sql", "SELECT uid AS user_id, * EXCLUDE uid FROM 'a.parquet'"]
    elif way == "variable":
        monkeypatch.setenv("CLICKASSAY_ASSIGNMENTS", str(file))
    else:
        (tmp_path / "clickassay.toml").write_text(
            '[inputs]\nassignments = "a.parquet"\n[columns.assignments]\nuser_id = "uid"\n'
        )
        given = []
    outcome = tiny.inside(*log.options(), *given, *tiny.QUICK)
    assert outcome.code in (0, 1), outcome
    recorded = json.loads((log.out / "settings.json").read_text())["inputs"]["assignments"]
    assert recorded["files"] == 1
    assert recorded["bytes"] == file.stat().st_size or way == "sql"


def test_python_takes_them_as_it_takes_outcomes(log):
    frames = tiny.searches(), tiny.clicks()
    more = {"progress": False, "depth": 3, "assignments": GIVEN.drop("user_id")}
    with pytest.raises(ca.InputError, match="assignments: column user_id is missing"):
        ca.run(*frames, tiny.judgments(), **more)
    with pytest.raises(ca.InputError, match="assignments: column user_id is missing"):
        ca.pattern_table(*frames, **more)


def test_a_row_without_a_variant_is_none(log):
    given = pl.DataFrame({"user_id": [1000, 1001, 1002], "variant": ["a", "", None]})
    found = opened(log, Frame(given))
    with scratch():
        settings = load_settings(max_rejected=1)
        searches = open_log(Sources(log.searches, log.clicks), settings).searches
        by_user = prepare_assignments(found, searches, settings).by_user
    assert by_user["user_id"].to_list() == [1000]


ARMS = pl.when(pl.col("user_id") % 2 == 0).then(pl.lit("7")).otherwise(pl.lit("new"))
KINDS = {
    "text": ARMS,
    "categories": ARMS.cast(pl.Categorical),
    "enum": ARMS.cast(pl.Enum(["new", "7"])),
    "nulls": pl.when(pl.col("user_id") % 2 == 0).then(pl.lit(7)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["file", "frame", "sql", "impressions"])
def test_the_variant_of_searches_is_text_by_every_way(tmp_path, way, kind):
    searches = tiny.searches().with_columns(variant=KINDS[kind])
    log = tiny.write_log(tmp_path, searches=searches)
    shown = searches.explode("results").rename({"results": "url"})
    places = pl.int_range(pl.len()).over("search_id") + 1
    sources = {
        "file": log.searches,
        "frame": Frame(searches),
        "sql": InputSql(f"FROM '{log.searches}'"),
        "impressions": Frame(shown.with_columns(position=places).sort("position")),
    }
    with scratch():
        half = open_log(Sources(sources[way], log.clicks), load_settings()).searches
        rows = half.frame.select("search_id", "variant", "experiment").sort("search_id").collect()
    expected = tiny.searches().select("search_id", ARMS.replace("new", None if kind == "nulls" else "new"))
    assert rows["variant"].to_list() == expected.to_series(1).to_list()
    assert set(rows["experiment"]) == {"variant"}
    assert "variant" in half.columns


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("value", [True, [1, 2], "a colour"])
def test_a_column_that_is_no_test_can_be_ignored(tmp_path, engine, value):
    plain = tiny.searches()
    found = []
    for place, searches in (("plain", plain), ("other", plain.with_columns(variant=pl.lit(value)))):
        log = tiny.write_log(tmp_path / place, searches=searches)
        settings = load_settings(test="none", engine=engine, clock="2030-01-01")
        found.append(log_to_patterns(Sources(log.searches, log.clicks), settings))
    assert found[0].patterns.equals(found[1].patterns)
    assert found[1].arms is None


def test_ignored_tests_and_a_table_of_assignments_contradict_each_other(log, tmp_path):
    place = files(tmp_path)
    with scratch():
        inputs = open_log(Sources(log.searches, log.clicks, assignments=place), load_settings(test="none"))
        with pytest.raises(InputError, match="--test none ignores A/B tests, and there is a table"):
            prepare_assignments(inputs.assignments, inputs.searches, load_settings(test="none"))


def test_a_log_without_tests_has_no_column_of_them(tmp_path):
    log = tiny.write_log(tmp_path)
    with scratch():
        half = open_log(Sources(log.searches, log.clicks), load_settings()).searches
        assert not {"variant", "experiment"} & half.columns
        plan = half.frame.select("search_id", "variant", "experiment").explain()
    assert "PROJECT 1/5 COLUMNS" in plan


@pytest.mark.parametrize("place", ["--out", "--store"])
def test_nothing_is_written_into_the_folder_of_assignments(log, place):
    given = log.folder / "given"
    given.mkdir()
    GIVEN.write_csv(given / "a.csv")
    words = ["patterns", "--searches", log.searches, "--clicks", log.clicks, "--assignments", given]
    assert f"is inside {given}, which is an input" in tiny.refusal(*words, place, given / "made")


@pytest.mark.parametrize("column", TIMES)
@pytest.mark.parametrize("text", ["yesterday", "2024-05-01", "1 May 2024"])
def test_a_time_that_cannot_be_read_does_not_hold_always(log, tmp_path, column, text):
    file = tmp_path / "assignments.csv"
    pl.DataFrame({"user_id": [1000], "variant": ["new"], column: [text]}).write_csv(file)
    given = opened(log, file)
    with scratch():
        halves = open_log(Sources(log.searches, log.clicks), load_settings())
        with pytest.raises(RejectedRowsError, match="1 with a time that cannot be read"):
            prepare_assignments(given, halves.searches, load_settings())


def test_ids_in_place_of_variants_are_told_in_few_words(log, tmp_path):
    file = tmp_path / "assignments.csv"
    users = [f"user {n}" for n in range(2000)]
    pl.DataFrame({"user_id": users, "variant": users}).write_csv(file)
    with pytest.raises(InputError, match=r"2,000 arms of tests, such as .* but at most 1,000") as error:
        check_controls(opened(log, file), None, load_settings())
    assert len(str(error.value)) < 200
