"""How a log is cut into batches: by time where it is in order, else whole."""

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.batches.estimate import order_note
from clickassay.logs.batches.windows import Window, cut_log, file_starts, midnights, piece_starts
from clickassay.logs.chunks import Piece
from clickassay.logs.log import H, Log
from clickassay.logs.steps import END_MS, FIRST_MS

BATCH_ROWS = 4_000_000
"""Searches of a batch unless set: about 3 GB of memory with lists of ten results."""


def planned(log: Log[H], settings: Settings) -> tuple[Window, ...]:
    """Cut a log into windows of time as `settings.batch` says: one for a batch."""
    shown, clicked = log.searches.pieces(FIRST_MS, END_MS), log.clicks.pieces(FIRST_MS, END_MS)
    return cut_pieces(shown, clicked, settings.batch)


def rows_of_batch(batch: str) -> int | None:
    """Return how many searches a batch is to hold; None when days or files decide."""
    return {"day": None, "file": None, "auto": BATCH_ROWS}[batch] if batch.isalpha() else int(batch)


def tell_order(windows: tuple[Window, ...], settings: Settings, progress: Progress) -> None:
    """Say aloud when the order of a log's rows makes a batch much larger than it should be."""
    note = order_note(windows, rows_of_batch(settings.batch))
    if note is not None:
        progress(Event(note, note=True))


def cut_pieces(
    shown: tuple[Piece, ...], clicked: tuple[Piece, ...], batch: str, start_ms: int | None = None
) -> tuple[Window, ...]:
    """Cut the pieces of searches and clicks into windows, the first of which begins at `start_ms`."""
    candidates, rows = _cuts(batch, (*shown, *clicked), shown)
    return cut_log(shown, clicked, candidates, rows, start_ms)


def _cuts(batch: str, pieces: tuple[Piece, ...], shown: tuple[Piece, ...]) -> tuple[list[int], int]:
    if batch == "day":
        return midnights(pieces), 1
    if batch == "file":
        return file_starts(shown), 1
    return piece_starts(shown), rows_of_batch(batch) or 1
