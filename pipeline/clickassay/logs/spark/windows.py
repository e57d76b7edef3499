"""The rows of a window of time on Spark: of files that lie here, and of files that only Spark reaches."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.inputs.files import FileFingerprint, is_parquet
from clickassay.inputs.tables import Input
from clickassay.logs.batches.chunks import DAY_MS, MANY_DAYS, Piece, pieces_of
from clickassay.logs.batches.windows import Window, belonging, inside, runs
from clickassay.logs.spark.errors import in_words
from clickassay.logs.spark.read import SparkInput, canonical_time

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FILE = ("_metadata.file_path", "_metadata.file_size", "_metadata.file_modification_time")


class RemoteFile(str):
    """The path of a file that only Spark reaches, where the planning of batches expects a path."""

    bytes: int
    modified: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.rpartition("/")[2]

    def resolve(self) -> "RemoteFile":
        """Return the path itself: it is absolute."""
        return self


class RemoteInput(Input):
    """One half of a log in files that only Spark reaches: known by path, size and time of change."""

    def file_fingerprint(self, file: Path) -> FileFingerprint:
        """Name a file by its path, size and time of change; its content is not read."""
        remote = _remote(file)
        digest = hashlib.sha256(f"{remote}\n{remote.bytes}\n{remote.modified}".encode()).hexdigest()
        return FileFingerprint(remote.name, str(remote), remote.bytes, digest)

    def only(self, files: Sequence[Path]) -> Input:
        """Return the same input with some of its files."""
        return replace(self, files=tuple(files))


def _remote(file: object) -> RemoteFile:
    assert isinstance(file, RemoteFile)  # noqa: S101 - RemoteInput has no others
    return file


def listed(half: SparkInput) -> Input:
    """Return a half of a log as the planning of batches sees it: its files, and the types of its columns.

    Raises
    ------
    InputError
        If it is a table that tells no files apart: a store must know what it has read.
    """
    if half.local is not None:
        return half.local
    try:
        rows = half.raw.select(*_FILE).distinct().collect()
    except Exception as error:
        raise InputError(
            f"{half.what}: {half.source} tells no files apart, which a store needs to know what it holds; "
            "give a path of Parquet files, or use --out"
        ) from in_words(error)
    ids = pl.LazyFrame(schema={"search_id": pl.Int64 if half.id_type == "bigint" else pl.String})
    files = tuple(sorted(_file(str(path), int(size), str(time)) for path, size, time in rows))
    return RemoteInput(half.what, files, half.columns, ids, _not_here)  # type: ignore[arg-type]


def _file(path: str, size: int, modified: str) -> RemoteFile:
    file = RemoteFile(path)
    file.bytes, file.modified = size, modified
    return file


def _not_here(*_rows: object) -> NoReturn:
    raise InputError("rows of files that only Spark reaches were asked for here")


@dataclass(frozen=True)
class SparkPieces:
    """Finds the pieces of both halves of a log: row groups of files that lie here, else whole files."""

    halves: tuple[SparkInput, SparkInput]

    def __call__(self, table: Input, first_ms: int, end_ms: int) -> tuple[Piece, ...]:
        """Return the pieces of an input, with the range of their times within first_ms to end_ms."""
        half = next(half for half in self.halves if half.what == table.what)
        if half.local is not None:
            return pieces_of(table, first_ms, end_ms)
        wanted = {str(file) for file in table.files}
        found = _times_of_files(half, first_ms, end_ms)
        return tuple(piece for piece in found if str(piece.file) in wanted)


def _times_of_files(half: SparkInput, first_ms: int, end_ms: int) -> list[Piece]:
    from pyspark.sql import functions as F  # noqa: PLC0415, N812 - its usual name

    timed = half.raw.select(F.col("_metadata.file_path").alias("file"), _time_of(half).alias("timestamp"))
    time = timed.where((F.col("timestamp") >= first_ms) & (F.col("timestamp") < end_ms))
    days = F.collect_set((F.col("timestamp") / DAY_MS).cast("bigint") * DAY_MS)
    known = {
        row["file"]: row
        for row in time.groupBy("file")
        .agg(F.min("timestamp").alias("low"), F.max("timestamp").alias("high"), days.alias("days"))
        .collect()
    }
    rows = timed.groupBy("file").count().collect()
    return [_piece(str(file), int(count), known.get(file)) for file, count in rows]


def _time_of(half: SparkInput) -> "Column":
    return canonical_time(half.what, half.source, dict(half.raw.dtypes))


def _piece(file: str, rows: int, times: object) -> Piece:
    path: Path = RemoteFile(file)  # type: ignore[assignment]
    if times is None:
        return Piece(path, 0, rows, None, None)
    low, high, days = times["low"], times["high"], times["days"]  # type: ignore[index]
    is_long = high - low > MANY_DAYS * DAY_MS
    return Piece(path, 0, rows, low, high, tuple(sorted(days)) if is_long else None)


def window_rows(half: SparkInput, pieces: Sequence[Piece], window: Window) -> "DataFrame":
    """Return the rows of a window in canonical types; files that lie wholly in it are read together."""
    from pyspark.sql import functions as F  # noqa: PLC0415, N812

    whole, frames = _wholly_inside(half, pieces, window), []
    if whole:
        frames.append(half.opened(sorted(whole), None))
    for run in runs(
        [piece for piece in pieces if piece.file not in whole], lambda piece: inside(piece, window)
    ):
        rows = half.opened([run[0].file], (run[0].offset, sum(piece.rows for piece in run)))
        if not inside(run[0], window):
            start, end, untimed = belonging(run[0], window)
            time, condition = F.col("timestamp"), F.lit(True)
            if start is not None:
                condition = time >= start
            if end is not None:
                condition = condition & (time < end)
            rows = rows.where(F.coalesce(condition, F.lit(untimed)))
        frames.append(rows)
    return reduce(lambda one, other: one.unionByName(other), frames or [half.frame.limit(0)])


def _wholly_inside(half: SparkInput, pieces: Sequence[Piece], window: Window) -> set[Path]:
    """Return the files all of whose rows lie in the window."""
    rows: dict[Path, int] = {}
    for piece in pieces:
        if inside(piece, window):
            rows[piece.file] = rows.get(piece.file, 0) + piece.rows
    return {file for file, count in rows.items() if count == _rows_of_file(half, file, pieces)}


def _rows_of_file(half: SparkInput, file: Path, pieces: Sequence[Piece]) -> int:
    """Return all rows of a file: of row groups outside the window too."""
    if half.local is not None and is_parquet(file):
        return int(pq.read_metadata(file).num_rows)
    return sum(piece.rows for piece in pieces if piece.file == file)
