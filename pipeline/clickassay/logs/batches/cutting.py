"""How a log is cut into batches: by time where it is in order, else whole."""

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.batches.estimate import order_warning
from clickassay.logs.batches.windows import Window, chunk_starts, cut_log, file_starts, midnights
from clickassay.logs.chunks import Chunk
from clickassay.logs.log import H, Log
from clickassay.logs.steps import END_MS, FIRST_MS

BATCH_ROWS = 4_000_000
"""Searches of a batch unless set: about 3 GB of memory with lists of ten results."""


def plan_windows(log: Log[H], settings: Settings) -> tuple[Window, ...]:
    """Cut a log into windows of time as `settings.batch` says: one for a batch."""
    shown, clicked = log.searches.chunks(FIRST_MS, END_MS), log.clicks.chunks(FIRST_MS, END_MS)
    return cut_chunks(shown, clicked, settings.batch)


def rows_of_batch(batch: str) -> int | None:
    """Return how many searches a batch is to hold; None when days or files decide."""
    return {"day": None, "file": None, "auto": BATCH_ROWS}[batch] if batch.isalpha() else int(batch)


def warn_if_unsorted(windows: tuple[Window, ...], settings: Settings, progress: Progress) -> None:
    """Warn when the order of a log's rows makes a batch much larger than it should be."""
    note = order_warning(windows, rows_of_batch(settings.batch))
    if note is not None:
        progress(Event(note, note=True))


def cut_chunks(
    shown: tuple[Chunk, ...], clicked: tuple[Chunk, ...], batch: str, start_ms: int | None = None
) -> tuple[Window, ...]:
    """Cut the chunks of searches and clicks into windows, the first of which begins at `start_ms`."""
    candidates, rows = _cuts(batch, (*shown, *clicked), shown)
    return cut_log(shown, clicked, candidates, rows, start_ms)


def _cuts(batch: str, chunks: tuple[Chunk, ...], shown: tuple[Chunk, ...]) -> tuple[list[int], int]:
    if batch == "day":
        return midnights(chunks), 1
    if batch == "file":
        return file_starts(shown), 1
    return chunk_starts(shown), rows_of_batch(batch) or 1
