"""Row groups of a Parquet file, made in one thread and written in another while the next rows are drawn."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic

from clickassay.inputs.simulate.rows import Rows, join

ROW_GROUP = 100_000
"""A row group is written when at least this many rows are gathered."""

MOST_WAITING = 2
"""Row groups that wait for the threads of their file, so that these always have work."""


class RowGroups(Generic[Rows]):
    """Gathers rows and has them written as row groups of one file.

    At most `MOST_WAITING` row groups wait, so memory does not grow with the file.
    """

    def __init__(
        self,
        file: Any,  # noqa: ANN401 - pyarrow
        arrow: Callable[[Rows], Any],
        makes: Executor,
        writes: Executor,
    ) -> None:
        self._file = file
        self._arrow: Callable[[Rows], Any] = arrow
        self._makes = makes
        self._writes = writes
        self._gathered: list[Rows] = []
        self._waiting: deque[Future[None]] = deque()

    def add(self, rows: Rows) -> None:
        """Take rows; have a row group written when enough are gathered."""
        self._gathered.append(rows)
        if sum(map(len, self._gathered)) >= ROW_GROUP:
            self._flush()
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Write what is left."""
        if any(map(len, self._gathered)):
            self._flush()
        while self._waiting:
            self._waiting.popleft().result()

    def _flush(self) -> None:
        table = self._makes.submit(self._arrow, join(self._gathered))
        self._waiting.append(self._writes.submit(self._write, table))
        self._gathered = []

    def _write(self, made: Future[Any]) -> None:
        table = made.result()
        self._file.write_table(table, row_group_size=len(table))


@contextmanager
def row_groups(file: Any, arrow: Callable[[Rows], Any]) -> Iterator[RowGroups[Rows]]:  # noqa: ANN401 - pyarrow
    """Write to a Parquet writer of PyArrow, which is closed at the end; `arrow` turns rows into a table."""
    with file, ThreadPoolExecutor(max_workers=1) as writes, ThreadPoolExecutor(max_workers=1) as makes:
        groups = RowGroups(file, arrow, makes, writes)
        yield groups
        groups.finish()
