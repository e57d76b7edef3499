"""Where the search of a click lies: its part of the users, and its row there (method 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.numbering import Keys, Numbers, Rows, Small
from clickassay.logs.arrays.columns import Flags, ReadClicks, Searches, among, is_in, order_of_parts
from clickassay.logs.arrays.workers import Workers

_DENSE = 8
"""Ids that fill at least one in so many numbers are found by a table, others by hashing."""
_SHARDS = 16
_SHARD_AT = np.uint64(60)


class SearchIds:
    """The ids of the searches of a batch that count, each with its part (of `parts`) and its row there.

    ambiguous: ids that different searches use, sorted: they have no place.
    """

    def __init__(self, parts: Sequence[tuple[Searches, Flags]], ambiguous: Rows, workers: Workers) -> None:
        self.parts, self._ambiguous = len(parts), ambiguous
        ids = [searches.id for searches, _ in parts if len(searches)]
        self._low = min((int(some.min()) for some in ids), default=0)
        self._high = max((int(some.max()) for some in ids), default=0)
        self._table: NDArray[Any] | None = None
        if self._high - self._low < _DENSE * sum(map(len, ids)) + 1000:
            few = max(map(len, ids), default=0) * self.parts < 1 << 31
            kind = np.int32 if few else np.int64
            self._table = np.full(self._high - self._low + 2, -1, kind)  # the last: of ids outside
        named = workers.map(self._take_up, enumerate(parts))
        self._shards = [] if self._table is not None else workers.map(_Shard, zip(*named, strict=True))

    def _take_up(self, part: tuple[int, tuple[Searches, Flags]]) -> list[tuple[Rows, Rows]]:
        """Put the ids of a part into the table; or return them, and their places, by shard."""
        number, (searches, counts) = part
        rows = np.flatnonzero(counts)
        rows = rows[~self.is_ambiguous(searches.id.take(rows))]
        ids, places = searches.id.take(rows), rows * self.parts + number
        if self._table is not None:
            self._table[ids - self._low] = places
            return []
        order, ends = order_of_parts(_shards_of(ids), _SHARDS - 1)
        return list(zip(np.split(ids.take(order), ends), np.split(places.take(order), ends), strict=True))

    def is_ambiguous(self, ids: Rows) -> Flags:
        """Return which ids different searches use."""
        found = np.zeros(len(ids), bool)
        if len(self._ambiguous):
            rows = among(ids.view(np.uint64), self._ambiguous.view(np.uint64))
            found[rows] = is_in(ids[rows], self._ambiguous)
        return found

    def places(self, ids: Rows) -> NDArray[Any]:
        """Return row · parts + part of the search of each id; -1 where there is none."""
        if self._table is not None:
            at = ids - self._low
            at[(ids < self._low) | (ids > self._high)] = -1
            return self._table.take(at)
        places = np.empty(len(ids), np.int64)
        order, ends = order_of_parts(_shards_of(ids), _SHARDS - 1)
        for shard, rows in zip(self._shards, np.split(order, ends), strict=True):
            places[rows] = shard.places(ids.take(rows))
        return places

    def by_part(self, ids: Rows) -> tuple[Rows, Rows, list[Small]]:
        """Return ids in order of their searches' parts (none: last), ends of parts, rows by part."""
        places = self.places(ids)
        order, ends = order_of_parts(np.where(places < 0, self.parts, places & (self.parts - 1)), self.parts)
        rows = (places.take(order) >> (self.parts - 1).bit_length()).astype(np.int32)
        return order, ends, np.split(rows, ends)[: self.parts]


class _Shard:
    """Ids that are found by hashing, and their places."""

    def __init__(self, named: Sequence[tuple[Rows, Rows]]) -> None:
        self._numbers = Numbers()
        self._numbers.add(np.concatenate([ids for ids, _ in named]).view(np.uint64))
        self._places = np.concatenate([*(places for _, places in named), np.full(1, -1)])

    def places(self, ids: Rows) -> Rows:
        """Return the place of each id; -1 where it has none."""
        return self._places.take(self._numbers.get(ids.view(np.uint64)), mode="wrap")


def _shards_of(ids: Rows) -> Keys:
    return (ids.view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)) >> _SHARD_AT


@dataclass(frozen=True)
class Routed:
    """Clicks by where their search lies."""

    parts: list[tuple[ReadClicks, Small]]  # Clicks of each part, and the rows of their searches.
    ambiguous: ReadClicks  # Their id is one that different searches use.
    orphans: ReadClicks  # The batch has no search for them.


def routed(read: ReadClicks, ids: SearchIds) -> Routed:
    """Put clicks to their searches."""
    order, ends, rows = ids.by_part(read.clicks.id)
    *parts, others = read.cut(order, ends)
    is_ambiguous = ids.is_ambiguous(others.clicks.id)
    ambiguous, orphans = others.split(is_ambiguous)
    return Routed(list(zip(parts, rows, strict=True)), ambiguous, orphans)
