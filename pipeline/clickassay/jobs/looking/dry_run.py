"""Plans of `clickassay patterns --dry-run`: what it would read and write; nothing is written."""

from dataclasses import replace
from pathlib import Path

from clickassay.core.files.output import check_apart, check_free
from clickassay.core.files.scratch import with_scratch
from clickassay.core.settings import Settings
from clickassay.inputs.tables import files_named
from clickassay.jobs.inputs import Sources, open_log
from clickassay.judgments.prepare import queries_to_keep
from clickassay.logs.batches import FilesToRead, RunPlan, Window, files_to_read, plan_windows, rows_of_batch
from clickassay.logs.grow import plan_growth, store_settings, with_folds_of
from clickassay.logs.log import LocalHalf, Log
from clickassay.patterns.places import STORE_FILE
from clickassay.patterns.store import PatternStore


@with_scratch("out")
def plan_table(sources: Sources, out: Path, settings: Settings, *, force: bool = False) -> RunPlan:
    """Plan what `make_patterns` would do with the same arguments; nothing is written.

    Raises OutputError if the output folder exists already, or would lie in a folder of the log; InputError if
    an input is missing, or lacks a column.
    """
    check_apart(out, sources.searches, sources.clicks)
    check_free(out, force=force)
    inputs = open_log(replace(sources, outcomes=None), settings)
    queries_to_keep(inputs.judgments, settings)
    log = inputs.log_here()
    with files_named(log.searches, log.clicks):
        windows = plan_windows(log, settings)
    return RunPlan(*_files(log, log, windows), windows, out, _rows(windows, settings))


@with_scratch("folder")
def plan_store(sources: Sources, folder: Path, settings: Settings) -> RunPlan:
    """Plan what `grow_store` would do with the same arguments; nothing is written, and no store is made.

    Raises StoreError if the store is broken, or was made with other settings; InputError if a file has
    changed since it was read, or comes too late.
    """
    check_apart(folder, sources.searches, sources.clicks)
    inputs = open_log(replace(sources, outcomes=None), settings, by_file=True)
    kept = queries_to_keep(inputs.judgments, settings)
    log, settings = inputs.log_here(), with_folds_of(folder, settings)
    with files_named(log.searches, log.clicks):
        if not (folder / STORE_FILE).exists() and not (folder.exists() and any(folder.iterdir())):
            windows = plan_windows(log, settings)
            rows = _rows(windows, settings)
            return RunPlan(*_files(log, log, windows), windows, folder, rows, first_batch=1)
        # the folder is not empty: it is opened, or refused if it is no store, so that nothing is created
        store = PatternStore.open_or_create(folder, store_settings(settings, log), kept)
        plan = plan_growth(store, log, settings)
    first = len(store.history()) + 1
    interrupted = plan.run if plan.run < first else None
    rows = _rows(plan.windows, settings)
    return RunPlan(*_files(log, plan.log, plan.windows), plan.windows, folder, rows, first, interrupted)


def _rows(windows: tuple[Window, ...], settings: Settings) -> int | None:
    return rows_of_batch(settings, sum(window.rows[0] for window in windows))


def _files(
    given: Log[LocalHalf], new: Log[LocalHalf], windows: tuple[Window, ...]
) -> tuple[FilesToRead, FilesToRead]:
    shown = (chunk for window in windows for chunk in window.searches)
    clicked = (chunk for window in windows for chunk in window.clicks)
    return (
        files_to_read(given.searches, new.searches, shown),
        files_to_read(given.clicks, new.clicks, clicked),
    )
