"""The output appears whole or not at all: places that are taken, not writable, or on a disk that is full."""

import os
import resource
from contextlib import contextmanager

import polars as pl
import pytest

from clickassay.core.errors import OutputError
from clickassay.core.files.output import published_folder
from support.logs import tiny
from support.small_disk import small_disk

COMMANDS = ("run", "patterns")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_exists_is_never_written_over(tmp_path, command):
    log = tiny.write_log(tmp_path)
    log.out.mkdir(parents=True)
    (log.out / "mine.txt").write_text("keep")
    tiny.refused(log, "exists already", "--out", "--force", command=command)
    assert (log.out / "mine.txt").read_text() == "keep"


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    (place / "settings.json").write_text("{}")
    with pytest.raises(OutputError, match="cannot write"), published_folder(place, force=True) as work:
        work.rename(tmp_path / "gone")  # as if someone had cleaned up
    assert (place / "settings.json").read_text() == "{}"
    assert tiny.tree(tmp_path) == ["gone", "gone/.clickassay-work", "run", "run/settings.json"]


@pytest.mark.parametrize("parent", ["a file", "too long", "no file system to write on"])
def test_an_output_whose_parent_cannot_hold_it_is_refused(tmp_path, parent):
    log = tiny.write_log(tmp_path)
    places = {
        "a file": tmp_path / "searches.parquet" / "run",
        "too long": tmp_path / ("x" * 300),
        "no file system to write on": "/proc/clickassay/run",
    }
    before = tiny.tree(tmp_path)
    assert "cannot write" in tiny.refusal(*log.options("patterns", out=places[parent]))
    assert tiny.tree(tmp_path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone who may not write")
def test_a_parent_that_may_not_be_written_is_refused(tmp_path):
    log = tiny.write_log(tmp_path)
    log.out.parent.mkdir()
    with tiny.as_nobody(tmp_path):
        outcome = tiny.inside(*log.options("patterns"))
    assert "cannot write" in tiny.one_line(outcome)
    assert "ermission denied" in outcome.err
    assert tiny.tree(log.out.parent) == []


BLOCK = 4096  # a disk in memory gives room by whole pages
STAGES = ("tables", "database", "report")


@pytest.fixture(scope="module")
def room_of(tmp_path_factory) -> dict[str, int]:
    """Return the bytes of a disk that each stage of a run of the tiny log takes, in the order of writing.

    About 48 KB of tables, 2.1 MB of run.duckdb, and 0.3 MB of report.
    """
    log = tiny.write_log(tmp_path_factory.mktemp("room"))
    assert tiny.inside(*log.options()).code == 0
    room = dict.fromkeys(STAGES, 0)
    for file in log.out.rglob("*"):
        stage = {".parquet": "tables", ".duckdb": "database"}.get(file.suffix, "report")
        room[stage] += -(-file.stat().st_size // BLOCK) * BLOCK if file.is_file() else 0
    return room


@pytest.mark.parametrize("stage", STAGES)
def test_a_full_disk_is_named_at_every_stage_and_nothing_is_left(tmp_path, room_of, monkeypatch, stage):
    said = []

    @contextmanager
    def noted(**_):
        yield lambda event: said.append(event.message)

    monkeypatch.setattr("clickassay.cli.commands.run.shown_progress", noted)
    before = sum(room_of[earlier] for earlier in STAGES[: STAGES.index(stage)])
    # while run.duckdb is written it takes somewhat more than in the end
    part = 0.9 if stage == "report" else 0.5
    log = tiny.write_log(tmp_path / "log")
    with small_disk(tmp_path / "disk", str(before + int(part * room_of[stage]))) as disk:
        line = tiny.refusal(*log.options(out=disk / "deep" / "run"))
        assert "disk full" in line
        assert "free space or choose another --out" in line
        assert tiny.tree(disk) == []
    assert said[-1] == ("drawing the report" if stage == "report" else "writing tables")


@pytest.mark.parametrize(
    ("option", "full"), [("--out", "disk full"), ("--store", "disk full while writing store")]
)
def test_a_full_disk_while_spilling_names_memory_or_the_disk(tmp_path, option, full):
    rows = 60_000
    searches = pl.DataFrame({"search_id": range(rows), "user_id": range(rows)}).with_columns(
        pl.format("q{}", pl.col("search_id") % 20_000).alias("query"),
        timestamp=pl.lit(tiny.NOON_MS),
        results=pl.concat_list(pl.format("u{}", "search_id"), pl.format("v{}", "search_id")),
    )
    log = tiny.write_log(tmp_path / "log", searches=searches)
    with small_disk(tmp_path / "disk", "256k") as disk:
        options = [*log.options("patterns"), "--memory-limit", "12MB"]
        place = options.index("--out")
        options[place : place + 2] = [option, str(disk / "made")]
        line = tiny.refusal(*options)
        assert "--memory-limit" in line or full in line
        assert option == "--out" or "--out" not in line
        assert not (disk / "made" / "000001").exists()
        assert option == "--store" or tiny.tree(disk) == []


def test_a_limit_on_the_size_of_files_counts_as_a_full_disk(tmp_path):
    log = tiny.write_log(tmp_path)
    before = tiny.tree(tmp_path)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))  # the largest table has 9 KB

    outcome = tiny.outside(*log.options(), preexec_fn=limited)
    assert "disk full" in tiny.one_line(outcome)
    assert tiny.tree(tmp_path) == before
