"""Full disks, small memory, damaged files, readers and rivals: a store loses no batch and no count."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from clickassay.core.errors import StoreError
from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.patterns import store as store_module
from clickassay.patterns.store import PatternStore
from clickassay.patterns.table import FOLDER_TABLES, PatternTable
from support.logs import tiny
from support.logs.stores import assert_same, cut, some_times
from support.small_disk import small_disk
from support.tiers import first

FILES = 5
SETTINGS = load_settings(depth=[5])
TABLES = [f"{kind}/{name}.parquet" for kind in ("closed", "open") for name in (*FOLDER_TABLES, "shown")]
CARRIED = ("carry_searches", "carry_clicks", "ids", "orphan_clicks", "ambiguous")
FRAMES = [f"{name}.parquet" for name in CARRIED]
BATCH_FILES = [*FRAMES, *TABLES, "batch.json"]


@dataclass(frozen=True)
class Web:
    """A log in files that follow each other in time, and its pattern table."""

    folder: Path
    whole: PatternTable

    @property
    def searches(self) -> Path:
        return self.folder / "searches"

    @property
    def clicks(self) -> Path:
        return self.folder / "clicks"

    def growing(self, store: Path, *more: str, files: str = "*") -> list[str]:
        """Return the command that brings a store up to the files of these numbers."""
        inputs = [f"--searches={self.searches}/{files}.parquet", f"--clicks={self.clicks}/{files}.parquet"]
        return ["patterns", *inputs, "--store", str(store), "--depth=5", "--threads=1", "--quiet", *more]

    def reporting(self, store: Path, out: Path) -> list[str]:
        judgments = str(self.folder / "judgments.parquet")
        quick = [option for option in tiny.QUICK if option not in ("--threads", "1")]
        return ["report", "--patterns", str(store), "--judgments", judgments, *quick, "--out", str(out)]


@pytest.fixture(scope="module")
def web(tmp_path_factory) -> Web:
    folder = tmp_path_factory.mktemp("web")
    simulate("web", n_searches=600, n_queries=20, seed=5, out=folder / "log")
    log = folder / "log"
    cut(log, folder, some_times(log, FILES - 1, 3))
    shutil.copy(log / "judgments.parquet", folder)
    return Web(folder, log_to_patterns(Sources(log / "searches.parquet", log / "clicks.parquet"), SETTINGS))


@pytest.fixture(scope="module")
def grown(web, tmp_path_factory) -> Path:
    """Make a store of three runs, one batch each; two files are still to come."""
    store = tmp_path_factory.mktemp("grown") / "store"
    for last in range(3):
        tiny.said_by(*web.growing(store, files=f"[0-{last}]"))
    return store


@pytest.fixture(scope="module")
def report_of_grown(web, grown, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("report") / "run"
    tiny.said_by(*web.reporting(grown, out))
    return out


@pytest.fixture
def store(grown, tmp_path) -> Path:
    """Return a copy of the grown store that may be damaged."""
    return Path(shutil.copytree(grown, tmp_path / "store"))


def refused(command: list[str], *words: str) -> str:
    """Hold that a command ends with code 2 and one line with all `words`; return the line."""
    line = tiny.refusal(*command)
    missing = [word for word in words if word not in line]
    assert not missing, f"{missing} not in: {line}"
    return line


def completed(web: Web, store: Path, *more: str) -> None:
    """Run over the whole log; hold that the store is whole, tidy, and equal to one run over everything."""
    tiny.said_by(*web.growing(store, *more))
    assert PatternStore(store).damage() == []
    assert_same(PatternStore(store).table(), web.whole)
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == [".lock"]


def published(store: Path) -> dict[str, bytes]:
    """Hold that all that looks like a batch is a whole one; return the bytes of each of its files."""
    if not (store / "store.json").exists():
        return {}
    batches = PatternStore(store).batches()
    if batches:
        assert PatternStore(store).damage() == []
    files = [file for batch in batches for file in batch.folder.rglob("*") if file.is_file()]
    assert len(files) == len(batches) * len(BATCH_FILES)
    return {str(file): file.read_bytes() for file in files}


# ---- full disks, small memory -------------------------------------------------------------------
# a batch takes about 85 KB of a disk of 4 KB blocks, .lock and store.json one block each
@pytest.mark.parametrize(("size", "batches"), first(2, [("16k", 0), ("300k", 2), ("4k", 0), ("140k", 1)]))
def test_a_full_disk_keeps_all_batches_before_and_the_run_goes_on_when_there_is_space(
    web, tmp_path, size, batches
):
    with small_disk(tmp_path / "disk", size) as disk:
        store = disk / "store"
        for _ in range(2):
            line = refused(web.growing(store, "--batch", "file"), f"disk full while writing store {store}")
            assert "another --store" in line
            assert "--out" not in line
            before = published(store)
            assert batches * len(BATCH_FILES) <= len(before) < FILES * len(BATCH_FILES)
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        completed(web, store, "--batch", "file")
        assert before.items() <= published(store).items()


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_batches_can_be_undone_on_a_full_disk(web, tmp_path):
    with small_disk(tmp_path / "disk", "2m") as disk:
        store = disk / "store"
        tiny.said_by(*web.growing(store, "--batch", "file"))
        fill(disk)
        tiny.said_by("store", "forget", str(store), "--from", "3")
        assert len(published(store)) == 2 * len(BATCH_FILES)
        (disk / "filler").unlink()
        completed(web, store)


@pytest.mark.parametrize("limit", ["100KB", "8MB"])
def test_too_small_a_memory_limit_is_named_and_a_bigger_one_completes_the_store(web, tmp_path, limit):
    store = tmp_path / "store"
    refused(web.growing(store, "--batch", "file", "--memory-limit", limit), "memory limit", "--memory-limit")
    before = published(store)
    completed(web, store, "--batch", "file", "--memory-limit", "500MB")
    assert before.items() <= published(store).items()


# ---- damaged and missing files of the store -----------------------------------------------------
def truncated(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


CASES = [
    *((3, name, truncated) for name in ("carry_searches.parquet", "closed/patterns.parquet", "batch.json")),
    *((1, name, Path.unlink) for name in ("ids.parquet", "open/queries.parquet", "batch.json")),
    *((3, name, Path.unlink) for name in ("carry_searches.parquet", "orphan_clicks.parquet")),
    (3, "open", shutil.rmtree),
]
"""The number of a batch, its file or folder, and what is done to it."""


@pytest.mark.parametrize(("number", "name", "damage"), first(2, [CASES[0], CASES[-1], *CASES[1:-1]]))
def test_a_damaged_batch_gives_one_line_or_the_right_numbers_and_can_be_made_again(
    web, store, report_of_grown, tmp_path, number, name, damage
):
    victim = store / f"{number:06d}" / name
    damage(victim)
    verified = tiny.inside("store", "verify", store)
    assert (verified.code, verified.err) == (1, "")
    assert str(victim) in verified.out
    lines = [line for line in verified.out.splitlines() if str(victim) in line]
    for command in (
        ["store", "info", str(store)],
        web.reporting(store, tmp_path / "run"),
        web.growing(store),
    ):
        outcome = tiny.inside(*command)
        if outcome.code:
            assert str(victim) in tiny.one_line(outcome)
            lines.append(outcome.err)
    if (tmp_path / "run").exists():
        assert numbers_of(tmp_path / "run") == numbers_of(report_of_grown)
    try:
        table = PatternStore(store).table()
    except StoreError as error:
        assert str(victim) in str(error)  # noqa: PT017 - either this or the right table
    else:
        grew = len(PatternStore(store).batches()) > 3
        assert (name.startswith("carry") and number == 3) != grew  # what is carried over is never ignored
        if grew:
            assert_same(table, web.whole)
    undo(store, lines, number)
    completed(web, store)


def numbers_of(run: Path) -> list[bytes]:
    """Return the tables of a run that hold what was counted, as bytes."""
    names = ("statistics", "funnel", "configurations", "patterns")
    return [(run / f"{name}.parquet").read_bytes() for name in names]


def undo(store: Path, lines: list[str], number: int) -> None:
    """Do what the lines say: each that names a remedy names the same."""
    remedies = {found for line in lines for found in re.findall(r"`clickassay (store forget [^`]*)`", line)}
    assert remedies <= {f"store forget {store} --from {number}"}
    tiny.said_by("store", "forget", str(store), "--from", str(number))


def test_what_may_not_be_read_is_not_broken_and_nothing_is_to_be_undone(web, store, tmp_path):
    own = Web(tmp_path, web.whole)
    shutil.copy(web.folder / "judgments.parquet", tmp_path)
    victims = {"batch.json": 0o000, "closed/patterns.parquet": 0o000, "closed": 0o000, ".": 0o600}
    for name, mode in victims.items():
        place = store / "000002" / name
        before = place.stat().st_mode
        place.chmod(mode)
        with tiny.as_nobody(tmp_path):
            for command in (["store", "verify", str(store)], own.reporting(store, tmp_path / "run")):
                line = refused(command, "Permission denied", str(store / "000002"))
                assert "broken" not in line
                assert "forget" not in line
        place.chmod(before)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_batches_have_the_rights_that_the_system_gives(web, tmp_path, mask):
    before = os.umask(mask)
    try:
        tiny.said_by(*web.growing(tmp_path / "store"))
    finally:
        os.umask(before)
    for path in (tmp_path / "store").rglob("*"):
        usual = 0o777 if path.is_dir() else 0o666
        assert path.stat().st_mode & 0o777 == usual & ~mask, path


def edited(file: Path, change) -> None:
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")


EDITS = {
    "watermark set back": lambda info: info.update(watermark_ms=info["watermark_ms"] - 1),
    "rows times ten": lambda info: [row.update(rows=10 * row["rows"]) for row in info["counted"]],
    "list of files emptied": lambda info: info.update(files={"searches": [], "clicks": []}),
    "digests emptied": lambda info: info.update(digests={}),
    "its own digest too": lambda info: info.update(own_digest="0" * 64),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_record_of_a_batch_that_was_edited_is_found_and_nothing_is_read_by_it(web, store, tmp_path, name):
    record = store / "000002" / "batch.json"
    edited(record, EDITS[name])
    verified = tiny.inside("store", "verify", store)
    assert (verified.code, verified.err) == (1, "")
    assert f"{record} is broken: its content has changed since it was written" in verified.out
    for command in (web.reporting(store, tmp_path / "run"), web.growing(store)):
        refused(command, str(record), "its content has changed since it was written")
    undo(store, [verified.out], 2)
    completed(web, store)


def test_a_file_that_no_digest_is_of_is_found(store):
    (store / "000002" / "closed" / "more.parquet").write_bytes(b"PAR1")
    verified = tiny.inside("store", "verify", store)
    assert verified.code == 1
    assert "more.parquet is not among the files that were written" in verified.out


def test_settings_of_a_store_that_were_edited_are_found_and_nothing_is_to_be_undone(store):
    edited(store / "store.json", lambda header: header.update(idle_minutes=30.0))
    verified = tiny.inside("store", "verify", store)
    assert verified.code == 1
    assert verified.out == (
        f"{store / 'store.json'} has idle_minutes = 30.0, but batch 1 was written with 60.0; restore it\n"
    )


def test_a_store_of_an_older_version_is_verified_as_far_as_that_goes_and_that_is_said(web, store):
    for record in store.glob("*/batch.json"):
        edited(record, lambda info: [info.pop(name, None) for name in ("own_digest", "store")])
    verified = tiny.inside("store", "verify", store)
    assert (verified.code, verified.err) == (0, "")
    assert "Not checked: batch.json of 3 batches, written without a digest by an older" in verified.out
    edited(store / "000001" / "batch.json", lambda info: info.update(digests={}))
    assert tiny.inside("store", "verify", store).code == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_batch_is_named_and_can_be_made_again(web, store, tmp_path, number):
    shutil.rmtree(store / f"{number:06d}")
    commands = [["store", "verify", str(store)], ["store", "info", str(store)]]
    lines = [
        refused(command, f"batch {number} is missing")
        for command in (*commands, web.reporting(store, tmp_path / "run"), web.growing(store))
    ]
    remedy = set(re.findall(r"`clickassay (.*?)`", " ".join(lines)))
    assert len(remedy) == 1
    tiny.said_by(*shlex.split(remedy.pop()))
    completed(web, store)


def test_a_missing_last_batch_is_made_again_from_its_files(web, store):
    shutil.rmtree(store / "000003")
    completed(web, store)


@pytest.mark.parametrize("damage", [truncated, Path.unlink])
def test_a_store_without_its_header_is_refused_by_name(web, store, tmp_path, damage):
    before = published(store)
    header = (store / "store.json").read_bytes()
    damage(store / "store.json")
    named = (str(store / "store.json"), "restore it, or create the store again")
    for command in (["store", "verify", str(store)], ["store", "info", str(store)], web.growing(store)):
        refused(command, *named)
    # without the header `report` cannot distinguish a store from any other folder
    refused(
        web.reporting(store, tmp_path / "run"), *(named if (store / "store.json").exists() else [str(store)])
    )
    (store / "store.json").write_bytes(header)
    assert published(store) == before
    completed(web, store)


def test_what_a_killed_process_left_is_swept_away_by_the_next_run(web, store):
    for name in (".batch.abcdefgh", ".spill.abcdefgh"):
        (store / name / "closed").mkdir(parents=True)
        (store / name / "closed" / "patterns.parquet").write_bytes(b"PAR1")
    completed(web, store)


def test_a_store_whose_making_was_killed_is_made_by_the_next_run(web, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / ".lock").write_text("1")
    (tmp_path / "store" / ".store.json.new").write_text("{")
    completed(web, tmp_path / "store")


# ---- damaged and missing files of the log -------------------------------------------------------
@pytest.fixture
def moved(web, tmp_path) -> Web:
    """Return the log in files of its own, that may be damaged."""
    for name in ("searches", "clicks"):
        shutil.copytree(web.folder / name, tmp_path / "log" / name)
    return Web(tmp_path / "log", web.whole)


@pytest.mark.parametrize("what", ["searches", "clicks"])
def test_files_of_finished_runs_are_not_needed_any_more(moved, tmp_path, what):
    store = tmp_path / "store"
    tiny.said_by(*moved.growing(store, files="[0-2]"))
    (moved.folder / what / "0.parquet").unlink()
    (moved.folder / what / "2.parquet").unlink()
    completed(moved, store)


@pytest.mark.parametrize(
    ("what", "finished", "how"),
    [
        ("searches", True, "truncated"),
        ("searches", False, "shortened"),
        ("clicks", True, "shortened"),
        ("clicks", False, "truncated"),
    ],
)
def test_a_file_that_changed_after_it_was_read_is_named(moved, tmp_path, what, finished, how):
    store = grown_by(moved, tmp_path, finished=finished)
    file = moved.folder / what / "1.parquet"
    content = file.read_bytes()
    if how == "truncated":
        truncated(file)
    else:
        pl.read_parquet(file).head(20).write_parquet(file)
    before = published(store)
    reason = "cannot read" if how == "truncated" else "has changed since it went into"
    line = refused(moved.growing(store), what, str(file), reason)
    assert how == "truncated" or "store forget" in line
    assert published(store) == before
    file.write_bytes(content)
    completed(moved, store)


@pytest.mark.parametrize(("what", "number"), [("searches", 4), ("clicks", 0)])
def test_a_missing_file_of_an_interrupted_run_is_named(moved, tmp_path, what, number):
    store = grown_by(moved, tmp_path, finished=False)
    file = moved.folder / what / f"{number}.parquet"
    file.rename(tmp_path / "away")
    before = published(store)
    refused(moved.growing(store), "was interrupted", str(file), "is needed to finish it", "store forget")
    assert published(store) == before
    (tmp_path / "away").rename(file)
    completed(moved, store)


def grown_by(web: Web, folder: Path, *, finished: bool) -> Path:
    """Make a store by a run that ended, or by one that was interrupted after its second batch."""
    store = folder / "store"
    tiny.said_by(*web.growing(store, "--batch", "file", files="[0-2]" if finished else "*"))
    if not finished:
        assert PatternStore(store).forget_from(3) >= FILES - 2
    return store


# ---- readers and rivals -------------------------------------------------------------------------
def started(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        tiny.started_with(*command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=tiny.environment(),
        text=True,
    )


def test_a_reader_sees_whole_batches_only_while_another_process_writes(web, tmp_path):
    # the table after so many batches is that of one run over so many files
    expected = [
        log_to_patterns(
            Sources(f"{web.searches}/[0-{last}].parquet", f"{web.clicks}/[0-{last}].parquet"), SETTINGS
        )
        for last in range(FILES)
    ]
    sessions = [table.patterns["sessions"].sum() for table in expected]
    assert sessions[0] > 0
    assert sessions == sorted(set(sessions))
    store = tmp_path / "store"
    writer = started(web.growing(store, "--batch", "file"))
    seen = []
    try:
        while writer.poll() is None:
            table = table_if_any(store)
            if table is not None:
                seen.append(sessions.index(table.patterns["sessions"].sum()))
                assert_same(table, expected[seen[-1]])
    finally:
        writer.kill()
    assert writer.wait() == 0, writer.communicate()
    assert seen == sorted(seen)
    assert_same(PatternStore(store).table(), web.whole)


def test_a_store_of_the_old_layout_is_refused_in_one_line_that_says_what_to_run(web, store):
    header = json.loads((store / "store.json").read_text(encoding="utf-8"))
    (store / "store.json").write_text(json.dumps({**header, "format": 1}), encoding="utf-8")
    for command in (
        web.growing(store),
        web.reporting(store, store.parent / "run"),
        ["store", "info", str(store)],
    ):
        refused(
            command, f"{store} is a pattern store of another version of clickassay", "`clickassay patterns"
        )


def table_if_any(store: Path) -> PatternTable | None:
    """Return the table of a store, or None if it has no session, no batch, or not even a header yet."""
    at_start = not (store / "000002").exists()
    try:
        table = PatternStore(store).table()
    except StoreError as error:
        assert re.search("is not a pattern store|has no batch yet", str(error))  # noqa: PT017 - not by then
        assert at_start
        return None
    assert table.patterns.height or at_start
    return table if table.patterns.height else None


def test_a_batch_that_is_published_during_the_reading_is_left_out_of_all_tables(store, tmp_path, monkeypatch):
    (store / "000003").rename(tmp_path / "next")
    before = PatternStore(store).table()
    merge_tables = store_module.merge_tables

    def merge_late(tables):
        (tmp_path / "next").rename(store / "000003")
        return merge_tables(tables)

    monkeypatch.setattr(store_module, "merge_tables", merge_late)
    table = PatternStore(store).table()
    assert len(PatternStore(store).batches()) == 3
    assert_same(table, before)
    assert table.info == before.info


def test_of_two_processes_on_a_store_one_does_the_work(web, tmp_path):
    store = tmp_path / "store"
    rivals = [started(web.growing(store, "--batch", "file")) for _ in range(2)]
    errors = [rival.communicate(timeout=60)[1] for rival in rivals]
    codes = [rival.returncode for rival in rivals]
    assert 0 in codes
    assert set(codes) <= {0, 2}
    for code, error in zip(codes, errors, strict=True):
        if code:
            assert re.fullmatch(r"clickassay: store .* is in use by another clickassay .*\n", error)
    before = published(store)
    completed(web, store)
    assert published(store) == before


def test_a_process_that_comes_while_another_works_is_told_so_and_changes_nothing(web, store):
    before = published(store)
    with PatternStore(store).locked():
        error = started(web.growing(store)).communicate(timeout=60)[1]
        assert re.fullmatch(
            rf"clickassay: store .* is in use by another clickassay \(process {os.getpid()}\).*\n", error
        )
        assert published(store) == before
    completed(web, store)
