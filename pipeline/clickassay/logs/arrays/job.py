"""A whole log to its pattern table on arrays, and the batches of a store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.errors import EngineError
from clickassay.core.progress import Event, Progress, steady
from clickassay.core.settings import Settings
from clickassay.inputs.columns import TEAMS
from clickassay.inputs.tables import unreadable
from clickassay.logs.arrays.engine import ArraySessioniser, ReadBatch
from clickassay.logs.arrays.steps.carry_over import clicks_as_read, searches_as_read
from clickassay.logs.arrays.steps.search_ids import ambiguous_ids, usable_ids
from clickassay.logs.arrays.workers import Workers
from clickassay.logs.assignments import Assignments, counted_assignments
from clickassay.logs.batches import Window, plan_windows, scan_window, threads_of, warn_if_unsorted
from clickassay.logs.grow import Plan
from clickassay.logs.log import LocalHalf, Log, has_signals
from clickassay.logs.outcomes import Outcomes, counted_outcomes
from clickassay.logs.sql.steps import NEVER_MS, end_of_times
from clickassay.patterns.batches import BatchContent, StoredBatch
from clickassay.patterns.funnel import orphan_click_rows, with_counts
from clickassay.patterns.table import StagedTable, give_back

_GIVEN_BACK_EACH, _FEW_BATCHES = 2, 16
"""Batches after which freed memory is given back, in a log of many: the next ones ask for it again."""
PART_ROWS, _MOST_PARTS = 50_000, 16
"""Searches of a batch for each part of its users, about, and the most parts."""


def counted_pattern_table(
    log: Log[LocalHalf],
    settings: Settings,
    judged_queries: pl.DataFrame | None = None,
    *,
    outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
    progress: Progress,
) -> StagedTable:
    """Turn a log into its pattern table (method 2 to 4), however much of it is unusable.

    Raises InputError if a file cannot be read; EngineError if a check of the step fails.
    """
    progress = steady(progress)
    progress(Event("looking at the log"))
    windows = plan_windows(log, settings)
    warn_if_unsorted(windows, settings, progress)
    searches = log.searches.frame
    with Workers(threads_of(settings)) as workers:
        sessioniser = ArraySessioniser(
            settings,
            workers,
            by_url=log.by_url,
            ids=ambiguous_ids(searches, end_ms=end_of_times(settings)),
            parts=parts_of(windows),
            judged_queries=judged_queries,
            has_signals=has_signals(log, settings),
            has_teams=TEAMS in log.searches.columns,
            outcomes=None if outcomes is None else outcomes.rows,
            assignments=assignments,
        )
        for number, batch in enumerate(_batches(sessioniser, workers, log, windows, progress)):
            progress(Event("forming sessions"))
            later = windows[number + 1].start_ms if number + 1 < len(windows) else None
            sessioniser.add(batch, NEVER_MS if later is None else later)
            del batch  # its memory is needed for the next but one
            if number > _FEW_BATCHES and number % _GIVEN_BACK_EACH == 0:
                give_back()
        progress(Event("collecting the pattern table", 1.0))
        sessioniser.end()
        table = sessioniser.whole_table()
    # the rows that were read are those of the files: a stopped reader may not say so
    of_files = {
        "searches": {chunk for window in windows for chunk in window.searches},
        "clicks": {chunk for window in windows for chunk in window.clicks},
    }
    for what, chunks in of_files.items():
        sources = ("clicks", "actions") if what == "clicks" else (what,)
        read = int(table.funnel.filter(pl.col("source").is_in(sources), step="read")["rows"].sum())
        there = sum(chunk.rows for chunk in chunks)
        if read != there:
            message = f"{what}: {read:,} of {there:,} rows were read; nothing was written"
            raise unreadable([log.halves[what]]) or EngineError(message)
    funnel = with_counts(table.funnel, "impressions", log.searches.made_of)
    funnel = _with_orphan_clicks(sessioniser, searches, funnel, len(windows))
    funnel = counted_assignments(counted_outcomes(funnel, outcomes), assignments)
    return replace(table, funnel=funnel)


def parts_of(windows: Sequence[Window]) -> int:
    """Return into how many parts the users are cut: the rows of a part are to stay in the cache."""
    rows = max((window.rows[0] for window in windows), default=0)
    return min(1 << (rows // PART_ROWS).bit_length(), _MOST_PARTS)


def _batches(
    sessioniser: ArraySessioniser,
    workers: Workers,
    log: Log[LocalHalf],
    windows: tuple[Window, ...],
    progress: Progress,
) -> Iterator[ReadBatch]:
    """Yield the batches of a log; one is read while the one before is added."""

    def read(number: int) -> ReadBatch:
        window = windows[number]
        searches = scan_window(log.searches, window.searches, window)
        clicks = scan_window(log.clicks, window.clicks, window)
        return sessioniser.read(searches, clicks, reporter(windows, number, progress))

    return workers.ahead(read, range(len(windows)))


def reporter(windows: tuple[Window, ...], number: int, progress: Progress) -> Callable[[int, int], None]:
    """Return a function that reports the share done of rows read; those of two windows count once."""
    rows = [sum(window.rows) for window in windows]
    before, total, read = sum(rows[:number]), sum(rows), 0
    name = f"batch {number + 1} of {len(windows)}"

    def report(searches: int, clicks: int) -> None:
        nonlocal read
        read = min(read + searches + clicks, rows[number])
        part = (before + read) / max(1, total)
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
    ids = orphans["search_id"]
    usable = usable_ids(searches, ids, sessioniser.searches.rejected_ids(ids)) if batches > 1 else ids.clear()
    known = orphans["search_id"].is_in(usable.implode())
    rows = orphan_click_rows(
        ambiguous=0,
        out_of_time=int(orphans.filter(known)["clicks"].sum()),
        unmatched=int(orphans.filter(~known)["clicks"].sum()),
    )
    return pl.concat([funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())


class ArrayBatchProcessor:
    """A `BatchProcessor` on arrays."""

    def __init__(
        self,
        settings: Settings,
        workers: Workers,
        judged_queries: pl.DataFrame | None,
        progress: Progress,
        outcomes: Outcomes | None = None,
        assignments: Assignments | None = None,
    ) -> None:
        self._assignments = assignments
        self._settings, self._workers, self._progress = settings, workers, progress
        self._judged_queries, self._outcomes = judged_queries, outcomes

    def begin(self, plan: Plan[LocalHalf], before: StoredBatch | None) -> None:
        known = [] if before is None else before.frame("ambiguous")["search_id"].to_list()
        carried = None if before is None else before.frame("carry_searches")
        ids = ambiguous_ids(plan.log.searches.frame, known, carried, end_ms=end_of_times(self._settings))
        clicks = None if before is None else before.frame("carry_clicks")
        carries = clicks is not None and "action" in clicks.columns
        self._ambiguous = pl.concat([ids.found, pl.Series(known, dtype=ids.found.dtype)]).unique().sort()
        self._sessioniser = ArraySessioniser(
            self._settings,
            self._workers,
            by_url=plan.log.by_url,
            ids=replace(ids, keeps_new=True),
            parts=parts_of(plan.windows),
            judged_queries=self._judged_queries,
            has_signals=has_signals(plan.log, self._settings) or carries,
            has_teams=TEAMS in {*plan.log.searches.columns, *([] if carried is None else carried.columns)},
            outcomes=None if self._outcomes is None else self._outcomes.rows,
            assignments=self._assignments,
        )
        if carried is not None and clicks is not None:
            self._sessioniser.take_up(carried, clicks)
        self._batches = _batches(self._sessioniser, self._workers, plan.log, plan.windows, self._progress)

    def add(self, plan: Plan[LocalHalf], number: int, watermark_ms: int) -> None:  # noqa: ARG002 - in order
        batch = next(self._batches)
        self._progress(Event("forming sessions"))
        self._sessioniser.add(batch, watermark_ms)

    def ids(self) -> pl.LazyFrame:
        return self._sessioniser.new_ids.to_frame().lazy()

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        sessioniser, carry_over = self._sessioniser, self._sessioniser.carry_over
        if carry_over is None:
            raise EngineError("the content of a batch was requested before one was added")
        orphans = [
            sessioniser.funnel.orphan_clicks(is_open=is_open)
            .with_columns(is_open=pl.lit(is_open))
            .sort("search_id")
            for is_open in (False, True)
        ]
        frames = {
            "carry_searches": searches_as_read(
                carry_over.searches,
                sessioniser.shown,
                None if sessioniser.arms is None else sessioniser.arms.arms,
                sessioniser.drafts,
            ),
            "carry_clicks": clicks_as_read(carry_over.clicks, sessioniser.shown, sessioniser.actions),
            "ids": sessioniser.new_ids.to_frame(),
            "orphan_clicks": pl.concat(orphans),
            "ambiguous": self._ambiguous.alias("search_id").to_frame(),
        }
        content = BatchContent(sessioniser.closed_table(), sessioniser.open_table(), frames, info)
        sessioniser.start_afresh()
        return content
