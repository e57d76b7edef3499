"""A fault of ours: a file to report, with places in the code and versions, and nothing of a log."""

import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from clickassay.cli.console import command_line
from clickassay.core.provenance import of_a_report


def fault_file(error: BaseException) -> Path:
    """Write what a report of a fault needs into a file of this user's; return it.

    The messages of errors stay out of it: a library may tell values of a log in them.

    Raises OSError if it cannot be written.
    """
    lines = [*of_a_report(), f"command: {command_line()}", "", *_places(error)]
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="clickassay-fault-", suffix=".txt", delete=False
    ) as file:
        file.write("\n".join(lines) + "\n")
    return Path(file.name)


def _places(error: BaseException | None) -> Iterator[str]:
    """Yield the places in the code that an error went through, and those of what caused it, first."""
    if error is None:
        return
    yield from _places(error.__cause__ or error.__context__)
    yield "Traceback:"
    yield from "".join(traceback.format_tb(error.__traceback__)).splitlines()
    yield f"{type(error).__module__}.{type(error).__qualname__}"
