"""A pattern store that grows file by file holds the same table as one run over the whole log."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from clickassay.core.contracts.patterns import PATTERNS, SHOWN
from clickassay.core.errors import InputError, StoreError
from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.sources.fingerprint import ends_digest
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns, stored_patterns
from clickassay.jobs.stores import grow_store
from clickassay.logs import batches
from clickassay.patterns.store import PatternStore
from support.logs.stores import assert_same, cut, some_times

SETTINGS = load_settings(depth=[5])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a simulated log with repeats, unusable rows and late clicks."""
    folder = tmp_path_factory.mktemp("log") / "web"
    simulate("web", n_searches=4000, n_queries=60, seed=5, out=folder)
    return folder


@pytest.fixture(scope="module")
def whole(log):
    return log_to_patterns(Sources(log / "searches.parquet", log / "clicks.parquet"), SETTINGS)


def test_all_files_given_again_add_only_what_is_new(log, whole, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 2, 9))
    later = tmp_path / "later.parquet"
    (searches / "2.parquet").rename(later)
    first = grow_store(Sources(str(searches), str(clicks / "[01].parquet")), tmp_path / "store", SETTINGS)
    later.rename(searches / "2.parquet")
    second = grow_store(Sources(str(searches), str(clicks)), tmp_path / "store", SETTINGS)
    third = grow_store(Sources(str(searches), str(clicks)), tmp_path / "store", SETTINGS)
    assert (first.known_files, second.known_files, third.known_files) == (0, 4, 6)
    assert third.batches == 0
    assert_same(PatternStore(tmp_path / "store").table(), whole)


@pytest.mark.parametrize("texts", [pl.String, pl.Categorical])
@pytest.mark.parametrize("batch", ["day", "file", "500", "auto"])
def test_the_cut_changes_no_number(log, whole, tmp_path, monkeypatch, batch, texts):
    monkeypatch.setattr(batches, "_REREAD", {"searches": 1e9, "clicks": 1e9})
    searches, clicks = cut(log, tmp_path, some_times(log, 5, 3))
    for file in searches.iterdir():
        pl.read_parquet(file).cast({"results": pl.List(texts)}).write_parquet(file)
    settings = load_settings(depth=[5], batch=batch)
    assert_same(log_to_patterns(Sources(searches, clicks), settings), whole)
    grow_store(Sources(str(searches), str(clicks)), tmp_path / "store", settings)
    store = PatternStore(tmp_path / "store")
    assert (len(store.batches()) > 1) == (batch != "auto")
    assert_same(store.table(), whole)


def test_a_store_that_was_begun_without_days_has_them_from_then_on(log, whole, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 1, 9))
    store = tmp_path / "store"
    none = load_settings(depth=[5], periods="none")
    grow_store(Sources(f"{searches}/0.parquet", f"{clicks}/0.parquet"), store, none)
    with pytest.raises(StoreError, match="was made with periods = none, not day"):
        grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    settings = json.loads((store / "store.json").read_text())
    del settings["periods"]  # as a store of an older version
    (store / "store.json").write_text(json.dumps(settings))
    before = PatternStore(store).batches()[-1].table("closed")
    grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    grown = PatternStore(store).table()
    undated = grown.shown.filter(pl.col("day").is_null())
    assert undated["sessions"].sum() == before.patterns["sessions"].sum() > 0
    assert grown.shown["sessions"].sum() == whole.patterns["sessions"].sum()
    days = grown.shown.drop_nulls().join(whole.shown, on=SHOWN.key, how="left", suffix="_of_all")
    assert (days["sessions"] <= days["sessions_of_all"]).all()


def test_a_late_file_is_named_and_not_counted_and_the_remedy_mends_the_store(log, whole, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 2, 4))
    store = tmp_path / "store"
    for number in (0, 2):
        grow_store(Sources(f"{searches}/{number}.parquet", f"{clicks}/{number}.parquet"), store, SETTINGS)
    before = PatternStore(store).table()
    with pytest.raises(InputError, match=r"1\.parquet comes too late.*store forget .* --from 2"):
        grow_store(Sources(f"{searches}/1.parquet", f"{clicks}/1.parquet"), store, SETTINGS)
    assert_same(PatternStore(store).table(), before)
    assert PatternStore(store).forget_from(2) == 1
    grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    assert_same(PatternStore(store).table(), whole)


def test_search_ids_used_before_are_refused(log, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 1, 4))
    store = tmp_path / "store"
    grow_store(Sources(f"{searches}/0.parquet", f"{clicks}/0.parquet"), store, SETTINGS)
    used = pl.read_parquet(searches / "0.parquet")["search_id"].drop_nulls()[0]
    rows = pl.read_parquet(searches / "1.parquet")
    rows.with_columns(search_id=pl.lit(used, dtype=rows.schema["search_id"])).write_parquet(
        searches / "1.parquet"
    )
    with pytest.raises(InputError, match="search ids of the new files were already used in batch 1"):
        grow_store(Sources(f"{searches}/1.parquet", f"{clicks}/1.parquet"), store, SETTINGS)


def test_another_setting_of_the_log_is_refused(log, tmp_path):
    paths = (str(log / "searches.parquet"), str(log / "clicks.parquet"))
    grow_store(Sources(*paths), tmp_path / "store", SETTINGS)
    with pytest.raises(StoreError, match=r"made with idle_minutes = 60\.0, not 30\.0"):
        grow_store(Sources(*paths), tmp_path / "store", load_settings(depth=[5], idle_minutes=30))


def test_a_store_without_folds_is_read_and_grown_without_and_not_with_two(log, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 1, 4))
    store = tmp_path / "store"
    grow_store(
        Sources(f"{searches}/0.parquet", f"{clicks}/0.parquet"), store, load_settings(depth=[5], folds=1)
    )
    before = PATTERNS.canonical(stored_patterns(store).patterns)
    assert before["fold"].unique().to_list() == [0]
    with pytest.raises(StoreError, match=r"store was made with folds = 1, not 2; use the same setting"):
        grow_store(Sources(str(searches), str(clicks)), store, load_settings(depth=[5], folds=2))
    assert PATTERNS.canonical(stored_patterns(store).patterns).equals(before)
    assert grow_store(Sources(str(searches), str(clicks)), store, load_settings(depth=[5])).batches == 1
    assert stored_patterns(store).patterns["fold"].unique().to_list() == [0]
    assert PatternStore(store).batches()[-1].info["settings"]["folds"] == 1


def test_a_flipped_byte_is_found(log, tmp_path):
    grow_store(
        Sources(str(log / "searches.parquet"), str(log / "clicks.parquet")), tmp_path / "store", SETTINGS
    )
    for file in sorted((tmp_path / "store").rglob("*.parquet")):
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        assert PatternStore(tmp_path / "store").damage() == [
            f"{file} has changed since it was written: its digest differs"
        ]
        file.write_bytes(content)
    assert PatternStore(tmp_path / "store").damage() == []


def padded(log, folder):
    """Return both halves of a log, whose searches have 4 MB of text that nobody reads in their middle."""
    rows = pl.read_parquet(log / "searches.parquet").with_columns(notes=pl.lit("x" * 1000))
    rows.write_parquet(folder / "searches.parquet", compression="uncompressed", use_pyarrow=True,
                       pyarrow_options={"use_dictionary": False})  # fmt: skip
    return folder / "searches.parquet", log / "clicks.parquet"


def change_the_middle(file):
    content = bytearray(file.read_bytes())
    assert len(content) > 4_000_000
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_file_that_is_changed_in_its_middle_is_named_and_its_copy_is_read(log, tmp_path):
    searches, clicks = padded(log, tmp_path)
    store, copy = tmp_path / "store", tmp_path / "copy.parquet"
    grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    shutil.copy(searches, copy)  # another time of change
    assert grow_store(Sources(str(copy), str(clicks)), store, SETTINGS).known_files == 2
    change_the_middle(searches)
    with pytest.raises(InputError, match=r"searches\.parquet has changed since it went into"):
        grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    searches.rename(copy)
    with pytest.raises(InputError, match=r"copy\.parquet comes too late"):  # so it is not taken for known
        grow_store(Sources(str(copy), str(clicks)), store, SETTINGS)


def test_a_day_given_twice_is_read_once_and_named(log, whole, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 1, 9))
    shutil.copy(searches / "1.parquet", searches / "copy.parquet")
    empty = pl.read_parquet(clicks / "0.parquet").clear()
    for name in ("2", "3"):
        empty.write_parquet(clicks / f"{name}.parquet")
    told = []
    grown = grow_store(
        Sources(str(searches), str(clicks)), tmp_path / "store", SETTINGS, progress=told.append
    )
    assert [event.message for event in told if event.note] == [
        f"searches: {searches / 'copy.parquet'} is a copy of {searches / '1.parquet'}; it is not read"
    ]
    assert grown.known_files == 2  # the copy, and one of the two files without rows
    assert_same(PatternStore(tmp_path / "store").table(), whole)
    assert grow_store(Sources(str(searches), str(clicks)), tmp_path / "store", SETTINGS).batches == 0
    told.clear()
    table = log_to_patterns(Sources(searches, clicks), SETTINGS, progress=told.append)
    (note,) = (event.message for event in told if event.note)
    assert note.endswith("its rows are read twice, so remove it")
    assert table.patterns["sessions"].sum() == whole.patterns["sessions"].sum()


def test_a_file_that_is_changed_while_a_store_reads_it_is_in_no_batch(log, tmp_path):
    searches, clicks = padded(log, tmp_path)

    def change(event):
        if event.message == "publishing":
            change_the_middle(searches)

    with pytest.raises(
        InputError, match=r"searches: .*searches\.parquet was changed while it was read; run again"
    ):
        grow_store(Sources(str(searches), str(clicks)), tmp_path / "store", SETTINGS, progress=change)
    assert PatternStore(tmp_path / "store").batches() == []


def test_a_store_with_older_digests_knows_its_files_and_what_has_their_ends_is_compared(log, tmp_path):
    searches, clicks = padded(log, tmp_path)
    store = tmp_path / "store"
    grow_store(Sources(str(searches), str(clicks)), store, SETTINGS)
    record = store / "000001" / "batch.json"
    info = json.loads(record.read_text())
    del info["own_digest"]  # older batches have none
    for files in info["files"].values():
        for file in files:
            file["sha256"] = ends_digest(Path(file["path"])).removeprefix("ends:")
            del file["digest"]
    record.write_text(json.dumps(info))
    assert grow_store(Sources(str(searches), str(clicks)), store, SETTINGS).known_files == 2
    other = Path(shutil.copy(searches, tmp_path / "other.parquet"))
    assert grow_store(Sources(str(other), str(clicks)), store, SETTINGS).known_files == 2
    change_the_middle(other)
    with pytest.raises(InputError, match=r"other\.parquet comes too late"):
        grow_store(Sources(str(other), str(clicks)), store, SETTINGS)
    searches.unlink()
    with pytest.raises(InputError, match=r"other\.parquet may be a copy of .*searches\.parquet"):
        grow_store(Sources(str(other), str(clicks)), store, SETTINGS)
    assert len(PatternStore(store).batches()) == 1


def test_forgetting_the_first_batches_keeps_their_files_known(log, tmp_path):
    searches, clicks = cut(log, tmp_path, some_times(log, 2, 4))
    store = tmp_path / "store"
    for number in range(3):
        grow_store(Sources(f"{searches}/{number}.parquet", f"{clicks}/{number}.parquet"), store, SETTINGS)
    every = [batch.table("closed").patterns["sessions"].sum() for batch in PatternStore(store).batches()]
    before = PatternStore(store).table().patterns["sessions"].sum()
    assert PatternStore(store).forget_before(2) == 1
    assert PatternStore(store).table().patterns["sessions"].sum() == before - every[0]
    assert grow_store(Sources(str(searches), str(clicks)), store, SETTINGS).batches == 0


@pytest.mark.parametrize("kills", [6, pytest.param(30, marks=pytest.mark.thorough)])
def test_a_run_killed_at_any_moment_goes_on_to_the_same_table(log, whole, tmp_path, kills):
    searches, clicks = cut(log, tmp_path, some_times(log, 7, 1))
    store, rng = tmp_path / "store", random.Random(2)  # noqa: S311
    command = [
        *(sys.executable, "-m", "clickassay", "patterns", "--searches", searches, "--clicks", clicks),
        *("--store", store, "--depth", "5", "--batch", "file", "--quiet"),
    ]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    lasts = time.monotonic() - started
    batches = len(PatternStore(store).batches())
    assert batches > 3
    for _ in range(kills):
        if not (store / "store.json").exists() or len(PatternStore(store).batches()) == batches:
            shutil.rmtree(store, ignore_errors=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 1) * lasts)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (store / "store.json").exists():
            assert all((batch.folder / "batch.json").is_file() for batch in PatternStore(store).batches())
    subprocess.run(command, check=True, capture_output=True)
    assert PatternStore(store).damage() == []
    assert not list(Path(store).glob(".batch.*"))
    assert_same(PatternStore(store).table(), whole)
