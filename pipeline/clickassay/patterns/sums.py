"""Sessions counted by sorting packed keys, and added up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Small = NDArray[np.int32]
Number = TypeVar("Number", bound=np.generic)

_MERGE_ROWS = 300_000
WORD_BITS = 64

Words = tuple[Keys, ...]


def sorted_values(values: NDArray[Number]) -> NDArray[Number]:
    """Return values in order: NumPy is as fast as Polars on some processors, four times slower on others."""
    return pl.Series(values).sort(multithreaded=False).to_numpy()


def order_of(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order of rows by the first key, then by the next."""
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    columns = pl.DataFrame({str(place): key for place, key in enumerate(keys)})
    order: NDArray[np.int64] = (
        columns.select(pl.arg_sort_by(columns.columns).cast(pl.Int64)).to_series().to_numpy()
    )
    return order


def order_of_both(first: Rows, second: Rows) -> Rows:
    """Return the order of rows by the first key, then by the second; keys are 0 or more.

    Values are sorted several times faster than rows: keys and row are one value where they fit into 64 bits.
    """
    of_second, of_row = (int(one).bit_length() for one in (second.max(initial=0), len(first)))
    if int(first.max(initial=0)).bit_length() + of_second + of_row > WORD_BITS:
        return order_of(first, second)
    keys = (first.astype(np.uint64) << np.uint64(of_second)) | second.astype(np.uint64)
    both = sorted_values((keys << np.uint64(of_row)) | np.arange(len(first), dtype=np.uint64))
    return (both & np.uint64((1 << of_row) - 1)).astype(np.int64)


@dataclass(frozen=True)
class Counted:
    """Numbers of sessions by key, a key being one 64-bit word or two; keys are sorted and differ."""

    words: Words
    sessions: NDArray[Any]

    def __len__(self) -> int:
        return len(self.sessions)

    def narrowed(self) -> "Counted":
        """Return the same, the sessions in as few bytes as hold them."""
        fewest = np.min_scalar_type(int(self.sessions.max(initial=0)))
        return Counted(self.words, self.sessions.astype(fewest))


def counted(words: Words, sessions: NDArray[Any] | None = None) -> Counted:
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


def _in_order(words: Words, sessions: NDArray[Any] | None) -> tuple[Words, Rows | None]:
    """Return keys in order, with their numbers of sessions.

    Sorting values is several times faster than sorting rows, so a number is put behind its key where both fit
    into 64 bits.
    """
    if sessions is None and len(words) == 1:
        return (sorted_values(words[0]),), None
    if sessions is not None and len(words) == 1:
        bits = int(sessions.max(initial=0)).bit_length()
        if int(words[0].max(initial=0)).bit_length() + bits <= WORD_BITS:
            both = sorted_values((words[0] << np.uint64(bits)) | sessions.astype(np.uint64))
            return (both >> np.uint64(bits),), (both & np.uint64((1 << bits) - 1)).astype(np.int64)
    order = order_of(*words)
    taken = None if sessions is None else sessions.take(order).astype(np.int64)
    return tuple(word.take(order) for word in words), taken


def added(parts: Sequence[Counted]) -> Counted:
    """Return the sums of one or more counts, whose keys need not be in order."""
    words = tuple(np.concatenate(of_parts) for of_parts in zip(*(part.words for part in parts), strict=True))
    return counted(words, np.concatenate([part.sessions for part in parts]))


@dataclass(frozen=True)
class WordLayout:
    """How a number, the fold and the click mask are packed into words: two if one has too few bits."""

    depth: int
    folds: int
    number_bits: int = 32  # Of lists 31, and one more says whether the page was the first.

    @property
    def _fold_bits(self) -> int:
        return (self.folds - 1).bit_length()

    def packed(self, numbers: NDArray[Any], folds: NDArray[Any], masks: Rows) -> Words:
        """Return words in the order of the number, then the fold, then the mask."""
        head = (numbers.astype(np.uint64) << np.uint64(self._fold_bits)) | folds.astype(np.uint64)
        if self._is_one_word:
            return ((head << np.uint64(self.depth)) | masks.astype(np.uint64),)
        return head, masks.astype(np.uint64)

    @property
    def _is_one_word(self) -> bool:
        return self._fold_bits + self.depth + self.number_bits <= WORD_BITS

    def unpacked(self, table: Counted) -> tuple[Rows, Small, Rows]:
        """Return numbers, folds and masks."""
        words = table.words
        head = words[0] >> np.uint64(self.depth) if len(words) == 1 else words[0]
        masks = words[-1] & np.uint64((1 << self.depth) - 1)
        folds = (head & np.uint64((1 << self._fold_bits) - 1)).astype(np.int32)
        return (head >> np.uint64(self._fold_bits)).astype(np.int64), folds, masks.astype(np.int64)


BY_DAY = WordLayout(depth=22, folds=1)
"""Layout of a number and a day, which stands in place of the mask."""


def packed_days(numbers: NDArray[Any], days: NDArray[Any]) -> Words:
    """Return words of numbers and days since 1970-01-01; days of 0 and below are unknown."""
    return BY_DAY.packed(numbers, np.zeros(1, np.uint64), np.maximum(days, 0))


def unpacked_days(table: Counted) -> tuple[Rows, pl.Series]:
    """Return numbers, and days as dates: null where they are unknown."""
    numbers, _, days = BY_DAY.unpacked(table)
    return numbers, dates(pl.Series(days))


def dates(days: pl.Series) -> pl.Series:
    """Return days since 1970-01-01 as dates: null where they are 0."""
    return days.alias("day").cast(pl.Int32).set(days == 0, None).cast(pl.Date)


class Sums:
    """Adds up counts by key; `layout` says how keys are packed."""

    def __init__(self, layout: WordLayout) -> None:
        self.layout = layout
        self._tables: list[Counted] = []  # what is added up already first

    def add(self, table: Counted) -> None:
        """Add counts."""
        if not len(table):
            return
        self._tables.append(table.narrowed())
        waiting = sum(map(len, self._tables[1:]))
        if waiting > max(_MERGE_ROWS, len(self._tables[0])):  # so that every row is merged few times
            self._tables = [added(self._tables).narrowed()]

    def tables(self, *, drained: bool = False) -> Iterator[Counted]:
        """Yield counts that together are what was added; `drained` ones are not kept."""
        left = self._tables if drained else [*self._tables]
        while left:
            yield left.pop(0)
