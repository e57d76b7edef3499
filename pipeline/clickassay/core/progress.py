"""Progress as a callback: stages call it, only the command line draws it."""

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Event:
    """A report of progress: what is being done, and how much of it is done."""

    message: str  # What it is.
    part: float | None = None  # The part done (0..1); None when that is unknown.
    note: bool = False  # The user must see the message, bar or not: it gets a line of its own.
    # Which batch of how many of a log is being worked on; '' for what is not done in batches.
    batch: str = ""
    rows: int = 0  # Searches and clicks of all batches together.

    def pace(self, seconds: float) -> tuple[float, float] | None:
        """Return rows per second and seconds left if the part took `seconds`; None if none is done yet."""
        if not self.batch or not self.part or seconds <= 0:
            return None
        return self.part * self.rows / seconds, seconds * (1 - self.part) / self.part


Progress = Callable[[Event], None]


def silent(_event: Event) -> None:
    """Ignore progress: the default."""


def steady(progress: Progress) -> Progress:
    """Keep the last known part for events without one, so that a bar never starts anew."""
    last = Event("")

    def steadied(event: Event) -> None:
        nonlocal last
        last = replace(last, message=event.message, note=event.note) if event.part is None else event
        progress(last)

    return steadied
