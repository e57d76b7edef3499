"""A whole log to its pattern table: planned, read batch by batch, added up."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from pipeline.engines.base import Engine
from pipeline.errors import InputError
from pipeline.inputs import Input, as_text_ids
from pipeline.log_funnel import check_log, orphan_rows
from pipeline.log_ids import found_ids, repeated_ids, show_ids
from pipeline.log_windows import (
    Piece,
    Window,
    cut_log,
    file_starts,
    midnights,
    piece_starts,
    pieces_of,
    rows_of,
)
from pipeline.logs import END_MS, FIRST_MS, NEVER_MS, Carry, LogBatch, PatternBuilder
from pipeline.patterns import PatternTable
from pipeline.progress import Progress
from pipeline.settings import Settings

BATCH_ROWS = 4_000_000
"""Searches of a batch unless set: about 3 GB of memory with lists of ten results."""


def build_pattern_table(
    engine: Engine, searches: Input, clicks: Input, settings: Settings, *, progress: Progress
) -> PatternTable:
    """Turn a log into its pattern table (contract 2 to 4).

    Parameters
    ----------
    engine
        Runs the SQL.
    searches, clicks
        The log, in canonical types.
    settings
        Depth, idle limit and scope, folds, normalisation, batches, part of rows that may be unusable.

    Raises
    ------
    InputError
        If clicks name neither URL nor position, too many rows are unusable, or no usable search is left.
    EngineError
        If the engine gives up, or a check of the step fails.
    """
    check_click_columns(clicks)
    searches, clicks = same_id_type(searches, clicks)
    progress("looking at the log", None)
    windows = planned(searches, clicks, settings)
    builder = PatternBuilder(engine, settings, by_url="url" in clicks.columns)
    show_ids(engine, searches.frame, repeated_ids(searches.frame), builder.values)
    carry = None
    for number, window in enumerate(windows):
        batch = batch_of(window, searches, clicks, carry, windows[number + 1 :])
        carry = builder.add(batch, reporter(windows, number, progress), progress)
    progress("collecting the pattern table", None)
    table = builder.closed()
    table = replace(table, funnel=_with_orphans(engine, builder, searches, table.funnel, len(windows)))
    check_log(table.funnel, settings.max_rejected)
    return table


def check_click_columns(clicks: Input) -> None:
    """Refuse clicks that name neither URL nor position."""
    if not {"url", "position"} & clicks.columns:
        has = ", ".join(sorted(clicks.columns))
        raise InputError(
            f"clicks: neither column url nor column position in {clicks.files[0]}; it has: {has}"
        )


def same_id_type(searches: Input, clicks: Input) -> tuple[Input, Input]:
    """Return both inputs with search ids of one type: text, if they disagree."""
    types = {table.frame.collect_schema()["search_id"] for table in (searches, clicks)}
    if len(types) == 1:
        return searches, clicks
    return as_text_ids(searches, "search_id"), as_text_ids(clicks, "search_id")


def planned(searches: Input, clicks: Input, settings: Settings) -> tuple[Window, ...]:
    """Cut a log into windows of time as `settings.batch` says: one for a batch."""
    shown, clicked = pieces_of(searches, FIRST_MS, END_MS), pieces_of(clicks, FIRST_MS, END_MS)
    return cut_log(shown, clicked, *_cuts(settings.batch, (*shown, *clicked), shown))


def _cuts(batch: str, pieces: tuple[Piece, ...], shown: tuple[Piece, ...]) -> tuple[list[int], int]:
    if batch == "day":
        return midnights(pieces), 1
    if batch == "file":
        return file_starts(shown), 1
    return piece_starts(shown), BATCH_ROWS if batch == "auto" else int(batch)


def batch_of(
    window: Window, searches: Input, clicks: Input, carry: Carry | None, later: tuple[Window, ...]
) -> LogBatch:
    """Return the batch of a window, with what the one before carries into it."""
    watermark = later[0].start_ms if later else NEVER_MS
    return LogBatch(
        _joined(carry.searches if carry else None, rows_of(searches, window.searches, window)),
        _joined(carry.clicks if carry else None, rows_of(clicks, window.clicks, window)),
        NEVER_MS if watermark is None else watermark,
    )


def _joined(carried: pl.DataFrame | None, rows: pl.LazyFrame) -> pl.LazyFrame:
    new = rows.with_columns(carried=pl.lit(False))
    if carried is None or carried.is_empty():
        return new
    return pl.concat([carried.lazy().with_columns(carried=pl.lit(True)), new])


def reporter(windows: tuple[Window, ...], number: int, progress: Progress) -> Callable[[int, int], None]:
    """Return a function that tells how much of a log is read when told of rows that are."""
    done = sum(sum(window.rows) for window in windows[:number])
    total = sum(sum(window.rows) for window in windows)

    def report(searches: int, clicks: int) -> None:
        nonlocal done
        done += searches + clicks
        progress(f"batch {number + 1} of {len(windows)}", done / total if total else None)

    return report


def _with_orphans(
    engine: Engine, builder: PatternBuilder, searches: Input, funnel: pl.DataFrame, batches: int
) -> pl.DataFrame:
    """Add what became of clicks whose search was not at hand: it may lie in a batch far away."""
    orphans = builder.funnel.orphans()
    if orphans.is_empty():
        return funnel
    wanted = orphans["search_id"] if batches > 1 else orphans["search_id"].clear()
    found = found_ids(engine, searches.frame, wanted, builder.values)
    known = orphans["search_id"].is_in(found.implode())
    rows = orphan_rows(
        ambiguous=0,
        out_of_time=int(orphans.filter(known)["clicks"].sum()),
        unmatched=int(orphans.filter(~known)["clicks"].sum()),
    )
    return pl.concat([funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
