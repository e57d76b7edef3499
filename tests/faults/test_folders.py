"""Folders of a log: what cannot be read is refused, what is left out is said, and nothing comes twice."""

import json
import os
import warnings

import polars as pl
import pytest

from clickassay.cli.app import quiet_libraries
from clickassay.core.errors import MachineError
from clickassay.inputs.files import unreadable_file
from support.logs import tiny


def days(folder):
    """Write the searches as three days of Parquet; return their folder."""
    for number in range(3):
        place = folder / "days" / f"day={number}"
        place.mkdir(parents=True)
        tiny.searches().slice(8 * number, 8).write_parquet(place / "part.parquet")
    return folder / "days"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone who may not read")
@pytest.mark.parametrize("given", ["", "/*", "/*/*.parquet", "/**/*.parquet"])
def test_a_day_that_may_not_be_listed_is_refused(tmp_path, given):
    place = days(tmp_path)
    log = tiny.write_log(tmp_path, searches=f"{place}{given}")
    tiny.said_by(*log.options("patterns"))  # what another user may not import is loaded
    log.out.parent.chmod(0o777)
    with tiny.as_nobody(tmp_path):
        os.seteuid(0)
        (place / "day=1").chmod(0)
        os.seteuid(65534)
        outcome = tiny.inside(*log.options("patterns", out=log.out.with_name("other")))
    (place / "day=1").chmod(0o755)
    assert f"searches: cannot list {place}/day=1: Permission denied; its rows" in tiny.one_line(outcome)


@pytest.mark.parametrize("command", ["run", "patterns", "--dry-run", "--store", "inspect"])
def test_every_command_says_what_it_reads_and_leaves_out(tmp_path, command):
    place = days(tmp_path)
    for name in ("a.csv.bz2", "b.csv.bz2", "_SUCCESS"):
        (place / name).write_text("x")
    log = tiny.write_log(tmp_path, searches=place)
    inputs = ("--searches", place, "--clicks", log.clicks)
    arguments = {
        "run": log.options("run"),
        "patterns": log.options("patterns"),
        "--dry-run": [*log.options("patterns"), "--dry-run"],
        "--store": ["patterns", *inputs, "--store", tmp_path / "store", "--depth", "3"],
        "inspect": ["inspect", *inputs, "--quick"],
    }[command]
    outcome = tiny.inside(*arguments)
    line = "clickassay: searches: 3 files in 3 folders; ignored: 2 (.csv.bz2), 1 (hidden)\n"
    assert (outcome.code, outcome.err) == (0, line)
    force = ["--force"] if log.out.exists() else []
    assert tiny.inside(*arguments, "--quiet", *force).err == ""


def test_settings_and_inspect_record_what_was_left_out(tmp_path):
    place = days(tmp_path)
    (place / "a.arrow").write_text("x")
    log = tiny.write_log(tmp_path, searches=place)
    tiny.said_by(*log.options("patterns"))
    recorded = json.loads((log.out / "settings.json").read_text())["inputs"]["searches"]
    assert (recorded["files"], recorded["folders"], recorded["left_out"]) == (3, 3, {".arrow": 1})
    (table,) = json.loads(tiny.said_by("inspect", "--searches", place, "--quick", "--json"))["tables"]
    assert (table["files"], table["folders"], table["left_out"]) == (3, 3, {".arrow": 1})


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_and_folders_with_signs_of_a_glob_are_inspected(tmp_path, ending):
    place = tmp_path / "br[ab] {x} *"
    place.mkdir()
    write = {"parquet": pl.DataFrame.write_parquet, "csv": pl.DataFrame.write_csv}
    write.get(ending, pl.DataFrame.write_ndjson)(tiny.judgments(), place / f"judgments[1].{ending}")
    for path in (place, place / f"judgments[1].{ending}"):
        assert "9 rows" in tiny.said_by("inspect", path)


@pytest.mark.parametrize(("engine", "limits"), [("duckdb", "100:100"), ("arrays", "30:4096")])
def test_more_files_than_may_be_open_are_read(tmp_path, engine, limits):
    for number in range(300):
        place = tmp_path / "searches" / f"day={number}"
        place.mkdir(parents=True)
        ids = tiny.searches().with_columns(pl.col("search_id") + 24 * number).head(2)
        ids.write_parquet(place / "part.parquet")
    log = tiny.write_log(tmp_path, searches=tmp_path / "searches")
    limited = ("prlimit", f"--nofile={limits}")
    assert tiny.outside(*log.options("patterns"), "--engine", engine, before=limited).code == 0
    assert tiny.funnel(log.out)["searches", "read", ""] == 600


def test_a_lack_of_open_files_names_the_limit():
    with pytest.raises(MachineError, match=r"a\.parquet: Too many open files; raise .*ulimit -n"):
        unreadable_file("searches", "a.parquet", OSError(24, "Too many open files", "a.parquet"))


def test_a_deadlock_that_polars_only_guesses_at_is_not_told():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        quiet_libraries()
        warnings.warn(
            "POLARS_MAX_BLOCKING_THREAD_COUNT reached (512), this may indicate a deadlock", stacklevel=1
        )
        warnings.warn("another", stacklevel=1)
    assert [str(one.message) for one in told] == ["another"]
