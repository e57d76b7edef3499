"""The rows of a window of time on Spark."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from clickassay.inputs.files import is_parquet
from clickassay.logs.batches.windows import Window, belonging, inside, runs
from clickassay.logs.chunks import Piece
from clickassay.logs.log import LocalHalf
from clickassay.logs.spark.read import SparkHalf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def window_rows(half: SparkHalf, pieces: Sequence[Piece], window: Window) -> "DataFrame":
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


def _wholly_inside(half: SparkHalf, pieces: Sequence[Piece], window: Window) -> set[str]:
    """Return the files all of whose rows lie in the window."""
    rows: dict[str, int] = {}
    for piece in pieces:
        if inside(piece, window):
            rows[piece.file] = rows.get(piece.file, 0) + piece.rows
    return {file for file, count in rows.items() if count == _rows_of_file(half, file, pieces)}


def _rows_of_file(half: SparkHalf, file: str, pieces: Sequence[Piece]) -> int:
    """Return all rows of a file: of row groups outside the window too."""
    if isinstance(half.listing, LocalHalf) and is_parquet(Path(file)):
        return int(pq.read_metadata(file).num_rows)
    return sum(piece.rows for piece in pieces if piece.file == file)
