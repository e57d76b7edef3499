"""What a path is to clickassay, recognised by the names of the files in it before any of them is read."""

from enum import Enum
from pathlib import Path

from clickassay.core.files.output import SETTINGS_FILE
from clickassay.inputs.files import check_path

STORE_FILE = "store.json"
"""The file by which a folder is known as a store of patterns."""

DATABASE = "run.duckdb"
"""The file of a run folder that holds all its tables."""


class Place(Enum):
    """What a path can be; each value completes "it is …"."""

    NOTHING = "nothing"
    FILE = "a file"
    RUN = "a run"
    STORE = "a store of patterns"
    PATTERN_TABLE = "a pattern table"
    OTHER = "another folder"


def place_of(path: Path) -> Place:
    """Return what a path is; InputError if it cannot be one.

    A run without its database or statistics is still one, and a pattern table without one of its two large
    tables: the error names the missing file when it is read.
    """
    check_path(path)
    if not path.is_dir():
        return Place.FILE if path.exists() else Place.NOTHING
    if (path / STORE_FILE).is_file():
        return Place.STORE
    if _any(path, DATABASE, "statistics.parquet"):
        return Place.RUN
    if (path / SETTINGS_FILE).is_file():
        has_table = _any(path, "patterns.parquet", "configurations.parquet")
        return Place.PATTERN_TABLE if has_table else Place.OTHER
    return Place.OTHER


def _any(folder: Path, *names: str) -> bool:
    return any((folder / name).exists() for name in names)
