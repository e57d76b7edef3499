"""The declared steps on DuckDB, in this process: it spills to disk what exceeds its memory limit.

Parquet is read where it lies. What DuckDB would read in another way than the other engines (text, columns of
odd types, times at the ends of its range) is first written as Parquet of canonical types, by the code that
reads it otherwise; files are found and checked as for every engine (`clickassay.inputs`).
"""

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from glob import escape
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import (
    CoalesceOperator,
    ColumnExpression,
    ConstantExpression,
    DuckDBPyRelation,
    Expression,
    FunctionExpression,
)

from clickassay.core.errors import EngineError, InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.sql import sql_text
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings, memory_bytes
from clickassay.core.text.words import first_line
from clickassay.inputs.columns import CANONICAL
from clickassay.inputs.files import READ_ERRORS, reading_remedy
from clickassay.inputs.sources.parts import Part
from clickassay.inputs.tables import files_named, unreadable, watched
from clickassay.inputs.types import NO_VALUE, from_folder
from clickassay.logs.assignments import Assignments
from clickassay.logs.batches import Window, is_within, window_spans
from clickassay.logs.chunks import FileChunk, row_groups, rows_of_file
from clickassay.logs.log import LocalHalf, Log
from clickassay.logs.outcomes import Outcomes
from clickassay.logs.sql.sessioniser import SqlBatchProcessor, sql_pattern_table
from clickassay.logs.sql.steps import Value
from clickassay.logs.sql.translate import filled_step
from clickassay.patterns.table import write_patterns

_INTERRUPTED = "Query interrupted"
_ENOUGH_BYTES = 3_000_000_000  # beyond its limit DuckDB spills, so that any log fits
_KEPT_FILES = 2  # tables of closed and of open sessions; what is carried over from this batch and to this one


class DuckDBEngine:
    """A `SqlEngine` on DuckDB; tables between them lie in memory, or in `folder` beyond the memory limit.

    threads, memory_limit: memory in bytes. None = all cores; 3 GB, or 80% of RAM if that is less.
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
            return self._connection.from_arrow(frame.to_arrow())

    def show(self, name: str, rows: DuckDBPyRelation, carried: DuckDBPyRelation | None = None) -> None:
        with self.translated_errors():
            shown = _marked(rows, carried=False)
            if carried is not None:
                shown = shown.union_by_name(_marked(carried, carried=True))
            shown.create_view(name, replace=True)

    def register(self, name: str, frame: pl.DataFrame) -> None:
        with self.translated_errors():
            self._connection.register(name, frame.to_arrow())

    def put(self, file: Path | None, like: DuckDBPyRelation) -> DuckDBPyRelation:
        return like.limit(0) if file is None else self.read_parquet([file])

    def stage(self, name: str, step: str, **values: Value) -> None:
        self._make_way(name, for_table=True)
        with self.translated_errors():
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {filled_step(step, values)}")
        self._tables.add(name)

    def view(self, name: str, step: str, **values: Value) -> None:
        self._make_way(name, for_table=False)
        with self.translated_errors():
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {filled_step(step, values)}")

    def _make_way(self, name: str, *, for_table: bool) -> None:
        if name in self._tables and not for_table:
            self._connection.execute(f"DROP TABLE {name}")
            self._tables.remove(name)
        elif name not in self._tables and for_table:
            self._connection.execute(f"DROP VIEW IF EXISTS {name}")

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        with self.translated_errors():
            return self._connection.execute(filled_step(step, values)).fetchall()

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        return [self.rows(step) for step in steps]

    def is_empty(self, name: str) -> bool:
        with self.translated_errors():
            return not self._connection.table(name).limit(1).fetchall()

    def fetch(self, *steps: str, **values: Value) -> list[pl.LazyFrame]:
        """Return steps' rows in order, a file each; the last two files of a step are there."""
        places = []
        for step in steps:
            name = step.rpartition("/")[2]
            places.append(self.place(name))
            with self.translated_errors():
                self._connection.sql(filled_step(step, values)).write_parquet(str(places[-1]))
            self._fetched_to[name].append(places[-1])
            for old in self._fetched_to[name][:-_KEPT_FILES]:
                old.unlink()
                self._fetched_to[name].remove(old)
        return [scan_parquet(place) for place in places]

    def fetched(self, name: str) -> DuckDBPyRelation:
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
            text = first_line(error)
            if isinstance(error, duckdb.OutOfMemoryException):
                raise EngineError(
                    f"memory limit reached: {text}; raise --memory-limit, use fewer --threads, "
                    "or free disk space for spilling"
                ) from error
            if is_disk_full(error):
                raise EngineError(
                    f"disk full while working: {text}; free space or choose another --out"
                ) from error
            if isinstance(error, READ_ERRORS) or "Too many open files" in str(error):
                refuse_machine_fault("the log", error)
                remedy = reading_remedy(error, "check that the files are complete")
                raise InputError(f"cannot read the log: {text}; {remedy}") from error
            raise EngineError(f"DuckDB failed: {text}") from error


def _config(folder: Path, threads: int | None, memory_limit: int | None) -> dict[str, Any]:
    config: dict[str, Any] = {
        "temp_directory": str(folder / "spilled"),
        "memory_limit": f"{memory_limit or min(_ENOUGH_BYTES, int(0.8 * memory_bytes()))}B",
        "preserve_insertion_order": False,
        # steps are written so that the right side of a join is the small one; guesses would often be wrong
        "disabled_optimizers": "join_order,build_side_probe_side",
        # all that the steps need is built in
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return config if threads is None else {**config, "threads": threads}


def _marked(rows: DuckDBPyRelation, *, carried: bool) -> DuckDBPyRelation:
    return rows.select(duckdb.StarExpression(), duckdb.ConstantExpression(carried).alias("carried"))


_ROW = "file_row_number"
_CANONICAL = {pl.Int64(): "BIGINT", pl.String(): "VARCHAR", pl.List(pl.String()): "VARCHAR[]"}
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_NS_TIMES = ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")
_READ_AS = {
    "BIGINT": (*_WHOLE, *_TIMES, *_NS_TIMES),
    "VARCHAR": ("VARCHAR", "UBIGINT", *_WHOLE),
    "VARCHAR[]": ("VARCHAR[]", "UBIGINT[]", *(f"{whole}[]" for whole in _WHOLE)),
}
"""Types of DuckDB that a cast, or the number of a time, brings to a canonical type."""
_FARTHEST_MS = 9_000_000_000_000
"""Times (ms) so far from 1970 are the same numbers in every unit of DuckDB."""

Types = tuple[tuple[str, str], ...]


class LogReader:
    """Opens the halves of a log in DuckDB."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self._engine = engine
        self._written: dict[tuple[str, Path], Path] = {}

    def rows_of(self, half: LocalHalf) -> DuckDBPyRelation:
        """Return all rows of a half."""
        return self._union(half, self._opened(half, half.files, None))

    def rows_in(self, half: LocalHalf, chunks: Sequence[FileChunk], window: Window) -> DuckDBPyRelation:
        """Return the rows of chunks that lie in a window; files that lie wholly in it are read together."""
        relations: list[DuckDBPyRelation] = []
        for span in window_spans(chunks, window, lambda file: rows_of_file(file, chunks)):
            for rows in self._opened(half, [Path(file) for file in span.files], span.rows):
                if span.times is not None:
                    condition = is_within(span.times, ColumnExpression("timestamp"), ConstantExpression)
                    untimed = ConstantExpression(span.times[2])
                    rows = rows.filter(CoalesceOperator(condition, untimed))  # noqa: PLW2901
                relations.append(rows)
        return self._union(half, relations)

    def _union(self, half: LocalHalf, parts: Iterable[DuckDBPyRelation]) -> DuckDBPyRelation:
        relations = list(parts) or [self._engine.rows_of_frame(half.frame.clear().collect())]
        return reduce(lambda one, other: one.union(other), relations)

    def _opened(
        self, half: LocalHalf, files: Sequence[Path], rows: tuple[int, int] | None
    ) -> Iterator[DuckDBPyRelation]:
        wanted = set(files)
        for part in half.parts:
            alike: defaultdict[Types | None, list[Path]] = defaultdict(list)
            for file in part.files:
                if file in wanted:
                    alike[self._types(half, part, file)].append(file)
            for types, members in alike.items():
                if types is None:
                    members = [self._as_written(half, file) for file in members]  # noqa: PLW2901
                raw = self._engine.read_parquet(members, numbered=rows is not None)
                if rows is not None:
                    place, (offset, count) = ColumnExpression(_ROW), rows
                    last = place < ConstantExpression(offset + count)
                    raw = raw.filter((place >= ConstantExpression(offset)) & last)
                yield raw.select(*_columns(half, part, None if types is None else dict(types)))

    def _types(self, half: LocalHalf, part: Part, file: Path) -> Types | None:
        names = [name.lower() for name in part.schema]  # DuckDB takes no account of capitals
        wanted = [want for want in CANONICAL[half.what] if want.name in part.schema]
        is_in_seconds = any(want.kind == "seconds" for want in wanted)
        is_odd = part.format != "parquet" or part.renamed or len(names) > len(set(names)) or _ROW in names
        if is_in_seconds or is_odd:
            return None
        read = self._engine.read_parquet([file])
        types = {name: str(dtype) for name, dtype in zip(read.columns, read.types, strict=True)}
        partition = dict(part.partition)  # whose columns are constants
        own = {want.name: types[want.name] for want in wanted if want.name not in partition}
        canonical = _canonical_types(half)
        if any(dtype not in _READ_AS[canonical[name]] for name, dtype in own.items()):
            return None
        if own.get("timestamp") in (*_TIMES, *_NS_TIMES):
            ranges = [(low, high) for _, rows, low, high in row_groups(half, file) if rows]
            for low, high in ranges:  # by the footer: all must be UTC, and as near as DuckDB needs them
                if low is None or high is None or low <= -_FARTHEST_MS or high >= _FARTHEST_MS:
                    return None
        return tuple(own.items())

    def _as_written(self, half: LocalHalf, file: Path) -> Path:
        place = self._written.get((half.what, file))
        if place is None:
            place = self._written[half.what, file] = self._engine.place(half.what)
            with self._engine.translated_errors():
                half.opened([file]).sink_parquet(place, maintain_order=True)
        return place


def _canonical_types(half: LocalHalf) -> dict[str, str]:
    return {name: _CANONICAL[dtype] for name, dtype in half.frame.collect_schema().items()}


def _columns(half: LocalHalf, part: Part, types: dict[str, str] | None) -> Iterator[Expression]:
    partition, canonical = dict(part.partition), _canonical_types(half)
    for want in CANONICAL[half.what]:
        if types is None:
            column: Expression = ColumnExpression(want.name)
        elif want.name in types:
            column = _column(want.name, types[want.name])
        elif want.name in partition:
            column = ConstantExpression(from_folder(partition[want.name], want.kind, half.time_zone))
        else:
            column = ConstantExpression(want.absent)
        yield column.cast(canonical[want.name]).alias(want.name)


def _column(name: str, dtype: str) -> Expression:
    column = ColumnExpression(name)
    if dtype == "VARCHAR":
        return FunctionExpression("nullif", column, ConstantExpression(NO_VALUE))
    if dtype in _TIMES:
        return FunctionExpression("epoch_ms", column)
    if dtype in _NS_TIMES:
        return FunctionExpression("divide", FunctionExpression("epoch_ns", column), ConstantExpression(10**6))
    return column


def write_duckdb_patterns(
    log: Log[LocalHalf],
    settings: Settings,
    folder: Path,
    *,
    judged_queries: pl.DataFrame | None = None,
    outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
    info: dict[str, Any],
    progress: Progress = silent,
) -> None:
    """Write a log's pattern table, which need not fit into memory, on DuckDB, and spilled rows, to `folder`.

    info: settings and versions of the table; inputs are added.
    """
    watch = watched(log.searches, log.clicks, progress=progress)
    with watch as inputs, duckdb_engine(log, settings, folder) as engine:
        reader = LogReader(engine)
        table = sql_pattern_table(
            engine, reader.rows_of(log.searches), reader.rows_of(log.clicks), settings, judged_queries,
            log=log, outcomes=outcomes, assignments=assignments, info={**info, "inputs": inputs},
            progress=progress,
        )  # fmt: skip
        progress(Event("writing"))
        write_patterns(table, folder)


@contextmanager
def duckdb_engine(log: Log[LocalHalf], settings: Settings, work: Path | None) -> Iterator[DuckDBEngine]:
    """Yield an engine with a folder of its own in `work`; errors name the file of the log that is broken."""
    halves = (log.searches, log.clicks)
    try:
        with files_named(*halves), tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as spill:
            engine = DuckDBEngine(
                folder=Path(spill), threads=settings.threads, memory_limit=settings.memory_limit_bytes
            )
            try:
                yield engine
            finally:
                engine.close()
    except EngineError as error:  # `files_named` knows errors of Polars alone
        met = error.__cause__
        is_other = isinstance(met, duckdb.OutOfMemoryException) or is_disk_full(met)
        if is_other or not isinstance(met, duckdb.Error) or (named := unreadable(halves)) is None:
            raise
        raise named from error


def duckdb_batches(
    engine: DuckDBEngine,
    settings: Settings,
    judged_queries: pl.DataFrame | None,
    progress: Progress,
    outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
) -> SqlBatchProcessor[LocalHalf, DuckDBPyRelation]:
    """Return what processes the batches of a store on DuckDB."""
    reader = LogReader(engine)
    return SqlBatchProcessor(
        engine, reader.rows_of, reader.rows_in, settings, judged_queries, progress, outcomes, assignments
    )
