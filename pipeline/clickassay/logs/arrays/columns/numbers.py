"""Numbers for 64-bit keys in order of appearance, arrays that grow, and values in order."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from clickassay.patterns.sums import Number, order_of, sorted_values

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Small = NDArray[np.int32]
Tiny = NDArray[np.uint16]
Flags = NDArray[np.bool_]

_MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd: no two keys are mixed to the same one
_FIRST_BITS = 12
_PIECE = 1 << 16
"""Keys looked up at a time: their slots then stay in the cache."""


class Growing:
    """An array that grows at its end; rows may have several columns, whose number may grow too."""

    def __init__(self, dtype: DTypeLike, fill: int | None = None) -> None:
        shape = (0,) if fill is None else (0, 0)
        self._held, self._rows, self._fill = np.zeros(shape, dtype), 0, fill

    @property
    def count(self) -> int:
        """Number of rows."""
        return self._rows

    @property
    def values(self) -> NDArray[Any]:
        """What was appended so far."""
        return self._held[: self._rows]

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end; columns that they lack, or that the earlier rows lack, are filled."""
        first, self._rows = self._rows, self._rows + len(values)
        if self._rows > len(self._held) or values.shape[1:] > self._held.shape[1:]:
            self._make_room(first, values.shape[1:])
        self._put(values, self._held[first : self._rows])

    def _make_room(self, kept: int, wide: tuple[int, ...]) -> None:
        before = self._held
        room = self._rows + self._rows // 4 if self._rows > len(before) else len(before)
        self._held = np.empty((room, *max(wide, before.shape[1:])), before.dtype)
        self._put(before[:kept], self._held[:kept])

    def _put(self, values: NDArray[Any], rows: NDArray[Any]) -> None:
        if values.shape != rows.shape:
            rows[...] = self._fill
        rows[..., : values.shape[-1]] = values


class Numbers:
    """Numbers of distinct keys, 0, 1, 2 … in order of appearance: a hash table probed by whole arrays.

    The table holds numbers, and keys lie by number: frequent keys come early, and stay in the cache.
    """

    def __init__(self) -> None:
        self._held = Growing(np.uint64)
        self._allocate(_FIRST_BITS)

    @property
    def count(self) -> int:
        """How many keys have a number."""
        return self._held.count

    def _allocate(self, bits: int) -> None:
        self._shift, self._last = np.uint64(64 - bits), (1 << bits) - 1
        self._numbers = np.full(1 << bits, -1, np.int32)

    def get(self, keys: Keys) -> Small:
        """Return the number of each key; -1 where it has none yet."""
        numbers = np.full(len(keys), -1, np.int32)
        for first in range(0, len(keys) if self.count else 0, _PIECE):
            numbers[first : first + _PIECE] = self._get(keys[first : first + _PIECE])
        return numbers

    def _get(self, keys: Keys) -> Small:
        slots = self._slots(keys)
        numbers: Small = self._numbers.take(slots)
        others = self._differing(numbers, keys)
        while len(others):
            at = slots[others] = (slots[others] + 1) & self._last
            numbers[others] = self._numbers[at]
            others = others[self._differing(numbers[others], keys[others])]
        return numbers

    def _differing(self, numbers: Small, keys: Keys) -> Rows:
        """Return the rows whose number belongs to another key."""
        rows = np.flatnonzero(self._held.values.take(numbers, mode="wrap") != keys)
        return rows[numbers[rows] >= 0]

    def get_or_add(self, keys: Keys, learn: Callable[[Rows], None]) -> Small:
        """Return the number of each key; new ones get the next numbers.

        If there are new keys, `learn` is called with a row for each, in the order of their numbers.
        """
        numbers = self.get(keys)
        new = np.flatnonzero(numbers < 0)
        if len(new):
            new = first_rows(keys, new)
            self.add(keys[new])
            learn(new)
            numbers = self.get(keys)
        return numbers

    def add(self, keys: Keys) -> None:
        """Give the next numbers to distinct keys that have none."""
        first = self.count
        self._held.append(keys)
        if 2 * self.count > self._last + 1:  # at most half full, at least a quarter
            first = 0
            self._allocate(int(self.count).bit_length() + 1)
        self._put(self._held.values[first:], np.arange(first, self.count, dtype=np.int32))

    def _put(self, keys: Keys, numbers: Small) -> None:
        slots = self._slots(keys)
        while len(numbers):
            is_free = self._numbers[slots] < 0
            self._numbers[slots[is_free]] = numbers[is_free]  # of several for one slot, the last stays
            left = self._numbers[slots] != numbers
            numbers, slots = numbers[left], (slots[left] + 1) & self._last

    def _slots(self, keys: Keys) -> Rows:
        slots: Rows = ((keys * _MIXER) >> self._shift).view(np.int64)
        return slots


def among(keys: Keys, few: Keys) -> Rows:
    """Return the rows whose key is one of a few; rarely others too, so that callers look closer."""
    bits = max(16, len(few).bit_length() + 4)
    shift = np.uint64(64 - bits)
    marks = np.zeros(1 << bits, bool)
    marks[(few * _MIXER) >> shift] = True
    return np.flatnonzero(marks[(keys * _MIXER) >> shift])


def is_in(values: NDArray[Number], few: NDArray[Number]) -> Flags:
    """Return which values are among a few, which are in order: `numpy.isin` would hash them each time."""
    places = np.searchsorted(few, values)
    is_there: Flags = few.take(places, mode="clip") == values if len(few) else np.zeros(len(values), bool)
    return is_there


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return each value once, sorted: many times faster than `numpy.unique`, which hashes."""
    in_order = sorted_values(values)
    is_first = np.ones(len(in_order), bool)
    is_first[1:] = in_order[1:] != in_order[:-1]
    firsts: NDArray[Number] = in_order[is_first]
    return firsts


def changes(rows: Rows, *columns: NDArray[Any]) -> Flags:
    """Return which rows differ from the one before in one of the columns."""
    changed = np.ones(len(rows), bool)
    changed[1:] = False
    for column in columns:
        values = column[rows]
        changed[1:] |= values[1:] != values[:-1]
    return changed


def first_rows(keys: Keys, rows: Rows) -> Rows:
    """Return one of some rows for each of their keys, in the order of the keys."""
    in_order = rows[order_of(keys[rows])]
    is_first = np.ones(len(in_order), bool)
    is_first[1:] = keys[in_order[1:]] != keys[in_order[:-1]]
    chosen: Rows = in_order[is_first]
    return chosen


def repeated(keys: Keys) -> Keys:
    """Return the keys that occur more than once, each once, sorted."""
    in_order = sorted_values(keys)
    return distinct(in_order[1:][in_order[1:] == in_order[:-1]])


def mixed_pair(one: NDArray[Any], other: NDArray[Any]) -> Keys:
    """Return a key for each pair of numbers: equal for equal pairs, rarely for others."""
    key: Keys = one.astype(np.uint64) * _MIXER
    key ^= other.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    return key
