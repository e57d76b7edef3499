"""Pattern stores: logs are added, files and batches chosen; and plans of that, and of a pattern table."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from clickassay.core.files.output import check_apart, check_free
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent, steady
from clickassay.core.provenance import versions
from clickassay.core.settings import Settings
from clickassay.inputs.tables import copy_notes, files_named
from clickassay.jobs.health import Checked, log_findings
from clickassay.jobs.inputs import Inputs, Sources, open_log
from clickassay.jobs.patterns import outcomes_of, reachable
from clickassay.judgments.prepare import queries_to_keep
from clickassay.logs.arrays.job import ArrayBatchProcessor
from clickassay.logs.arrays.workers import Workers
from clickassay.logs.assignments import prepare_assignments
from clickassay.logs.batches import (
    RunPlan,
    Window,
    files_to_read,
    plan_windows,
    rows_of_batch,
    threads_of,
    warn_if_unsorted,
)
from clickassay.logs.grow import (
    add_to_store,
    plan_growth,
    store_settings,
    with_carried,
    with_folds_of,
    with_known,
)
from clickassay.logs.log import LocalHalf, Log
from clickassay.patterns.places import STORE_FILE
from clickassay.patterns.store import PatternStore


@dataclass(frozen=True)
class StoreGrowth:
    """Result of adding to a store: number of batches added, and of files that it already had."""

    batches: int
    known_files: int


@with_scratch("folder")
def grow_store(
    sources: Sources,
    folder: Path | str,
    settings: Settings,
    *,
    checked: Checked | None = None,
    progress: Progress = silent,
) -> StoreGrowth:
    """Add a log, all its files or only new ones, to a pattern store, which is made if need be.

    With ``only_judged`` also judgments: sessions of queries without any are counted only.
    Raises StoreError if the store is in use, broken, or of other settings; InputError if a file has changed
    since it was read, or comes too late; OutputError if the store would lie in a folder of the log.
    """
    folder = reachable(folder, settings)
    if isinstance(folder, Path):
        check_apart(folder, *sources.given.values())
    inputs = open_log(sources, settings, by_file=True, progress=progress)
    kept = queries_to_keep(inputs.judgments, settings)
    if settings.engine == "spark":
        return _grow_on_spark(inputs, folder, settings, kept, steady(progress), checked)
    folder = Path(folder)
    log, settings = inputs.log_here(), with_folds_of(folder, settings)
    store = PatternStore.open_or_create(folder, store_settings(settings, log), kept)
    with store.locked(), files_named(log.searches, log.clicks):
        plan, kept = plan_growth(store, log, settings), store.judged_queries()
        warn_if_unsorted(plan.windows, settings, progress)
        for what, half in log.halves.items():
            for note in copy_notes(half, plan.alike[what], "it is not read"):
                progress(Event(note, note=True))
        told = steady(progress)
        own = with_carried(outcomes_of(inputs, settings)(log), store)
        arms = with_known(
            prepare_assignments(inputs.assignments, plan.log.searches, settings), store, plan.run
        )
        made_by = (store, plan, settings, versions(), told, own, arms)
        if settings.engine == "duckdb":
            from clickassay.logs.duckdb import duckdb_batches, duckdb_engine  # noqa: PLC0415 - not the default

            with duckdb_engine(log, settings, folder) as engine:
                added = add_to_store(duckdb_batches(engine, settings, kept, told, own, arms), *made_by)
        else:
            with Workers(threads_of(settings)) as workers:
                added = add_to_store(ArrayBatchProcessor(settings, workers, kept, told, own, arms), *made_by)
        _check(store, inputs, settings, checked)
    return StoreGrowth(added, plan.known)


def _check(store: PatternStore, inputs: Inputs, settings: Settings, checked: Checked | None) -> None:
    """Hand over the checks of the whole log of a store that fire."""
    if checked is not None and store.batches():
        last = store.batches()[-1].table("open")
        whole = replace(last, funnel=store.funnel(), health=store.health())
        checked(log_findings(whole.staged(), settings, inputs.log))


def _grow_on_spark(
    inputs: Inputs, place: Path | str, settings: Settings, kept: pl.DataFrame | None,
    progress: Progress, checked: Checked | None,
) -> StoreGrowth:  # fmt: skip
    from clickassay.logs.spark.job import bytes_here, read_spark_log, spark_batches, spark_engine  # noqa: PLC0415
    from clickassay.logs.spark.remote import local_store  # noqa: PLC0415 - an extra

    halves = inputs.searches, inputs.clicks
    log_bytes = bytes_here(*halves)
    progress(Event("starting Spark"))
    with spark_engine(settings, None, log_bytes) as engine, local_store(engine.session, place) as folder:
        log, settings = read_spark_log(engine, *halves, settings), with_folds_of(folder, settings)
        for half in log.halves.values():
            half.fingerprints()  # a table without distinct files is refused before a store is created
        store = PatternStore.open_or_create(folder, store_settings(settings, log), kept)
        with store.locked():
            plan = plan_growth(store, log, settings)
            own = with_carried(outcomes_of(inputs, settings)(log), store)
            arms = prepare_assignments(inputs.assignments, plan.log.searches.listing, settings)
            arms = with_known(arms, store, plan.run)
            processor = spark_batches(engine, settings, store.judged_queries(), progress, own, arms)
            made = {**versions(), "spark": str(engine.session.version)}
            added = add_to_store(processor, store, plan, settings, made, progress, own, arms)
        _check(store, inputs, settings, checked)
    return StoreGrowth(added, plan.known)


@dataclass(frozen=True)
class BatchSummary:
    """A batch of a store: its times in milliseconds since 1970 UTC, and what it holds."""

    batch: int  # Its number.
    # start_ms, end_ms: Its searches count from here on, None for the beginning of the log; its visits are
    # closed up to here.
    start_ms: int | None
    end_ms: int
    # searches, clicks: Rows read.
    searches: int
    clicks: int
    sessions: int  # Sessions of visits that it closed.
    bytes: int  # Size of its files.


def batch_summaries(folder: Path) -> list[BatchSummary]:
    """Return the batches of a store in the order of time; each begins where the one before it is closed."""
    summaries: list[BatchSummary] = []
    for batch in PatternStore(folder).batches():
        funnel = batch.table("closed").funnel.filter(depth=0)
        start = batch.info["start_ms"]
        summaries.append(
            BatchSummary(
                batch.number,
                summaries[-1].end_ms if start is None and summaries else start,
                batch.watermark_ms,
                _counted(funnel, "searches", "read"),
                _counted(funnel, "clicks", "read"),
                _counted(funnel, "sessions", "formed"),
                sum(file.stat().st_size for file in batch.folder.rglob("*.parquet")),
            )
        )
    return summaries


def _counted(funnel: pl.DataFrame, source: str, step: str) -> int:
    return int(funnel.filter(source=source, step=step)["rows"].sum())


@with_scratch("out")
def plan_table(sources: Sources, out: Path, settings: Settings, *, force: bool = False) -> RunPlan:
    """Plan what `make_patterns` would do; nothing is written.

    Raises OutputError for a folder that exists, or lies in one of the log; InputError for a broken input.
    """
    check_apart(out, sources.searches, sources.clicks)
    check_free(out, force=force)
    inputs = open_log(replace(sources, outcomes=None), settings)
    queries_to_keep(inputs.judgments, settings)
    log = inputs.log_here()
    with files_named(log.searches, log.clicks):
        windows = plan_windows(log, settings)
    return _plan_of(log, log, windows, out, settings)


@with_scratch("folder")
def plan_store(sources: Sources, folder: Path, settings: Settings) -> RunPlan:
    """Plan what `grow_store` would do, also of a store that is not made yet; nothing is written.

    Raises StoreError, and InputError of files, as that does.
    """
    check_apart(folder, sources.searches, sources.clicks)
    inputs = open_log(replace(sources, outcomes=None), settings, by_file=True)
    kept = queries_to_keep(inputs.judgments, settings)
    log, settings = inputs.log_here(), with_folds_of(folder, settings)
    with files_named(log.searches, log.clicks):
        if not (folder / STORE_FILE).exists() and not (folder.exists() and any(folder.iterdir())):
            return _plan_of(log, log, plan_windows(log, settings), folder, settings, first_batch=1)
        # the folder is not empty: it is opened, or refused if it is no store, so that nothing is created
        store = PatternStore.open_or_create(folder, store_settings(settings, log), kept)
        plan = plan_growth(store, log, settings)
    first = len(store.history()) + 1
    interrupted = plan.run if plan.run < first else None
    return _plan_of(log, plan.log, plan.windows, folder, settings, first_batch=first, interrupted=interrupted)


def _plan_of(
    given: Log[LocalHalf], new: Log[LocalHalf], windows: tuple[Window, ...], place: Path, settings: Settings,
    **more: int | None,
) -> RunPlan:  # fmt: skip
    shown = (chunk for window in windows for chunk in window.searches)
    clicked = (chunk for window in windows for chunk in window.clicks)
    return RunPlan(
        files_to_read(given.searches, new.searches, shown),
        files_to_read(given.clicks, new.clicks, clicked),
        windows, place, rows_of_batch(settings, sum(window.rows[0] for window in windows)), **more,
    )  # fmt: skip
