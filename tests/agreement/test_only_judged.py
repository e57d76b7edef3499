"""Only queries with judgments kept: the same numbers from a smaller table, and nothing lost in the funnel."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from clickassay.core.contracts.run import ANALYSED_TABLES
from clickassay.core.errors import PatternError, SettingsError, StoreError
from clickassay.core.settings import load_settings
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.jobs.stores import grow_store
from clickassay.logs import batches
from clickassay.patterns.store import PatternStore
from clickassay.patterns.table import FOLDER_TABLES, read_patterns, write_patterns
from support.logs.messy import write_log
from support.logs.small_logs import click, search, write_rows
from support.logs.stores import assert_same
from support.oracle.messy_logs import seeded_log
from support.tiers import first

SEEDS = first(5, range(8))
OF_ALL_QUERIES = ("funnel", "health", "next_judgments", "queries")
"""Tables with queries without judgments, whose lists are not kept."""
OF_ROWS = (
    *("lost_clicks", "no_clicks", "unmatched_clicks", "late_clicks", "ambiguous_clicks"),
    *("positions_from_zero", "same_minute", "busy_minute", "busy_user", "one_search_each"),
    *("missing_days", "double_days", "days_without_clicks"),
)
"""Checks that look at searches and clicks alone, and at no list."""


def judged_part(judgments, seed):
    """Return the judgments of about half of the queries."""
    rng = random.Random(seed)  # noqa: S311 - a test's choice
    normal = [None if row["query"] is None else normalise_query(row["query"]) for row in judgments]
    names = sorted({name for name in normal if name is not None})
    kept = set(rng.sample(names, max(1, len(names) // 2)))
    return [row for row, name in zip(judgments, normal, strict=True) if name in kept]


@pytest.fixture(scope="module", params=SEEDS)
def world(request, tmp_path_factory):
    """Return paths of a messy log with judgments of half of its queries, and settings."""
    seed, folder = request.param, tmp_path_factory.mktemp("messy") / "log"
    searches, clicks, judgments, queries, settings = seeded_log(seed)
    judgments = judged_part(judgments, seed)
    paths = write_log(folder, seed, searches=searches, clicks=clicks, judgments=judgments, queries=queries)
    return paths, {**settings, "max_rejected": 1.0, "iterations": 20, "click_models": ("NONE",)}


def both(world, **more):
    paths, settings = world
    found = []
    for only in (False, True):
        options = load_settings(**{**settings, **more}, only_judged=only)
        table = log_to_patterns(
            Sources(paths["searches"], paths["clicks"], judgments=paths["judgments"]), options
        )
        frames = {name: contract.canonical(getattr(table, name)) for name, contract in FOLDER_TABLES.items()}
        found.append((replace(table, **frames), options))
    return found


@pytest.fixture(scope="module")
def halves(world):
    """Return the table of the whole log and that of judged queries, each with its settings."""
    return both(world)


def test_the_tables_of_a_run_are_those_of_the_whole_log(world, halves):
    paths, _ = world
    (every, options), (kept, only) = halves
    expected = analyse(every, Sources(judgments=paths["judgments"]), options)
    found = analyse(kept, Sources(judgments=paths["judgments"]), only)
    for table in ANALYSED_TABLES:
        if table.name not in OF_ALL_QUERIES:
            assert found[table.name].equals(expected[table.name]), table.name


def test_checks_that_look_at_no_list_find_what_they_find_in_the_whole_log(world, halves):
    paths, _ = world
    expected, found = (
        analyse(table, Sources(judgments=paths["judgments"]), options)["health"].filter(
            pl.col("check").is_in(OF_ROWS)
        )
        for table, options in halves
    )
    assert found.equals(expected)
    assert found.height > 0


def test_what_is_kept_is_that_part_of_the_whole_table(halves):
    (every, _), (kept, _) = halves
    judged = kept.judged_queries
    is_judged = pl.col("query").is_in(judged["query"].implode())
    if judged["market"].null_count() == 0:
        pairs = set(judged.rows())
        is_judged = pl.struct("market", "query").map_elements(
            lambda row: (row["market"], row["query"]) in pairs, return_dtype=pl.Boolean
        )
    expected = every.configurations.filter(is_judged)
    assert kept.configurations.equals(FOLDER_TABLES["configurations"].canonical(expected))
    patterns = every.patterns.join(expected, on="configuration_id", how="semi")
    assert kept.patterns.equals(FOLDER_TABLES["patterns"].canonical(patterns))
    assert kept.queries.equals(FOLDER_TABLES["queries"].canonical(every.queries.filter(is_judged)))


def test_every_session_and_click_of_the_whole_log_is_still_counted(halves):
    (every, _), (kept, _) = halves
    at_start = ["read", "rejected", "repeated", "unmatched", "out of time", "kept", "formed"]
    same = pl.col("step").is_in(at_start)
    assert kept.funnel.filter(same).equals(every.funnel.filter(same))
    parts = Counter()
    for step, rows in kept.funnel.filter(source="sessions").select("step", "rows").rows():
        parts[step] += rows
    assert parts["formed"] == parts["left out"] + kept.patterns["sessions"].sum()
    clicks = kept.funnel.filter(source="clicks")
    counted = clicks.filter(depth=0, step="kept")["rows"].sum()
    for (depth,), rows in clicks.filter(pl.col("depth") > 0).group_by("depth"):
        assert rows["rows"].sum() == counted, depth


@pytest.mark.parametrize("batch", ["day", "20"])
def test_the_cut_changes_nothing(world, halves, batch, monkeypatch):
    monkeypatch.setattr(batches, "_REREAD", {"searches": 1e9, "clicks": 1e9})
    _, (kept, _) = halves
    _, (cut, _) = both(world, batch=batch)
    assert_same(cut, kept)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "log"
    simulate("web", n_searches=3000, n_queries=40, seed=3, out=folder)
    judgments = pl.read_parquet(folder / "judgments.parquet")
    some = judgments["query"].unique().sort()[:10]
    judgments.filter(pl.col("query").is_in(some.implode())).write_parquet(folder / "few.parquet")
    return folder


def made(web, judgments, **settings):
    return log_to_patterns(
        Sources(web / "searches.parquet", web / "clicks.parquet", judgments=web / judgments),
        load_settings(only_judged=True, **settings),
    )


def test_a_stored_table_refuses_judgments_of_queries_that_it_left_out(web, tmp_path):
    (tmp_path / "table").mkdir()
    write_patterns(made(web, "few.parquet"), tmp_path / "table")
    table = read_patterns(tmp_path / "table")
    analyse(table, Sources(judgments=web / "few.parquet"), load_settings(iterations=10))
    with pytest.raises(PatternError, match="contains only queries that were judged when it was made"):
        analyse(table, Sources(judgments=web / "judgments.parquet"), load_settings())


def test_without_judgments_nothing_says_which_queries_to_keep(web):
    with pytest.raises(SettingsError, match="add --judgments"):
        log_to_patterns(
            Sources(web / "searches.parquet", web / "clicks.parquet"), load_settings(only_judged=True)
        )


def test_a_store_keeps_the_same_queries_all_its_life(web, tmp_path):
    paths, store = (str(web / "searches.parquet"), str(web / "clicks.parquet")), tmp_path / "store"
    settings = load_settings(only_judged=True, batch="day")
    grow_store(Sources(*paths, judgments=str(web / "few.parquet")), store, settings)
    table, whole = PatternStore(store).table(), made(web, "few.parquet")
    assert_same(table, whole)
    assert table.judged_queries.equals(whole.judged_queries)
    assert PatternStore(store).damage() == []
    with pytest.raises(StoreError, match="these judgments have other queries"):
        grow_store(Sources(*paths, judgments=str(web / "judgments.parquet")), store, settings)
    with pytest.raises(StoreError, match="only_judged = True, not False"):
        grow_store(Sources(*paths), store, load_settings(batch="day"))


@pytest.fixture
def in_two_files(tmp_path):
    """Return the folder of a log in two files, and of judgments of one of its queries.

    With the second file, search 2 is delivered again, with other results.
    """
    earlier = [search(1, 0, "ab", query="kept"), search(2, 10, "xyz", query="other")]
    later = [search(2, 10, "zyx", query=" OTHER"), search(3, 30, "yxz", query="other")]
    halves = (
        write_rows(tmp_path / "0", searches=earlier, clicks=[click(1, 1, "b"), click(2, 11, "x")]),
        write_rows(tmp_path / "1", searches=later, clicks=[click(3, 31, "y")]),
    )
    for name in ("searches", "clicks"):
        (tmp_path / name).mkdir()
        for number, half in enumerate(halves):
            Path(half[name]).rename(tmp_path / name / f"{number}.parquet")
    pl.DataFrame({"query": ["kept"], "url": ["a"], "grade": [1]}).write_parquet(tmp_path / "judged.parquet")
    return tmp_path


def test_of_a_search_whose_query_is_left_out_the_next_batch_gets_no_list(in_two_files):
    store, settings = in_two_files / "store", load_settings(only_judged=True, depth=[2])
    judged = str(in_two_files / "judged.parquet")
    for file in ("0.parquet", "1.parquet"):
        halves = (str(in_two_files / name / file) for name in ("searches", "clicks"))
        grow_store(Sources(*halves, judgments=judged), store, settings)
    first_batch, _ = PatternStore(store).batches()
    carried = first_batch.frame("carry_searches").select("search_id", "query", "results")
    assert carried.rows() == [(1, "kept", ["a", "b"]), (2, "other", ["left out"])]
    whole = log_to_patterns(
        Sources(in_two_files / "searches", in_two_files / "clicks", judgments=judged), settings
    )
    table = PatternStore(store).table()
    assert_same(table, whole)
    found = {tuple(row) for row in table.funnel.filter(depth=0).select("source", "step", "rows").rows()}
    counted = {("read", 4), ("repeated", 1), ("kept", 3)}
    assert {("searches", *row) for row in counted} <= found
    assert {("sessions", "formed", 2), ("sessions", "left out", 1)} <= found


def test_with_all_queries_kept_the_next_batch_gets_every_list(in_two_files):
    halves = (str(in_two_files / name / "0.parquet") for name in ("searches", "clicks"))
    grow_store(Sources(*halves), in_two_files / "store", load_settings(depth=[2]))
    (batch,) = PatternStore(in_two_files / "store").batches()
    assert batch.frame("carry_searches")["results"].to_list() == [["a", "b"], ["x", "y", "z"]]
