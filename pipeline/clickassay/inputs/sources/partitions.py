"""Hive partitions: columns that names of folders spell out, as ``market=uk``."""

from pathlib import Path
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"

Partition = tuple[tuple[str, str | None], ...]
"""Names and values of columns, as names of folders spell them out."""


def partition_of(file: Path, root: Path) -> Partition:
    """Return the columns that the folders between the root of an input and a file spell out."""
    folders = file.relative_to(root).parts[:-1]
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return tuple((name, None if value == NULL else unquote(value)) for name, value in pairs)
