"""The methods of an engine that runs the steps of ``sql/``."""

from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Value = str | int | bool


Ids = NDArray[np.int64] | NDArray[np.uint64]


R = TypeVar("R")
"""Rows of an engine's own, which it has not read yet."""


class SqlEngine(Protocol[R]):
    """Runs all of the declared steps, over rows that it reads itself."""

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
