"""Searches and clicks of a batch as columns of numbers, and what is done with numbers by whole arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.core.numbering import MIXER, Keys, Rows, Small
from clickassay.patterns.sums import Number, sorted_values

Tiny = NDArray[np.uint16]
Flags = NDArray[np.bool_]


def among(keys: Keys, few: Keys) -> Rows:
    """Return the rows whose key is one of a few; rarely others too, so that callers look closer."""
    bits = max(16, len(few).bit_length() + 4)
    shift = np.uint64(64 - bits)
    marks = np.zeros(1 << bits, bool)
    marks[(few * MIXER) >> shift] = True
    return np.flatnonzero(marks[(keys * MIXER) >> shift])


def is_in(values: NDArray[Number], few: NDArray[Number]) -> Flags:
    """Return which values are among a few, which are in order: `numpy.isin` would hash them each time."""
    places = np.searchsorted(few, values)
    return few.take(places, mode="clip") == values if len(few) else np.zeros(len(values), bool)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return each value once, sorted: many times faster than `numpy.unique`, which hashes."""
    in_order = sorted_values(values)
    is_first = np.ones(len(in_order), bool)
    is_first[1:] = in_order[1:] != in_order[:-1]
    return in_order[is_first]


def order_of_parts(part: NDArray[Any], parts: int) -> tuple[Rows, Rows]:
    """Return rows in the order of their parts, and where each part ends; sorts numbers of few bits fast."""
    small = part.astype(np.uint8 if parts < 1 << 8 else np.uint16)
    return np.argsort(small, kind="stable"), np.cumsum(np.bincount(small, minlength=parts)[:parts])


def changes(rows: Rows, *columns: NDArray[Any]) -> Flags:
    """Return which rows differ from the one before in one of the columns."""
    changed = np.ones(len(rows), bool)
    changed[1:] = False
    for column in columns:
        values = column[rows]
        changed[1:] |= values[1:] != values[:-1]
    return changed


def repeated(keys: Keys) -> Keys:
    """Return the keys that occur more than once, each once, sorted."""
    in_order = sorted_values(keys)
    return distinct(in_order[1:][in_order[1:] == in_order[:-1]])


def mixed_pair(one: NDArray[Any], other: NDArray[Any]) -> Keys:
    """Return a key for each pair of numbers: equal for equal pairs, rarely for others."""
    key: Keys = one.astype(np.uint64) * MIXER
    key ^= other.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    return key


NO_PLACE = np.iinfo(np.int64).min
"""Position of a click that names none."""
NOT_GIVEN = -2
"""Dwell time where a log gives none."""
UNKNOWN = -2
"""Number of the first URL of a click that no list shows; the next is lower by one."""


@dataclass(frozen=True)
class Columns:
    """Columns of equal length: arrays, texts, or None where a log has no such column."""

    def __len__(self) -> int:
        first = getattr(self, fields(self)[0].name)
        return len(first)

    def _each(self, changed: Callable[[Any], Any]) -> Self:
        there = {name: values for name, values in vars(self).items() if values is not None}
        return type(self)(**{name: changed(values) for name, values in there.items()})

    def take(self, rows: Rows) -> Self:
        """Return some of the rows."""
        return self._each(
            lambda values: values.gather(rows) if isinstance(values, pl.Series) else values.take(rows)
        )

    def cut(self, order: Rows, ends: Rows) -> list[Self]:
        """Return rows in another order, cut at some places; the last piece is what follows the last cut."""
        rows, places = self.take(order), pairwise([0, *ends.tolist(), len(order)])
        return [rows._each(itemgetter(slice(first, end))) for first, end in places]

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        there = [name for name, values in vars(parts[0]).items() if values is not None]
        columns = {name: [getattr(part, name) for part in parts] for name in there}
        return cls(
            **{
                name: pl.concat(every) if isinstance(every[0], pl.Series) else np.concatenate(every)
                for name, every in columns.items()
            }
        )


@dataclass(frozen=True)
class Searches(Columns):
    """Usable searches."""

    # id, user: Whole numbers as they are, texts by their fingerprints.
    id: Rows
    user: Rows
    time: Rows  # ms since 1970, UTC.
    # query, list: Numbers of the (market, query) and of the list, as they were read.
    query: Small
    list: Small
    page: Rows  # 1 = the first.
    bucket: Tiny  # user_digest(user_id) mod (64 · folds).
    carried: Flags  # Whether they were read with an earlier batch.
    # id_text, user_text: Ids as they were read, where they are texts.
    id_text: pl.Series | None = None
    user_text: pl.Series | None = None
    arm: Rows | None = None  # Arm of an A/B test that a search names, or -1; None where searches name none.
    draft: Small | None = None  # Number of the rankers that a search names, or -1; None likewise.


@dataclass(frozen=True)
class Clicks(Columns):
    """Usable clicks."""

    # id, time, carried, id_text: As in `Searches`.
    id: Rows
    time: Rows
    url: Small  # Number of the URL as it was read, where a list shows it; `UNKNOWN` and below for others.
    place: Rows  # Position clicked, from 1; `NO_PLACE` where a click names none.
    carried: Flags
    id_text: pl.Series | None = None
    # action, dwell: Number of the action, and the dwell time given (ms; -1 of no use, or `NOT_GIVEN`); None
    # where all rows are clicks.
    action: NDArray[np.uint16] | None = None
    dwell: Rows | None = None


@dataclass(frozen=True)
class ReadClicks:
    """Clicks, and the texts of URLs that no list shows: of `UNKNOWN`, `UNKNOWN` - 1, …."""

    clicks: Clicks
    unknown: pl.Series

    def take(self, rows: Rows) -> Self:
        """Return some of the clicks, and the texts that they need."""
        return self._with_texts(self.clicks.take(rows))

    def cut(self, order: Rows, ends: Rows) -> list[Self]:
        """Return clicks in another order, cut at some places, as `Columns.cut` does."""
        return [self._with_texts(clicks) for clicks in self.clicks.cut(order, ends)]

    def _with_texts(self, clicks: Clicks) -> Self:
        if not len(self.unknown):
            return replace(self, clicks=clicks)
        concerned = np.flatnonzero(clicks.url <= UNKNOWN)
        kept = self.unknown.gather(UNKNOWN - clicks.url[concerned].astype(np.int64))
        clicks.url[concerned] = UNKNOWN - np.arange(len(concerned), dtype=np.int32)
        return replace(self, clicks=clicks, unknown=kept)

    def split(self, is_first: Flags) -> tuple[Self, Self]:
        """Return the clicks that are marked, and the others."""
        if is_first.all():
            return self, self.take(np.zeros(0, np.int64))
        return self.take(np.flatnonzero(is_first)), self.take(np.flatnonzero(~is_first))

    @classmethod
    def concat(cls, parts: Sequence["ReadClicks"]) -> "ReadClicks":
        """Return the clicks of one or more parts, one after the other."""
        before = np.cumsum([0, *(len(part.unknown) for part in parts)])
        for part, texts in zip(parts, before, strict=False):
            part.clicks.url[part.clicks.url <= UNKNOWN] -= texts
        return cls(
            Clicks.concat([part.clicks for part in parts]), pl.concat([part.unknown for part in parts])
        )


@dataclass(frozen=True)
class Chunk:
    """Rows as they were read, and which of them are usable; None = all."""

    rows: pl.DataFrame
    usable: Rows | None

    @classmethod
    def of(cls, rows: pl.DataFrame, faults: NDArray[np.uint8] | None) -> Self:
        """Return rows of which those without a fault (0) are usable."""
        return cls(rows, None if faults is None else np.flatnonzero(faults == 0))

    @property
    def height(self) -> int:
        """Number of usable rows."""
        return self.rows.height if self.usable is None else len(self.usable)

    def numbers(self, name: str, absent: int = 0) -> NDArray[Any]:
        """Return a column of usable rows; `absent` where it is null."""
        numbers = numbers_in(self.rows[name], absent)
        return numbers if self.usable is None else numbers[self.usable]

    def lengths(self, name: str) -> Rows:
        """Return the lengths of the lists of usable rows."""
        chunks = self.rows[name].to_physical().get_chunks()
        lengths = np.concatenate([np.diff(numbers_in(pl.Series(as_arrow(one).offsets))) for one in chunks])
        return lengths if self.usable is None else lengths[self.usable]

    def ids(self, name: str) -> Rows:
        """Return the ids of usable rows: whole numbers as they are, texts by their fingerprints."""
        is_text = self.rows.schema[name] == pl.String
        return self.numbers(f"{name}_key" if is_text else name).view(np.int64)

    def id_texts(self, name: str) -> pl.Series | None:
        """Return the ids of usable rows where they are texts."""
        if self.rows.schema[name] != pl.String:
            return None
        return self.rows[name] if self.usable is None else self.rows[name].gather(self.usable)

    def texts(self, *names: str, rows: Rows) -> pl.DataFrame:
        """Return columns of some of the usable rows, each gathered by this thread: others decode files."""
        at = rows if self.usable is None else self.usable[rows]
        return pl.DataFrame([self.rows[name].gather(at) for name in names])


_NUMPY_NAMES = {"float": "float32", "double": "float64"}
"""Types that Arrow and NumPy call otherwise."""


def numbers_in(values: pl.Series, absent: int = 0) -> NDArray[Any]:
    """Return the numbers of a column; `absent` where it is null."""
    array = as_arrow(values)
    name = str(array.type)  # `to_pandas_dtype` imports pandas in some versions
    numbers = np.frombuffer(array.buffers()[1] or b"", np.dtype(_NUMPY_NAMES.get(name, name)))
    numbers = numbers[array.offset : array.offset + len(array)]
    if array.null_count:
        numbers = np.where(nulls_in(array), numbers.dtype.type(absent), numbers)
    return numbers


def nulls_in(array: pa.Array) -> Flags:
    """Return where an array is null."""
    if not array.null_count:
        return np.zeros(len(array), bool)
    is_valid = np.frombuffer(array.buffers()[0], np.uint8)
    bits = np.unpackbits(is_valid, count=array.offset + len(array), bitorder="little")
    nulls: Flags = bits[array.offset :] == 0
    return nulls


def as_arrow(values: pl.Series) -> pa.Array:
    """Return a column as Arrow, without a copy.

    What is done to a chunk while Polars decodes the next is left to Arrow and NumPy: Polars would queue it
    behind its own work. And Arrow is not asked for NumPy arrays, nor given any: it would import pandas where
    that is installed, and a Ctrl-C during that is lost.
    """
    return values.to_arrow(compat_level=pl.CompatLevel.newest())
