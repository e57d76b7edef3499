"""Where a messy log is cut, by time or by user, and in how many runs it comes, changes no count."""

import random
from itertools import pairwise

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.jobs.stores import grow_store
from clickassay.logs import batches
from clickassay.logs.arrays import job
from clickassay.logs.arrays.steps import clicks as click_reader
from clickassay.logs.arrays.steps import read_searches
from clickassay.patterns.store import PatternStore
from support.logs.messy import write_log
from support.logs.stores import assert_same, times_of
from support.oracle.messy_logs import seeded_log
from support.tiers import first

WINDOWS = (2, 4, 9, 21)
BEYOND_MS = 2**62


def messy(seed, folder):
    """Write the log of a seed; return the paths of searches and clicks, and settings that accept it."""
    searches, clicks, judgments, _, settings = seeded_log(seed)
    paths = write_log(folder / "log", seed, searches=searches, clicks=clicks, judgments=judgments)
    settings |= {"threads": 8, "max_rejected": 1.0, "periods": "week" if seed % 3 == 1 else "day"}
    return paths["searches"], paths["clicks"], load_settings(**settings)


def read(path):
    return pl.read_parquet(path if path.is_file() else f"{path}/*.parquet")


def random_times(searches, number, rng):
    """Return different times between searches; half of them those of a search itself."""
    usable = times_of(read(searches)).drop_nulls().unique().sort()
    far = len(usable) // 20  # the few that are years away would take all cuts
    usable = usable[far : len(usable) - far]
    drawn = set()
    while len(drawn) < number:
        drawn.add(rng.choice(usable) if rng.random() < 0.5 else rng.randint(usable[0], usable[-1]))
    return sorted(drawn)


def in_small_pieces(monkeypatch):
    """Have eight threads share a small log: in pieces of 20 rows, and in 16 parts of its users."""
    monkeypatch.setattr(job, "PART_ROWS", 1)
    for reader in (read_searches, click_reader):
        monkeypatch.setattr(reader, "CHUNK_ROWS", 20)


@pytest.mark.parametrize("seed", first(6, range(1000, 1016)))
def test_cuts_at_random_times_change_no_count(seed, tmp_path, monkeypatch):
    searches, clicks, settings = messy(seed, tmp_path)
    whole = log_to_patterns(Sources(searches, clicks), settings)
    in_small_pieces(monkeypatch)
    windows = WINDOWS[seed % len(WINDOWS)]
    times = random_times(searches, windows - 1, random.Random(seed))  # noqa: S311 - a test's choice
    cut = lambda shown, clicked, *_: batches.cut_log(shown, clicked, times, 1)  # noqa: E731
    monkeypatch.setattr(batches, "cut_chunks", cut)
    seen = []
    table = log_to_patterns(
        Sources(searches, clicks), settings, progress=lambda event: seen.append(event.message)
    )
    assert any(f"of {windows}" in message for message in seen)
    assert_same(table, whole, f"cut at {times}")


@pytest.mark.parametrize("seed", first(5, range(2000, 2012)))
def test_a_store_fed_file_by_file_holds_the_table_of_the_whole_log(seed, tmp_path):
    searches, clicks, settings = messy(seed, tmp_path)
    rng = random.Random(seed)  # noqa: S311 - a test's choice
    edges = [-BEYOND_MS, *random_times(searches, 1 + seed % 3, rng), BEYOND_MS]
    rows = {"searches": read(searches), "clicks": read(clicks)}
    store, refusal = tmp_path / "store", None
    for number, (start, end) in enumerate(pairwise(edges)):
        for name, frame in rows.items():
            inside = (times_of(frame) >= start) & (times_of(frame) < end)
            (tmp_path / name).mkdir(exist_ok=True)
            frame.filter(inside.fill_null(number == 0)).write_parquet(tmp_path / name / f"{number}.parquet")
        try:
            grow_store(Sources(str(tmp_path / "searches"), str(tmp_path / "clicks")), store, settings)
        except InputError as error:
            refusal = str(error)
            break
    if refusal is not None:
        assert "search ids of the new files were already used" in refusal
        assert used_in_two_files(rows["searches"], edges)
        return
    damage = PatternStore(store).damage()
    if damage:  # ids of long before are compared in part while a store grows, and all when it is verified
        assert all("search ids were already used by an earlier run" in fault for fault in damage)
        assert used_in_two_files(rows["searches"], edges)
        return
    assert_same(
        PatternStore(store).table(), log_to_patterns(Sources(searches, clicks), settings), f"edges {edges}"
    )


def used_in_two_files(searches, edges):
    """Tell whether searches of one id lie on both sides of a cut."""
    spans = searches.group_by("search_id").agg(low=pl.col("timestamp").min(), high=pl.col("timestamp").max())
    low, high = (times_of(spans.rename({name: "timestamp"})) for name in ("low", "high"))
    return any(((low < edge) & (high >= edge)).any() for edge in edges[1:-1])
