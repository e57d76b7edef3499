"""A log as DuckDB sees it, in canonical types: Parquet where it lies, all else written as Parquet first.

Files are found and checked as for every engine (`clickassay.inputs`). What DuckDB would read in another way
than the other engines (text, columns of odd types, times at the ends of its range) is written as Parquet of
canonical types by the code that reads it otherwise.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path

import polars as pl
from duckdb import (
    CoalesceOperator,
    ColumnExpression,
    ConstantExpression,
    DuckDBPyRelation,
    Expression,
    FunctionExpression,
)

from clickassay.inputs.sources.parts import Part
from clickassay.inputs.types.canonical import NO_VALUE, from_folder
from clickassay.inputs.types.columns import CANONICAL, Wanted
from clickassay.logs.batches.windows import Window, window_spans
from clickassay.logs.chunks import FileChunk, row_groups, rows_of_file
from clickassay.logs.duckdb.engine import DuckDBEngine
from clickassay.logs.log import LocalHalf

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
    """Opens the halves of a log in DuckDB.

    engine: reads the files.
    """

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
                relations.append(rows if span.times is None else rows.filter(_in_window(*span.times)))
        return self._union(half, relations)

    def _union(self, half: LocalHalf, parts: Iterable[DuckDBPyRelation]) -> DuckDBPyRelation:
        relations = list(parts) or [self._engine.rows_of_frame(half.frame.clear().collect())]
        return reduce(lambda one, other: one.union(other), relations)

    def _opened(
        self, half: LocalHalf, files: Sequence[Path], rows: tuple[int, int] | None
    ) -> Iterator[DuckDBPyRelation]:
        """Yield the rows of files: all, or of one file from an offset on, so many."""
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
                    raw = raw.filter(_at(*rows))
                yield raw.select(*_columns(half, part, None if types is None else dict(types)))

    def _types(self, half: LocalHalf, part: Part, file: Path) -> Types | None:
        """Return the types of the wanted columns of a file in DuckDB; None if it must be written first."""
        names = [name.lower() for name in part.schema]
        is_in_seconds = any(
            want.kind == "seconds" for want in CANONICAL[half.what] if want.name in part.schema
        )
        if (
            is_in_seconds
            or part.format != "parquet"
            or part.renamed
            or len(names) > len(set(names))
            or _ROW in names
        ):
            return None  # DuckDB takes no account of capitals
        read = self._engine.read_parquet([file])
        types = {name: str(dtype) for name, dtype in zip(read.columns, read.types, strict=True)}
        own = {name: types[name] for name in _own_columns(half, part)}
        canonical = _canonical_types(half)
        if any(dtype not in _READ_AS[canonical[name]] for name, dtype in own.items()):
            return None
        if own.get("timestamp") in (*_TIMES, *_NS_TIMES) and not _has_near_times(half, file):
            return None
        return tuple(own.items())

    def _as_written(self, half: LocalHalf, file: Path) -> Path:
        """Return a Parquet file of canonical types with the rows of a file in their order."""
        place = self._written.get((half.what, file))
        if place is None:
            place = self._written[half.what, file] = self._engine.place(half.what)
            with self._engine.translated_errors():
                half.opened([file]).sink_parquet(place, maintain_order=True)
        return place


def _canonical_types(half: LocalHalf) -> dict[str, str]:
    return {name: _CANONICAL[dtype] for name, dtype in half.frame.collect_schema().items()}


def _own_columns(half: LocalHalf, part: Part) -> list[str]:
    """Return the wanted columns that the files of a part hold: others are constants."""
    partition = dict(part.partition)
    return [
        want.name for want in CANONICAL[half.what] if want.name in part.schema and want.name not in partition
    ]


def _has_near_times(half: LocalHalf, file: Path) -> bool:
    """Return whether a file's footer says that all of its times are UTC, and as near as DuckDB needs them."""
    return all(
        low is not None and high is not None and low > -_FARTHEST_MS and high < _FARTHEST_MS
        for _, rows, low, high in row_groups(half, file)
        if rows
    )


def _columns(half: LocalHalf, part: Part, types: dict[str, str] | None) -> Iterator[Expression]:
    """Yield the canonical columns of files with these types; None = of a file that was written so."""
    partition = dict(part.partition)
    for want in CANONICAL[half.what]:
        canonical = _canonical_types(half)[want.name]
        if types is None:
            yield ColumnExpression(want.name).cast(canonical).alias(want.name)
        elif want.name in types:
            yield _column(want.name, types[want.name]).cast(canonical).alias(want.name)
        else:
            yield (
                ConstantExpression(_constant(want, partition, half.time_zone))
                .cast(canonical)
                .alias(want.name)
            )


def _constant(want: Wanted, partition: dict[str, str | None], time_zone: str) -> str | int | None:
    if want.name in partition:
        return from_folder(partition[want.name], want.kind, time_zone)
    return want.absent


def _column(name: str, dtype: str) -> Expression:
    column = ColumnExpression(name)
    if dtype == "VARCHAR":
        return FunctionExpression("nullif", column, ConstantExpression(NO_VALUE))
    if dtype in _TIMES:
        return FunctionExpression("epoch_ms", column)
    if dtype in _NS_TIMES:
        return FunctionExpression("divide", FunctionExpression("epoch_ns", column), ConstantExpression(10**6))
    return column


def _at(offset: int, rows: int) -> Expression:
    place = ColumnExpression(_ROW)
    return (place >= ConstantExpression(offset)) & (place < ConstantExpression(offset + rows))


def _in_window(start: int | None, end: int | None, untimed: bool) -> Expression:
    time, condition = ColumnExpression("timestamp"), ConstantExpression(True)
    if start is not None:
        condition = time >= ConstantExpression(start)
    if end is not None:
        condition = condition & (time < ConstantExpression(end))
    return CoalesceOperator(condition, ConstantExpression(untimed))
