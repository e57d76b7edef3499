"""Progress on stderr, drawn by rich; on anything but a terminal, nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from pipeline.cli_exit import interruptible, printable
from pipeline.progress import Progress as Callback
from pipeline.progress import silent


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callback]:
    """Yield a callback that draws a bar while the block runs.

    Raises
    ------
    Interrupted
        When the user presses Ctrl-C; by then the block has cleaned up.
    """
    console = Console(stderr=True)
    with interruptible():
        if quiet or not console.is_terminal:
            yield silent
        else:
            with _bar(console) as callback:
                yield callback


@contextmanager
def _bar(console: Console) -> Iterator[Callback]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(message: str, part: float | None = None) -> None:
            total = None if part is None else 1.0
            bar.update(task, description=escape(printable(message)), total=total, completed=part or 0.0)

        yield show
