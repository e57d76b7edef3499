"""Row groups of a log's files and the times that they span, read from footers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.inputs.files import is_parquet
from clickassay.inputs.tables import Input
from clickassay.inputs.types import UTC

DAY_MS = 86_400_000
MANY_DAYS = 40

HELD_ROWS = 1 << 17
"""Rows of a table in memory that are taken together, as many as a usual row group has."""


@dataclass(frozen=True)
class FileChunk:
    """Rows of a file that are read together: a row group, or a whole file of text.

    `file` is the path that opens it, here or where only an engine reaches.
    `first_ms` and `last_ms` bound the usable times in it; both are None when it has none.
    `days` are the midnights (UTC) of its days with rows; None when it spans few days.
    """

    file: str
    offset: int
    rows: int
    first_ms: int | None
    last_ms: int | None
    days: tuple[int, ...] | None = None


def chunks_of(table: Input, first_ms: int, end_ms: int) -> tuple[FileChunk, ...]:
    """Return the chunks of an input, with the range of their times within first_ms to end_ms."""
    chunks: list[FileChunk] = []
    time = pl.col("timestamp")
    for file in table.files:
        for offset, rows, low, high in row_groups(table, file):
            times = scan_rows(table, [str(file)], (offset, rows)).select(time)
            if low is None or high is None or low < first_ms or high >= end_ms:
                usable = times.filter(time >= first_ms, time < end_ms)
                low, high = usable.select(low=time.min(), high=time.max()).collect().row(0)  # noqa: PLW2901
            days = None
            if low is not None and high is not None and high - low > MANY_DAYS * DAY_MS:
                # where a clock jumps, decades may lie between two rows
                midnights = times.filter(time >= low, time <= high).select(time // DAY_MS * DAY_MS)
                days = tuple(midnights.unique().sort("timestamp").collect().to_series())
            chunks.append(FileChunk(str(file), offset, rows, low, high, days))
    return tuple(chunks)


def row_groups(table: Input, file: Path) -> Iterable[tuple[int, int, int | None, int | None]]:
    """Yield offset and rows of row groups, and their times (ms) by the footer; or of a whole file of text.

    Rows in memory are cut likewise; their times are not known before they are looked at.
    """
    if file in table.held:
        height = table.held[file].height
        yield from ((at, min(HELD_ROWS, height - at), None, None) for at in range(0, height, HELD_ROWS))
        return
    footer, offset = footer_of(file), 0
    if footer is None:
        yield 0, int(table.opened([file]).select(pl.len()).collect().item()), None, None
        return
    time = table.names.get("timestamp", "timestamp")
    per_ms = _units_per_ms(footer, time, table.time_zone)
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        yield (offset, group.num_rows, *_footer_range(group, time, per_ms))
        offset += group.num_rows


def footer_of(file: Path) -> pq.FileMetaData | None:
    """Return the footer of a Parquet file; None for text, and for 128-bit integers, unknown to PyArrow."""
    if not is_parquet(file):
        return None
    try:
        return pq.read_metadata(file)
    except pa.ArrowNotImplementedError:
        return None


def _units_per_ms(footer: pq.FileMetaData, time: str, time_zone: str) -> float:
    """Return how many units of the column `time` make a millisecond of UTC; 0 if it is no such time."""
    schema = footer.schema.to_arrow_schema()
    kind = schema.field(time).type if time in schema.names else None
    if kind is not None and pa.types.is_timestamp(kind):
        if kind.tz is None and time_zone != UTC:
            return 0.0
        return {"s": 0.001, "ms": 1.0, "us": 1000.0, "ns": 1_000_000.0}[kind.unit]
    return 1.0 if kind == pa.int64() else 0.0


def _footer_range(group: pq.RowGroupMetaData, time: str, per_ms: float) -> tuple[int | None, int | None]:
    for number in range(group.num_columns if per_ms else 0):
        column = group.column(number)
        if column.path_in_schema == time:
            known = column.statistics
            if known is None or not known.has_min_max or not isinstance(known.min_raw, int):
                return None, None
            # the raw numbers: to make them times of day, PyArrow would import pandas
            return math.floor(known.min_raw / per_ms), math.floor(known.max_raw / per_ms)
    return None, None


def scan_rows(table: Input, files: Sequence[str], rows: tuple[int, int] | None) -> pl.LazyFrame:
    """Return the rows of files: all, or of one file from an offset on, so many."""
    places = [Path(file) for file in files]
    if rows is not None and not is_parquet(places[0]):
        rows = None  # a chunk of text is a whole file, and counting its lines is no parsing
    return table.opened(places, rows)


def rows_of_file(file: str, chunks: Sequence[FileChunk]) -> int:
    """Return all rows of a file, of row groups outside the chunks too."""
    footer = footer_of(Path(file))
    return int(footer.num_rows) if footer else rows_of_chunks(file, chunks)


def rows_of_chunks(file: str, chunks: Sequence[FileChunk]) -> int:
    """Return the rows of a file that lie in chunks."""
    return sum(chunk.rows for chunk in chunks if chunk.file == file)
