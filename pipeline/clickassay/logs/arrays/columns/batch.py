"""Searches and clicks of a batch as columns of numbers; texts only where a later step needs them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.logs.arrays.columns.numbers import Flags, Rows, Small, Tiny

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

    def take(self, rows: Rows) -> Self:
        """Return some of the rows."""
        return type(self)(**{name: _taken(values, rows) for name, values in vars(self).items()})

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(cls)]
        return cls(**{name: _stacked([getattr(part, name) for part in parts]) for name in names})


Values = NDArray[Any] | pl.Series | None


def _taken(values: Values, rows: Rows) -> Values:
    if values is None:
        return None
    return values.gather(rows) if isinstance(values, pl.Series) else values.take(rows)


def _stacked(parts: Sequence[Any]) -> Values:
    if parts[0] is None:
        return None
    stacked: Values = pl.concat(parts) if isinstance(parts[0], pl.Series) else np.concatenate(parts)
    return stacked


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
        clicks = self.clicks.take(rows)
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

    def ids(self, name: str) -> Rows:
        """Return the ids of usable rows: whole numbers as they are, texts by their fingerprints."""
        is_text = self.rows.schema[name] == pl.String
        keys: Rows = self.numbers(f"{name}_key" if is_text else name).view(np.int64)
        return keys

    def id_texts(self, name: str) -> pl.Series | None:
        """Return the ids of usable rows where they are texts."""
        if self.rows.schema[name] != pl.String:
            return None
        return self.rows[name] if self.usable is None else self.rows[name].gather(self.usable)

    def texts(self, *names: str, rows: Rows) -> pl.DataFrame:
        """Return columns of some of the usable rows."""
        at = rows if self.usable is None else self.usable[rows]
        return self.rows.select(names)[at]


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
