"""Progress as a callback: stages call it, only the command line draws it."""

from collections.abc import Callable
from typing import Self

Progress = Callable[[str, float | None], None]
"""Called with what is being done now and the part done (0..1), or None when that is unknown.

The message may be a `Note`, the part a `LogPart`; whoever does not care takes them as text and number.
"""


class Note(str):
    """A message that the user must see, drawn bar or not: a line of its own."""

    __slots__ = ()


class LogPart(float):
    """The part of a log that is done (0..1), with what a bar shows beside it.

    Attributes
    ----------
    batch
        Which batch of how many is being worked on.
    rows
        Searches and clicks of all batches together.
    """

    batch: str
    rows: int

    def __new__(cls, part: float, batch: str, rows: int) -> Self:
        """Make a number that knows its batch and rows."""
        self = super().__new__(cls, part)
        self.batch, self.rows = batch, rows
        return self

    def pace(self, seconds: float) -> tuple[float, float] | None:
        """Return rows per second and seconds left if this part took `seconds`; None if none is done yet."""
        if self <= 0 or seconds <= 0:
            return None
        return self * self.rows / seconds, seconds * (1 - self) / self


def silent(_message: str, _part: float | None = None) -> None:
    """Ignore progress: the default wherever no one is looking."""


def steady(progress: Progress) -> Progress:
    """Keep the part told last for steps that do not know theirs, so that a bar never starts anew."""
    last: float | None = None

    def steadied(message: str, part: float | None = None) -> None:
        nonlocal last
        last = last if part is None else part
        progress(message, last)

    return steadied
