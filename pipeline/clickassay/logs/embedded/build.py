"""A whole log to its pattern table on the embedded engine: planned, read batch by batch, added up."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from clickassay.core.progress import Event, Progress, steady
from clickassay.core.settings import Settings
from clickassay.logs.batches.cutting import planned, tell_order
from clickassay.logs.batches.windows import Window, rows_of
from clickassay.logs.embedded.builder import Carry, LogBatch, PatternBuilder
from clickassay.logs.embedded.search_ids import found_ids, repeated_ids, show_ids
from clickassay.logs.engine import Engine
from clickassay.logs.log import LocalHalf, Log
from clickassay.logs.steps import NEVER_MS
from clickassay.patterns.funnel import check_log, orphan_click_rows
from clickassay.patterns.table import PatternTable

_READING = 0.5
"""Part of the time of a batch that goes into reading it; joins and counts take the rest."""


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
        Depth, idle limit and scope, folds, normalisation, batches, part of rows that may be unusable.
    judged_queries
        market (null = every market), query: sessions of other queries are only counted; None = keep all.

    Raises
    ------
    EngineError
        If the engine gives up, or a check of the step fails.
    """
    progress = steady(progress)
    progress(Event("looking at the log"))
    windows = planned(log, settings)
    tell_order(windows, settings, progress)
    builder = PatternBuilder(engine, settings, by_url=log.by_url, judged_queries=judged_queries)
    searches = log.searches.frame
    show_ids(engine, searches, repeated_ids(searches), builder.values)
    carry = None
    for number, window in enumerate(windows):
        watermark_ms = windows[number + 1].start_ms if number + 1 < len(windows) else None
        batch = batch_of(window, log, carry, NEVER_MS if watermark_ms is None else watermark_ms)
        carry = builder.add(batch, reporter(windows, number, progress), progress)
    progress(Event("collecting the pattern table", 1.0))
    table = builder.closed(is_last=True)
    return replace(table, funnel=_with_orphan_clicks(engine, builder, searches, table.funnel, len(windows)))


def batch_of(window: Window, log: Log[LocalHalf], carry: Carry | None, watermark_ms: int) -> LogBatch:
    """Return the batch of a window, with what the one before carries into it."""
    return LogBatch(
        _joined(carry.searches if carry else None, rows_of(log.searches, window.searches, window)),
        _joined(carry.clicks if carry else None, rows_of(log.clicks, window.clicks, window)),
        watermark_ms,
    )


def _joined(carried: pl.DataFrame | None, rows: pl.LazyFrame) -> pl.LazyFrame:
    new = rows.with_columns(carried=pl.lit(False))
    if carried is None or carried.is_empty():
        return new
    return pl.concat([carried.lazy().with_columns(carried=pl.lit(True)), new])


def reporter(windows: tuple[Window, ...], number: int, progress: Progress) -> Callable[[int, int], None]:
    """Return a function that tells how much of a log is done when told of rows that are read.

    Rows that are carried or lie in a piece that spans a cut are read twice, and count once.
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
    engine: Engine, builder: PatternBuilder, searches: pl.LazyFrame, funnel: pl.DataFrame, batches: int
) -> pl.DataFrame:
    """Add what became of clicks whose search was not at hand: it may lie in a batch far away."""
    orphan_clicks = builder.funnel.orphan_clicks()
    if orphan_clicks.is_empty():
        return funnel
    wanted = orphan_clicks["search_id"] if batches > 1 else orphan_clicks["search_id"].clear()
    found = found_ids(engine, searches, wanted, builder.values)
    known = orphan_clicks["search_id"].is_in(found.implode())
    rows = orphan_click_rows(
        ambiguous=0,
        out_of_time=int(orphan_clicks.filter(known)["clicks"].sum()),
        unmatched=int(orphan_clicks.filter(~known)["clicks"].sum()),
    )
    return pl.concat([funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
