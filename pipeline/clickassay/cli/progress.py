"""Progress of a command, and the notes that it leaves."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from clickassay.api.screen.progress import drawn_on, tell_note
from clickassay.cli.exit import interruptible
from clickassay.core.progress import Event, silent
from clickassay.core.progress import Progress as Callback


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callback]:
    """Yield a callback that draws a bar while the block runs.

    Raises
    ------
    Interrupted
        When the user presses Ctrl-C; by then the block has cleaned up.
    """
    console = Console(stderr=True)
    with interruptible(), _files_told(console, quiet=quiet):
        if quiet:
            yield silent
        else:
            with drawn_on(console) as callback:
                yield callback


@contextmanager
def _files_told(console: Console, *, quiet: bool) -> Iterator[None]:
    """Tell, once the block has done its work, which files were read of each input, and which left out."""
    lines: dict[str, None] = {}
    reading, handler = logging.getLogger("clickassay.inputs"), logging.Handler()
    handler.emit = lambda record: lines.update({record.getMessage(): None})  # type: ignore[method-assign]
    level = reading.level
    reading.addHandler(handler)
    reading.setLevel(logging.INFO)
    try:
        yield
    finally:
        reading.removeHandler(handler)
        reading.setLevel(level)
    for line in () if quiet else lines:
        tell_note(console, Event(line, note=True))
