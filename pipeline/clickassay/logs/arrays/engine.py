"""A log to its pattern table, batch by batch, on arrays."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import polars as pl

from clickassay.core.errors import EngineError, InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.settings import OF_DWELL_TIMES, Settings
from clickassay.core.text.words import first_line
from clickassay.inputs.files import READ_ERRORS, reading_remedy
from clickassay.logs.arrays.actions import Actions
from clickassay.logs.arrays.columns import ReadClicks, Searches
from clickassay.logs.arrays.forming import Forming, PartCounts, PartOfBatch
from clickassay.logs.arrays.routes import SearchIds, routed
from clickassay.logs.arrays.shown import LogTexts, Queries, ShownLists
from clickassay.logs.arrays.steps.arms import ArmCounts, ArmFinder
from clickassay.logs.arrays.steps.carry_over import CarryOver, orphan_clicks
from clickassay.logs.arrays.steps.clicks import ClickReader
from clickassay.logs.arrays.steps.normalise_urls import Urls
from clickassay.logs.arrays.steps.outcomes import GivenOutcomes
from clickassay.logs.arrays.steps.patterns import PatternCounts
from clickassay.logs.arrays.steps.read_searches import SearchReader
from clickassay.logs.arrays.steps.search_ids import AmbiguousIds
from clickassay.logs.arrays.steps.teams import NumberedDrafts, TeamCounts
from clickassay.logs.arrays.table import pattern_table
from clickassay.logs.arrays.workers import Workers
from clickassay.logs.assignments import Assignments
from clickassay.logs.sql.steps import end_of_times
from clickassay.patterns.funnel import LogFunnel, TeamRow, shows_both_ways
from clickassay.patterns.health import LogCounts
from clickassay.patterns.table import StagedTable, give_back


@dataclass(frozen=True)
class ReadBatch:
    """The rows of a batch as numbers; nothing of them is counted yet."""

    searches: list[list[Searches]]  # By the part of their users, in pieces.
    clicks: list[ReadClicks]  # In pieces.
    usable: tuple[int, int]  # Clicks, and rows with another action.
    # Unusable rows by reason: searches, clicks, and rows with another action.
    rejected: tuple[Counter[str], Counter[str], Counter[str]]
    health: tuple[LogCounts, LogCounts]
    empty: list[list[Searches]]  # Likewise searches without results that count in A/B tests.
    teams: list[TeamRow]  # What became of searches that name rankers.


class ArraySessioniser:
    """Adds up the pattern table of a log, one batch after the other, in order of time.

    ids: search ids over the whole log, as far as they are known.
    parts: into how many (a power of two, at most 64) users are cut, for threads: none needs another.
    has_signals: whether clicks have actions, or satisfied clicks are a signal.
    has_teams: whether searches name the ranker of each result.
    judged_queries: market (null = every), query: sessions of others are only counted.
    """

    def __init__(  # noqa: PLR0913 - all that a log may have
        self,
        settings: Settings,
        workers: Workers,
        *,
        by_url: bool,
        ids: AmbiguousIds,
        parts: int,
        has_signals: bool = False,
        has_teams: bool = False,
        outcomes: pl.DataFrame | None = None,
        judged_queries: pl.DataFrame | None = None,
        assignments: Assignments | None = None,
    ) -> None:
        self.arms = None if assignments is None else ArmFinder(assignments)
        self.drafts = NumberedDrafts(settings.tests) if has_teams else None
        self._settings, self._workers, self._ids, self._parts = settings, workers, ids, parts
        urls = Urls(normalise=settings.normalise_urls)
        self.shown = LogTexts(Queries(judged_queries), ShownLists(settings.stored_depth), urls)
        end_ms = end_of_times(settings)
        self.searches = SearchReader(
            self.shown, folds=settings.folds, end_ms=end_ms, parts=parts, arms=self.arms, drafts=self.drafts
        )
        self.actions = Actions(settings) if has_signals else None
        self._outcomes = None if outcomes is None else GivenOutcomes(outcomes)
        self._clicks = ClickReader(urls, by_url=by_url, end_ms=end_ms, actions=self.actions)
        self._forming = Forming(
            settings, self.shown, ids, self._clicks,
            by_url=by_url, actions=self.actions, outcomes=self._outcomes, drafts=self.drafts,
        )  # fmt: skip
        self._carried: tuple[list[Searches], ReadClicks] | None = None
        self.new_ids = pl.Series("id", [], dtype=pl.Int64)
        self.start_afresh()

    def start_afresh(self) -> None:
        """Begin new sums; texts stay known, and open visits."""
        self.funnel, self._health = LogFunnel(self._settings.stored_depth), LogCounts()
        self._closed, self._open = self._no_sums(), self._no_sums()

    def _no_sums(self) -> list[PatternCounts]:
        def counts() -> PatternCounts:
            arms = None if self.arms is None else ArmCounts(self.arms, self._settings)
            teams = None if self.drafts is None else TeamCounts(self.drafts, self._settings)
            return PatternCounts(self.shown, self._settings, arms, teams)

        return [counts() for _ in range(self._parts)]

    def take_up(self, searches: pl.DataFrame, clicks: pl.DataFrame) -> None:
        """Carry over rows, as they were read, of the part of the log before."""
        batch = self.read(searches.lazy(), clicks.lazy(), lambda _searches, _clicks: None)
        carried = [Searches.concat(pieces) for pieces in batch.searches]
        self._carry_over(carried, ReadClicks.concat(batch.clicks))

    def _carry_over(self, searches: list[Searches], clicks: ReadClicks) -> None:
        for carried in (*(rows.carried for rows in searches), clicks.clicks.carried):
            carried[:] = True
        self._carried = searches, clicks

    @property
    def carry_over(self) -> CarryOver | None:
        """What the next batch needs of those before; None if there are none."""
        if self._carried is None:
            return None
        searches, clicks = self._carried
        return CarryOver(Searches.concat(searches), clicks)

    def end(self) -> None:
        """Free what only a later batch would need."""
        self._carried = None
        self.shown.forget_keys()
        give_back()

    def read(
        self, searched: pl.LazyFrame, clicked: pl.LazyFrame, report: Callable[[int, int], None]
    ) -> ReadBatch:
        """Read a batch, rows that no earlier one has read, while the one before may still be added.

        report: called with numbers of searches and clicks read since. Raises InputError if a file is cut.
        """
        with _translated_errors():
            searches, faults, health = self.searches.read(
                searched, self._workers, lambda rows: report(rows, 0)
            )
            clicks, usable, rejected, days = self._clicks.read(
                clicked, self._workers, lambda rows: report(0, rows)
            )
        teams = [] if self.drafts is None else [*self.drafts.take_counts()]
        empty = self.searches.take_empty()
        return ReadBatch(searches, clicks, usable, (faults, *rejected), (health, days), empty, teams)

    def add(self, batch: ReadBatch, watermark_ms: int) -> None:
        """Count a batch; no later row is older than `watermark_ms` (UTC). EngineError if a check fails."""
        with _translated_errors():
            self._add(batch, watermark_ms)

    def _add(self, batch: ReadBatch, watermark_ms: int) -> None:
        workers, forming = self._workers, self._forming
        pieces, clicks = batch.searches, batch.clicks
        if self._carried is not None:
            pieces = [[old, *new] for old, new in zip(self._carried[0], pieces, strict=True)]
            clicks = [self._clicks.resolved_again(self._carried[1]), *clicks]
        parts = workers.map(forming.searches_of_part, pieces)
        ids = SearchIds(parts, self._ids.known, workers)
        routes = workers.map(lambda piece: routed(piece, ids), clicks)
        del pieces, clicks  # the rows are held by part from here on
        batch.searches.clear()
        batch.clicks.clear()
        given = self._outcomes.by_part(ids) if self._outcomes is not None else [{} for _ in parts]
        self._open = self._no_sums()
        works = [
            PartOfBatch(
                *part, [route.parts[number] for route in routes], given[number], batch.empty[number], *sums
            )
            for number, (part, *sums) in enumerate(zip(parts, self._closed, self._open, strict=True))
        ]
        formed = workers.map(lambda part: forming.form(part, watermark_ms), works)
        orphans, ambiguous = (
            ReadClicks.concat([getattr(route, name) for route in routes]) for name in ("orphans", "ambiguous")
        )
        open_ms = watermark_ms - self._settings.idle_ms
        self._count(batch, [part.counts for part in formed], orphans, ambiguous, open_ms)
        late = orphans.take(np.flatnonzero(orphans.clicks.time >= open_ms))
        again = ReadClicks.concat([late, *(part.clicks for part in formed)])
        self._carry_over([part.searches for part in formed], again)
        new_ids = [part.new_ids for part in formed if part.new_ids is not None]
        if new_ids:
            self.new_ids = pl.concat(new_ids).unique().sort()

    def _count(
        self,
        batch: ReadBatch,
        parts: list[PartCounts],
        orphans: ReadClicks,
        ambiguous: ReadClicks,
        open_ms: int,
    ) -> None:
        """Count what was read of a batch, what became of its parts, and clicks without a search."""
        for counts in batch.health:
            self._health.add(counts)
        no_searches, no_clicks, no_actions = batch.rejected
        steps = ("usable", "kept", "left_out", "shortened", "merged")
        summed = {step: sum(getattr(part, step) for part in parts) for step in steps}
        read = summed["usable"] + no_searches.total()
        self.funnel.count_searches(read=read, rejected=no_searches, **summed)
        carried = [0, 0] if self._carried is None else self._numbers(self._carried[1])
        (lost, lost_actions), (ambiguous_clicks, ambiguous_actions) = map(
            self._clicks.split, (orphans, ambiguous)
        )
        self.funnel.count_clicks(
            read=batch.usable[0] + no_clicks.total(),
            carried=carried[0],
            rejected=no_clicks,
            outcomes=[
                (True, False, False, False, len(ambiguous_clicks.clicks)),
                *chain(*(part.clicks for part in parts)),
            ],
            orphan_clicks=orphan_clicks(lost.clicks, open_ms),
        )
        self.funnel.count_positions(chain(*(part.positions for part in parts)))
        self.funnel.count_dwell_times(chain(*(part.dwell_times for part in parts)))
        self.funnel.count_outcomes(chain(*(part.outcomes for part in parts)))
        self.funnel.count_teams(chain(batch.teams, *(part.teams for part in parts)))
        if lost_actions is None or ambiguous_actions is None:
            return
        may_come = int((lost_actions.clicks.time >= open_ms).sum())
        never = len(lost_actions.clicks) - may_come + len(ambiguous_actions.clicks)
        rows = [
            ("carried", "", False, carried[1]),
            ("usable", "", False, batch.usable[1]),
            *(("rejected", reason, False, rows) for reason, rows in no_actions.items()),
            ("unmatched", "", False, never),
            ("unmatched", "", True, may_come),
            *chain(*(part.actions for part in parts)),
        ]
        self.funnel.count_actions([row for row in rows if row[-1]])

    def _numbers(self, read: ReadClicks) -> tuple[int, int]:
        clicks = int(self._clicks.are_clicks(read.clicks).sum())
        return clicks, len(read.clicks) - clicks

    def closed_table(self) -> StagedTable:
        """Return the pattern table of all closed sessions."""
        return self._table(self._closed, is_open=False)

    def whole_table(self) -> StagedTable:
        """Return the pattern table of a log that was read to its end, with the signals that are shown."""
        no_masks = pl.DataFrame(schema={"click_mask": pl.Int64, "sessions": pl.Int64})
        if not shows_both_ways(self.funnel.frame(no_masks, (), is_open=False)):
            for sums in self._closed:
                sums.drop_signal(OF_DWELL_TIMES[1])
        return self.closed_table()

    def open_table(self) -> StagedTable:
        """Return the pattern table of open sessions, as if the log ended here."""
        return self._table(self._open, is_open=True)

    def _table(self, sums: list[PatternCounts], *, is_open: bool) -> StagedTable:
        health = LogCounts() if is_open else self._health
        table = pattern_table(sums, self.shown, self._workers, self.funnel, health, is_open=is_open)
        has_signals = self.actions is not None and self._settings.signal != ("none",)
        return replace(
            table,
            signals=table.signals if has_signals else None,
            outcomes=None if self._outcomes is None else table.outcomes,
        )


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except READ_ERRORS as error:
        if "KeyboardInterrupt" in str(error):  # Ctrl-C while Polars reads
            raise KeyboardInterrupt from None
        refuse_machine_fault("the log", error)
        remedy = reading_remedy(error, "check that the files are complete")
        raise InputError(f"cannot read the log: {first_line(error)}; {remedy}") from error
    except MemoryError as error:
        raise EngineError(
            "not enough memory; use a smaller --memory-limit or --batch, or --engine duckdb, which "
            "spills to disk"
        ) from error
