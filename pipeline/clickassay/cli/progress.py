"""Progress of a command, and the notes that it leaves."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console

from clickassay.api.screen.progress import AsSaid, drawn_on, files_told, tell_note
from clickassay.cli.exit import interruptible
from clickassay.core.progress import Progress as Callback
from clickassay.core.progress import silent


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callback]:
    """Yield a callback that draws a bar while the block runs; Interrupted on Ctrl-C, after it cleaned up."""
    console = Console(stderr=True)
    with interruptible():
        if quiet:
            yield silent
        else:
            with files_told(partial(tell_note, console)), drawn_on(console) as callback:
                yield AsSaid(callback)
