"""What `--dry-run` says is what the run then does; a dry run writes nothing."""

import re
import shutil
from collections import namedtuple
from pathlib import Path

import polars as pl
import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.stores import grow_store, plan_store, plan_table
from clickassay.logs import batches as log_batches
from clickassay.logs.batches import FilesToRead, RunPlan, Window, order_warning, size
from clickassay.logs.chunks import FileChunk
from clickassay.patterns.store import PatternStore
from support.logs import tiny
from support.logs.small_logs import MINUTE, NOON, click, search, write_rows

DAY = 24 * 60
DAYS, SEARCHES_A_DAY = 4, 30
CHOSEN = ("--depth", "5", "--threads", "1", "--batch", str(SEARCHES_A_DAY))
SETTINGS = load_settings(depth=[5], threads=1, batch=str(SEARCHES_A_DAY))
DAY_MS = DAY * MINUTE


@pytest.fixture
def days(tmp_path):
    """Return the folders of searches and clicks of a log with one file a day; day n has n clicks."""
    for day in range(DAYS):
        shown = [search(1000 * day + number, day * DAY + 48 * number) for number in range(SEARCHES_A_DAY)]
        clicked = [click(1000 * day + number, day * DAY + 48 * number + 1, "a") for number in range(day + 1)]
        for what, rows in (("searches", shown), ("clicks", clicked)):
            (tmp_path / what).mkdir(exist_ok=True)
            written = Path(write_rows(tmp_path / "one", **{what: rows})[what])
            written.rename(tmp_path / what / f"{day}.parquet")
    (tmp_path / "one").rmdir()
    return tmp_path / "searches", tmp_path / "clicks"


def command(days, *more, glob="*.parquet"):
    searches, clicks = days
    inputs = ("--searches", f"{searches}/{glob}", "--clicks", f"{clicks}/{glob}")
    return ("patterns", *inputs, *CHOSEN, *more)


@pytest.mark.parametrize("place", ["--out", "--store"])
def test_a_dry_run_writes_nothing_and_tells_where_it_would(days, tmp_path, place):
    before = tiny.tree(tmp_path)
    said = tiny.said_by(*command(days, place, tmp_path / "deep" / "place", "--dry-run"))
    assert tiny.tree(tmp_path) == before
    assert str(tmp_path / "deep" / "place") in said


def test_the_files_and_rows_of_a_plan_are_those_that_the_run_reads(days, tmp_path):
    plan = plan_table(Sources(*map(str, days)), tmp_path / "out", SETTINGS)
    tiny.said_by(*command(days, "--out", tmp_path / "out"))
    counted = tiny.funnel(tmp_path / "out")
    assert plan.searches.rows == counted["searches", "read", ""]
    assert plan.clicks.rows == counted["clicks", "read", ""]
    sizes = [sum(file.stat().st_size for file in folder.iterdir()) for folder in days]
    assert [plan.searches.bytes, plan.clicks.bytes] == sizes
    assert (plan.searches.files, plan.clicks.files) == (DAYS, DAYS)


def test_only_files_that_the_store_lacks_are_planned(days, tmp_path):
    store = tmp_path / "store"
    tiny.said_by(*command(days, "--store", store, glob="[01].parquet"))
    plan = plan_store(Sources(*map(str, days)), store, SETTINGS)
    said = tiny.said_by(*command(days, "--store", store, "--dry-run"))
    grown = grow_store(Sources(*map(str, days)), store, SETTINGS)
    assert (plan.searches.files, plan.searches.rows, plan.searches.held) == (2, 2 * SEARCHES_A_DAY, 2)
    assert (plan.clicks.files, plan.clicks.rows, plan.clicks.held) == (2, 3 + 4, 2)
    assert plan.searches.held + plan.clicks.held == grown.known_files
    assert (plan.first_batch, len(plan.windows)) == (3, grown.batches)
    assert f"{store}: batches 3 to 4" in said
    read = [tiny.funnel(batch.folder / "closed")["searches", "read", ""] for batch in batches(store)]
    assert sum(read[2:]) == plan.searches.rows


def batches(store):
    return PatternStore(store).batches()


def test_a_store_that_holds_all_files_has_nothing_to_do(days, tmp_path):
    tiny.said_by(*command(days, "--store", tmp_path / "store"))
    before = tiny.tree(tmp_path)
    said = tiny.said_by(*command(days, "--store", tmp_path / "store", "--dry-run"))
    assert f"batches  0: {tmp_path / 'store'} contains all of these files" in said
    assert tiny.tree(tmp_path) == before
    assert grow_store(Sources(*map(str, days)), tmp_path / "store", SETTINGS).batches == 0


def test_a_plan_after_an_interruption_says_which_run_goes_on(days, tmp_path):
    def stop(event):
        if event.message == f"batch 3 of {DAYS}":
            raise KeyboardInterrupt

    store = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        grow_store(Sources(*map(str, days)), store, SETTINGS, progress=stop)
    plan = plan_store(Sources(*map(str, days)), store, SETTINGS)
    said = tiny.said_by(*command(days, "--store", store, "--dry-run"))
    assert (plan.interrupted, plan.first_batch) == (1, 3)
    assert "resumes  the run that began with batch 1" in said
    assert grow_store(Sources(*map(str, days)), store, SETTINGS).batches == len(plan.windows) == 2


def test_the_table_and_lines_show_the_numbers_with_their_thousands(days, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = tiny.said_by(*command(days, "--store", tmp_path / "store", "--dry-run"))
    searches = next(line for line in said.splitlines() if "searches" in line)
    size_ = sum(file.stat().st_size for file in days[0].iterdir())
    assert re.findall(r"[\d,]+", searches) == ["4", "120", f"{size_:,}", "0"]
    first = (
        "2009-03-02 13:20:00 to 2009-03-03 13:20:00 UTC"  # NOON is 13:20, and the second file begins there
    )
    assert f"batches  4; the first {first}; the largest 30 searches, 4 clicks" in said
    assert all(f"\n{name} " in said for name in ("writes", "time", "memory", "disk"))
    assert said.endswith("Nothing was written.\n")


def lack_a_column(days, store):
    pl.read_parquet(days[0] / "2.parquet").drop("query").write_parquet(days[0] / "2.parquet")


def come_late(days, store):
    rest = days[0].parent / "rest.parquet"
    (days[0] / "1.parquet").rename(rest)
    tiny.said_by(*command(days, "--store", store))
    rest.rename(days[0] / "1.parquet")


def change(days, store):
    tiny.said_by(*command(days, "--store", store))
    pl.read_parquet(days[1] / "3.parquet").head(2).write_parquet(days[1] / "3.parquet")


def hold_other_files(days, store):
    store.mkdir()
    (store / "letter.txt").write_text("dear")


def be_cut_short(days, store):
    file = days[0] / "3.parquet"
    file.write_bytes(file.read_bytes()[:100])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lack_a_column, "query"),
        (come_late, "comes too late"),
        (change, "has changed"),
        (hold_other_files, "contains other files"),
        (be_cut_short, "cannot read"),
    ],
)
def test_an_error_comes_out_of_a_dry_run_as_out_of_the_run(days, tmp_path, spoil, words):
    store = tmp_path / "store"
    spoil(days, store)
    before = tiny.tree(tmp_path)
    dry = tiny.inside(*command(days, "--store", store, "--dry-run"))
    assert tiny.tree(tmp_path) == before
    assert words in tiny.one_line(dry)
    assert dry == tiny.inside(*command(days, "--store", store))


def test_an_output_folder_that_exists_is_refused_by_a_dry_run_too(days, tmp_path):
    out = tmp_path / "out"
    tiny.said_by(*command(days, "--out", out))
    assert "exists already" in tiny.refusal(*command(days, "--out", out, "--dry-run"))
    assert "Nothing was written" in tiny.said_by(*command(days, "--out", out, "--dry-run", "--force"))


def half(what, rows):
    return FilesToRead(what, files=3, rows=rows, bytes=1, held=0)


def chunk(rows, first, last, name="log.parquet", offset=0):
    """Return a chunk whose times are days after noon."""
    times = (round(NOON + first * DAY_MS), round(NOON + last * DAY_MS))
    return FileChunk(name, offset, rows, *times)


def window(*searches, clicks=()):
    return Window(None, None, searches, tuple(clicks))


def test_time_memory_and_disk_follow_from_the_rows(tmp_path, monkeypatch):
    for name, value in (
        *(("CPU_SECONDS_PER_SEARCH", 3e-6), ("WALL_SECONDS_PER_SEARCH", 2e-6)),
        *(("MEMORY_BYTES", 1e9), ("MEMORY_BYTES_PER_SEARCH", 900), ("WRITTEN_BYTES_PER_SEARCH", 50)),
        ("MEMORY_BYTES_PER_SEARCH_OF_LOG", 40),
    ):
        monkeypatch.setattr(log_batches, name, value)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: usage(10, 9, 10**9))
    windows = (window(chunk(4_000_000, 0, 1)), window(chunk(16_000_000, 1, 2)))
    plan = RunPlan(half("searches", 20_000_000), half("clicks", 7), windows, tmp_path, None)
    lines = dict(plan.lines())
    assert lines["time"].startswith("about 40 s on 2 cores, 60 s of CPU (3.0 s per million searches")
    # 1 + 16 * 0.9 + 20 * 0.04
    assert lines["memory"].startswith(
        "about 16.2 GB (1.0 GB + 900 MB per million searches of the largest batch"
    )
    assert lines["disk"].startswith("about 1.0 GB (50 bytes a search")
    assert lines["disk"].endswith("1.0 GB free: too little")


def test_pieces_that_overlap_are_told_with_what_they_need_and_what_order_would_need():
    mixed = window(*(chunk(1_000_000, 0.1 * number, 7 + 0.1 * number) for number in range(10)))
    note = order_warning([mixed], 4_000_000)
    assert note.startswith(
        "the log is not sorted by time (one row group of log.parquet spans 7 days): "
        "10,000,000 searches are read as one batch, which may need about "
    )
    needed = size(log_batches.memory_for(4_000_000, 10_000_000))
    assert note.endswith(f"files sorted by time need {needed}, and --engine duckdb spills to disk")


def test_a_piece_that_is_too_large_is_told_by_its_rows():
    ordered = [chunk(3_000_000, number, number + 0.9) for number in range(4)]
    note = order_warning([window(*ordered, clicks=[chunk(5_000_000, 0, 4, "clicks.csv")])], 4_000_000)
    assert "cannot be split by time (clicks.csv has 5,000,000 rows)" in note
    assert "row groups of at most 1,000,000 rows" in note


@pytest.mark.parametrize(
    ("searches", "batches", "batch_rows"),
    [(6_000_000, 1, 4_000_000), (8_000_000, 2, 4_000_000), (90_000_000, 1, None)],
)
def test_a_batch_that_is_not_far_too_large_or_was_asked_for_gives_no_note(searches, batches, batch_rows):
    whole = [window(chunk(searches, 0, 7)), *(window(chunk(1, 7, 8)) for _ in range(batches - 1))]
    assert order_warning(whole, batch_rows) is None
    assert order_warning([], batch_rows) is None
    if batch_rows is not None:
        more = [window(chunk(searches + 1, 0, 7)), *whole[1:]]
        assert order_warning(more, batch_rows) is not None


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """Return a log of 60 searches, each row group of which spans five days, where a batch holds 20."""
    monkeypatch.setattr(log_batches, "BATCH_ROWS", 20)
    shown = [search(number, 5 * DAY * (number % 10) / 9) for number in range(60)]
    paths = write_rows(tmp_path / "mixed", searches=shown, clicks=[click(0, 1, "a")])
    pl.read_parquet(paths["searches"]).write_parquet(paths["searches"], row_group_size=10)
    return ("patterns", "--searches", paths["searches"], "--clicks", paths["clicks"], "--depth", "5")


@pytest.mark.parametrize("place", ["--out", "--store"])
def test_a_log_in_no_order_is_named_on_stderr_in_one_line_unless_quiet(mixed, tmp_path, place):
    outcome = tiny.inside(*mixed, place, tmp_path / "loud")
    assert outcome.code == 0
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("clickassay: the log is not sorted by time (one row group of ")
    assert " spans 5 days): 60 searches are read as one batch" in outcome.err
    assert tiny.inside(*mixed, place, tmp_path / "quiet", "--quiet").err == ""
    dry = tiny.inside(*mixed, place, tmp_path / "dry", "--dry-run")
    assert "\nNote: the log is not sorted by time" in dry.out


def test_a_log_in_order_is_read_without_a_word(days, tmp_path):
    told = tiny.inside(*command(days, "--out", tmp_path / "out")).err.splitlines()
    assert told == [f"clickassay: {what}: 4 files in 1 folder" for what in ("searches", "clicks")]
    assert "Note:" not in tiny.said_by(*command(days, "--store", tmp_path / "store", "--dry-run"))
