"""What the big step asks of an engine."""

from collections.abc import Callable
from typing import Any, Protocol

import polars as pl

Value = str | int | bool
Batch = pl.DataFrame


class Engine(Protocol):
    """Runs named SQL steps (files of ``sql/``) into named tables of its own."""

    def table(self, name: str, step: str, **values: Value) -> int:
        """Create table `name` from the SELECT of `step`, with `values` for its ``$`` parameters.

        Returns its number of rows.
        """
        ...

    def has(self, name: str) -> bool:
        """Tell whether table `name` is there."""
        ...

    def view(self, name: str, step: str) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def append(self, name: str, step: str, **values: Value) -> int:
        """Add the rows of `step` to table `name`, creating it when it is not there; return how many."""
        ...

    def drop(self, *names: str) -> None:
        """Forget tables that no later step reads."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""

    def fetch(self, step: str, **values: Value) -> pl.DataFrame:
        """Return the rows of `step` as a frame."""

    def batches(self, what: str, frame: pl.LazyFrame, handle: Callable[[Batch], None]) -> int:
        """Read `frame` (``searches``, ``clicks`` or ``ids``) once in bounded memory.

        For each batch, show its fingerprints and numbers as table ``<what>_read``, then call `handle` with
        the same rows and their texts. Column ``row_nr`` counts the rows of a batch from 0. The first
        batch is empty and only shows the columns. Returns the number of rows read.
        """
        ...

    def show(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see `frame` as table `name`."""

    def close(self) -> None:
        """Let go of memory and temporary files."""
