"""The embedded default engine.

DuckDB runs the SQL; Polars decodes the files, because it needs about two thirds of the CPU time
for lists of text and lets one pass serve both the fingerprints and the texts seen first.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from clickassay.core.errors import EngineError, InputError
from clickassay.core.output import is_disk_full
from clickassay.core.settings import memory_bytes
from clickassay.core.sqlfiles import sql_text
from clickassay.core.text import first_line
from clickassay.inputs.files import READ_ERRORS
from clickassay.logs.embedded.scan import BatchRows, read_rows
from clickassay.logs.engine import Value

_INTERRUPTED = "Query interrupted"
_ENOUGH_BYTES = 3_000_000_000
_PARAMETER = re.compile(r"\$([a-z_]+)")


class DuckDBEngine:
    """An in-memory DuckDB that spills into `spill` and obeys `threads` and `memory_limit`."""

    def __init__(self, *, spill: Path, threads: int | None = None, memory_limit: str | None = None) -> None:
        # steps are written so that the right side of a join is the small one; guesses would often be wrong
        in_written_order = "join_order,build_side_probe_side"
        config: dict[str, Any] = {
            "temp_directory": str(spill),
            "preserve_insertion_order": False,
            "disabled_optimizers": in_written_order,
        }
        if threads is not None:
            config["threads"] = threads
        config["memory_limit"] = memory_limit or f"{_own_limit()}B"
        self._connection = duckdb.connect(config=config)
        self._tables: set[str] = set()
        self._registered: set[str] = set()
        with self._translated_errors():
            self._connection.execute(sql_text("macros/duckdb"))

    def table(self, name: str, step: str, **values: Value) -> int:
        """Create table `name` from the SELECT of `step`; return its number of rows."""
        rows = self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql_text(step)}", values)
        self._tables.add(name)
        return rows

    def view(self, name: str, step: str) -> None:
        """Name the SELECT of `step`."""
        self._run(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql_text(step)}", {})

    def append(self, name: str, step: str, **values: Value) -> int:
        """Add the rows of `step` to table `name`; return how many."""
        if name not in self._tables:
            return self.table(name, step, **values)
        return self._run(f"INSERT INTO {name} {sql_text(step)}", values)

    def drop(self, *names: str) -> None:
        """Drop tables."""
        for name in names:
            if name in self._registered:
                self._connection.unregister(name)
                self._registered.discard(name)
            elif name in self._tables:
                self._run(f"DROP TABLE {name}", {})
                self._tables.discard(name)

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""
        with self._translated_errors():
            return self._execute(sql_text(step), values).fetchall()

    def fetch(self, step: str, **values: Value) -> pl.DataFrame:
        """Return the rows of `step` as a frame."""
        statement = sql_text(step)
        with self._translated_errors():
            relation = self._connection.sql(statement, params=self._parameters(statement, values))
            frame: pl.DataFrame = relation.pl()
        return frame

    def read(self, what: str, frame: pl.LazyFrame, report: Callable[[int], None]) -> BatchRows:
        """Read a batch once and show its numbers as table ``<what>_read``."""
        with self._translated_errors():
            return read_rows(what, frame, report, lambda numbers: self.register(f"{what}_read", numbers))

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see `frame` as table `name`."""
        table = pa.table({column.name: _to_arrow(column) for column in frame})
        self._registered.add(name)
        with self._translated_errors():
            self._connection.register(name, table)

    def close(self) -> None:
        """Release memory and temporary files."""
        self._connection.close()

    def _run(self, statement: str, values: dict[str, Value]) -> int:
        with self._translated_errors():
            counted = self._execute(statement, values).fetchall()
        return int(counted[0][0]) if counted and isinstance(counted[0][0], int) else 0

    def _execute(self, statement: str, values: dict[str, Value]) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(statement, self._parameters(statement, values))

    @staticmethod
    def _parameters(statement: str, values: dict[str, Value]) -> dict[str, Value]:
        named = set(_PARAMETER.findall(statement))
        return {key: values[key] for key in values.keys() & named}

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Translate errors of the libraries into one line that says what to do."""
        try:
            yield
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:  # how DuckDB's Python layer reports Ctrl-C
            if _INTERRUPTED not in str(error):
                raise
            raise KeyboardInterrupt from None
        except duckdb.OutOfMemoryException as error:
            raise EngineError(_out_of_memory(error)) from error
        except (duckdb.Error, *READ_ERRORS) as error:
            if "KeyboardInterrupt" in str(error):  # Ctrl-C while DuckDB looks at a frame
                raise KeyboardInterrupt from None
            raise _translate_error(error) from error


def _own_limit() -> int:
    """Return the default memory limit in bytes: beyond it the engine spills, so that any log fits."""
    return min(_ENOUGH_BYTES, int(0.8 * memory_bytes()))


def _to_arrow(column: pl.Series) -> pa.ChunkedArray:
    """Hand a column to Arrow chunk by chunk: a frame whose chunks differ between columns would be copied.

    The newest level hands string views over as they are; the default copies every text.
    """
    level = pl.CompatLevel.newest()
    chunks = [chunk.to_arrow(compat_level=level) for chunk in column.get_chunks()]
    return pa.chunked_array(chunks)


def _out_of_memory(error: Exception) -> str:
    return (
        f"memory limit reached: {first_line(error)}; raise --memory-limit, use fewer --threads, "
        "or free disk space for spilling"
    )


def _translate_error(error: BaseException) -> EngineError | InputError:
    text = first_line(error)
    if is_disk_full(error):
        return EngineError(f"disk full while working: {text}; free space or choose another --out")
    if isinstance(error, READ_ERRORS):
        return InputError(f"cannot read the log: {text}; check that the files are complete")
    return EngineError(f"the engine failed: {text}")
