"""What the log stage asks of an engine: one in this process, or one that reads the log where it lies."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

Value = str | int | bool


class Rows(Protocol):
    """The rows of a batch beside the numbers that SQL sees of them."""

    @property
    def height(self) -> int:
        """Number of rows."""
        ...

    def texts(self, row_nrs: pl.Series, columns: tuple[str, ...] | None = None) -> pl.DataFrame:
        """Return the rows of these numbers (all columns, or some) as they were read, in that order."""
        ...

    def rename(self, column: str, names: pl.DataFrame, *, only: tuple[str, pl.Series] | None = None) -> None:
        """Replace fingerprints, or lists of them, of a column as it was read: names.old become names.new.

        `only` names another column and the values of it that rows must have to be concerned.
        """

    def keep_only(self, query_fps: pl.Series) -> pl.DataFrame:
        """Keep the lists of these queries, as read; others become one empty list for each market.

        Returns `market` and `list_fp`: what stands for the lists that are left out.
        """
        ...

    def repeated(self, columns: tuple[str, str]) -> pl.Series:
        """Return the numbers of the rows whose two columns may be those of another row; few others."""
        ...

    def or_bits(self, column: str, row_nrs: pl.Series, bits: pl.Series) -> None:
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
        """Forget tables and frames that no later step reads; names that are not there are passed by."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""

    def fetch(self, step: str, **values: Value) -> pl.DataFrame:
        """Return the rows of `step` as a frame."""

    def read(self, what: str, frame: pl.LazyFrame, report: Callable[[int], None]) -> Rows:
        """Read a batch of ``searches`` or ``clicks`` once, and show its numbers as table ``<what>_read``.

        `report` is told, now and then, how many rows more are done.
        """
        ...

    def show(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see `frame` as table `name`."""

    def close(self) -> None:
        """Let go of memory and temporary files."""


Ids = NDArray[np.int64] | NDArray[np.uint64]


class ScriptEngine(Protocol):
    """Gives names to the SELECTs of steps."""

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Write the rows of `step`, and read them again as table `name`."""

    def view(self, name: str, step: str, **values: Value) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""
        ...

    def is_empty(self, name: str) -> bool:
        """Tell whether table `name` holds no row."""
        ...
