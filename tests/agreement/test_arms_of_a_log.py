"""The arms of A/B tests in a log: what plain Python finds, on every engine, at once and in a store."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl
import pytest

from agreement.test_outcomes import given_outcomes
from agreement.test_signals_agree import chosen, cut_files
from clickassay.core.errors import InputError
from clickassay.core.progress import silent
from clickassay.core.settings import load_settings
from clickassay.inputs.tables import WholeInput
from clickassay.jobs.inputs import Inputs, Sources, open_log
from clickassay.jobs.patterns import outcomes_of
from clickassay.logs.arrays.job import ArrayBatchProcessor, counted_pattern_table
from clickassay.logs.arrays.workers import Workers
from clickassay.logs.assignments import prepare_assignments
from clickassay.logs.duckdb import duckdb_batches, duckdb_engine, write_duckdb_patterns
from clickassay.logs.grow import add_to_store, plan_growth, store_settings
from clickassay.patterns.store import PatternStore
from clickassay.patterns.table import ARM_TABLES, read_patterns
from support.logs.messy import write_log
from support.oracle.messy_tests import log_with_tests
from support.oracle.oracle_arms import arm_tables
from support.oracle.oracle_log import normalise_query
from support.tiers import first

ENGINES = ("arrays", "arrays in batches", "duckdb")


def logs(often, seeds):
    """Parametrize by engine and seed: every third seed on DuckDB, which takes ten times as long."""
    cases = [case for engine in ENGINES[:2] for case in first(often, [(engine, seed) for seed in seeds])]
    cases += first(often // 2, [("duckdb", seed) for seed in seeds[::3]])
    return pytest.mark.parametrize(("engine", "seed"), cases)


class Given(NamedTuple):
    """A log in files, and what an engine is told of it."""

    inputs: Inputs
    settings: object
    outcomes: object
    assignments: object
    paths: tuple
    expected: dict


def given(seed, folder, *, judged=None):
    """Write the log of a seed; a third of the logs have outcomes too."""
    searches, clicks, judgments, assignments, spans, own = log_with_tests(seed)
    paths = write_log(folder / "log", seed, searches=searches, clicks=clicks, judgments=judgments)
    outcomes = given_outcomes(searches, seed) if seed % 3 == 0 else None
    if outcomes is not None:
        pl.DataFrame(outcomes, infer_schema_length=None).write_parquet(folder / "outcomes.parquet")
        per_query = own.get("idle_scope") == "query"
        own |= {"outcome": ("abandoned",) if per_query else ("abandoned", "reformulated")}
    ends = [
        f"{test}.{key}={day}"
        for test, days in spans.items()
        for key, day in zip(("from", "until"), days, strict=True)
        if day is not None
    ]
    settings = chosen(own, outcome=own.get("outcome", ()), test=ends, only_judged=judged is not None)
    files = paths["searches"], paths["clicks"]
    sources = Sources(*files, outcomes=None if outcomes is None else folder / "outcomes.parquet")
    inputs = open_log(sources, settings.model_copy(update={"only_judged": False}), by_file=True)
    log = inputs.log_here()
    more = {} if judged is None else {"is_kept": lambda market, query: market is not None and query in judged}
    return Given(
        inputs, settings, outcomes_of(inputs, settings)(log),
        prepare_assignments(in_form(assignments), log.searches, settings), files,
        arm_tables(searches, clicks, own, assignments, spans, outcomes=outcomes, **more),
    )  # fmt: skip


def in_form(assignments):
    """Return rows of assignments as they are read."""
    if assignments is None:
        return None
    rows = pl.DataFrame(assignments, infer_schema_length=None).rename({"since": "timestamp"})
    rows = rows.with_columns(pl.col("timestamp", "until").cast(pl.Int64))
    return WholeInput(rows, frozenset(rows.columns), {})


def table_of(engine, log, folder, judged=None):
    """Return the pattern table of a whole log on an engine."""
    if engine.startswith("arrays"):
        settings = log.settings.model_copy(update={"batch": "3"} if "batches" in engine else {})
        return counted_pattern_table(
            log.inputs.log_here(), settings, judged,
            outcomes=log.outcomes, assignments=log.assignments, progress=silent,
        ).collected()  # fmt: skip
    folder.mkdir()
    own = log.inputs.log_here()
    info = {"stored_depth": log.settings.stored_depth, "settings": {}, "versions": {}}
    more = {"judged_queries": judged, "info": info}
    if engine == "spark":
        from clickassay.logs.spark.job import write_spark_patterns  # an extra

        write_spark_patterns(
            own.searches, own.clicks, log.settings, folder,
            outcomes_of=lambda _: log.outcomes, assignments_of=lambda _: log.assignments, **more,
        )  # fmt: skip
    else:
        told = {"outcomes": log.outcomes, "assignments": log.assignments}
        write_duckdb_patterns(own, log.settings, folder, **told, **more)
    return read_patterns(folder)


@contextmanager
def processed(engine, pair, log, folder):
    """Yield a part of a log, opened by an engine, and what processes its batches there."""
    part = open_log(Sources(*pair), log.settings, by_file=True).log_here()
    told = (log.settings, None, silent, log.outcomes, log.assignments)
    if engine == "spark":
        from clickassay.logs.spark.job import read_spark_log, spark_batches, spark_engine

        with spark_engine(log.settings, folder, None) as made:
            yield read_spark_log(made, part.searches, part.clicks, log.settings), spark_batches(made, *told)
    elif engine.startswith("arrays"):
        settings = log.settings.model_copy(update={"batch": "3"} if "batches" in engine else {})
        with Workers(2) as workers:
            yield part, ArrayBatchProcessor(settings, workers, *told[1:])
    else:
        with duckdb_engine(part, log.settings, folder) as made:
            yield part, duckdb_batches(made, *told)


def store_of(engine, log, folder):
    """Return a store that takes a log in two runs; None where both have a search id."""
    held, own = None, log.settings
    try:
        for pair in cut_files(*log.paths, folder):
            with processed(engine, pair, log, folder) as (part, processor):
                held = PatternStore.open_or_create(folder / "store", store_settings(own, part), None)
                with held.locked():
                    plan = plan_growth(held, part, own)
                    add_to_store(processor, held, plan, own, {}, silent, log.outcomes)
    except InputError as error:
        assert "already used" in str(error)  # noqa: PT017 - of one id in both files
        return None
    return None if held.damage() else held


def as_rows(table):
    """Return the tables of arms, in the form of the oracle."""
    found = {name: getattr(table, name) for name in ARM_TABLES}
    sums = {row[:5]: (row[5], int(row[6]), int(row[7])) for row in found["arm_outcomes"].iter_rows()}
    counts = {
        name: {row[:-1]: row[-1] for row in found[name].iter_rows()} for name in ("arms", "arm_patterns")
    }
    return {**counts, "arm_outcomes": sums, "arm_users": set(found["arm_users"].iter_rows())}


@logs(40, range(300))
def test_arms_are_those_of_plain_python(seed, engine, tmp_path):
    log = given(seed, tmp_path)
    table = table_of(engine, log, tmp_path / "made")
    assert as_rows(table) == log.expected
    for name, form in ARM_TABLES.items():
        assert getattr(table, name).equals(form.canonical(getattr(table, name)))


@logs(10, range(300, 360))
def test_arms_are_of_queries_that_are_kept(seed, engine, tmp_path):
    queries = {row["query"] for row in log_with_tests(seed)[0] if row["query"] is not None}
    judged = sorted({normalise_query(query) for query in queries})[::2]
    log = given(seed, tmp_path, judged=judged)
    kept = pl.DataFrame({"query": judged}).select(pl.lit(None, pl.String).alias("market"), "query")
    assert as_rows(table_of(engine, log, tmp_path / "made", kept)) == log.expected


@logs(12, range(60))
def test_a_store_in_two_runs_holds_the_arms_of_the_whole_log(seed, engine, tmp_path):
    log = given(seed, tmp_path)
    store = store_of(engine, log, tmp_path)
    assert store is None or as_rows(store.table()) == log.expected


@pytest.mark.parametrize("seed", first(4, [4, 8, 13, 0, *range(16, 40)]))
def test_engines_leave_the_same_bytes_in_a_store(seed, tmp_path):
    log, left = given(seed, tmp_path), {}
    for engine in ("arrays", "duckdb"):
        folder = tmp_path / engine
        folder.mkdir()
        held = store_of(engine, log, folder)
        files = () if held is None else sorted(held.folder.rglob("*.parquet"))
        left[engine] = {file.relative_to(held.folder): file.read_bytes() for file in files}
    assert left["arrays"] == left["duckdb"]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_deliveries_with_other_arms_the_least_counts_however_the_query_is_spelled(engine, tmp_path):
    row = {"search_id": 1, "user_id": 1, "timestamp": datetime(2026, 1, 5, tzinfo=UTC), "results": ["a"]}
    spelled = (("Shoes", "B"), ("shoes", "A"))
    rows = [{**row, "query": query, "variant": variant} for query, variant in spelled]
    pl.DataFrame([*rows, {**rows[0], "search_id": 2, "user_id": 2}]).write_parquet(
        tmp_path / "searches.parquet"
    )
    clicks = {"search_id": [1], "timestamp": [row["timestamp"]], "url": ["a"]}
    pl.DataFrame(clicks).write_parquet(tmp_path / "clicks.parquet")
    files, settings = (tmp_path / "searches.parquet", tmp_path / "clicks.parquet"), load_settings()
    inputs = open_log(Sources(*files), settings, by_file=True)
    told = prepare_assignments(None, inputs.log_here().searches, settings)
    told = replace(told, in_two=told.in_two.clear())  # else the user would be in no arm
    table = table_of(engine, Given(inputs, settings, None, told, files, {}), tmp_path / "made")
    arms = table.arms.sort("variant")
    assert arms.select("variant", "click_mask", "sessions").rows() == [("A", 1, 1), ("B", 0, 1)]


def test_a_log_without_tests_has_no_table_of_arms(tmp_path):
    log = given(1, tmp_path)._replace(assignments=None)
    table = table_of("duckdb", log, tmp_path / "made")
    assert all(getattr(table, name) is None for name in ARM_TABLES)


def test_the_draws_have_every_kind_of_trouble(tmp_path):
    seen = Counter()
    for seed in range(30):
        (tmp_path / str(seed)).mkdir()
        log = given(seed, tmp_path / str(seed))
        arms, users = log.expected["arms"], log.expected["arm_users"]
        tests_of = Counter((test, digest) for test, _, digest in users)
        seen["tests"] += len({key[0] for key in arms}) > 1
        seen["signals"] += any(key[4] != "click" for key in arms)
        seen["outcomes"] += len(log.expected["arm_outcomes"]) > 0
        seen["users in two"] += max(tests_of.values(), default=0) > 1
        seen["ends"] += log.assignments.spans.height > 0
        counted = sum(n for key, n in arms.items() if key[4] == "click")
        of_lists = sum(n for key, n in log.expected["arm_patterns"].items() if key[4] == "click")
        seen["without results"] += counted > of_lists > 0
    assert len(seen) == 6
    assert min(seen.values()) >= 5
