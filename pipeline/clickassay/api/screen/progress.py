"""Progress: a bar on stderr, drawn by rich, or one in a notebook; on anything else, nothing but notes."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from threading import get_ident
from typing import Any

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

from clickassay.api.screen.python import in_python
from clickassay.core.progress import Event, silent
from clickassay.core.progress import Progress as Callback
from clickassay.core.text.escape import html, terminal
from clickassay.core.text.words import without_secrets

_REDRAWN_PER_SECOND = 4
_FIRST_SECONDS, _BETWEEN_SECONDS = 1.0, 0.25
"""Seconds before the bar is shown, and between two pictures of it."""


class AsSaid(partial[None]):
    """A callback of the command line: it is told events in the words in which they are said."""


@contextmanager
def progress_of(wanted: "bool | Callback") -> Iterator[Callback]:
    """Yield the callback for events: True = a bar, or only notes on stderr; False; or a function."""
    if wanted is False or isinstance(wanted, AsSaid):
        yield wanted or silent
        return
    drawn: AbstractContextManager[Callback]
    if not isinstance(wanted, bool):
        drawn = nullcontext(wanted)
    else:
        drawn = notebook_bar() if in_notebook() else drawn_on(Console(stderr=True))
    with drawn as callback:

        def tell(event: Event) -> None:
            callback(replace(event, message=in_python(event.message)))

        with files_told(tell):
            yield tell


@contextmanager
def files_told(callback: Callback) -> Iterator[None]:
    """Tell, once the block has done its work, which files were read of each input, and which left out."""
    lines: dict[str, None] = {}
    reading, handler, thread = logging.getLogger("clickassay.inputs"), logging.Handler(), get_ident()
    handler.addFilter(lambda record: record.thread == thread)  # others read for themselves
    handler.emit = lambda record: lines.update({record.getMessage(): None})  # type: ignore[method-assign]
    reading.setLevel(logging.INFO)
    reading.addHandler(handler)
    try:
        yield
    finally:
        reading.removeHandler(handler)
    for line in lines:
        callback(Event(line, note=True))


@contextmanager
def drawn_on(console: Console) -> Iterator[Callback]:
    """Yield a callback that draws a bar on a terminal; on anything else it prints notes alone."""
    if not console.is_terminal:
        yield partial(tell_note, console)
        return
    with _bar(console) as callback:
        yield callback


def tell_note(console: Console, event: Event) -> None:
    """Print a note as a line of its own."""
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
                tell_note(bar.console, event)
                return
            now = time.monotonic()
            began = now if began is None and event.batch else began
            pace = None if began is None else event.pace(now - began)
            # '' is in every message
            named = event.batch in event.message
            bar.update(
                task,
                description=escape(_shown(event.message if named else f"{event.batch}  {event.message}")),
                total=None if event.part is None else 1.0,
                completed=event.part or 0.0,
                pace=pace and (*pace, now),
            )

        yield show


def _shown(message: str) -> str:
    return terminal(without_secrets(message))


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
    """Return the memory that this process holds now."""
    import psutil  # noqa: PLC0415 - beside its use

    return int(psutil.Process().memory_info().rss)


# ---- in a notebook: one line under the cell, which is gone at the end -----------------------------------


def in_notebook() -> bool:
    """Tell whether this is the kernel of a notebook, which draws what it is handed as HTML."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def notebook_bar() -> Iterator[Callback]:
    """Yield a callback that draws a bar under the cell, if the work takes longer than a second."""
    from IPython.display import HTML, display  # noqa: PLC0415 - there in a notebook alone

    shown: Any = None
    due = time.monotonic() + _FIRST_SECONDS

    def draw(page: str) -> None:
        nonlocal shown
        if shown is None:
            shown = display(HTML(page), display_id=True)
        else:
            shown.update(HTML(page))

    def tell(event: Event) -> None:
        nonlocal due
        message, now = html(_shown(event.message)), time.monotonic()
        if event.note:
            display(HTML(f"<p>{message}</p>"), display_id=True)
        elif now >= due:
            due = now + _BETWEEN_SECONDS
            value = "" if event.part is None else f' value="{event.part:.3f}"'
            batch = "" if event.batch in event.message else f"{html(event.batch)} "
            draw(f"<progress{value}></progress> {batch}{message}")

    try:
        yield tell
    finally:
        if shown is not None:
            draw("")
