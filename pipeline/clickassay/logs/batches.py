"""A log cut into windows of time, one for a batch, and what a run over them needs, known from footers alone.

Every row of the log lies in exactly one window.
"""

import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.core.text.words import utc_text, visible
from clickassay.inputs.files import is_parquet
from clickassay.inputs.tables import Input
from clickassay.logs.chunks import DAY_MS, FileChunk, rows_of_file, scan_rows
from clickassay.logs.log import H, Log
from clickassay.logs.sql.steps import FIRST_MS, end_of_times

BATCH_ROWS = 1_500_000
"""Searches of a batch unless set; larger ones save little time."""
LEAST_ROWS = 100_000
"""Searches of the smallest batch that a memory limit leads to: smaller ones take much more time."""
_REREAD = {"searches": 0.25, "clicks": 1.0}
"""A cut is made only if it makes at most this share of a batch be read twice; clicks cost little."""
_FEWEST = 100
"""Of fewer searches, one may well come a day after the others."""
_TOO_LARGE = 2.0
_TOO_LARGE_ALONE = 1.5

# Measured on 2 cores with `/usr/bin/time`: CPU seconds, wall seconds and peak memory of whole processes of
# `clickassay patterns` over logs of world `web` with 100,000 queries, of .2 to 187 million searches in
# batches of .2 to 3 million (lists of ten results). Peaks lie at .8 to 1.1 of what follows.
CPU_SECONDS_PER_SEARCH = 2.8e-6
WALL_SECONDS_PER_SEARCH = 1.8e-6
MEMORY_BYTES = 0.45e9
MEMORY_BYTES_PER_SEARCH = 700
MEMORY_BYTES_PER_SEARCH_OF_LOG = 40
MEMORY_BYTES_PER_THREAD = 0.07e9
"""Of each thread beyond two: it holds rows of its own."""
_THREADS_SHARE = 0.15
"""The share of a memory limit that the threads may take."""
# These logs gave 7 to 17 bytes a search, because lists repeat; lists that are all different give more.
WRITTEN_BYTES_PER_SEARCH = 60


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


def plan_windows(log: Log[H], settings: Settings) -> tuple[Window, ...]:
    """Cut a log into windows of time as `settings.batch` says: one for a batch."""
    end_ms = end_of_times(settings)
    shown, clicked = log.searches.chunks(FIRST_MS, end_ms), log.clicks.chunks(FIRST_MS, end_ms)
    return cut_chunks(shown, clicked, settings)


def cut_chunks(
    shown: tuple[FileChunk, ...],
    clicked: tuple[FileChunk, ...],
    settings: Settings,
    start_ms: int | None = None,
) -> tuple[Window, ...]:
    """Cut the chunks of searches and clicks into windows, the first of which begins at `start_ms`."""
    rows = rows_of_batch(settings, sum(chunk.rows for chunk in shown))
    timed = [(chunk.file, chunk.first_ms) for chunk in shown if chunk.first_ms is not None]
    candidates = [first_ms for _, first_ms in timed]
    if settings.batch == "day":
        candidates = midnights((*shown, *clicked))
    elif settings.batch == "file":
        starts: dict[str, int] = {}
        for file, first_ms in timed:
            starts[file] = min(first_ms, starts.get(file, first_ms))
        candidates = list(starts.values())
    return cut_log(shown, clicked, candidates, rows or 1, start_ms)


def midnights(chunks: Iterable[FileChunk]) -> list[int]:
    """Return the midnights (UTC) that begin a day with rows, but for the first."""
    days: set[int] = set()
    for chunk in chunks:
        if chunk.days is not None:
            days.update(chunk.days)
        elif chunk.first_ms is not None and chunk.last_ms is not None:
            days.update(range(chunk.first_ms - chunk.first_ms % DAY_MS, chunk.last_ms + 1, DAY_MS))
    return sorted(days)[1:]


def cut_log(
    searches: Sequence[FileChunk],
    clicks: Sequence[FileChunk],
    candidates: Iterable[int],
    batch_rows: int,
    start_ms: int | None = None,
) -> tuple[Window, ...]:
    """Cut a log into windows in order of time, at least one, from `start_ms`, None = all that is there.

    candidates, batch_rows: times (ms) where one may begin; its fewest searches, but for the last. 1 = all are
      cuts; else none because of which many rows would be read twice.
    """

    def before(time_ms: int | None) -> int:
        return sum(
            chunk.rows
            for chunk in searches
            if time_ms is not None and chunk.first_ms is not None and chunk.first_ms < time_ms
        )

    def spanning(chunks: Iterable[FileChunk], cut: int) -> int:
        timed = ((chunk.first_ms, chunk.last_ms, chunk.rows) for chunk in chunks)
        return sum(
            rows for low, high, rows in timed if low is not None and high is not None and low < cut <= high
        )

    cuts: list[int] = []
    begun = before(start_ms)
    limits = {what: share * batch_rows if batch_rows > 1 else math.inf for what, share in _REREAD.items()}
    for cut in sorted(set(candidates)):
        if start_ms is not None and cut <= start_ms:
            continue
        rows = before(cut)
        is_cheap = spanning(searches, cut) <= limits["searches"] and spanning(clicks, cut) <= limits["clicks"]
        if rows and (batch_rows == 1 or rows - begun >= batch_rows) and is_cheap:
            cuts.append(cut)
            begun = rows
    return tuple(
        Window(start, end, _touching(searches, start, end), _touching(clicks, start, end))
        for start, end in pairwise([start_ms, *cuts, None])
    )


def _touching(chunks: Iterable[FileChunk], start: int | None, end: int | None) -> tuple[FileChunk, ...]:
    return tuple(
        chunk
        for chunk in chunks
        if (start is None if chunk.last_ms is None else start is None or chunk.last_ms >= start)
        and (chunk.first_ms is None or end is None or chunk.first_ms < end)
    )


def rows_of_batch(settings: Settings, searches: int) -> int | None:
    """Return a batch's searches, None for days or files; SettingsError if memory is too little."""
    limit, within = settings.memory_limit_bytes, BATCH_ROWS
    if limit is not None and settings.engine == "arrays":
        threads = MEMORY_BYTES_PER_THREAD * max(0, threads_of(settings) - 2)
        within = max(0, int((limit - threads - memory_for(0, searches)) / MEMORY_BYTES_PER_SEARCH))
        least = min(LEAST_ROWS, searches)
        if within < least or not within:
            raise SettingsError(
                f"memory limit {settings.memory_limit} is too small for {searches:,} searches, which need "
                f"about {size(threads + memory_for(least, searches))}; raise --memory-limit, or add "
                "--engine duckdb, which spills to disk"
            )
    if settings.batch == "auto":
        return min(BATCH_ROWS, within)
    return None if settings.batch.isalpha() else int(settings.batch)


def threads_of(settings: Settings) -> int:
    """Return how many threads work on a log: as many as Polars has unless set, fewer if memory is short."""
    threads, limit = settings.threads or pl.thread_pool_size(), settings.memory_limit_bytes
    most = threads if limit is None else int(_THREADS_SHARE * limit / MEMORY_BYTES_PER_THREAD)
    return min(threads, max(2, most))


def memory_for(batch: int, log: int) -> float:
    """Return the bytes that a batch of so many searches of a log of so many needs on two threads, about."""
    return MEMORY_BYTES + MEMORY_BYTES_PER_SEARCH * batch + MEMORY_BYTES_PER_SEARCH_OF_LOG * log


def size(number: float) -> str:
    """Return a number of bytes in the unit that suits it: powers of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


def warn_if_unsorted(windows: tuple[Window, ...], settings: Settings, progress: Progress) -> None:
    """Warn when the order of a log's rows makes a batch much larger than it should be."""
    read = sum(window.rows[0] for window in windows)
    note = order_warning(windows, rows_of_batch(settings, read))
    if note is not None:
        progress(Event(note, note=True))


def order_warning(windows: Sequence[Window], batch_rows: int | None) -> str | None:
    """Return why a batch is much larger than `batch_rows` (None: days or files), and what it needs."""
    if not windows or batch_rows is None:
        return None
    window = max(windows, key=lambda window: window.rows)
    searches = window.rows[0]
    if searches <= batch_rows * (_TOO_LARGE if len(windows) > 1 else _TOO_LARGE_ALONE):
        return None
    overlapping = next((chunks for chunks in (window.searches, window.clicks) if _overlap(chunks)), None)
    if overlapping is not None:
        widest = max(overlapping, key=_length_ms)
        length_ms, hour_ms = _length_ms(widest), DAY_MS // 24
        length = f"{length_ms / hour_ms:.0f} hours" if length_ms >= 2 * hour_ms else "less than 2 hours"
        length = f"{length_ms / DAY_MS:.0f} days" if length_ms >= 2 * DAY_MS else length
        why = f"the log is not sorted by time ({_place_of(widest)} spans {length})"
        remedy = "files sorted by time"
    else:
        largest = max((*window.searches, *window.clicks), key=lambda chunk: chunk.rows)
        why = f"the log cannot be split by time ({_place_of(largest)} has {largest.rows:,} rows)"
        rows = max(1, batch_rows // 4)
        remedy = f"Parquet files sorted by time, with row groups of at most {rows:,} rows,"
    read = sum(window.rows[0] for window in windows)
    return (
        f"{why}: {searches:,} searches are read as one batch, which may need about "
        f"{size(memory_for(searches, read))}; {remedy} need "
        f"{size(memory_for(batch_rows, read))}, and --engine duckdb spills to disk"
    )


def _overlap(chunks: Sequence[FileChunk]) -> bool:
    timed = [(chunk.first_ms, chunk.last_ms) for chunk in chunks]
    spans = [(low, high) for low, high in timed if low is not None and high is not None]
    if not spans:
        return False
    whole = max(high for _, high in spans) - min(low for low, _ in spans)
    return sum(high - low for low, high in spans) > 2 * whole


def _length_ms(chunk: FileChunk) -> int:
    return 0 if chunk.first_ms is None or chunk.last_ms is None else chunk.last_ms - chunk.first_ms


def _place_of(chunk: FileChunk) -> str:
    return f"{'one row group of ' if is_parquet(Path(chunk.file)) else ''}{chunk.file}"


def refuse_lone_last(log: Log[H], chunks: tuple[FileChunk, ...], end_ms: int) -> None:
    """Refuse searches (in `chunks`) of which the last comes over a day after the last but one.

    That is a wrong clock, which would close a store to what comes before it. Times from `end_ms` on are
    unusable. The InputError names the file and the search.
    """
    timed = sorted(
        (chunk for chunk in chunks if chunk.last_ms is not None), key=lambda chunk: -(chunk.last_ms or 0)
    )
    if sum(chunk.rows for chunk in timed) < _FEWEST:
        return
    last, others = timed[0], [chunk.last_ms or 0 for chunk in timed[1:2]]
    if others and (last.last_ms or 0) - others[0] <= DAY_MS:
        return
    found = log.searches.last_searches(last, end_ms)
    before = max([*others, *(time for time, _ in found[1:])], default=None)
    if before is not None and found[0][0] - before > DAY_MS:
        raise InputError(
            f"searches: {last.file}: the last search, {visible(found[0][1])}, has time "
            f"{utc_text(found[0][0])} UTC, and the search before it {utc_text(before)}: a wrong clock would "
            "close the store to all earlier rows; remove the row, or add --allow-gap if the time is right"
        )


@dataclass(frozen=True)
class Span:
    """Rows that are read together."""

    files: tuple[str, ...]
    # Where in a file they begin, and how many they are; None = all rows of the files.
    rows: tuple[int, int] | None = None
    # Which of them lie in the window, as `rows_in_window` says it; None = all.
    times: tuple[int | None, int | None, bool] | None = None


def scan_window(table: Input, chunks: Sequence[FileChunk], window: Window) -> pl.LazyFrame:
    """Return the rows of the window, in canonical types; files that lie wholly in it are read together."""
    frames = []
    for span in window_spans(chunks, window, lambda file: rows_of_file(file, chunks)):
        rows = scan_rows(table, span.files, span.rows)
        if span.times is not None:
            rows = rows.filter(is_within(span.times, pl.col("timestamp"), pl.lit).fill_null(span.times[2]))
        frames.append(rows)
    return pl.concat(frames) if frames else table.frame.clear().lazy()


def is_within(times: tuple[int | None, int | None, bool], time: Any, literal: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Return, as an expression of an engine, whether a time lies in the `times` of a `Span`."""
    start, end, _ = times
    condition = literal(True) if start is None else time >= literal(start)
    return condition if end is None else condition & (time < literal(end))


def window_spans(
    chunks: Sequence[FileChunk], window: Window, rows_of_file: Callable[[str], int]
) -> tuple[Span, ...]:
    """Return the rows of a window as few spans: files in it are one, of `rows_of_file` rows."""
    inside: dict[str, int] = {}
    for chunk in chunks:
        if is_inside(chunk, window):
            inside[chunk.file] = inside.get(chunk.file, 0) + chunk.rows
    whole = {file for file, count in inside.items() if count == rows_of_file(file)}
    spans = [Span(tuple(sorted(whole)))] if whole else []
    others = [chunk for chunk in chunks if chunk.file not in whole]
    for run in adjacent_chunks(others, lambda chunk: is_inside(chunk, window)):
        rows = run[0].offset, sum(chunk.rows for chunk in run)
        times = None if is_inside(run[0], window) else rows_in_window(run[0], window)
        spans.append(Span((run[0].file,), rows, times))
    return tuple(spans)


def is_inside(chunk: FileChunk, window: Window) -> bool:
    """Return whether all rows of a chunk lie in a window."""
    starts = window.start_ms is None or chunk.first_ms is None or chunk.first_ms >= window.start_ms
    return starts and (window.end_ms is None or chunk.last_ms is None or chunk.last_ms < window.end_ms)


def rows_in_window(chunk: FileChunk, window: Window) -> tuple[int | None, int | None, bool]:
    """Return which rows of a chunk that spans a cut lie in a window.

    First time and first after it (ms; None = no limit); whether rows without a time do: only in the first.
    """
    first, last, start, end = chunk.first_ms, chunk.last_ms, window.start_ms, window.end_ms
    is_cut_before = start is not None and first is not None and first < start
    is_cut_after = end is not None and last is not None and last >= end
    untimed = not is_cut_before and (start is None or (first or 0) >= start)
    return start if is_cut_before else None, end if is_cut_after else None, untimed


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


@dataclass(frozen=True)
class FilesToRead:
    """Files of one half of a log: how many to read, their rows and bytes, and how many the store holds."""

    what: str
    files: int
    rows: int
    bytes: int
    held: int


@dataclass(frozen=True)
class RunPlan:
    """What `clickassay patterns` would do."""

    # searches, clicks: Files to read, and files that the store holds already.
    searches: FilesToRead
    clicks: FilesToRead
    windows: tuple[Window, ...]  # One for each batch, in order of time.
    place: Path  # The folder to write.
    batch_rows: int | None  # Searches that a batch is to hold; None when it is cut by days or files.
    first_batch: int | None = None  # Number of the first batch in a store; None for a folder of its own.
    interrupted: int | None = None  # First batch of the run that is to go on, if one was interrupted.

    @property
    def largest(self) -> tuple[int, int]:
        """Searches and clicks of the batch with most searches."""
        return max((window.rows for window in self.windows), default=(0, 0))

    @property
    def memory_bytes(self) -> float:
        """Memory that the largest batch needs, about."""
        return memory_for(self.largest[0], self.searches.rows)

    @property
    def wall_seconds(self) -> float:
        """Time that the run takes on 2 cores, about."""
        return self.searches.rows * WALL_SECONDS_PER_SEARCH

    @property
    def written_bytes(self) -> int:
        """Bytes that the run writes, about."""
        return self.searches.rows * WRITTEN_BYTES_PER_SEARCH

    def note(self) -> str | None:
        """Return a warning if the log cannot be cut as it should be; None if it can."""
        return order_warning(self.windows, self.batch_rows)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return names of columns, and one row of text for each half of the log."""
        rows = [
            (half.what, *(f"{number:,}" for number in (half.files, half.rows, half.bytes, half.held)))
            for half in (self.searches, self.clicks)
        ]
        return ("to read", "files", "rows", "bytes", "files in the store already"), rows

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) of what would be done and what it needs."""
        if not self.windows:
            return [("batches", f"0: {self.place} contains all of these files")]
        searches, clicks = self.largest
        batches = (
            f"{len(self.windows):,}; the first {_span(self.windows[0])}; "
            f"the largest {searches:,} searches, {clicks:,} clicks"
        )
        writes = f"{self.place}"
        if self.first_batch is not None:
            writes += f": batches {self.first_batch} to {self.first_batch + len(self.windows) - 1}"
        cpu = self.searches.rows * CPU_SECONDS_PER_SEARCH
        time = (
            f"about {_duration(self.wall_seconds)} on 2 cores, {_duration(cpu)} of CPU "
            f"({CPU_SECONDS_PER_SEARCH * 1e6:.1f} s per million searches with lists of ten results)"
        )
        memory = (
            f"about {size(self.memory_bytes)} ({size(MEMORY_BYTES)} + "
            f"{size(MEMORY_BYTES_PER_SEARCH * 1e6)} per million searches of the largest batch + "
            f"{size(MEMORY_BYTES_PER_SEARCH_OF_LOG * 1e6)} per million of the log; many lists need more)"
        )
        free, needed = free_bytes(self.place), self.written_bytes
        disk = (
            f"about {size(needed)} ({WRITTEN_BYTES_PER_SEARCH} bytes a search; less when lists repeat); "
            f"{size(free)} free{'' if free > needed else ': too little'}"
        )
        resumes = [("resumes", f"the run that began with batch {self.interrupted}")]
        return [
            *(resumes if self.interrupted is not None else []),
            ("batches", batches),
            ("writes", writes),
            ("time", time),
            ("memory", memory),
            ("disk", disk),
        ]


def _span(window: Window) -> str:
    chunks = (*window.searches, *window.clicks)
    firsts = [chunk.first_ms for chunk in chunks if chunk.first_ms is not None]
    lasts = [chunk.last_ms for chunk in chunks if chunk.last_ms is not None]
    if not firsts or not lasts:
        return "without a usable time"
    start = min(firsts) if window.start_ms is None else window.start_ms
    return f"{utc_text(start)} to {utc_text(max(lasts) if window.end_ms is None else window.end_ms)} UTC"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def files_to_read(given: Input, new: Input, chunks: Iterable[FileChunk]) -> FilesToRead:
    """Count the new files among those given, and the rows of their chunks, each once."""
    rows = sum(chunk.rows for chunk in set(chunks))
    bytes_ = sum(file.stat().st_size for file in new.files)
    return FilesToRead(given.what, len(new.files), rows, bytes_, len(given.files) - len(new.files))


def free_bytes(place: Path) -> int:
    """Return the free bytes of the disk on which `place` is or would be."""
    there = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free
