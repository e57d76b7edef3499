"""A whole log to its pattern table on arrays, batch by batch."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from clickassay.core.progress import Event, Progress, steady
from clickassay.core.settings import Settings
from clickassay.logs.arrays.engine import ArraySessioniser, LogBatch
from clickassay.logs.arrays.search_ids import ambiguous_ids, usable_ids
from clickassay.logs.batches.cutting import plan_windows, warn_if_unsorted
from clickassay.logs.batches.windows import Window, scan_window
from clickassay.logs.log import LocalHalf, Log
from clickassay.logs.steps import NEVER_MS
from clickassay.patterns.funnel import check_log, orphan_click_rows
from clickassay.patterns.table import PatternTable

_READING = 0.7
"""Share of the time of a batch that reading it takes."""


def build_pattern_table(
    log: Log[LocalHalf],
    settings: Settings,
    judged_queries: pl.DataFrame | None = None,
    *,
    progress: Progress,
) -> PatternTable:
    """Turn a log into its pattern table, as `counted_pattern_table` does, if enough of it is usable.

    Raises
    ------
    InputError
        If a file cannot be read, too many rows are unusable, or no usable search is left.
    EngineError
        If a check of the step fails.
    """
    table = counted_pattern_table(log, settings, judged_queries, progress=progress)
    check_log(table.funnel, settings.max_rejected)
    return table


def counted_pattern_table(
    log: Log[LocalHalf],
    settings: Settings,
    judged_queries: pl.DataFrame | None = None,
    *,
    progress: Progress,
) -> PatternTable:
    """Turn a log into its pattern table (method 2 to 4), however much of it is unusable.

    Parameters
    ----------
    log
        In canonical types.
    settings
        Depth, idle limit and scope, folds, normalisation, batches, share of rows that may be unusable.
    judged_queries
        market (null = every market), query: sessions of other queries are only counted; None = keep all.
    """
    progress = steady(progress)
    progress(Event("looking at the log"))
    windows = plan_windows(log, settings)
    warn_if_unsorted(windows, settings, progress)
    searches = log.searches.frame
    sessioniser = ArraySessioniser(
        settings, by_url=log.by_url, ambiguous=ambiguous_ids(searches).known, judged_queries=judged_queries
    )
    for number in range(len(windows)):
        later = windows[number + 1].start_ms if number + 1 < len(windows) else None
        batch = batch_of(windows[number], log, NEVER_MS if later is None else later)
        sessioniser.add(batch, reporter(windows, number, progress), progress)
    progress(Event("collecting the pattern table", 1.0))
    table = sessioniser.closed_table()
    return replace(table, funnel=_with_orphan_clicks(sessioniser, searches, table.funnel, len(windows)))


def batch_of(window: Window, log: Log[LocalHalf], watermark_ms: int) -> LogBatch:
    """Return the batch of a window."""
    return LogBatch(
        scan_window(log.searches, window.searches, window),
        scan_window(log.clicks, window.clicks, window),
        watermark_ms,
    )


def reporter(windows: tuple[Window, ...], number: int, progress: Progress) -> Callable[[int, int], None]:
    """Return a function that is called with rows as they are read, and reports the share that is done.

    Rows that lie in a chunk that spans a cut are read twice, and count once.
    """
    rows = [sum(window.rows) for window in windows]
    before, total, read = sum(rows[:number]), sum(rows), 0
    name = f"batch {number + 1} of {len(windows)}"

    def report(searches: int, clicks: int) -> None:
        nonlocal read
        read = min(read + searches + clicks, rows[number])
        part = (before + _READING * read) / max(1, total)
        progress(Event(name, part, batch=name, rows=total))

    report(0, 0)
    return report


def _with_orphan_clicks(
    sessioniser: ArraySessioniser, searches: pl.LazyFrame, funnel: pl.DataFrame, batches: int
) -> pl.DataFrame:
    """Add the outcome of orphan clicks: their search may lie in any batch."""
    orphans = sessioniser.funnel.orphan_clicks()
    if orphans.is_empty():
        return funnel
    found = usable_ids(searches, orphans["search_id"]) if batches > 1 else orphans["search_id"].clear()
    known = orphans["search_id"].is_in(found.implode())
    rows = orphan_click_rows(
        ambiguous=0,
        out_of_time=int(orphans.filter(known)["clicks"].sum()),
        unmatched=int(orphans.filter(~known)["clicks"].sum()),
    )
    return pl.concat([funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
