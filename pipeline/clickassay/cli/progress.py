"""Progress on stderr, drawn by rich; on anything but a terminal, nothing but notes."""

import logging
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

from clickassay.cli.exit import interruptible
from clickassay.core.progress import Event, silent
from clickassay.core.progress import Progress as Callback
from clickassay.core.text.escape import terminal
from clickassay.core.text.words import without_secrets

_REDRAWN_PER_SECOND = 4


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
        elif not console.is_terminal:
            yield partial(_tell_note, console)
        else:
            with _bar(console) as callback:
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
        _tell_note(console, Event(line, note=True))


def _tell_note(console: Console, event: Event) -> None:
    if event.note:
        console.print(Text(f"clickassay: {_shown(event.message)}"), soft_wrap=True)


@contextmanager
def _bar(console: Console) -> Iterator[Callback]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None, table_column=Column(max_width=40)),
        TaskProgressColumn(),
        _PaceColumn(table_column=Column(no_wrap=True)),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=_REDRAWN_PER_SECOND) as bar:
        task = bar.add_task("starting", total=None, pace=None)
        began: float | None = None

        def show(event: Event) -> None:
            nonlocal began
            if event.note:
                _tell_note(bar.console, event)
                return
            now = time.monotonic()
            began = now if began is None and event.batch else began
            pace = None if began is None else event.pace(now - began)
            bar.update(
                task,
                description=escape(_shown(_described(event))),
                total=None if event.part is None else 1.0,
                completed=event.part or 0.0,
                pace=pace and (*pace, now),
            )

        yield show


def _shown(message: str) -> str:
    return terminal(without_secrets(message))


def _described(event: Event) -> str:
    # '' is in every message
    return event.message if event.batch in event.message else f"{event.batch}  {event.message}"


class _PaceColumn(ProgressColumn):
    """Rows per second and time left of the whole log, or else the time so far; and memory."""

    def render(self, task: Task) -> Text:
        memory = f"{resident_bytes() / 1e9:.1f} GB"
        pace = task.fields["pace"]
        if pace is None:
            return Text(f"{clock_time(task.elapsed or 0.0)}  {memory}")
        rows_per_second, seconds_left, told_at = pace
        left = max(0.0, seconds_left - (time.monotonic() - told_at))  # counts down until it is told anew
        return Text(f"{rows_per_second:,.0f} rows/s  {clock_time(left)} left  {memory}")


def clock_time(seconds: float) -> str:
    """Return seconds as minutes and seconds, or hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def resident_bytes() -> int:
    """Return the memory that this process holds now; where the system does not tell, the most it held."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024  # bytes there, kilobytes elsewhere
    return pages * resource.getpagesize()
