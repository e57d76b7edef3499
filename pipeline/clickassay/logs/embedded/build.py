"""A whole log to its pattern table on the embedded engine, batch by batch."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from clickassay.core.progress import Event, Progress, steady
from clickassay.core.settings import Settings
from clickassay.logs.batches.cutting import plan_windows, warn_if_unsorted
from clickassay.logs.batches.windows import Window, scan_window
from clickassay.logs.embedded.search_ids import find_ambiguous_ids, ids_of_usable_searches, repeated_ids
from clickassay.logs.embedded.sessioniser import CarryOver, EmbeddedSessioniser, LogBatch
from clickassay.logs.engine import Engine
from clickassay.logs.log import LocalHalf, Log
from clickassay.logs.steps import NEVER_MS
from clickassay.patterns.funnel import check_log, orphan_click_rows
from clickassay.patterns.table import PatternTable

_READING = 0.5
"""Share of the time of a batch that reading it takes; joins and counts take the rest."""


def build_pattern_table(
    engine: Engine,
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
        If too many rows are unusable, or no usable search is left.
    EngineError
        If the engine gives up, or a check of the step fails.
    """
    table = counted_pattern_table(engine, log, settings, judged_queries, progress=progress)
    check_log(table.funnel, settings.max_rejected)
    return table


def counted_pattern_table(
    engine: Engine,
    log: Log[LocalHalf],
    settings: Settings,
    judged_queries: pl.DataFrame | None = None,
    *,
    progress: Progress,
) -> PatternTable:
    """Turn a log into its pattern table (method 2 to 4), however much of it is unusable.

    Parameters
    ----------
    engine
        Runs the SQL.
    log
        In canonical types.
    settings
        Depth, idle limit and scope, folds, normalisation, batches, share of rows that may be unusable.
    judged_queries
        market (null = every market), query: sessions of other queries are only counted; None = keep all.

    Raises
    ------
    EngineError
        If the engine gives up, or a check of the step fails.
    """
    progress = steady(progress)
    progress(Event("looking at the log"))
    windows = plan_windows(log, settings)
    warn_if_unsorted(windows, settings, progress)
    sessioniser = EmbeddedSessioniser(engine, settings, by_url=log.by_url, judged_queries=judged_queries)
    searches = log.searches.frame
    find_ambiguous_ids(engine, searches, repeated_ids(searches), sessioniser.values)
    carry_over = None
    for number, window in enumerate(windows):
        watermark_ms = windows[number + 1].start_ms if number + 1 < len(windows) else None
        batch = batch_of(window, log, carry_over, NEVER_MS if watermark_ms is None else watermark_ms)
        carry_over = sessioniser.add(batch, reporter(windows, number, progress), progress)
    progress(Event("collecting the pattern table", 1.0))
    table = sessioniser.closed_table(is_last=True)
    return replace(
        table, funnel=_with_orphan_clicks(engine, sessioniser, searches, table.funnel, len(windows))
    )


def batch_of(
    window: Window, log: Log[LocalHalf], carry_over: CarryOver | None, watermark_ms: int
) -> LogBatch:
    """Return the batch of a window, with the rows carried over from the batch before."""
    return LogBatch(
        _with_carried(
            carry_over.searches if carry_over else None, scan_window(log.searches, window.searches, window)
        ),
        _with_carried(
            carry_over.clicks if carry_over else None, scan_window(log.clicks, window.clicks, window)
        ),
        watermark_ms,
    )


def _with_carried(carried: pl.DataFrame | None, rows: pl.LazyFrame) -> pl.LazyFrame:
    new = rows.with_columns(carried=pl.lit(False))
    if carried is None or carried.is_empty():
        return new
    return pl.concat([carried.lazy().with_columns(carried=pl.lit(True)), new])


def reporter(windows: tuple[Window, ...], number: int, progress: Progress) -> Callable[[int, int], None]:
    """Return a function that is called with rows as they are read, and reports the share that is done.

    Rows that are carried over or lie in a chunk that spans a cut are read twice, and count once.
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
    engine: Engine,
    sessioniser: EmbeddedSessioniser,
    searches: pl.LazyFrame,
    funnel: pl.DataFrame,
    batches: int,
) -> pl.DataFrame:
    """Add the outcome of orphan clicks: their search may lie in any batch."""
    orphan_clicks = sessioniser.funnel.orphan_clicks()
    if orphan_clicks.is_empty():
        return funnel
    wanted = orphan_clicks["search_id"] if batches > 1 else orphan_clicks["search_id"].clear()
    found = ids_of_usable_searches(engine, searches, wanted, sessioniser.values)
    known = orphan_clicks["search_id"].is_in(found.implode())
    rows = orphan_click_rows(
        ambiguous=0,
        out_of_time=int(orphan_clicks.filter(known)["clicks"].sum()),
        unmatched=int(orphan_clicks.filter(~known)["clicks"].sum()),
    )
    return pl.concat([funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
