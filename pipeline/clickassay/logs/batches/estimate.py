"""What a run over a log would do and need, estimated from Parquet footers before anything else is read."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clickassay.core.text.words import utc_text
from clickassay.inputs.files import is_parquet
from clickassay.inputs.tables import Input
from clickassay.logs.batches.windows import Window
from clickassay.logs.chunks import FileChunk

# Measured on 2 cores with `/usr/bin/time` over simulated logs (worlds web and cascade, 5 to 20 million
# searches, lists of ten results): CPU seconds, wall seconds and peak memory of whole processes of
# `clickassay patterns`, by the number of searches of the log and of its largest batch.
CPU_SECONDS_PER_SEARCH = 2.2e-6
WALL_SECONDS_PER_SEARCH = 1.5e-6
MEMORY_BYTES = 0.45e9
MEMORY_BYTES_PER_SEARCH = 300
MEMORY_BYTES_PER_SEARCH_OF_LOG = 40
_MOST_OF_LOG = 80_000_000
"""Beyond so many searches, what is kept of a log grows with its distinct lists, no more with its searches."""
# These logs gave 7 to 17 bytes a search, because lists repeat; lists that are all different give more.
WRITTEN_BYTES_PER_SEARCH = 60

_TOO_LARGE = 2.0
_TOO_LARGE_ALONE = 1.5
_DAY_MS = 86_400_000


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
            return [("batches", f"0: {self.place} holds all of these files")]
        lines = [
            ("batches", self._batches()),
            ("writes", self._writes()),
            ("time", self._time()),
            ("memory", self._memory()),
            ("disk", self._disk()),
        ]
        if self.interrupted is not None:
            lines.insert(0, ("resumes", f"the run that began with batch {self.interrupted}"))
        return lines

    def _batches(self) -> str:
        searches, clicks = self.largest
        return (
            f"{len(self.windows):,}; the first {_span(self.windows[0])}; "
            f"the largest {searches:,} searches, {clicks:,} clicks"
        )

    def _writes(self) -> str:
        if self.first_batch is None:
            return f"{self.place}"
        last = self.first_batch + len(self.windows) - 1
        return f"{self.place}: batches {self.first_batch} to {last}"

    def _time(self) -> str:
        cpu = self.searches.rows * CPU_SECONDS_PER_SEARCH
        return (
            f"about {_duration(self.wall_seconds)} on 2 cores, {_duration(cpu)} of CPU "
            f"({CPU_SECONDS_PER_SEARCH * 1e6:.1f} s per million searches with lists of ten results)"
        )

    def _memory(self) -> str:
        return (
            f"about {size(self.memory_bytes)} ({size(MEMORY_BYTES)} + "
            f"{size(MEMORY_BYTES_PER_SEARCH * 1e6)} per million searches of the largest batch + "
            f"{size(MEMORY_BYTES_PER_SEARCH_OF_LOG * 1e6)} per million of the log; many lists need more)"
        )

    def _disk(self) -> str:
        free, needed = free_bytes(self.place), self.written_bytes
        short = "" if free > needed else ": too little"
        return (
            f"about {size(needed)} ({WRITTEN_BYTES_PER_SEARCH} bytes a search; less when lists repeat); "
            f"{size(free)} free{short}"
        )


def files_to_read(given: Input, new: Input, chunks: Iterable[FileChunk]) -> FilesToRead:
    """Count the new files among those given, and the rows of their chunks, each once."""
    rows = sum(chunk.rows for chunk in set(chunks))
    bytes_ = sum(file.stat().st_size for file in new.files)
    return FilesToRead(given.what, len(new.files), rows, bytes_, len(given.files) - len(new.files))


def memory_for(batch: int, log: int) -> float:
    """Return the bytes that a batch of so many searches of a log of so many needs, about."""
    return MEMORY_BYTES + MEMORY_BYTES_PER_SEARCH * batch + _memory_of_log(log)


def _memory_of_log(log: int) -> float:
    return MEMORY_BYTES_PER_SEARCH_OF_LOG * min(log, _MOST_OF_LOG)


def rows_within(memory: float, log: int) -> int:
    """Return the searches of the largest batch that needs no more bytes; 0 if none does."""
    return max(0, int((memory - memory_for(0, log)) / MEMORY_BYTES_PER_SEARCH))


def free_bytes(place: Path) -> int:
    """Return the free bytes of the disk on which `place` is or would be."""
    there = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free


def order_warning(windows: Sequence[Window], batch_rows: int | None) -> str | None:
    """Return why a batch is much larger than it should be, and what it needs; None if none is.

    windows: the batches of a run.
    batch_rows: searches that a batch is to hold; None when it is cut by days or files.
    """
    if not windows or batch_rows is None:
        return None
    largest = max(windows, key=lambda window: window.rows)
    searches = largest.rows[0]
    if searches <= batch_rows * (_TOO_LARGE if len(windows) > 1 else _TOO_LARGE_ALONE):
        return None
    why, remedy = _why_not_cut(largest, batch_rows)
    read = sum(window.rows[0] for window in windows)
    return (
        f"{why}: {searches:,} searches are read as one batch, which may need about "
        f"{size(memory_for(searches, read))}; {remedy} would need "
        f"{size(memory_for(batch_rows, read))}, and --engine duckdb spills to disk"
    )


def _why_not_cut(window: Window, batch_rows: int) -> tuple[str, str]:
    """Return the reason against a cut and its remedy: chunks that overlap, or are too large."""
    for chunks in (window.searches, window.clicks):
        if _overlap(chunks):
            widest = max(chunks, key=_length_ms)
            where = f"rows of {_long(_length_ms(widest))} lie in {_place_of(widest)}"
            return f"the log is not in order of time ({where})", "files sorted by time"
    largest = max((*window.searches, *window.clicks), key=lambda chunk: chunk.rows)
    return (
        f"the log cannot be cut in time ({largest.rows:,} rows lie in {_place_of(largest)})",
        f"Parquet files sorted by time, with row groups of at most {max(1, batch_rows // 4):,} rows,",
    )


def _overlap(chunks: Sequence[FileChunk]) -> bool:
    """Return whether chunks overlap in time: their lengths add up to far more than the whole time."""
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


def _long(length_ms: int) -> str:
    if length_ms >= 2 * _DAY_MS:
        return f"{length_ms / _DAY_MS:.0f} days"
    return f"{length_ms / _DAY_MS * 24:.0f} hours" if length_ms >= _DAY_MS // 12 else "less than 2 hours"


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


def size(number: float) -> str:
    """Return a number of bytes in the unit that suits it: powers of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"
