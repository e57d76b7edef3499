"""A last search far behind all others: a wrong clock, which would close a store to what comes before it."""

from clickassay.core.errors import InputError
from clickassay.core.text.words import utc_text, visible
from clickassay.logs.chunks import DAY_MS, FileChunk
from clickassay.logs.log import H, Log

_FEWEST = 100
"""Of fewer searches, one may well come a day after the others."""


def refuse_lone_last(log: Log[H], chunks: tuple[FileChunk, ...], end_ms: int) -> None:
    """Refuse searches of which the last comes more than a day after the last but one.

    chunks: chunks of the searches, with their usable times.
    end_ms: the first time that is too late to be usable.

    Raises InputError if that is so; the message names the file and the search.
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
            f"searches: {last.file}: the last search, {visible(found[0][1])}, is of {utc_text(found[0][0])} "
            f"UTC, and the one before it of {utc_text(before)}: a wrong clock would close the store to all "
            "that comes before it; take the row out, or add --allow-gap if it is right"
        )
