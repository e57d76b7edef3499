"""The rows of a window of time on Spark."""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from clickassay.logs.batches.windows import Window, window_spans
from clickassay.logs.chunks import FileChunk, rows_of_chunks, rows_of_file
from clickassay.logs.log import LocalHalf
from clickassay.logs.spark.read import SparkHalf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def window_rows(half: SparkHalf, chunks: Sequence[FileChunk], window: Window) -> "DataFrame":
    """Return the rows of a window in canonical types; files that lie wholly in it are read together."""

    def all_rows(file: str) -> int:
        known = rows_of_file if isinstance(half.listing, LocalHalf) else rows_of_chunks
        return known(file, chunks)

    frames = []
    for span in window_spans(chunks, window, all_rows):
        rows = half.opened(span.files, span.rows)
        frames.append(rows if span.times is None else rows.where(_in_window(*span.times)))
    return reduce(lambda one, other: one.unionByName(other), frames or [half.frame.limit(0)])


def _in_window(start: int | None, end: int | None, untimed: bool) -> "Column":
    from pyspark.sql import functions as F  # noqa: PLC0415, N812

    time, condition = F.col("timestamp"), F.lit(True)
    if start is not None:
        condition = time >= start
    if end is not None:
        condition = condition & (time < end)
    return F.coalesce(condition, F.lit(untimed))
