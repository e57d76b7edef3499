"""How a log is cut into batches: by time where it is in order, else whole."""

from clickassay.core.errors import SettingsError
from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.batches.estimate import memory_for, order_warning, rows_within, size
from clickassay.logs.batches.windows import Window, chunk_starts, cut_log, file_starts, midnights
from clickassay.logs.chunks import FileChunk
from clickassay.logs.log import H, Log
from clickassay.logs.sql.steps import FIRST_MS, end_of_times

BATCH_ROWS = 1_500_000
"""Searches of a batch unless set; larger ones save little time."""
LEAST_ROWS = 100_000
"""Searches of the smallest batch that a memory limit leads to: smaller ones take much more time."""


def plan_windows(log: Log[H], settings: Settings) -> tuple[Window, ...]:
    """Cut a log into windows of time as `settings.batch` says: one for a batch."""
    end_ms = end_of_times(settings)
    shown, clicked = log.searches.chunks(FIRST_MS, end_ms), log.clicks.chunks(FIRST_MS, end_ms)
    return cut_chunks(shown, clicked, settings)


def rows_of_batch(settings: Settings, searches: int) -> int | None:
    """Return how many of a log's searches a batch is to hold; None when days or files decide.

    Raises SettingsError if the memory limit is too small for the array engine.
    """
    within = _rows_within_limit(settings, searches)
    if settings.batch == "auto":
        return min(BATCH_ROWS, within)
    return None if settings.batch.isalpha() else int(settings.batch)


def _rows_within_limit(settings: Settings, searches: int) -> int:
    """Return how many searches a batch may hold under the memory limit of the array engine."""
    limit = settings.memory_limit_bytes
    if limit is None or settings.engine != "arrays":
        return BATCH_ROWS
    rows = rows_within(limit, searches)
    if rows < min(LEAST_ROWS, searches) or not rows:
        needed = memory_for(min(LEAST_ROWS, searches), searches)
        raise SettingsError(
            f"memory limit {settings.memory_limit} is too small for {searches:,} searches, which need about "
            f"{size(needed)}; raise --memory-limit, or add --engine duckdb, which spills to disk"
        )
    return rows


def warn_if_unsorted(windows: tuple[Window, ...], settings: Settings, progress: Progress) -> None:
    """Warn when the order of a log's rows makes a batch much larger than it should be."""
    read = sum(window.rows[0] for window in windows)
    note = order_warning(windows, rows_of_batch(settings, read))
    if note is not None:
        progress(Event(note, note=True))


def cut_chunks(
    shown: tuple[FileChunk, ...],
    clicked: tuple[FileChunk, ...],
    settings: Settings,
    start_ms: int | None = None,
) -> tuple[Window, ...]:
    """Cut the chunks of searches and clicks into windows, the first of which begins at `start_ms`."""
    candidates, rows = _cuts(settings, (*shown, *clicked), shown)
    return cut_log(shown, clicked, candidates, rows, start_ms)


def _cuts(
    settings: Settings, chunks: tuple[FileChunk, ...], shown: tuple[FileChunk, ...]
) -> tuple[list[int], int]:
    rows = rows_of_batch(settings, sum(chunk.rows for chunk in shown))
    if settings.batch == "day":
        return midnights(chunks), 1
    if settings.batch == "file":
        return file_starts(shown), 1
    return chunk_starts(shown), rows or 1
