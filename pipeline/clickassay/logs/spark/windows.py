"""The rows of a window of time on Spark."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from clickassay.inputs.files import is_parquet
from clickassay.logs.batches.windows import Window, adjacent_chunks, is_inside, rows_in_window
from clickassay.logs.chunks import Chunk
from clickassay.logs.log import LocalHalf
from clickassay.logs.spark.read import SparkHalf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def window_rows(half: SparkHalf, chunks: Sequence[Chunk], window: Window) -> "DataFrame":
    """Return the rows of a window in canonical types; files that lie wholly in it are read together."""
    from pyspark.sql import functions as F  # noqa: PLC0415, N812

    whole, frames = _files_inside(half, chunks, window), []
    if whole:
        frames.append(half.opened(sorted(whole), None))
    for run in adjacent_chunks(
        [chunk for chunk in chunks if chunk.file not in whole], lambda chunk: is_inside(chunk, window)
    ):
        rows = half.opened([run[0].file], (run[0].offset, sum(chunk.rows for chunk in run)))
        if not is_inside(run[0], window):
            start, end, untimed = rows_in_window(run[0], window)
            time, condition = F.col("timestamp"), F.lit(True)
            if start is not None:
                condition = time >= start
            if end is not None:
                condition = condition & (time < end)
            rows = rows.where(F.coalesce(condition, F.lit(untimed)))
        frames.append(rows)
    return reduce(lambda one, other: one.unionByName(other), frames or [half.frame.limit(0)])


def _files_inside(half: SparkHalf, chunks: Sequence[Chunk], window: Window) -> set[str]:
    """Return the files all of whose rows lie in the window."""
    rows: dict[str, int] = {}
    for chunk in chunks:
        if is_inside(chunk, window):
            rows[chunk.file] = rows.get(chunk.file, 0) + chunk.rows
    return {file for file, count in rows.items() if count == _rows_of_file(half, file, chunks)}


def _rows_of_file(half: SparkHalf, file: str, chunks: Sequence[Chunk]) -> int:
    """Return all rows of a file: of row groups outside the window too."""
    if isinstance(half.listing, LocalHalf) and is_parquet(Path(file)):
        return int(pq.read_metadata(file).num_rows)
    return sum(chunk.rows for chunk in chunks if chunk.file == file)
