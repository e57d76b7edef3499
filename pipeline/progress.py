"""Progress as a callback: stages call it, only the command line draws it."""

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with what is being done now and the part done (0..1), or None when that is unknown."""


def silent(_message: str, _part: float | None = None) -> None:
    """Ignore progress: the default wherever no one is looking."""
