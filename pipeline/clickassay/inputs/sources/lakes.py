"""Tables of lakes (Delta Lake, Iceberg, Hudi): folders whose files are not the rows of the table.

Their files hold rows that were deleted or replaced since; a log beside them says which count.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clickassay.core.errors import InputError

DELTA, ICEBERG, HUDI = "Delta Lake", "Iceberg", "Hudi"
MARKS = {
    DELTA: ("_delta_log", "*.json"),
    ICEBERG: ("metadata", "*.metadata.json"),
    HUDI: (".hoodie", "hoodie.properties"),
}
"""The folder in a table by which it is known, and the files in it, as a glob."""

_READERS = {
    DELTA: "give the folder of the table itself (extra [lake])",
    ICEBERG: "give the folder of the table itself (extra [lake])",
    HUDI: "write its rows as Parquet elsewhere",
}


def lake_table(what: str, folder: object, kind: str) -> InputError:
    """Return the error for a folder that is a table of a lake."""
    return InputError(
        f"{what}: {folder} is a table of {kind} (it has {MARKS[kind][0]}), and its Parquet files hold rows "
        f"that the table no longer has; {_READERS[kind]}, or give --engine spark the table's name"
    )


def kind_of(folder: Path) -> str | None:
    """Return the kind of lake that a folder is a table of; None if it is none."""
    return next((kind for kind, (mark, files) in MARKS.items() if _has(folder / mark, files)), None)


def check_no_lake(what: str, folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that is a table of a lake, by the names of what lies in it.

    Raises InputError if it is one.
    """
    there = set(names)
    for kind, (mark, files) in MARKS.items():
        if mark in there and (kind != ICEBERG or _has(folder / mark, files)):
            raise lake_table(what, folder, kind)


def check_no_lake_above(what: str, place: Path) -> None:
    """Refuse a file or folder that is a part of a table of a lake; see `check_no_lake`."""
    marks = [mark for mark, _ in MARKS.values()]
    for folder in place.resolve().parents:
        check_no_lake(what, folder, [mark for mark in marks if os.path.isdir(folder / mark)])  # noqa: PTH112


def _has(folder: Path, files: str) -> bool:
    with suppress(OSError):
        return any(path.match(files) for path in folder.iterdir())
    return False
