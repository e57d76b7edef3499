"""Row groups of one Parquet file, each encoded by itself in a pool of threads, written in their order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Generic

from clickassay.inputs.simulate.footers import MAGIC, Footer, split_file
from clickassay.inputs.simulate.rows import Rows, join

ROW_GROUP = 100_000
"""A row group is encoded when at least this many rows are gathered."""

THREADS = 2
"""Row groups that are encoded at a time, which takes most of the time of a simulation."""

Encoded = Any
"""A Parquet file in memory, as a buffer."""


class RowGroups(Generic[Rows]):
    """Gathers rows, has them encoded as files of one row group, and puts these together to one file.

    At most `THREADS` row groups wait, so memory does not grow with the file.
    """

    def __init__(
        self, file: BinaryIO, pool: Executor, empty: Encoded, encode: Callable[[Rows], Encoded]
    ) -> None:
        self._file = file
        self._pool = pool
        self._encode: Callable[[Rows], Encoded] = encode
        self._footer = Footer(split_file(memoryview(empty))[1])
        self._gathered: list[Rows] = []
        self._waiting: deque[Future[Encoded]] = deque()
        self._file.write(MAGIC)

    def add(self, rows: Rows) -> None:
        """Take rows; have a row group encoded when enough are gathered."""
        self._gathered.append(rows)
        if sum(map(len, self._gathered)) >= ROW_GROUP:
            self._flush()
        while len(self._waiting) > THREADS:
            self._write(self._waiting.popleft().result())

    def finish(self) -> None:
        """Write what is left."""
        if any(map(len, self._gathered)):
            self._flush()
        while self._waiting:
            self._write(self._waiting.popleft().result())
        self._file.write(self._footer.end())

    def _flush(self) -> None:
        self._waiting.append(self._pool.submit(self._encode, join(self._gathered)))
        self._gathered = []

    def _write(self, encoded: Encoded) -> None:
        groups, footer = split_file(memoryview(encoded))
        self._footer.add(footer, self._file.tell() - len(MAGIC))
        self._file.write(groups)


@contextmanager
def row_groups(
    path: Path, pool: Executor, empty: Encoded, encode: Callable[[Rows], Encoded]
) -> Iterator[RowGroups[Rows]]:
    """Open a file: `empty` is one without rows, `encode` makes one with a row group of rows."""
    with path.open("wb") as file:
        groups = RowGroups(file, pool, empty, encode)
        yield groups
        groups.finish()
