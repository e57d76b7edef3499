"""The sessions of a part of the users of a batch, formed and counted (method 3 and 4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from clickassay.core.numbering import Rows, Small
from clickassay.core.settings import Settings
from clickassay.logs.arrays.actions import (
    LEFT_OUT,
    SATISFIED,
    SATISFIED_IF_FOLLOWED,
    Actions,
    masks_of_events,
    masks_of_one,
)
from clickassay.logs.arrays.columns import Flags, ReadClicks, Searches
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.carry_over import new_search_ids
from clickassay.logs.arrays.steps.clean_searches import counted_once
from clickassay.logs.arrays.steps.clicks import AttributedClicks, ClickReader, attributed_clicks
from clickassay.logs.arrays.steps.outcomes import Found, GivenOutcomes, derived_outcomes
from clickassay.logs.arrays.steps.patterns import PatternCounts
from clickassay.logs.arrays.steps.search_ids import AmbiguousIds
from clickassay.logs.arrays.steps.sessions import Formed, placed_in_sessions, sessions
from clickassay.logs.arrays.steps.signals import satisfied_clicks, searches_before_clicks
from clickassay.logs.arrays.steps.teams import NumberedDrafts, drafts_of_sessions
from clickassay.logs.arrays.steps.visits import VisitLimits, Visits, visits
from clickassay.patterns.funnel import TeamRow

ActionRow = tuple[str, str, bool, int]
"""A row of `LogFunnel.count_actions`."""


@dataclass(frozen=True)
class PartOfBatch:
    """The rows of a part of the users."""

    # searches, counts: Its searches, and which of them count; the others are repeated deliveries.
    searches: Searches
    counts: Flags
    clicks: Sequence[tuple[ReadClicks, Small]]  # In pieces, each with the rows of their searches.
    given: Found  # Outcomes that were given for its searches.
    empty: Sequence[Searches]  # Its searches without results, where they count, in pieces.
    # Sums of sessions that can grow no more, and of those that may.
    closed: PatternCounts
    opened: PatternCounts


@dataclass
class PartCounts:
    """What is counted of a part, as the methods of `LogFunnel` take it."""

    usable: int  # New searches.
    kept: int  # Those of them that are no repeated delivery; the next three are among these.
    left_out: int
    shortened: int
    merged: int
    clicks: list[tuple[bool, bool, bool, bool, int]] = field(default_factory=list)
    positions: list[tuple[int | None, bool, bool, int]] = field(default_factory=list)
    actions: list[ActionRow] = field(default_factory=list)
    dwell_times: list[tuple[str, bool, int]] = field(default_factory=list)
    outcomes: list[tuple[str, bool, int]] = field(default_factory=list)
    teams: list[TeamRow] = field(default_factory=list)


@dataclass(frozen=True)
class FormedPart:
    """What comes of a part: its counts, and what the next batch needs."""

    counts: PartCounts
    searches: Searches  # Of visits that may still grow.
    clicks: ReadClicks  # Their clicks.
    new_ids: pl.Series | None  # Digests of search ids that no earlier batch has read, if wanted.


class Forming:
    """Forms the sessions of parts; several threads may do so at a time."""

    def __init__(
        self,
        settings: Settings,
        shown: LogTexts,
        ids: AmbiguousIds,
        clicks: ClickReader,
        *,
        by_url: bool,
        actions: Actions | None,
        outcomes: GivenOutcomes | None,
        drafts: NumberedDrafts | None,
    ) -> None:
        self._settings, self._shown, self._ids, self._clicks = settings, shown, ids, clicks
        self._by_url, self._actions, self._outcomes, self._drafts = by_url, actions, outcomes, drafts
        self._satisfied = actions is not None and "satisfied" in settings.signal

    def searches_of_part(self, pieces: Sequence[Searches]) -> tuple[Searches, Flags]:
        """Return the searches of a part, and which of them count."""
        searches = Searches.concat(pieces)
        return searches, counted_once(searches, self._ids.repeated, self._shown, self._drafts)

    def form(self, part: PartOfBatch, watermark_ms: int) -> FormedPart:
        """Form the sessions of a part, and add them to its sums."""
        settings, shown, searches, counts = self._settings, self._shown, part.searches, part.counts
        per_query = settings.idle_scope == "query"
        limits = VisitLimits(
            settings.idle_ms,
            watermark_ms,
            per_query,
            every=(self._satisfied and per_query) or "reformulated" in settings.outcome,
        )
        read, others, placed, acted = self._attributed(part)
        early = searches_before_clicks(searches, read.clicks, placed) if self._satisfied else None
        in_visits = visits(searches, counts, shown.pairs(searches), read.clicks, placed, limits, early)
        made = sessions(searches, counts, in_visits, placed, shown)
        formed = Formed(searches, counts, read, placed, in_visits, made)
        found = self._counted_searches(searches, counts)
        if self._drafts is not None:
            drafted, found.teams = drafts_of_sessions(searches, counts, made, self._drafts, shown)
            part = replace(part, searches=drafted)
        self._count_clicks(formed, found)
        for sums, chosen in ((part.closed, ~made.is_open), (part.opened, made.is_open)):
            rows = np.flatnonzero(chosen)
            sums.add(part.searches, made.first[rows], made.mask[rows])
        if part.empty and part.closed.arms is not None:
            part.closed.arms.add_empty(Searches.concat(part.empty))
        again = [_read_again(read, placed, in_visits)]
        if others is not None and acted is not None:
            kind = self._kinds(others, acted)
            found.actions = self._counted_actions(acted, kind, in_visits.is_open.take(acted.search))
            search, place = placed_in_sessions(searches, made.first_of, acted, shown)
            is_signal = kind > LEFT_OUT
            events = (search[is_signal], kind[is_signal], place[is_signal])
            for signal, first, masks in masks_of_events(len(searches), *events):
                self._add_masks(signal, first, masks, part, in_visits)
            again.append(_read_again(others, acted, in_visits))
        if self._satisfied:
            satisfied, by_last, found.dwell_times = satisfied_clicks(formed, settings, by_url=self._by_url)
            kinds = {SATISFIED: satisfied}
            if settings.last_click == "satisfied":
                kinds[SATISFIED_IF_FOLLOWED] = satisfied & ~by_last
            for one, chosen in kinds.items():
                of_one = masks_of_one(len(searches), made.search[chosen], made.place[chosen])
                self._add_masks(one, *of_one, part, in_visits)
        if self._outcomes is not None:
            found.outcomes = self._add_outcomes(self._outcomes, part, formed)
        return FormedPart(
            found,
            searches.take(np.flatnonzero(in_visits.is_open)),
            ReadClicks.concat(again),
            new_search_ids(searches) if self._ids.keeps_new else None,
        )

    def _attributed(
        self, part: PartOfBatch
    ) -> tuple[ReadClicks, ReadClicks | None, AttributedClicks, AttributedClicks | None]:
        every = ReadClicks.concat([clicks for clicks, _ in part.clicks])
        rows = np.concatenate([searches for _, searches in part.clicks])
        idle_ms, by_url = self._settings.idle_ms, self._by_url

        def placed(read: ReadClicks, row: Small) -> AttributedClicks:
            return attributed_clicks(read.clicks, row, part.searches, self._shown, idle_ms, by_url=by_url)

        if self._actions is None:
            return every, None, placed(every, rows), None
        is_click = self._clicks.are_clicks(every.clicks)
        read, others = every.split(is_click)
        return read, others, placed(read, rows[is_click]), placed(others, rows[~is_click])

    def _add_outcomes(
        self, given: GivenOutcomes, part: PartOfBatch, formed: Formed
    ) -> list[tuple[str, bool, int]]:
        counted: list[tuple[str, bool, int]] = []
        searches, in_visits = formed.searches, formed.visits
        for name, first, values, rows in given.of_sessions(formed, part.given):
            counted += [(name, may_change, number) for may_change, number in rows.items() if number]
            for sums, chosen in _closed_and_open(part, first, in_visits):
                sums.add_outcome(name, searches, first[chosen], values[chosen])
        for name, first in derived_outcomes(formed, self._settings):
            for sums, chosen in _closed_and_open(part, first, in_visits):
                sums.add_one(name, searches, first[chosen])
        return counted

    def _counted_searches(self, searches: Searches, counts: Flags) -> PartCounts:
        shown, none = self._shown, np.zeros(len(searches), bool)
        queries, lists = shown.queries, shown.lists
        left_out = ~queries.is_kept.values.take(searches.query) if queries.only_judged else none
        shortened, merged = (
            flags.values.take(searches.list) if lists.any_repeats else none
            for flags in (lists.repeats, lists.merged)
        )

        def new(chosen: Flags) -> int:
            return int((chosen & counts).sum()) - int((chosen & searches.carried).sum())

        return PartCounts(
            usable=len(searches) - int(searches.carried.sum()),
            kept=new(~none),
            left_out=new(left_out),
            shortened=new(shortened),
            merged=new(merged),
        )

    def _count_clicks(self, formed: Formed, found: PartCounts) -> None:
        searches, placed, made = formed.searches, formed.placed, formed.sessions
        is_open = formed.visits.is_open.take(placed.search)
        by_kind = np.bincount(2 * is_open + placed.misplaced, minlength=4).tolist()
        found.clicks = [
            (False, False, False, False, placed.out_of_time),
            *((False, True, bool(kind & 2), bool(kind & 1), clicks) for kind, clicks in enumerate(by_kind)),
        ]
        on_first_page = (searches.page == 1).take(made.search)
        is_kept = self._shown.queries.is_kept.values.take(searches.query).take(made.search)
        kinds = 4 * made.place.astype(np.int64) + 2 * on_first_page + is_open
        for kept in (True, False):
            numbers = np.bincount(kinds[is_kept == kept])
            for kind in np.flatnonzero(numbers).tolist():
                position = (kind // 4 or None) if kept else 0
                found.positions.append((position, bool(kind & 2), bool(kind & 1), int(numbers[kind])))

    def _counted_actions(self, acted: AttributedClicks, kind: Rows, is_open: Flags) -> list[ActionRow]:
        counts = np.bincount(2 * kind + is_open, minlength=2)
        rows: list[ActionRow] = [("unmatched", "", False, acted.out_of_time)]
        for number in np.flatnonzero(counts).tolist():
            step = ("left out", "") if number // 2 == LEFT_OUT else ("kept", self._signal(number // 2))
            rows.append((*step, bool(number % 2), int(counts[number])))
        return rows

    def _kinds(self, read: ReadClicks, acted: AttributedClicks) -> Rows:
        action = read.clicks.action
        if self._actions is None or action is None:
            return np.zeros(len(acted.click), np.int64)
        return self._actions.kinds_of(action.take(acted.click))

    def _signal(self, kind: int) -> str:
        return "" if self._actions is None else self._actions.signal(kind)

    def _add_masks(self, kind: int, first: Rows, masks: Rows, part: PartOfBatch, in_visits: Visits) -> None:
        for sums, chosen in _closed_and_open(part, first, in_visits):
            sums.add_signal(self._signal(kind), part.searches, first[chosen], masks[chosen])


def _closed_and_open(
    part: PartOfBatch, first: Rows, in_visits: Visits
) -> Iterator[tuple[PatternCounts, Flags]]:
    """Yield sums of closed and of open sessions, with which of some, by first search, they take."""
    is_open = in_visits.is_open.take(first)
    yield part.closed, ~is_open
    yield part.opened, is_open


def _read_again(read: ReadClicks, placed: AttributedClicks, formed: Visits) -> ReadClicks:
    """Return the clicks of visits that may still grow."""
    again = np.zeros(len(read.clicks), bool)
    again[placed.click[formed.is_open[placed.search]]] = True
    return read.take(np.flatnonzero(again))
