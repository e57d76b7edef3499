"""Click patterns of a part of the users, counted by sorting numbers (method 4)."""

import numpy as np
import polars as pl

from clickassay.core.numbering import Growing, Rows
from clickassay.core.settings import Settings
from clickassay.logs.arrays.columns import Searches
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.arms import MOST_PARTS, ArmCounts, added_outcomes
from clickassay.logs.arrays.steps.teams import TeamCounts
from clickassay.patterns.arms import CLICK
from clickassay.patterns.sums import BY_DAY, Sums, WordLayout, counted, packed_days

_DAY_MS = 86_400_000
ONE = 1000
"""The value 1 of an outcome, in thousandths."""
_MONDAY = 4
"""A day since 1970-01-01 that is a Monday."""


class PatternCounts:
    """Adds up sessions by list, first or later page, fold and click mask, and users' buckets by query.

    arms, teams: counts by arm of A/B tests, and by interleaved rankers; None if there are none.
    """

    def __init__(
        self,
        shown: LogTexts,
        settings: Settings,
        arms: ArmCounts | None = None,
        teams: TeamCounts | None = None,
    ) -> None:
        self.arms, self.teams = arms, teams
        self._shown, self.folds, self.periods = shown, settings.folds, settings.periods
        self.layout = WordLayout(settings.stored_depth, settings.folds)
        self.sums, self.by_day = Sums(self.layout), Sums(BY_DAY)
        self.signals: dict[str, Sums] = {}
        self.outcomes: list[pl.DataFrame] = []
        self.ones: dict[str, Sums] = {}
        self.buckets = Growing(np.uint64)

    def add(self, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions: the rows of their first searches, and their click masks."""
        if not len(first):
            return
        numbers = _numbers(searches, first)
        buckets = searches.bucket.take(first)
        self.sums.add(counted(self.layout.packed(numbers, buckets % self.folds, masks)))
        if self.periods != "none":
            days = searches.time.take(first) // _DAY_MS
            if self.periods == "week":
                days -= (days - _MONDAY) % 7
            self.by_day.add(counted(packed_days(numbers, days)))
        pairs = self._shown.queries.pair.values.take(searches.query.take(first))
        missing = self._shown.queries.pairs - self.buckets.count
        self.buckets.append(np.zeros(missing, np.uint64))
        np.bitwise_or.at(self.buckets.values, pairs, np.uint64(1) << (buckets & 63).astype(np.uint64))
        self._add_to_tests(CLICK, searches, first, masks)

    def add_signal(self, name: str, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions that have a signal."""
        if len(first):
            self._add_to(self.signals, name, searches, first, masks)
            self._add_to_tests(name, searches, first, masks)

    def _add_to_tests(self, signal: str, searches: Searches, first: Rows, masks: Rows) -> None:
        tests = [counts for counts in (self.arms, self.teams) if counts is not None]
        on_first_pages = self._on_first_pages(searches, first, masks) if tests else (first, masks)
        for counts in tests:
            counts.add(signal, searches, *on_first_pages)

    def drop_signal(self, name: str) -> None:
        """Forget the sessions that have a signal."""
        self.signals.pop(name, None)
        of_arms = () if self.arms is None else (self.arms.by_day, self.arms.by_list)
        for sums in (*of_arms, *(() if self.teams is None else (self.teams.sums,))):
            for key in [key for key in sums if key[1] == name]:
                del sums[key]

    def add_one(self, name: str, searches: Searches, first: Rows) -> None:
        """Count sessions that have an outcome which is 1."""
        if len(first):
            self._add_to(self.ones, name, searches, first, np.zeros(len(first), np.int64))
            if self.arms is not None:
                ones = np.full(len(first), ONE, np.int64)
                self.arms.add_outcome(name, searches, *self._on_first_pages(searches, first, ones))

    def _add_to(self, to: dict[str, Sums], name: str, searches: Searches, first: Rows, masks: Rows) -> None:
        words = self.layout.packed(_numbers(searches, first), searches.bucket.take(first) % self.folds, masks)
        to.setdefault(name, Sums(self.layout)).add(counted(words))

    def _on_first_pages(self, searches: Searches, first: Rows, values: Rows) -> tuple[Rows, Rows]:
        """Return the sessions that begin on the first page of a query that is kept, and their values."""
        is_there = searches.page.take(first) == 1
        queries = self._shown.queries
        if queries.only_judged:
            is_there &= queries.is_kept.values.take(searches.query.take(first))
        return first[is_there], values[is_there]

    def add_outcome(self, outcome: str, searches: Searches, first: Rows, values: Rows) -> None:
        """Add up an outcome of sessions: rows of their first searches, and values in thousandths."""
        if not len(first):
            return
        is_first_page = searches.page.take(first) == 1
        columns = {
            "list": searches.list.take(first)[is_first_page].astype(np.int64),
            "fold": (searches.bucket.take(first) % self.folds)[is_first_page].astype(np.int64),
            "value": pl.Series(values[is_first_page]).cast(pl.Int128),
        }
        rows = pl.DataFrame(columns).with_columns(outcome=pl.lit(outcome))
        value = pl.col("value")
        sums = rows.group_by("list", "fold", "outcome").agg(
            sessions=pl.len().cast(pl.Int64), total=value.sum(), total_of_squares=(value * value).sum()
        )
        self.outcomes.append(sums)
        if self.arms is not None:
            self.arms.add_outcome(outcome, searches, *self._on_first_pages(searches, first, values))
        if len(self.outcomes) > MOST_PARTS:
            self.outcomes = [added_outcomes(self.outcomes, "list", "fold")]


def _numbers(searches: Searches, first: Rows) -> Rows:
    numbers: Rows = (searches.list.take(first).astype(np.int64) << 1) | (searches.page.take(first) == 1)
    return numbers
