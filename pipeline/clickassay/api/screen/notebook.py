"""Progress in a notebook: one line under the cell, which is gone at the end."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clickassay.core.progress import Event, Progress
from clickassay.core.text.escape import html, terminal
from clickassay.core.text.words import without_secrets

_FIRST_SECONDS, _BETWEEN_SECONDS = 1.0, 0.25
"""Seconds before the bar is shown, and between two pictures of it."""


def in_notebook() -> bool:
    """Tell whether this is the kernel of a notebook, which draws what it is handed as HTML."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def notebook_bar() -> Iterator[Progress]:
    """Yield a callback that draws a bar under the cell, if the work takes longer than a second."""
    line = _Line()
    try:
        yield line.tell
    finally:
        line.clear()


class _Line:
    """The bar: what is being done, and the part done."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._due = time.monotonic() + _FIRST_SECONDS

    def tell(self, event: Event) -> None:
        message = html(terminal(without_secrets(event.message)))
        if event.note:
            _display(f"<p>{message}</p>")
            return
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _BETWEEN_SECONDS
        value = "" if event.part is None else f' value="{event.part:.3f}"'
        batch = "" if event.batch in event.message else f"{html(event.batch)} "
        self._draw(f"<progress{value}></progress> {batch}{message}")

    def clear(self) -> None:
        if self._shown is not None:
            self._draw("")

    def _draw(self, page: str) -> None:
        if self._shown is None:
            self._shown = _display(page)
        else:
            self._shown.update(_page(page))


def _display(page: str) -> Any:  # noqa: ANN401 - IPython's handle
    from IPython.display import display  # noqa: PLC0415 - there in a notebook alone

    return display(_page(page), display_id=True)


def _page(page: str) -> Any:  # noqa: ANN401 - of IPython
    from IPython.display import HTML  # noqa: PLC0415 - as above

    return HTML(page)
