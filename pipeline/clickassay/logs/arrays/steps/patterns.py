"""Click patterns of a part of the users, counted by sorting numbers (method 4)."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from clickassay.core.numbering import Growing, Rows
from clickassay.core.settings import Settings
from clickassay.logs.arrays.columns import Searches
from clickassay.logs.arrays.shown import LogTexts
from clickassay.patterns.sums import BY_DAY, Sums, WordLayout, counted, packed_days

_MOST_PARTS = 16
"""Sums of outcomes that lie side by side before they are added up."""
_DAY_MS = 86_400_000
_MONDAY = 4
"""A day since 1970-01-01 that is a Monday."""


class PatternCounts:
    """Adds up sessions by list, first or later page, fold and click mask, and the buckets of users by query.

    shown: the texts read so far.
    """

    def __init__(self, shown: LogTexts, settings: Settings) -> None:
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

    def add_to(self, to: dict[str, Sums], name: str, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions that have a signal (to `signals`), or an outcome which is 1 (to `ones`)."""
        if len(first):
            folds = searches.bucket.take(first) % self.folds
            words = self.layout.packed(_numbers(searches, first), folds, masks)
            to.setdefault(name, Sums(self.layout)).add(counted(words))

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
        if len(self.outcomes) > _MOST_PARTS:
            self.outcomes = [added_outcomes(self.outcomes)]


def _numbers(searches: Searches, first: Rows) -> Rows:
    numbers: Rows = (searches.list.take(first).astype(np.int64) << 1) | (searches.page.take(first) == 1)
    return numbers


def added_outcomes(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the sums of sums of outcomes, by list, fold and outcome."""
    return pl.concat(parts).group_by("list", "fold", "outcome").agg(pl.all().sum())
