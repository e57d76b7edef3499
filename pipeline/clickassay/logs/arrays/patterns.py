"""Click patterns counted by sorting numbers, and the pattern table made of the counts (method 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import EngineError
from clickassay.logs.arrays.columns import Searches
from clickassay.logs.arrays.numbers import (
    Growing,
    Keys,
    Rows,
    Small,
    distinct,
    order_of,
    sorted_values,
)
from clickassay.logs.arrays.shown import Shown, lists_of
from clickassay.patterns.identity import configuration_digests, ids_of

_MERGE_ROWS = 3_000_000
_WORD_BITS = 64
_PIECE = 10_000
"""Configurations whose texts are put together at a time: they then stay in the cache."""

Words = tuple[Keys, ...]


@dataclass(frozen=True)
class Counted:
    """Numbers of sessions by key, a key being one 64-bit word or two; keys are sorted and differ."""

    words: Words
    sessions: Rows


def counted(words: Words, sessions: Rows | None = None) -> Counted:
    """Add up sessions by key; each row is one session unless numbers are given."""
    words, sessions = _in_order(words, sessions)
    begins = np.ones(len(words[0]), bool)
    begins[1:] = np.logical_or.reduce([word[1:] != word[:-1] for word in words])
    starts = np.flatnonzero(begins)
    if sessions is None:
        numbers = np.diff(starts, append=len(begins))
    else:
        numbers = np.add.reduceat(sessions, starts) if len(starts) else sessions
    return Counted(tuple(word.take(starts) for word in words), numbers.astype(np.int64))


def _in_order(words: Words, sessions: Rows | None) -> tuple[Words, Rows | None]:
    """Return keys in order, with their numbers of sessions.

    Sorting values is several times faster than sorting rows, so a number is put behind its key where both fit
    into 64 bits.
    """
    if sessions is None and len(words) == 1:
        return (sorted_values(words[0]),), None
    if sessions is not None and len(words) == 1:
        bits = int(sessions.max(initial=0)).bit_length()
        if int(words[0].max(initial=0)).bit_length() + bits <= _WORD_BITS:
            both = sorted_values((words[0] << np.uint64(bits)) | sessions.astype(np.uint64))
            return (both >> np.uint64(bits),), (both & np.uint64((1 << bits) - 1)).astype(np.int64)
    order = order_of(*words)
    return tuple(word.take(order) for word in words), None if sessions is None else sessions.take(order)


def added(parts: Sequence[Counted]) -> Counted:
    """Return the sums of one or more counts."""
    if len(parts) == 1:
        return parts[0]
    words = tuple(np.concatenate(of_parts) for of_parts in zip(*(part.words for part in parts), strict=True))
    return counted(words, np.concatenate([part.sessions for part in parts]))


@dataclass(frozen=True)
class Layout:
    """How a number, the fold and the click mask are packed into words: two if one has too few bits."""

    depth: int
    folds: int

    @property
    def _fold_bits(self) -> int:
        return (self.folds - 1).bit_length()

    def packed(self, numbers: NDArray[Any], folds: NDArray[Any], masks: Rows) -> Words:
        """Return words whose order is that of the number, then the fold, then the mask."""
        head = (numbers.astype(np.uint64) << np.uint64(self._fold_bits)) | folds.astype(np.uint64)
        if self._is_one_word:
            return ((head << np.uint64(self.depth)) | masks.astype(np.uint64),)
        return head, masks.astype(np.uint64)

    @property
    def _is_one_word(self) -> bool:
        # numbers of lists have 31 bits, and one more says whether the page was the first
        return self._fold_bits + self.depth + 32 <= _WORD_BITS

    def unpacked(self, words: Words) -> tuple[Rows, Small, Rows]:
        """Return numbers, folds and masks."""
        head = words[0] >> np.uint64(self.depth) if len(words) == 1 else words[0]
        masks = words[-1] & np.uint64((1 << self.depth) - 1)
        folds = (head & np.uint64((1 << self._fold_bits) - 1)).astype(np.int32)
        return (head >> np.uint64(self._fold_bits)).astype(np.int64), folds, masks.astype(np.int64)


class PatternCounts:
    """Adds up sessions by list, first or later page, fold and click mask, and the buckets of users by query.

    Parameters
    ----------
    shown
        The texts read so far.
    depth, folds
        Settings of the table.
    """

    def __init__(self, shown: Shown, depth: int, folds: int) -> None:
        self._shown, self._layout, self._folds = shown, Layout(depth, folds), folds
        self._parts: list[Counted] = []
        self._added = self._merged = 0  # rows since the parts were merged last, and then
        self._buckets = Growing(np.uint64)

    def add(self, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions: the rows of their first searches, and their click masks."""
        if not len(first):
            return
        numbers = (searches.list.take(first).astype(np.int64) << 1) | (searches.page.take(first) == 1)
        buckets = searches.bucket.take(first)
        self._parts.append(counted(self._layout.packed(numbers, buckets % self._folds, masks)))
        self._add_buckets(self._shown.queries.pair.take(searches.query.take(first)), buckets & 63)
        self._added += len(self._parts[-1].sessions)
        if self._added > max(_MERGE_ROWS, self._merged // 2):  # so that every row is merged few times
            self._merged, self._added = len(self._merge().sessions), 0

    def _merge(self) -> Counted:
        parts = self._parts or [
            Counted(self._layout.packed(*np.zeros((3, 0), np.int64)), np.zeros(0, np.int64))
        ]
        self._parts = [added(parts)]
        return self._parts[0]

    def _add_buckets(self, pairs: Small, buckets: NDArray[Any]) -> None:
        missing = len(self._shown.queries.normal_texts) - self._buckets.count
        self._buckets.append(np.zeros(missing, np.uint64))
        np.bitwise_or.at(self._buckets.values, pairs, np.uint64(1) << buckets.astype(np.uint64))

    def frames(self) -> "PatternFrames":
        """Return the tables of all that was added."""
        merged = self._merge()
        numbers, folds, masks = self._layout.unpacked(merged.words)
        lists, on_first_page = numbers >> 1, (numbers & 1).astype(bool)
        begun = _begun(numbers, merged.sessions, self._shown)
        is_kept = self._shown.lists.query[lists] >= 0
        queries = self._queries(distinct(lists[is_kept]))
        rows = np.flatnonzero(on_first_page & is_kept)
        configurations = Configurations.of(distinct(lists[rows]), self._shown)
        words = self._layout.packed(configurations.rank_of(lists[rows]), folds[rows], masks[rows])
        del numbers, folds, masks, lists, on_first_page, is_kept
        frame = configurations.frame(self._shown)
        patterns = self._named(counted(words, merged.sessions[rows]), frame["configuration_id"])
        return PatternFrames(frame, patterns, queries, begun)

    def _named(self, table: Counted, ids: pl.Series) -> pl.DataFrame:
        """Return the pattern table of counts by configuration, of which `ids` are the ids in their order."""
        numbers, folds, masks = self._layout.unpacked(table.words)
        columns = {"fold": folds, "click_mask": masks, "sessions": table.sessions}
        return pl.DataFrame({"configuration_id": ids.gather(numbers), **columns})

    def _queries(self, lists: Rows) -> pl.DataFrame:
        """Return market, query and user buckets of all queries that a session is of."""
        pairs = distinct(self._shown.queries.pair[self._shown.lists.query[lists]])
        buckets = pl.Series("user_buckets", self._buckets.values[pairs])
        return self._shown.queries.normal_texts[pairs].with_columns(buckets).sort("market", "query")


@dataclass(frozen=True)
class PatternFrames:
    """The tables of `PatternTable`, and (market, is kept, first page, sessions) of all sessions formed."""

    configurations: pl.DataFrame
    patterns: pl.DataFrame
    queries: pl.DataFrame
    sessions: list[tuple[str, bool, bool, int]]


def _begun(numbers: Rows, sessions: Rows, shown: Shown) -> list[tuple[str, bool, bool, int]]:
    """Return sessions by market, whether their query is kept, and whether they begin on a first page."""
    by_number = np.bincount(numbers, weights=sessions).astype(np.int64)  # exact: far below 2^53
    found = np.flatnonzero(by_number)
    queries = shown.lists.query[found >> 1]
    markets = shown.queries.texts["market"].gather(np.maximum(queries, 0))
    out = np.flatnonzero(queries < 0)
    markets = markets.scatter(out, [shown.lists.left_out[number] for number in (found[out] >> 1).tolist()])
    columns = {"is_kept": queries >= 0, "first": (found & 1).astype(bool), "sessions": by_number[found]}
    rows = pl.DataFrame({"market": markets, **columns})
    return rows.group_by("market", "is_kept", "first").agg(pl.col("sessions").sum()).rows()


@dataclass(frozen=True)
class Configurations:
    """The configurations that lists show, in the order of their ids.

    Attributes
    ----------
    lists
        Lists, ascending; several may show one configuration.
    rank
        For each list, the place of its configuration.
    example, digests
        For each configuration, a list that shows it, and its digest.
    """

    lists: Rows
    rank: Rows
    example: Rows
    digests: NDArray[np.uint8]

    @classmethod
    def of(cls, lists: Rows, shown: Shown) -> "Configurations":
        """Address the configurations of lists.

        Raises
        ------
        EngineError
            If the ids of two configurations begin with the same 16 digits.
        """
        starts = range(0, len(lists), _PIECE)
        pieces = [configuration_digests(_texts(lists[at : at + _PIECE], shown)) for at in starts]
        digests = np.concatenate([np.zeros((0, 16), np.uint8), *pieces])
        leading = digests[:, :8].copy().view(">u8").ravel().astype(np.uint64)
        order = order_of(leading)
        begins = np.ones(len(order), bool)
        begins[1:] = leading[order[1:]] != leading[order[:-1]]
        if (digests[order[1:]] != digests[order[:-1]])[~begins[1:]].any():
            raise EngineError("the ids of two configurations begin alike; nothing was written")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.cumsum(begins) - 1
        return cls(lists, rank, lists[order[begins]], digests[order[begins]])

    def rank_of(self, lists: Rows) -> Rows:
        """Return the place of the configuration of each list."""
        ranks: Rows = self.rank[np.searchsorted(self.lists, lists)]
        return ranks

    def frame(self, shown: Shown) -> pl.DataFrame:
        """Return configuration_id, market, query and results."""
        texts = _texts(self.example, shown)
        return texts.select(ids_of(self.digests).alias("configuration_id"), "market", "query", "results")


def _texts(lists: Rows, shown: Shown) -> pl.DataFrame:
    """Return market, query and top results of lists, in normal form."""
    pairs = shown.queries.pair[shown.lists.query[lists]]
    top = shown.lists.top[lists]
    is_there = top >= 0
    results = lists_of(shown.urls.texts, top[is_there], is_there.sum(axis=1))
    return shown.queries.normal_texts[pairs].with_columns(results.alias("results"))
