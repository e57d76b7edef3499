"""Numbers for distinct keys, and arrays that grow; several threads may read while one adds."""

from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Small = NDArray[np.int32]

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd factor: no two keys are mixed to the same one."""
_FIRST_BITS = 12
_PIECE = 1 << 16
"""Keys looked up at a time: their slots then stay in the cache."""


def first_rows(keys: Keys, rows: Rows) -> Rows:
    """Return one of some rows for each of their keys, the first, in the order of the keys."""
    in_order = rows[np.argsort(keys[rows], kind="stable")]
    is_first = np.ones(len(in_order), bool)
    is_first[1:] = keys[in_order[1:]] != keys[in_order[:-1]]
    return in_order[is_first]


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
        first, rows, held = self._rows, self._rows + len(values), self._held
        if rows > len(held) or values.shape[1:] > held.shape[1:]:
            room = rows + rows // 4 if rows > len(held) else len(held)
            held = np.empty((room, *max(values.shape[1:], held.shape[1:])), held.dtype)
            self._put(self._held[:first], held[:first])
        self._put(values, held[first:rows])
        self._held, self._rows = held, rows  # at last: other threads may be reading

    def _put(self, values: NDArray[Any], rows: NDArray[Any]) -> None:
        if values.shape != rows.shape:
            rows[...] = self._fill
        rows[..., : values.shape[-1]] = values


class Numbers:
    """Numbers of distinct keys, 0, 1, 2 … in order of appearance: a hash table probed by whole arrays.

    The table holds numbers, and keys lie by number: frequent keys come early, and stay in the cache. Several
    threads may ask at a time; a key that another one adds meanwhile is found, or not yet.
    """

    def __init__(self) -> None:
        self._held, self._lock = Growing(np.uint64), RLock()
        self._table = _Slots(_FIRST_BITS)

    @property
    def count(self) -> int:
        """How many keys have a number."""
        return self._held.count

    def get(self, keys: Keys) -> Small:
        """Return the number of each key; -1 where it has none yet."""
        numbers = np.full(len(keys), -1, np.int32)
        table = self._table
        for first in range(0, len(keys) if self.count else 0, _PIECE):
            piece = keys[first : first + _PIECE]
            slots = table.of(piece)
            there: Small = table.numbers.take(slots)
            others = self._differing(there, piece)
            while len(others):
                at = slots[others] = (slots[others] + 1) & table.last
                there[others] = table.numbers[at]
                others = others[self._differing(there[others], piece[others])]
            numbers[first : first + _PIECE] = there
        return numbers

    def _differing(self, numbers: Small, keys: Keys) -> Rows:
        rows = np.flatnonzero(self._held.values.take(numbers, mode="wrap") != keys)
        return rows[numbers[rows] >= 0]

    def get_or_add(self, keys: Keys, learn: Callable[[Rows], None]) -> Small:
        """Return the number of each key; new ones get the next numbers.

        `learn` is called with a row for each new key, in their order, before any thread can find them.
        """
        numbers = self.get(keys)
        if (numbers < 0).any():
            self.add_new(keys, learn)
            numbers = self.get(keys)
        return numbers

    def add_new(self, keys: Keys, learn: Callable[[Rows], None]) -> None:
        """Give numbers to the keys that have none; `learn` as in `get_or_add`."""
        with self._lock:
            new = np.flatnonzero(self.get(keys) < 0)
            if len(new):
                new = first_rows(keys, new)
                learn(new)
                self.add(keys[new])

    def add(self, keys: Keys) -> None:
        """Give the next numbers to distinct keys that have none."""
        with self._lock:
            first, table = self.count, self._table
            self._held.append(keys)
            if 2 * self.count > table.last + 1:  # at most half full, at least a quarter
                first, table = 0, _Slots(int(self.count).bit_length() + 1)
            table.put(self._held.values[first:], np.arange(first, self.count, dtype=np.int32))
            self._table = table


class _Slots:
    """Numbers at the slots of their keys, or at the next free ones; -1 = free."""

    def __init__(self, bits: int) -> None:
        self._shift, self.last = np.uint64(64 - bits), (1 << bits) - 1
        self.numbers: Small = np.full(1 << bits, -1, np.int32)

    def put(self, keys: Keys, numbers: Small) -> None:
        """Put numbers to the slots of their keys."""
        slots = self.of(keys)
        while len(numbers):
            is_free = self.numbers[slots] < 0
            self.numbers[slots[is_free]] = numbers[is_free]  # of several for one slot, the last stays
            left = self.numbers[slots] != numbers
            numbers, slots = numbers[left], (slots[left] + 1) & self.last

    def of(self, keys: Keys) -> Rows:
        """Return the first slot of each key."""
        return ((keys * MIXER) >> self._shift).view(np.int64)
