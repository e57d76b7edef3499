"""Click patterns counted by sorting numbers, and the pattern table made of the counts (method 4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.patterns import OUTCOMES, SIGNALS
from clickassay.core.errors import EngineError
from clickassay.core.settings import Settings
from clickassay.logs.arrays.columns import Growing, Rows, Searches, Small
from clickassay.logs.arrays.shown import LogTexts, lists_of
from clickassay.patterns.digests import configuration_digests, ids_of
from clickassay.patterns.funnel import LogFunnel
from clickassay.patterns.health import LogCounts
from clickassay.patterns.sums import (
    BY_DAY,
    Sums,
    WordLayout,
    counted,
    dates,
    order_of,
    order_of_both,
    packed_days,
)
from clickassay.patterns.table import Pieces, StagedTable, give_back

_PIECE = 10_000
"""Configurations whose texts are put together at a time: they then stay in the cache."""
_ONE = 1000
"""The value 1 of an outcome, in thousandths."""
_MOST_PARTS = 16
"""Sums of outcomes that lie side by side before they are added up."""
_ROWS = 100_000
"""Rows of patterns, or of days, that are put together at a time."""
_DAY_MS = 86_400_000
_MONDAY = 4
"""A day since 1970-01-01 that is a Monday."""


class PatternCounts:
    """Adds up sessions by list, first or later page, fold and click mask, and the buckets of users by query.

    shown: the texts read so far.
    """

    def __init__(self, shown: LogTexts, settings: Settings) -> None:
        self._shown, self._folds, self._periods = shown, settings.folds, settings.periods
        self._layout = WordLayout(settings.stored_depth, settings.folds)
        self._sums, self._by_day = Sums(self._layout), Sums(BY_DAY)
        self._signals: dict[str, Sums] = {}
        self._outcomes: list[pl.DataFrame] = []
        self._ones: dict[str, Sums] = {}
        self._buckets = Growing(np.uint64)

    def add(self, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions: the rows of their first searches, and their click masks."""
        if not len(first):
            return
        numbers = _numbers(searches, first)
        buckets = searches.bucket.take(first)
        self._sums.add(counted(self._layout.packed(numbers, buckets % self._folds, masks)))
        if self._periods != "none":
            days = searches.time.take(first) // _DAY_MS
            if self._periods == "week":
                days -= (days - _MONDAY) % 7
            self._by_day.add(counted(packed_days(numbers, days)))
        pairs = self._shown.queries.pair.values.take(searches.query.take(first))
        missing = len(self._shown.queries.normal_texts) - self._buckets.count
        self._buckets.append(np.zeros(missing, np.uint64))
        np.bitwise_or.at(self._buckets.values, pairs, np.uint64(1) << (buckets & 63).astype(np.uint64))

    def forget_signal(self, signal: str) -> None:
        """Leave a signal out of the tables."""
        self._signals.pop(signal, None)

    def add_signal(self, signal: str, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions that have a signal, as `add` counts all."""
        self._add(self._signals, signal, searches, first, masks)

    def add_ones(self, outcome: str, searches: Searches, first: Rows) -> None:
        """Count sessions that have an outcome which is 1."""
        self._add(self._ones, outcome, searches, first, np.zeros(len(first), np.int64))

    def _add(self, to: dict[str, Sums], name: str, searches: Searches, first: Rows, masks: Rows) -> None:
        if len(first):
            folds = searches.bucket.take(first) % self._folds
            words = self._layout.packed(_numbers(searches, first), folds, masks)
            to.setdefault(name, Sums(self._layout)).add(counted(words))

    def add_outcome(self, outcome: str, searches: Searches, first: Rows, values: Rows) -> None:
        """Add up an outcome of sessions: rows of their first searches, and values in thousandths."""
        if not len(first):
            return
        is_first_page = searches.page.take(first) == 1
        columns = {
            "list": searches.list.take(first)[is_first_page].astype(np.int64),
            "fold": (searches.bucket.take(first) % self._folds)[is_first_page].astype(np.int64),
            "value": pl.Series(values[is_first_page]).cast(pl.Int128),
        }
        rows = pl.DataFrame(columns).with_columns(outcome=pl.lit(outcome))
        value = pl.col("value")
        sums = rows.group_by("list", "fold", "outcome").agg(
            sessions=pl.len().cast(pl.Int64), total=value.sum(), total_of_squares=(value * value).sum()
        )
        self._outcomes.append(sums)
        if len(self._outcomes) > _MOST_PARTS:
            self._outcomes = [_added(self._outcomes)]

    def table(self, funnel: LogFunnel, health: LogCounts, *, is_open: bool) -> StagedTable:
        """Return the pattern table of all that was added, which is then no longer held.

        funnel, health: counts of the same log; of its sessions that may still grow if `is_open`.
        """
        is_begun, is_shown = np.zeros((2, self._shown.lists.query.count), bool)
        begun = [pl.DataFrame(schema=_BEGUN)]
        for section in self._sums.sections():
            numbers, _, _ = self._layout.unpacked(section)
            starts = np.flatnonzero(np.diff(numbers, prepend=-1))
            lists, on_first_page = numbers[starts] >> 1, (numbers[starts] & 1).astype(bool)
            is_kept = self._shown.lists.query.values.take(lists) >= 0
            is_begun[lists[is_kept]] = is_shown[lists[is_kept & on_first_page]] = True
            sessions = np.add.reduceat(section.sessions, starts, dtype=np.int64)
            of_lists = np.maximum(self._shown.lists.query.values.take(lists), 0)
            out, left_out = np.flatnonzero(~is_kept), self._shown.lists.left_out
            markets = self._shown.queries.texts["market"].gather(of_lists)
            markets = markets.scatter(out, [left_out[number] for number in lists[out].tolist()])
            columns = {"market": markets, "is_kept": is_kept, "first": on_first_page, "sessions": sessions}
            begun.append(_summed([pl.DataFrame(columns, schema=_BEGUN)], "sessions"))
        known = self._shown.queries
        is_used = np.zeros(len(known.normal_texts), bool)
        is_used[known.pair.values.take(self._shown.lists.query.values.take(np.flatnonzero(is_begun)))] = True
        pairs = np.flatnonzero(is_used)
        buckets = pl.Series("user_buckets", self._buckets.values[pairs])
        queries = known.normal_texts[pairs].with_columns(buckets).sort("market", "query")
        configurations = Configurations.of(np.flatnonzero(is_shown), self._shown)
        give_back()
        ranked, masks = self._ranked(self._sums, configurations)
        give_back()
        patterns = Pieces(lambda: _pattern_pieces(ranked, self._layout, configurations))
        by_day, _ = self._ranked(self._by_day, configurations)
        days = Pieces(
            lambda: (
                rows.select("configuration_id", dates(rows["click_mask"]), "sessions")
                for rows in _pattern_pieces(by_day, BY_DAY, configurations)
            )
        )
        return StagedTable(
            configurations=Pieces(configurations.pieces),
            patterns=patterns,
            queries=Pieces.in_memory(queries),
            funnel=funnel.frame(masks, _summed(begun, "sessions").rows(), is_open=is_open),
            info={"stored_depth": self._layout.depth},
            health=health.frame(),
            shown=None if self._periods == "none" else days,
            signals=self._signal_table(configurations),
            outcomes=self._outcome_table(configurations),
        )

    def _signal_table(self, configurations: "Configurations") -> pl.DataFrame:
        names = sorted(self._signals)
        parts = [self._rows_of(self._signals[name], configurations) for name in names]
        if not parts:
            return SIGNALS.empty()
        place, fold, mask, sessions = (np.concatenate(column) for column in zip(*parts, strict=True))
        signal = np.repeat(np.arange(len(names)), [len(part[0]) for part in parts])
        order = order_of_both((place * self._folds + fold) * len(names) + signal, mask)
        ids = ids_of(configurations.digests[: int(place.max(initial=-1)) + 1])
        return pl.DataFrame(
            {
                "configuration_id": ids.gather(place[order]),
                "fold": fold[order].astype(np.int32),
                "signal": pl.Series(names, dtype=pl.String).gather(signal[order]),
                "click_mask": mask[order],
                "sessions": sessions[order],
            }
        )

    def _rows_of(self, sums: Sums, configurations: "Configurations") -> tuple[Rows, Rows, Rows, Rows]:
        ranked, _ = self._ranked(sums, configurations)
        rows = [(*self._layout.unpacked(section), section.sessions) for section in ranked.sections()]
        empty = (np.zeros(0, np.int64),) * 4
        columns = zip(*rows, strict=True) if rows else zip(empty, strict=True)
        place, fold, mask, sessions = (np.concatenate(column).astype(np.int64) for column in columns)
        return place, fold, mask, sessions

    def _outcome_table(self, configurations: "Configurations") -> pl.DataFrame:
        parts = [OUTCOMES.empty()]
        ids = ids_of(configurations.digests)
        for name, sums in self._ones.items():
            place, fold, _, sessions = self._rows_of(sums, configurations)
            rows = {"configuration_id": ids.gather(place), "fold": fold, "sessions": sessions}
            total, squares = pl.col("sessions") * _ONE, pl.col("sessions") * (_ONE * _ONE)
            parts.append(
                pl.DataFrame(rows).with_columns(outcome=pl.lit(name), total=total, total_of_squares=squares)
            )
        if self._outcomes:
            sums_given = _added(self._outcomes)
            ranks = configurations.rank.take(sums_given["list"].to_numpy()).astype(np.int64)
            own = sums_given.filter(pl.Series(ranks >= 0))
            own = own.with_columns(ids.gather(ranks[ranks >= 0]).alias("configuration_id")).drop("list")
            parts.append(own.group_by("configuration_id", "fold", "outcome").agg(pl.all().sum()))
        form = OUTCOMES.empty().schema
        typed = (part.select(pl.col(name).cast(dtype) for name, dtype in form.items()) for part in parts)
        return OUTCOMES.canonical(pl.concat(typed))

    def _ranked(self, sums_of: Sums, configurations: "Configurations") -> tuple[Sums, pl.DataFrame]:
        layout = sums_of.layout
        ranked, by_mask = Sums(layout), [pl.DataFrame(schema=_MASKS)]
        for section in sums_of.sections(drained=True):
            numbers, folds, masks = layout.unpacked(section)
            ranks = configurations.rank.take(numbers >> 1)
            rows = np.flatnonzero((ranks >= 0) & (numbers & 1 == 1))
            words = layout.packed(ranks.take(rows), folds.take(rows), masks.take(rows))
            sums = counted(words, section.sessions.take(rows))
            ranked.add(sums)
            columns = {"click_mask": layout.unpacked(sums)[2], "sessions": sums.sessions}
            by_mask.append(_summed([pl.DataFrame(columns, schema=_MASKS)], "sessions"))
        return ranked, _summed(by_mask, "sessions")


def _numbers(searches: Searches, first: Rows) -> Rows:
    numbers: Rows = (searches.list.take(first).astype(np.int64) << 1) | (searches.page.take(first) == 1)
    return numbers


_MASKS = {"click_mask": pl.Int64, "sessions": pl.Int64}
_BEGUN = {"market": pl.String, "is_kept": pl.Boolean, "first": pl.Boolean, "sessions": pl.Int64}


def _summed(frames: Sequence[pl.DataFrame], what: str) -> pl.DataFrame:
    return pl.concat(frames).group_by(pl.exclude(what)).agg(pl.col(what).sum())


def _added(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).group_by("list", "fold", "outcome").agg(pl.all().sum())


def _pattern_pieces(
    ranked: Sums, layout: WordLayout, configurations: "Configurations"
) -> Iterator[pl.DataFrame]:
    for section in ranked.sections():
        places, folds, masks = layout.unpacked(section)
        first = int(places[0])
        ids = ids_of(configurations.digests[first : int(places[-1]) + 1])
        for at in range(0, len(places), _ROWS):
            rows = slice(at, at + _ROWS)
            sessions = section.sessions[rows].astype(np.int64)
            columns = {"fold": folds[rows], "click_mask": masks[rows], "sessions": sessions}
            yield pl.DataFrame({"configuration_id": ids.gather(places[rows] - first), **columns})


@dataclass(frozen=True)
class Configurations:
    """The configurations that lists show, in the order of their ids."""

    # For each list by its number, the place of its configuration; -1 for lists that are not among them.
    rank: Small
    # example, digests: For each configuration, a list that shows it, and its digest.
    example: Rows
    digests: NDArray[np.uint8]
    shown: LogTexts  # The texts.

    @classmethod
    def of(cls, lists: Rows, shown: LogTexts) -> "Configurations":
        """Address the configurations of lists, each once.

        Raises EngineError if the ids of two configurations begin with the same 16 digits.
        """
        digests = np.empty((len(lists), 16), np.uint8)
        for at in range(0, len(lists), _PIECE):
            digests[at : at + _PIECE] = configuration_digests(_texts(lists[at : at + _PIECE], shown))
        leading = digests[:, :8].copy().view(">u8").ravel().astype(np.uint64)
        order = order_of(leading)
        begins = np.ones(len(order), bool)
        begins[1:] = leading[order[1:]] != leading[order[:-1]]
        if (digests[order[1:]] != digests[order[:-1]])[~begins[1:]].any():
            raise EngineError("the ids of two configurations begin with the same digits; nothing was written")
        rank = np.full(shown.lists.query.count, -1, np.int32)
        rank[lists[order]] = np.cumsum(begins) - 1
        return cls(rank, lists[order[begins]], digests[order[begins]], shown)

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield configuration_id, market, query and results."""
        for at in range(0, len(self.example), _PIECE):
            texts = _texts(self.example[at : at + _PIECE], self.shown)
            ids = ids_of(self.digests[at : at + _PIECE]).alias("configuration_id")
            yield texts.select(ids, "market", "query", "results")


def _texts(lists: Rows, shown: LogTexts) -> pl.DataFrame:
    pairs: Small = shown.queries.pair.values[shown.lists.query.values[lists]]
    top = shown.lists.top.values[lists]
    is_there = top >= 0
    results = lists_of(shown.urls.texts, top[is_there], is_there.sum(axis=1))
    return shown.queries.normal_texts[pairs].with_columns(results.alias("results"))
