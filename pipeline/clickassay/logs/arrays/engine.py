"""A log to its pattern table, batch by batch, on arrays."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import EngineError, InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import OF_DWELL_TIMES, Settings
from clickassay.core.text.words import first_line
from clickassay.inputs.files import READ_ERRORS, reading_remedy
from clickassay.logs.arrays.actions import (
    LEFT_OUT,
    SATISFIED,
    SATISFIED_IF_FOLLOWED,
    Actions,
    masks_of_events,
    masks_of_one,
)
from clickassay.logs.arrays.carry_over import CarryOver, new_search_ids, orphan_clicks
from clickassay.logs.arrays.clean_searches import counted_once
from clickassay.logs.arrays.clicks import AttributedClicks, ClickReader, attributed_clicks
from clickassay.logs.arrays.columns import Flags, ReadClicks, Rows, Searches
from clickassay.logs.arrays.normalise_urls import Urls
from clickassay.logs.arrays.outcomes import GivenOutcomes, derived_outcomes
from clickassay.logs.arrays.patterns import PatternCounts
from clickassay.logs.arrays.read_searches import SearchReader
from clickassay.logs.arrays.search_ids import AmbiguousIds
from clickassay.logs.arrays.sessions import Formed, placed_in_sessions, sessions
from clickassay.logs.arrays.shown import LogTexts, Queries, ShownLists
from clickassay.logs.arrays.signals import satisfied_clicks, searches_before_clicks
from clickassay.logs.arrays.visits import VisitLimits, Visits, visits
from clickassay.logs.sql.steps import end_of_times
from clickassay.patterns.funnel import LogFunnel, shows_both_ways
from clickassay.patterns.health import LogCounts
from clickassay.patterns.table import StagedTable


class ArraySessioniser:
    """Adds up the pattern table of a log, one batch after the other, in order of time.

    ids: search ids over the whole log, as far as they are known.
    has_signals: whether clicks have actions, or satisfied clicks are a signal.
    judged_queries: market (null = every market), query: sessions of other queries are only counted.
    keeps_ids: whether `new_ids` are wanted.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        by_url: bool,
        ids: AmbiguousIds,
        has_signals: bool = False,
        outcomes: pl.DataFrame | None = None,
        judged_queries: pl.DataFrame | None = None,
        keeps_ids: bool = False,
    ) -> None:
        self._settings, self._by_url, self._ids = settings, by_url, ids
        self._only_judged = judged_queries is not None
        urls = Urls(normalise=settings.normalise_urls)
        self.shown = LogTexts(Queries(judged_queries), ShownLists(settings.stored_depth), urls)
        end_ms = end_of_times(settings)
        self.searches = SearchReader(
            self.shown, folds=settings.folds, only_judged=self._only_judged, end_ms=end_ms
        )
        self.actions = Actions(settings) if has_signals else None
        self._outcomes = None if outcomes is None else GivenOutcomes(outcomes)
        self._satisfied = has_signals and "satisfied" in settings.signal
        self._clicks = ClickReader(urls, by_url=by_url, end_ms=end_ms, actions=self.actions)
        self.carry_over: CarryOver | None = None
        self._keeps_ids, self.new_ids = keeps_ids, pl.Series("id", [], dtype=pl.Int64)
        self._new_clicks: dict[str, Any] = {}
        self._new_actions: list[ActionRow] = []
        self.start_afresh()

    def start_afresh(self) -> None:
        """Begin new sums; texts stay known, and open visits."""
        self.funnel, self._health = LogFunnel(self._settings.stored_depth), LogCounts()
        self._closed = PatternCounts(self.shown, self._settings)
        self._open = PatternCounts(self.shown, self._settings)

    def take_up(self, searches: pl.DataFrame, clicks: pl.DataFrame) -> None:
        """Carry over rows, as they were read, of the part of the log before."""
        read, _ = self.searches.read(searches.lazy(), _unreported)
        clicked, *_ = self._clicks.read(clicks.lazy(), _unreported)
        read.carried[:] = clicked.clicks.carried[:] = True
        self.carry_over = CarryOver(read, clicked)

    def add(
        self,
        searched: pl.LazyFrame,
        clicked: pl.LazyFrame,
        watermark_ms: int,
        report: Callable[[int, int], None],
        progress: Progress = silent,
    ) -> None:
        """Count a batch.

        searched, clicked: rows in canonical types that no earlier batch has read.
        watermark_ms: no row of a later batch is older (ms since 1970, UTC).
        report: called with numbers of searches and clicks read since.

        Raises InputError if a file cannot be read to its end; EngineError if a check of the step fails.
        """
        with _translated_errors():
            searches, faults = self.searches.read(
                searched,
                lambda read: report(read, 0),
                None if self.carry_over is None else self.carry_over.searches,
                self._health,
            )
            read, others = self._read_clicks(clicked, report)
        progress(Event("forming sessions"))
        settings, shown = self._settings, self.shown
        per_query = settings.idle_scope == "query"
        limits = VisitLimits(
            settings.idle_ms,
            watermark_ms,
            per_query,
            every=(self._satisfied and per_query) or "reformulated" in settings.outcome,
        )
        counts = counted_once(searches, self._ids.repeated, shown)
        placed = self._attributed(read, searches, counts)
        early = searches_before_clicks(searches, read.clicks, placed) if self._satisfied else None
        in_visits = visits(searches, counts, shown.pairs(searches), read.clicks, placed, limits, early)
        made = sessions(searches, counts, in_visits, placed, shown)
        formed = Formed(searches, counts, read, placed, in_visits, made)
        self._count_searches(searches, faults, counts)
        self._count_clicks(formed, limits.open_ms)
        self._open = PatternCounts(shown, settings)
        for sums, chosen in ((self._closed, ~made.is_open), (self._open, made.is_open)):
            rows = np.flatnonzero(chosen)
            sums.add(searches, made.first[rows], made.mask[rows])
        if self._keeps_ids:
            self.new_ids = new_search_ids(searches)
        again = _read_again(read, placed, in_visits, limits)
        if others is not None:
            acted = self._attributed(others, searches, counts)
            kind = self._kinds(others, acted)
            self._count_actions(others, acted, kind, in_visits.is_open.take(acted.search), limits.open_ms)
            search, place = placed_in_sessions(searches, made.first_of, acted, shown)
            is_signal = kind > LEFT_OUT
            events = (search[is_signal], kind[is_signal], place[is_signal])
            for signal, first, masks in masks_of_events(len(searches), *events):
                self._add_masks(signal, first, masks, formed)
            again = ReadClicks.concat([again, _read_again(others, acted, in_visits, limits)])
        if self._satisfied:
            satisfied, by_last, counted = satisfied_clicks(formed, settings, by_url=self._by_url)
            self.funnel.count_dwell_times(counted)
            kinds = {SATISFIED: satisfied}
            if settings.last_click == "satisfied":
                kinds[SATISFIED_IF_FOLLOWED] = satisfied & ~by_last
            for one, chosen in kinds.items():
                of_one = masks_of_one(len(searches), made.search[chosen], made.place[chosen])
                self._add_masks(one, *of_one, formed)
        if self._outcomes is not None:
            self._add_outcomes(self._outcomes, formed)
        open_searches = searches.take(np.flatnonzero(in_visits.is_open))
        open_searches.carried[:] = again.clicks.carried[:] = True
        self.carry_over = CarryOver(open_searches, again)

    def _add_outcomes(self, given: GivenOutcomes, formed: Formed) -> None:
        counted: list[tuple[str, bool, int]] = []
        for name, first, values, rows in given.of_sessions(formed, self._ids.known):
            counted += [(name, may_change, number) for may_change, number in rows.items() if number]
            for sums, chosen in self._closed_and_open(formed, first):
                sums.add_outcome(name, formed.searches, first[chosen], values[chosen])
        self.funnel.count_outcomes(counted)
        for name, first in derived_outcomes(formed, self._settings):
            for sums, chosen in self._closed_and_open(formed, first):
                sums.add_ones(name, formed.searches, first[chosen])

    def _attributed(self, read: ReadClicks, searches: Searches, counts: Flags) -> AttributedClicks:
        return attributed_clicks(
            read.clicks,
            searches,
            counts,
            self.shown,
            self._ids.known,
            self._settings.idle_ms,
            by_url=self._by_url,
        )

    def _read_clicks(
        self, rows: pl.LazyFrame, report: Callable[[int, int], None]
    ) -> tuple[ReadClicks, ReadClicks | None]:
        carried, self.carry_over = self.carry_over, None
        every, faults, of_actions = self._clicks.read(
            rows, lambda read: report(0, read), None if carried is None else carried.clicks, self._health
        )
        read, others = self._clicks.split(every)
        if others is not None:
            before = int(others.clicks.carried.sum())
            self._new_actions = [
                ("carried", "", False, before),
                ("usable", "", False, len(others.clicks) - before),
                *(("rejected", reason, False, rows) for reason, rows in of_actions.items()),
            ]
        old = int(read.clicks.carried.sum())
        new = len(read.clicks) - old
        self._new_clicks = {"read": new + faults.total(), "carried": old, "rejected": faults}
        return read, others

    def _count_searches(self, searches: Searches, faults: Counter[str], counts: Flags) -> None:
        shown, none = self.shown, np.zeros(len(searches), bool)
        left_out = ~shown.queries.is_kept.values.take(searches.query) if self._only_judged else none
        shortened, merged = (
            flags.values.take(searches.list) if shown.lists.any_repeats else none
            for flags in (shown.lists.repeats, shown.lists.merged)
        )

        def new(chosen: Flags) -> int:
            return int((chosen & counts).sum()) - int((chosen & searches.carried).sum())

        usable = len(searches) - int(searches.carried.sum())
        self.funnel.count_searches(
            read=usable + faults.total(), rejected=faults, usable=usable, kept=new(~none),
            left_out=new(left_out), shortened=new(shortened), merged=new(merged),
        )  # fmt: skip

    def _count_clicks(self, formed: Formed, open_ms: int) -> None:
        searches, placed, made = formed.searches, formed.placed, formed.sessions
        is_open = formed.visits.is_open.take(placed.search)
        by_kind = np.bincount(2 * is_open + placed.misplaced, minlength=4).tolist()
        self.funnel.count_clicks(
            **self._new_clicks,
            outcomes=[
                (True, False, False, False, placed.ambiguous),
                (False, False, False, False, placed.out_of_time),
                *(
                    (False, True, bool(kind & 2), bool(kind & 1), clicks)
                    for kind, clicks in enumerate(by_kind)
                ),
            ],
            orphan_clicks=orphan_clicks(formed.read.clicks, placed.orphans, open_ms),
        )
        on_first_page = (searches.page == 1).take(made.search)
        is_kept = self.shown.queries.is_kept.values.take(searches.query).take(made.search)
        kinds = 4 * made.place.astype(np.int64) + 2 * on_first_page + is_open
        rows: list[tuple[int | None, bool, bool, int]] = []
        for kept in (True, False):
            numbers = np.bincount(kinds[is_kept == kept])
            for kind in np.flatnonzero(numbers).tolist():
                position = (kind // 4 or None) if kept else 0
                rows.append((position, bool(kind & 2), bool(kind & 1), int(numbers[kind])))
        self.funnel.count_positions(rows)

    def _count_actions(
        self, read: ReadClicks, acted: AttributedClicks, kind: Rows, is_open: Flags, open_ms: int
    ) -> None:
        counts = np.bincount(2 * kind + is_open, minlength=2)
        may_come = read.clicks.time[acted.orphans] >= open_ms
        rows: list[ActionRow] = [
            ("unmatched", "", False, acted.ambiguous + acted.out_of_time + int((~may_come).sum())),
            ("unmatched", "", True, int(may_come.sum())),
        ]
        for number in np.flatnonzero(counts).tolist():
            step = ("left out", "") if number // 2 == LEFT_OUT else ("kept", self._signal(number // 2))
            rows.append((*step, bool(number % 2), int(counts[number])))
        self.funnel.count_actions([row for row in (*self._new_actions, *rows) if row[-1]])

    def _kinds(self, read: ReadClicks, acted: AttributedClicks) -> Rows:
        action = read.clicks.action
        if self.actions is None or action is None:
            return np.zeros(len(acted.click), np.int64)
        return self.actions.kinds.take(action.take(acted.click))

    def _signal(self, kind: int) -> str:
        return "" if self.actions is None else self.actions.signal(kind)

    def _add_masks(self, kind: int, first: Rows, masks: Rows, formed: Formed) -> None:
        for sums, chosen in self._closed_and_open(formed, first):
            sums.add_signal(self._signal(kind), formed.searches, first[chosen], masks[chosen])

    def _closed_and_open(self, formed: Formed, first: Rows) -> tuple[tuple[PatternCounts, Flags], ...]:
        """Return sums of closed and of open sessions, with which of some, by first search, they take."""
        is_open = formed.visits.is_open.take(first)
        return (self._closed, ~is_open), (self._open, is_open)

    def closed_table(self) -> StagedTable:
        """Return the pattern table of all closed sessions."""
        return self._table(self._closed, is_open=False)

    def whole_table(self) -> StagedTable:
        """Return the pattern table of a log that was read to its end, with the signals that are shown."""
        no_masks = pl.DataFrame(schema={"click_mask": pl.Int64, "sessions": pl.Int64})
        if not shows_both_ways(self.funnel.frame(no_masks, (), is_open=False)):
            self._closed.forget_signal(OF_DWELL_TIMES[1])
        return self.closed_table()

    def open_table(self) -> StagedTable:
        """Return the pattern table of open sessions, as if the log ended here."""
        return self._table(self._open, is_open=True)

    def _table(self, counts: PatternCounts, *, is_open: bool) -> StagedTable:
        table = counts.table(self.funnel, LogCounts() if is_open else self._health, is_open=is_open)
        has_signals = self.actions is not None and self._settings.signal != ("none",)
        return replace(
            table,
            signals=table.signals if has_signals else None,
            outcomes=None if self._outcomes is None else table.outcomes,
        )


ActionRow = tuple[str, str, bool, int]
"""A row of `LogFunnel.count_actions`."""


def _read_again(
    read: ReadClicks, placed: AttributedClicks, formed: Visits, limits: VisitLimits
) -> ReadClicks:
    """Return the clicks of open visits, and clicks whose search may still come."""
    again = np.zeros(len(read.clicks), bool)
    again[placed.click[formed.is_open[placed.search]]] = True
    again[placed.orphans[read.clicks.time[placed.orphans] >= limits.open_ms]] = True
    return read.take(np.flatnonzero(again))


def _unreported(_rows: int) -> None:
    """Report nothing: carried rows were reported when they were read first."""


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
