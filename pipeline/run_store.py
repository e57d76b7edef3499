"""Logs into a pattern store: which files, which batches, and the engine that works through them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from pipeline.inputs import CLICKS, SEARCHES, read_input
from pipeline.log_run import checked_log
from pipeline.log_store import Plan, add_to_store, planned_for, store_settings
from pipeline.progress import Progress, silent
from pipeline.run import engine_for, files_named, versions
from pipeline.settings import Settings
from pipeline.store import PatternStore


@dataclass(frozen=True)
class Grown:
    """What a run did to a store: batches added, and files that it held already."""

    batches: int
    known_files: int


def grow_store(
    searches: str, clicks: str, folder: Path, settings: Settings, *, progress: Progress = silent
) -> Grown:
    """Bring a pattern store up to a log; what it holds already is not read again.

    Parameters
    ----------
    searches, clicks
        A file, folder or glob each: all files, or only those that are new.
    folder
        The store; made when it is not there.

    Raises
    ------
    StoreError
        If the store is in use, broken, or was made with other settings.
    InputError
        If a file has changed since it was read, or comes too late.
    """
    log = checked_log(read_input("searches", searches, SEARCHES), read_input("clicks", clicks, CLICKS))
    store = PatternStore.made(folder, store_settings(settings, log))
    with store.locked(), files_named(log.searches, log.clicks):
        plan: Plan = planned_for(store, log, settings)
        with engine_for(settings, folder) as engine:
            added = add_to_store(engine, store, plan, settings, versions(), progress)
    return Grown(added, plan.known)


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
