"""Logs into a pattern store: which files, which batches, and the engine that works through them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from pipeline.inputs import CLICKS, SEARCHES, read_input
from pipeline.log_plan import FilesToRead, RunPlan, files_to_read
from pipeline.log_run import Log, checked_log, planned, rows_of_batch, tell_order
from pipeline.log_store import Plan, add_to_store, planned_for, store_settings
from pipeline.log_windows import Window
from pipeline.progress import Progress, silent, steady
from pipeline.publish import check_free
from pipeline.run_log import engine_for, files_named, queries_to_keep, versions
from pipeline.settings import Settings
from pipeline.store import PatternStore
from pipeline.store_files import MARK


@dataclass(frozen=True)
class Grown:
    """What a run did to a store: batches added, and files that it held already."""

    batches: int
    known_files: int


def grow_store(
    searches: str,
    clicks: str,
    folder: Path,
    settings: Settings,
    *,
    judgments: str | None = None,
    progress: Progress = silent,
) -> Grown:
    """Bring a pattern store up to a log; what it holds already is not read again.

    Parameters
    ----------
    searches, clicks
        A file, folder or glob each: all files, or only those that are new.
    folder
        The store; made when it is not there.
    judgments
        A file, folder or glob: with ``only_judged``, sessions of queries without any are counted only.

    Raises
    ------
    StoreError
        If the store is in use, broken, or was made with other settings.
    InputError
        If a file has changed since it was read, or comes too late.
    """
    log = _log(searches, clicks)
    kept = queries_to_keep(judgments, settings)
    store = PatternStore.made(folder, store_settings(settings, log), kept)
    with store.locked(), files_named(log.searches, log.clicks):
        plan: Plan = planned_for(store, log, settings)
        tell_order(plan.windows, settings, progress)
        with engine_for(settings, folder) as engine:
            added = add_to_store(engine, store, plan, settings, versions(), steady(progress))
    return Grown(added, plan.known)


def plan_table(
    searches: str,
    clicks: str,
    out: Path,
    settings: Settings,
    *,
    judgments: str | None = None,
    force: bool = False,
) -> RunPlan:
    """Tell what `make_patterns` would do with the same arguments; nothing is written.

    Raises
    ------
    OutputError
        If the output folder exists already.
    InputError
        If an input is missing, or lacks a column.
    """
    check_free(out, force=force)
    log = _log(searches, clicks)
    queries_to_keep(judgments, settings)
    with files_named(log.searches, log.clicks):
        windows = planned(log, settings)
    return RunPlan(*_files(log, log, windows), windows, out, rows_of_batch(settings.batch))


def plan_store(
    searches: str, clicks: str, folder: Path, settings: Settings, *, judgments: str | None = None
) -> RunPlan:
    """Tell what `grow_store` would do with the same arguments; nothing is written, and no store is made.

    Raises
    ------
    StoreError
        If the store is broken, or was made with other settings.
    InputError
        If a file has changed since it was read, or comes too late.
    """
    log = _log(searches, clicks)
    kept = queries_to_keep(judgments, settings)
    rows = rows_of_batch(settings.batch)
    with files_named(log.searches, log.clicks):
        if not (folder / MARK).exists() and not (folder.exists() and any(folder.iterdir())):
            windows = planned(log, settings)
            return RunPlan(*_files(log, log, windows), windows, folder, rows, first_batch=1)
        # what is there is opened, or else refused; only an empty place would be made a store
        store = PatternStore.made(folder, store_settings(settings, log), kept)
        plan = planned_for(store, log, settings)
    first = len(store.history()) + 1
    interrupted = plan.run if plan.run < first else None
    return RunPlan(*_files(log, plan.log, plan.windows), plan.windows, folder, rows, first, interrupted)


def _log(searches: str, clicks: str) -> Log:
    return checked_log(read_input("searches", searches, SEARCHES), read_input("clicks", clicks, CLICKS))


def _files(given: Log, new: Log, windows: tuple[Window, ...]) -> tuple[FilesToRead, FilesToRead]:
    shown = (piece for window in windows for piece in window.searches)
    clicked = (piece for window in windows for piece in window.clicks)
    return (
        files_to_read(given.searches, new.searches, shown),
        files_to_read(given.clicks, new.clicks, clicked),
    )


def batch_rows(folder: Path) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return what `store info` shows: names of columns, and one row of text for each batch."""
    store = PatternStore(folder)
    rows: list[tuple[str, ...]] = []
    for batch in store.batches():
        funnel = batch.table("closed").funnel.filter(depth=0)
        read = {source: _rows(funnel, source, "read") for source in ("searches", "clicks")}
        size = sum(file.stat().st_size for file in batch.folder.rglob("*.parquet"))
        times = (_time(batch.info["start_ms"]), _time(batch.watermark_ms))
        numbers = (read["searches"], read["clicks"], _rows(funnel, "sessions", "formed"), size)
        rows.append((str(batch.number), *times, *(f"{number:,}" for number in numbers)))
    return ("batch", "from", "closed up to", "searches", "clicks", "sessions closed", "bytes"), rows


def _rows(funnel: pl.DataFrame, source: str, step: str) -> int:
    return int(funnel.filter(source=source, step=step)["rows"].sum())


def _time(time_ms: int | None) -> str:
    if time_ms is None:
        return "the beginning"
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
