"""The declared steps on an in-memory DuckDB, which spills to disk what exceeds its memory limit."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import DuckDBPyRelation

from clickassay.core.errors import EngineError, InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.sql import sql_text
from clickassay.core.files.tables import scan_parquet
from clickassay.core.settings import memory_bytes
from clickassay.core.text.words import first_line
from clickassay.inputs.files import READ_ERRORS, reading_remedy
from clickassay.logs.engine import Value
from clickassay.logs.sql.translate import filled_step

_INTERRUPTED = "Query interrupted"
_ENOUGH_BYTES = 3_000_000_000
_KEPT_FILES = 2  # tables of closed and of open sessions; what is carried over from this batch and to this one


class DuckDBEngine:
    """Runs steps on DuckDB; tables between them lie in memory, or in `folder` beyond the memory limit.

    folder: empty folder for spilled rows and for tables that are fetched; the caller removes it.
    threads, memory_limit: memory in bytes. None = all cores; 3 GB, or 80 % of RAM if that is less.
    """

    def __init__(self, *, folder: Path, threads: int | None = None, memory_limit: int | None = None) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._tables: set[str] = set()
        self._fetched_to: defaultdict[str, list[Path]] = defaultdict(list)
        self._connection = duckdb.connect(config=_config(folder, threads, memory_limit))
        with self.translated_errors():
            self._connection.execute(sql_text("macros/duckdb"))

    def place(self, name: str) -> Path:
        """Return the path of a new Parquet file in the folder."""
        return self._folder / f"{next(self._numbers):04d}-{name}.parquet"

    def read_parquet(self, files: list[Path], *, numbered: bool = False) -> DuckDBPyRelation:
        """Return the rows of Parquet files of one schema, as DuckDB reads them, unread.

        numbered: whether to add `file_row_number`: the place of a row in its file, from 0.
        """
        with self.translated_errors():
            names = [escape(str(file)) for file in files]  # which would be patterns
            return self._connection.read_parquet(names, hive_partitioning=False, file_row_number=numbered)

    def rows_of_frame(self, frame: pl.DataFrame) -> DuckDBPyRelation:
        """Return the rows of a small frame."""
        with self.translated_errors():
            return self._connection.from_arrow(_to_arrow(frame))

    def show(self, name: str, rows: DuckDBPyRelation, carried: DuckDBPyRelation | None = None) -> None:
        """Let SQL see rows as table `name`, with a column ``carried``: true for those carried over."""
        with self.translated_errors():
            shown = _marked(rows, carried=False)
            if carried is not None:
                shown = shown.union_by_name(_marked(carried, carried=True))
            shown.create_view(name, replace=True)

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see a small frame as table `name`."""
        with self.translated_errors():
            self._connection.register(name, _to_arrow(frame))

    def put(self, file: Path | None, like: DuckDBPyRelation) -> DuckDBPyRelation:
        """Return the rows of a Parquet file; None = no rows, of the form of others."""
        return like.limit(0) if file is None else self.read_parquet([file])

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Store the rows of `step` as table `name`."""
        self._make_way(name, for_table=True)
        with self.translated_errors():
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {filled_step(step, values)}")
        self._tables.add(name)

    def view(self, name: str, step: str, **values: Value) -> None:
        """Give the SELECT of `step` a name, without running it."""
        self._make_way(name, for_table=False)
        with self.translated_errors():
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {filled_step(step, values)}")

    def _make_way(self, name: str, *, for_table: bool) -> None:
        """Drop what another step of this name has left, where it is of the other kind."""
        if name in self._tables and not for_table:
            self._connection.execute(f"DROP TABLE {name}")
            self._tables.remove(name)
        elif name not in self._tables and for_table:
            self._connection.execute(f"DROP VIEW IF EXISTS {name}")

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""
        with self.translated_errors():
            return self._connection.execute(filled_step(step, values)).fetchall()

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        """Return the few rows of each of several steps."""
        return [self.rows(step) for step in steps]

    def is_empty(self, name: str) -> bool:
        """Return whether table `name` holds no row."""
        with self.translated_errors():
            return not self._connection.table(name).limit(1).fetchall()

    def fetch(self, *steps: str) -> list[pl.LazyFrame]:
        """Return the rows of steps in their order, each in a file.

        Of a step that is fetched again and again, for batch after batch, the last two files are there.
        """
        return [self._fetched(step) for step in steps]

    def _fetched(self, step: str) -> pl.LazyFrame:
        name = step.rpartition("/")[2]
        place = self.place(name)
        with self.translated_errors():
            self._connection.sql(filled_step(step, {})).write_parquet(str(place))
        self._fetched_to[name].append(place)
        for old in self._fetched_to[name][:-_KEPT_FILES]:
            old.unlink()
            self._fetched_to[name].remove(old)
        return scan_parquet(place)

    def fetched(self, name: str) -> DuckDBPyRelation:
        """Return the rows that `fetch` wrote last for a step of this name."""
        return self.read_parquet([self._fetched_to[name][-1]])

    def close(self) -> None:
        """Release memory and temporary files."""
        self._connection.close()

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Translate errors of the libraries into one line that says what to do."""
        try:
            yield
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:  # how DuckDB's Python layer reports Ctrl-C
            if _INTERRUPTED not in str(error):
                raise
            raise KeyboardInterrupt from None
        except (duckdb.Error, *READ_ERRORS) as error:
            if "KeyboardInterrupt" in str(error):  # Ctrl-C while DuckDB looks at a frame
                raise KeyboardInterrupt from None
            raise _translated(error) from error


def _config(folder: Path, threads: int | None, memory_limit: int | None) -> dict[str, Any]:
    config: dict[str, Any] = {
        "temp_directory": str(folder / "spilled"),
        "memory_limit": f"{memory_limit or _own_limit()}B",
        "preserve_insertion_order": False,
        # steps are written so that the right side of a join is the small one; guesses would often be wrong
        "disabled_optimizers": "join_order,build_side_probe_side",
        # all that the steps need is built in
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return config if threads is None else {**config, "threads": threads}


def _own_limit() -> int:
    """Return the default memory limit in bytes: beyond it DuckDB spills, so that any log fits."""
    return min(_ENOUGH_BYTES, int(0.8 * memory_bytes()))


def _marked(rows: DuckDBPyRelation, *, carried: bool) -> DuckDBPyRelation:
    return rows.select(duckdb.StarExpression(), duckdb.ConstantExpression(carried).alias("carried"))


def _to_arrow(frame: pl.DataFrame) -> Any:  # noqa: ANN401 - Arrow's table
    return frame.to_arrow()


def _translated(error: BaseException) -> EngineError | InputError:
    text = first_line(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(
            f"memory limit reached: {text}; raise --memory-limit, use fewer --threads, "
            "or free disk space for spilling"
        )
    if is_disk_full(error):
        return EngineError(f"disk full while working: {text}; free space or choose another --out")
    if isinstance(error, READ_ERRORS) or "Too many open files" in str(error):
        refuse_machine_fault("the log", error)
        remedy = reading_remedy(error, "check that the files are complete")
        return InputError(f"cannot read the log: {text}; {remedy}")
    return EngineError(f"the engine failed: {text}")
