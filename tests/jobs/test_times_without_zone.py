"""Times of which half have a zone and half are local: a caution, whose remedy gives the log as it was."""

import json

import polars as pl
import pytest

from tests.support.logs import tiny

ZONE = "Europe/Berlin"
LOCAL = pl.col("timestamp").dt.convert_time_zone(ZONE)


def half_local(rows):
    """Write the times of every second row in UTC, those of the others as clocks in Berlin show them."""
    form = "%Y-%m-%d %H:%M:%S"
    utc, local = pl.col("timestamp").dt.strftime(f"{form}Z"), LOCAL.dt.strftime(form)
    return (
        rows.with_row_index()
        .with_columns(timestamp=pl.when(pl.col("index") % 2 == 0).then(utc).otherwise(local))
        .drop("index")
    )


def mixed_log(folder):
    folder.mkdir()
    half_local(tiny.searches()).write_ndjson(folder / "searches.jsonl")
    half_local(tiny.clicks()).write_csv(folder / "clicks.csv")
    return tiny.write_log(folder, searches=folder / "searches.jsonl", clicks=folder / "clicks.csv")


def naive_log(folder):
    """Write Parquet with local timestamps, in two row groups."""
    folder.mkdir()
    for name, rows in (("searches", tiny.searches()), ("clicks", tiny.clicks())):
        local = rows.with_columns(LOCAL.dt.replace_time_zone(None))
        local.write_parquet(folder / f"{name}.parquet", row_group_size=12)
    return tiny.write_log(folder, searches=folder / "searches.parquet", clicks=folder / "clicks.parquet")


def found_in(run):
    """Return the funnel and the patterns of a run, and the number of the check if it fires."""
    health = pl.read_parquet(run / "health.parquet").filter(check="times_without_zone", status="caution")
    tables = [pl.read_parquet(run / f"{name}.parquet") for name in ("funnel", "patterns")]
    return tables, [(row["value"], row["sentence"]) for row in health.to_dicts()]


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """The tables of the log whose times are all in UTC."""
    log = tiny.write_log(tmp_path_factory.mktemp("utc") / "log")
    tiny.said_by(*log.options())
    tables, said = found_in(log.out)
    assert said == []
    return tables


def test_half_local_times_are_a_caution_and_the_zone_heals_them(right, tmp_path):
    log = mixed_log(tmp_path / "log")
    printed = tiny.said_by(*log.options())
    tables, [(share, sentence)] = found_in(log.out)
    assert share == 0.5
    assert "12 times without a zone and 12 with a zone in column timestamp of searches" in sentence
    assert "9 times without a zone and 9 with a zone in column timestamp of clicks" in sentence
    assert "--time-zone" in printed
    assert not tables[1].equals(right[1])

    tiny.said_by(*log.options(out=tmp_path / "healed"), "--time-zone", ZONE)
    healed, said = found_in(tmp_path / "healed")
    assert said == []
    assert [one.equals(other) for one, other in zip(healed, right, strict=True)] == [True, True]
    tiny.said_by(*log.options(out=tmp_path / "off"), "--health-limit", "times_without_zone=off")
    assert found_in(tmp_path / "off")[1] == []


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("write", [mixed_log, naive_log])
def test_each_engine_and_format_reads_the_zone(engine, write, right, tmp_path):
    log = write(tmp_path / "log")
    tiny.said_by(*log.options(), "--time-zone", ZONE, "--engine", engine)
    found, said = found_in(log.out)
    assert said == []
    assert [one.equals(other) for one, other in zip(found, right, strict=True)] == [True, True]
    assert json.loads((log.out / "settings.json").read_text())["settings"]["time_zone"] == ZONE


def test_a_report_of_a_stored_table_says_it_too_and_names_the_zone_of_the_log(tmp_path):
    log = mixed_log(tmp_path / "log")
    for name, more in (("plain", ()), ("zoned", ("--time-zone", ZONE))):
        tiny.said_by(*log.options("patterns", out=tmp_path / name), *more)
        report = ("report", "--patterns", tmp_path / name, "--judgments", log.judgments, *tiny.QUICK[:-2])
        tiny.said_by(*report, "--out", tmp_path / f"run-{name}")
    assert [share for share, _ in found_in(tmp_path / "run-plain")[1]] == [0.5]
    assert found_in(tmp_path / "run-zoned")[1] == []
    info = json.loads((tmp_path / "run-zoned" / "settings.json").read_text())
    assert info["settings"]["time_zone"] == ZONE


def test_inspect_says_it_and_names_the_zone_in_the_command_of_a_run(tmp_path):
    log = mixed_log(tmp_path / "log")
    tables = ("inspect", "--searches", log.searches, "--clicks", log.clicks, "--depth", "3")
    assert "12 times without a zone" in tiny.said_by(*tables)
    with_zone = tiny.said_by(*tables, "--time-zone", ZONE)
    assert "times without a zone" not in with_zone
    assert f"--time-zone {ZONE}" in with_zone


def test_a_store_refuses_a_batch_of_another_zone(tmp_path):
    log = naive_log(tmp_path / "log")
    add = ("patterns", "--searches", log.searches, "--clicks", log.clicks, "--depth", "3", "--store")
    store = tmp_path / "store"
    tiny.said_by(*add, store, "--time-zone", ZONE)
    assert f"was made with time_zone = {ZONE}, not UTC" in tiny.refusal(*add, store)

    tiny.said_by(*add, tmp_path / "old")
    file = tmp_path / "old" / "store.json"
    before = json.loads(file.read_text())
    assert before.pop("time_zone") == "UTC"
    file.write_text(json.dumps(before))
    assert "time_zone = UTC" in tiny.refusal(*add, tmp_path / "old", "--time-zone", ZONE)
    tiny.said_by(*add, tmp_path / "old")


def test_an_hour_that_no_clock_shows_is_counted_and_the_message_names_the_zone(tmp_path):
    log = mixed_log(tmp_path / "log")
    rows = half_local(tiny.searches())
    rows = rows.with_columns(
        timestamp=pl.when(pl.col("search_id") == 1).then(pl.lit("2024-03-31 02:30:00")).otherwise("timestamp")
    )
    rows.write_ndjson(log.searches)
    line = tiny.refusal(*log.options(), "--time-zone", ZONE)
    assert "1 with timestamp that cannot be read" in line
    assert f"local time of {ZONE}" in line
    tiny.said_by(*log.options(), "--time-zone", ZONE, "--max-rejected", "0.1")
    funnel = found_in(log.out)[0][0].filter(source="searches", reason="null timestamp")
    assert funnel["rows"].to_list() == [1]
