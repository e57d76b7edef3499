"""The methods that an engine must have: one in this process, or one that reads the log where it lies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Value = str | int | bool


class Batch(Protocol):
    """The decoded rows of a batch; SQL sees only numbers that stand for them."""

    @property
    def height(self) -> int:
        """Number of rows."""
        ...

    def take(self, row_nrs: pl.Series, columns: tuple[str, ...] | None = None) -> pl.DataFrame:
        """Return the rows of these numbers (all columns, or some) as they were read, in that order."""
        ...

    def map_values(
        self, column: str, mapping: pl.DataFrame, *, only: tuple[str, pl.Series] | None = None
    ) -> None:
        """Replace fingerprints, or lists of them, of a column as it was read: mapping.old by mapping.new.

        `only` restricts this to rows whose other column (its name) has one of some values.
        """

    def keep_only(self, query_fps: pl.Series) -> pl.DataFrame:
        """Keep the lists of these queries, as read; others become one empty list for each market.

        Returns `market` and `list_fp`: the placeholders of the lists that are left out.
        """
        ...

    def possible_repeats(self, columns: tuple[str, str]) -> pl.Series:
        """Return the numbers of rows whose two values may recur in another row: all that do, few others."""
        ...

    def set_bits(self, column: str, row_nrs: pl.Series, bits: pl.Series) -> None:
        """Set a column to the bit-or of the bits given for each row number; 0 where there are none."""


class Engine(Protocol):
    """Runs named SQL steps (files of ``sql/``) into named tables of its own."""

    def table(self, name: str, step: str, **values: Value) -> int:
        """Create table `name` from the SELECT of `step`, with `values` for its ``$`` parameters.

        Returns its number of rows.
        """
        ...

    def view(self, name: str, step: str) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def append(self, name: str, step: str, **values: Value) -> int:
        """Add the rows of `step` to table `name`, creating it when it is not there; return how many."""
        ...

    def drop(self, *names: str) -> None:
        """Drop tables and frames that no later step reads; unknown names are ignored."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""

    def fetch(self, step: str, **values: Value) -> pl.DataFrame:
        """Return the rows of `step` as a frame."""

    def read(self, what: str, frame: pl.LazyFrame, report: Callable[[int], None]) -> Batch:
        """Read a batch of ``searches`` or ``clicks`` once, and show its numbers as table ``<what>_read``.

        `report` is called now and then with the number of rows read since.
        """
        ...

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see `frame` as table `name`."""

    def close(self) -> None:
        """Release memory and temporary files."""


Ids = NDArray[np.int64] | NDArray[np.uint64]


class StepEngine(Protocol):
    """Runs, or records, the SELECTs of the declared steps."""

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Store the rows of `step` as table `name`."""

    def view(self, name: str, step: str, **values: Value) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""
        ...

    def is_empty(self, name: str) -> bool:
        """Return whether table `name` holds no row."""
        ...


R = TypeVar("R")
"""Rows of an engine's own, which it has not read yet."""


class SqlEngine(StepEngine, Protocol[R]):
    """Runs all of the declared steps, over rows that it reads itself."""

    def show(self, name: str, rows: R, carried: R | None = None) -> None:
        """Let SQL see rows as table `name`, with a column ``carried``: true for those carried over."""

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see a small frame as table `name`."""

    def put(self, file: Path | None, like: R) -> R:
        """Return the rows of a Parquet file of this machine; None = no rows, of the form of others."""
        ...

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        """Return the few rows of each of several steps."""
        ...

    def fetch(self, *steps: str) -> list[pl.LazyFrame]:
        """Return the rows of steps in their order, written to files of this machine."""
        ...

    def fetched(self, name: str) -> R:
        """Return the rows that `fetch` wrote last for a step of this name."""
        ...
