"""A log cut into windows of time: each is one batch, and every row of the log lies in exactly one."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from clickassay.inputs.tables import Input
from clickassay.logs.chunks import DAY_MS, Piece, rows_of_run

_REREAD = {"searches": 0.25, "clicks": 1.0}
"""A cut is made only if it makes no more than this part of a batch be read twice; clicks cost little."""


@dataclass(frozen=True)
class Window:
    """Times from `start_ms` to before `end_ms` (None = without end), and the pieces that touch it."""

    start_ms: int | None
    end_ms: int | None
    searches: tuple[Piece, ...]
    clicks: tuple[Piece, ...]

    @cached_property
    def rows(self) -> tuple[int, int]:
        """Searches and clicks of the pieces."""
        return sum(piece.rows for piece in self.searches), sum(piece.rows for piece in self.clicks)


def cut_log(
    searches: Sequence[Piece],
    clicks: Sequence[Piece],
    candidates: Iterable[int],
    batch_rows: int,
    start_ms: int | None = None,
) -> tuple[Window, ...]:
    """Cut a log into windows.

    Parameters
    ----------
    searches, clicks
        All pieces.
    candidates
        Times at which a window may begin (ms).
    batch_rows
        Searches that a window holds at least, but for the last; 1 = cut at every candidate.
    start_ms
        Where the first window begins; None = with all that is there.

    Returns
    -------
    Windows in order of time, at least one. Where a number of rows decides, a cut that would make much be
    read twice is not made.
    """
    cuts: list[int] = []
    begun = _rows_before(searches, start_ms)
    limits = {what: part * batch_rows if batch_rows > 1 else math.inf for what, part in _REREAD.items()}
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


def _rows_before(pieces: Iterable[Piece], time_ms: int | None) -> int:
    if time_ms is None:
        return 0
    return sum(piece.rows for piece in pieces if piece.first_ms is not None and piece.first_ms < time_ms)


def _rows_spanning(pieces: Iterable[Piece], cut: int) -> int:
    return sum(piece.rows for piece in pieces if _spans(piece, cut))


def _spans(piece: Piece, cut: int) -> bool:
    return piece.first_ms is not None and piece.last_ms is not None and piece.first_ms < cut <= piece.last_ms


def _touching(pieces: Iterable[Piece], start: int | None, end: int | None) -> tuple[Piece, ...]:
    """Return the pieces with a row in the window; those without a usable time belong to the first."""
    return tuple(
        piece
        for piece in pieces
        if (start is None if piece.last_ms is None else start is None or piece.last_ms >= start)
        and (piece.first_ms is None or end is None or piece.first_ms < end)
    )


def piece_starts(pieces: Iterable[Piece]) -> list[int]:
    """Return the first time of every piece."""
    return [piece.first_ms for piece in pieces if piece.first_ms is not None]


def file_starts(pieces: Iterable[Piece]) -> list[int]:
    """Return the first time of every file."""
    starts: dict[str, int] = {}
    for piece in pieces:
        if piece.first_ms is not None:
            starts[piece.file] = min(piece.first_ms, starts.get(piece.file, piece.first_ms))
    return list(starts.values())


def midnights(pieces: Iterable[Piece]) -> list[int]:
    """Return the midnights (UTC) that begin a day with rows, but for the first."""
    days: set[int] = set()
    for piece in pieces:
        if piece.days is not None:
            days.update(piece.days)
        elif piece.first_ms is not None and piece.last_ms is not None:
            days.update(range(piece.first_ms - piece.first_ms % DAY_MS, piece.last_ms + 1, DAY_MS))
    return sorted(days)[1:]


def rows_of(table: Input, pieces: Sequence[Piece], window: Window) -> pl.LazyFrame:
    """Return the rows of the window, in canonical types; neighbouring pieces of a file are read as one."""
    if not pieces:
        return table.frame.clear().lazy()
    frames = []
    for run in runs(pieces, lambda piece: inside(piece, window)):
        rows = rows_of_run(table, run)
        frames.append(rows if inside(run[0], window) else rows.filter(_belongs(run[0], window)))
    return pl.concat(frames) if len(frames) > 1 else frames[0]


def inside(piece: Piece, window: Window) -> bool:
    """Tell whether all rows of a piece lie in a window."""
    starts = window.start_ms is None or piece.first_ms is None or piece.first_ms >= window.start_ms
    return starts and (window.end_ms is None or piece.last_ms is None or piece.last_ms < window.end_ms)


def belonging(piece: Piece, window: Window) -> tuple[int | None, int | None, bool]:
    """Tell which rows of a piece that spans a cut lie in a window.

    Returns
    -------
    From when on, and before when (ms; None = without limit), and whether rows without a time do: they go
    with the first window.
    """
    first, last, start, end = piece.first_ms, piece.last_ms, window.start_ms, window.end_ms
    is_cut_before = start is not None and first is not None and first < start
    is_cut_after = end is not None and last is not None and last >= end
    untimed = not is_cut_before and (start is None or (first or 0) >= start)
    return start if is_cut_before else None, end if is_cut_after else None, untimed


def _belongs(piece: Piece, window: Window) -> pl.Expr:
    start, end, untimed = belonging(piece, window)
    time, condition = pl.col("timestamp"), pl.lit(True)
    if start is not None:
        condition = time >= start
    if end is not None:
        condition = condition & (time < end)
    return condition.fill_null(untimed)


def runs(pieces: Sequence[Piece], alike: Callable[[Piece], bool]) -> list[list[Piece]]:
    """Group pieces that follow each other in a file and lie wholly in the window."""
    found: list[list[Piece]] = []
    for piece in pieces:
        last = found[-1][-1] if found else None
        follows = last is not None and last.file == piece.file and last.offset + last.rows == piece.offset
        if last is not None and follows and alike(last) and alike(piece):
            found[-1].append(piece)
        else:
            found.append([piece])
    return found
