"""A log cut into windows of time: each is one batch, and every row of the log lies in exactly one."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from clickassay.inputs.tables import Input
from clickassay.logs.chunks import DAY_MS, FileChunk, rows_of_file, scan_rows

_REREAD = {"searches": 0.25, "clicks": 1.0}
"""A cut is made only if it makes at most this share of a batch be read twice; clicks cost little."""


@dataclass(frozen=True)
class Window:
    """Times from `start_ms` to before `end_ms` (None = without end), and the chunks that touch it."""

    start_ms: int | None
    end_ms: int | None
    searches: tuple[FileChunk, ...]
    clicks: tuple[FileChunk, ...]

    @cached_property
    def rows(self) -> tuple[int, int]:
        """Searches and clicks of the chunks."""
        return sum(chunk.rows for chunk in self.searches), sum(chunk.rows for chunk in self.clicks)


def cut_log(
    searches: Sequence[FileChunk],
    clicks: Sequence[FileChunk],
    candidates: Iterable[int],
    batch_rows: int,
    start_ms: int | None = None,
) -> tuple[Window, ...]:
    """Cut a log into windows.

    searches, clicks: all chunks.
    candidates: times at which a window may begin (ms).
    batch_rows: searches that a window holds at least, but for the last; 1 = cut at every candidate.
    start_ms: where the first window begins; None = with all that is there.

    Returns windows in order of time, at least one. If `batch_rows` is above 1, a cut because of which many
    rows would be read twice is not made.
    """
    cuts: list[int] = []
    begun = _rows_before(searches, start_ms)
    limits = {what: share * batch_rows if batch_rows > 1 else math.inf for what, share in _REREAD.items()}
    for cut in sorted(set(candidates)):
        if start_ms is not None and cut <= start_ms:
            continue
        before = _rows_before(searches, cut)
        cheap = (
            _rows_spanning(searches, cut) <= limits["searches"]
            and _rows_spanning(clicks, cut) <= limits["clicks"]
        )
        if before and (batch_rows == 1 or before - begun >= batch_rows) and cheap:
            cuts.append(cut)
            begun = before
    edges = [start_ms, *cuts, None]
    return tuple(
        Window(start, end, _touching(searches, start, end), _touching(clicks, start, end))
        for start, end in pairwise(edges)
    )


def _rows_before(chunks: Iterable[FileChunk], time_ms: int | None) -> int:
    if time_ms is None:
        return 0
    return sum(chunk.rows for chunk in chunks if chunk.first_ms is not None and chunk.first_ms < time_ms)


def _rows_spanning(chunks: Iterable[FileChunk], cut: int) -> int:
    return sum(chunk.rows for chunk in chunks if _spans(chunk, cut))


def _spans(chunk: FileChunk, cut: int) -> bool:
    return chunk.first_ms is not None and chunk.last_ms is not None and chunk.first_ms < cut <= chunk.last_ms


def _touching(chunks: Iterable[FileChunk], start: int | None, end: int | None) -> tuple[FileChunk, ...]:
    """Return the chunks with a row in the window; those without a usable time belong to the first."""
    return tuple(
        chunk
        for chunk in chunks
        if (start is None if chunk.last_ms is None else start is None or chunk.last_ms >= start)
        and (chunk.first_ms is None or end is None or chunk.first_ms < end)
    )


def chunk_starts(chunks: Iterable[FileChunk]) -> list[int]:
    """Return the first time of every chunk."""
    return [chunk.first_ms for chunk in chunks if chunk.first_ms is not None]


def file_starts(chunks: Iterable[FileChunk]) -> list[int]:
    """Return the first time of every file."""
    starts: dict[str, int] = {}
    for chunk in chunks:
        if chunk.first_ms is not None:
            starts[chunk.file] = min(chunk.first_ms, starts.get(chunk.file, chunk.first_ms))
    return list(starts.values())


def midnights(chunks: Iterable[FileChunk]) -> list[int]:
    """Return the midnights (UTC) that begin a day with rows, but for the first."""
    days: set[int] = set()
    for chunk in chunks:
        if chunk.days is not None:
            days.update(chunk.days)
        elif chunk.first_ms is not None and chunk.last_ms is not None:
            days.update(range(chunk.first_ms - chunk.first_ms % DAY_MS, chunk.last_ms + 1, DAY_MS))
    return sorted(days)[1:]


def scan_window(table: Input, chunks: Sequence[FileChunk], window: Window) -> pl.LazyFrame:
    """Return the rows of the window, in canonical types; files that lie wholly in it are read together."""
    frames = []
    for span in window_spans(chunks, window, lambda file: rows_of_file(file, chunks)):
        rows = scan_rows(table, span.files, span.rows)
        frames.append(rows if span.times is None else rows.filter(_in_window(*span.times)))
    return pl.concat(frames) if frames else table.frame.clear().lazy()


@dataclass(frozen=True)
class Span:
    """Rows that are read together."""

    files: tuple[str, ...]  # Their files.
    # Where in a file they begin, and how many they are; None = all rows of the files.
    rows: tuple[int, int] | None = None
    # Which of them lie in the window, as `rows_in_window` says it; None = all.
    times: tuple[int | None, int | None, bool] | None = None


def window_spans(
    chunks: Sequence[FileChunk], window: Window, rows_of_file: Callable[[str], int]
) -> tuple[Span, ...]:
    """Return the rows of a window as few spans: files that lie wholly in it are one.

    rows_of_file: gives the number of all rows of a file, of row groups outside the window too.
    """
    whole = _files_inside(chunks, window, rows_of_file)
    spans = [Span(tuple(sorted(whole)))] if whole else []
    others = [chunk for chunk in chunks if chunk.file not in whole]
    for run in adjacent_chunks(others, lambda chunk: is_inside(chunk, window)):
        rows = run[0].offset, sum(chunk.rows for chunk in run)
        times = None if is_inside(run[0], window) else rows_in_window(run[0], window)
        spans.append(Span((run[0].file,), rows, times))
    return tuple(spans)


def _files_inside(
    chunks: Sequence[FileChunk], window: Window, rows_of_file: Callable[[str], int]
) -> set[str]:
    """Return the files all of whose rows lie in the window."""
    rows: dict[str, int] = {}
    for chunk in chunks:
        if is_inside(chunk, window):
            rows[chunk.file] = rows.get(chunk.file, 0) + chunk.rows
    return {file for file, count in rows.items() if count == rows_of_file(file)}


def is_inside(chunk: FileChunk, window: Window) -> bool:
    """Return whether all rows of a chunk lie in a window."""
    starts = window.start_ms is None or chunk.first_ms is None or chunk.first_ms >= window.start_ms
    return starts and (window.end_ms is None or chunk.last_ms is None or chunk.last_ms < window.end_ms)


def rows_in_window(chunk: FileChunk, window: Window) -> tuple[int | None, int | None, bool]:
    """Return which rows of a chunk that spans a cut lie in a window.

    Returns first time, and first time after it (ms; None = without limit), and whether rows without a time
    do: they belong to the first window.
    """
    first, last, start, end = chunk.first_ms, chunk.last_ms, window.start_ms, window.end_ms
    is_cut_before = start is not None and first is not None and first < start
    is_cut_after = end is not None and last is not None and last >= end
    untimed = not is_cut_before and (start is None or (first or 0) >= start)
    return start if is_cut_before else None, end if is_cut_after else None, untimed


def _in_window(start: int | None, end: int | None, untimed: bool) -> pl.Expr:
    time, condition = pl.col("timestamp"), pl.lit(True)
    if start is not None:
        condition = time >= start
    if end is not None:
        condition = condition & (time < end)
    return condition.fill_null(untimed)


def adjacent_chunks(chunks: Sequence[FileChunk], alike: Callable[[FileChunk], bool]) -> list[list[FileChunk]]:
    """Group chunks that follow each other in a file and lie wholly in the window."""
    groups: list[list[FileChunk]] = []
    for chunk in chunks:
        last = groups[-1][-1] if groups else None
        follows = last is not None and last.file == chunk.file and last.offset + last.rows == chunk.offset
        if last is not None and follows and alike(last) and alike(chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return groups
