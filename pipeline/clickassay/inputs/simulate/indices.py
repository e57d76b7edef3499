"""Indices that NumPy finds by searching and sorting, found in less time, for a period's searches."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

_CELLS_PER_SHARE = 8
"""Cells of the table of `Shares` per share, at least: then a cell of a power law rarely holds two ends."""


class Shares:
    """Draws indices with given shares.

    A table tells for each cell of 0..1 the first index whose share ends in it or later, so that a number is
    looked up instead of searched for.
    """

    def __init__(self, ends: NDArray[np.float64]) -> None:
        """Take the (n,) ends of the shares, which rise to about 1."""
        self._ends = ends.copy()
        self._ends[-1] = np.inf  # whatever they add up to
        self._cells = 1 << (_CELLS_PER_SHARE * len(ends) - 1).bit_length()  # a power of two: no rounding
        begins = np.arange(self._cells) / self._cells
        self._first = np.searchsorted(self._ends, begins).astype(np.int32)

    @classmethod
    def of(cls, weights: NDArray[Any]) -> Self:
        """Make shares that are proportional to (n,) weights."""
        return cls(np.cumsum(weights) / weights.sum())

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        """Draw `count` indices."""
        return self.found(rng.random(count))

    def found(self, numbers: NDArray[np.float64]) -> Integers:
        """Return for numbers of [0, 1) the first index whose share ends there or later."""
        index = self._first[(numbers * self._cells).astype(np.int64)].astype(np.int64)
        while (later := numbers > self._ends[index]).any():
            index += later
        return index


def stable_order(values: Integers) -> Integers:
    """Return the order that sorts integers; equal ones keep theirs.

    Each value carries its place in its lowest bits, so that a plain sort does it. The range of the values,
    times twice their number, must lie within 63 bits.
    """
    if not len(values):
        return np.empty(0, dtype=np.int64)
    bits = len(values).bit_length()
    keys = ((values - values.min()) << bits) | np.arange(len(values))
    keys.sort()
    return np.asarray(keys & ((1 << bits) - 1))


def firsts_of_runs(values: Integers) -> Bools:
    """Return which values differ from the one before them; the first does."""
    differs = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return differs


def rows_and_columns(marked: Bools) -> tuple[Integers, Integers]:
    """Return the row and the column of each True of a matrix, row by row."""
    rows, columns = np.divmod(np.flatnonzero(marked), marked.shape[1])
    return rows, columns


def first_of_each_row(marked: Bools) -> Bools:
    """Keep the first True of each row of a matrix."""
    places = np.flatnonzero(marked)
    first = np.zeros(marked.size, dtype=np.bool_)
    first[places[firsts_of_runs(places // marked.shape[1])]] = True
    return first.reshape(marked.shape)
