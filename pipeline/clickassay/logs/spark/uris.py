"""Parquet behind paths with a scheme, under the rules for files here (`clickassay.inputs.sources`).

Partitions count from the first wildcard or the given folder on, and tables of lakes are refused.
"""

import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from clickassay.core.text.paths import without_patterns
from clickassay.inputs.sources.lakes import MARKS, lake_table
from clickassay.inputs.sources.partitions import NULL
from clickassay.inputs.sources.values import contradiction
from clickassay.inputs.types.columns import Wanted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_WILDCARD = re.compile(r"[*?\[{]")
_MOST_FOLDERS = 100
"""Folders that are looked at for a table of a lake: each costs a question to the file system."""


def parquet_at(session: "SparkSession", what: str, uri: str, wanted: Sequence[Wanted]) -> "DataFrame":
    """Return the rows of Parquet files behind a URI, unread.

    Raises InputError if a folder is a table of a lake, or the name of a folder contradicts a column that is
    wanted.
    """
    root = _root(uri)
    try:
        reader = session.read.option("basePath", root) if root != uri.rstrip("/") else session.read
        rows = reader.parquet(uri)
    except Exception:
        _check_no_lake(session, what, root, ["*", "*/*"])  # Spark cannot read folders of other folders
        raise
    files = rows.inputFiles()
    _check_no_lake(session, what, root, _folders(files, root))
    names = _partitions(files, root) & {want.name for want in wanted}
    if names:
        own = session.read.option("recursiveFileLookup", value=True).parquet(uri)
        for name in sorted(names & set(own.columns)):
            _check_agrees(what, own, name)
    return rows


def _root(uri: str) -> str:
    """Return the part of a URI before the first wildcard."""
    parts = uri.rstrip("/").split("/")
    return "/".join(itertools.takewhile(lambda part: not _WILDCARD.search(part), parts))


def _below(file: str, root: str) -> list[str]:
    """Return the names of the folders between the root and a file."""
    depth = urlparse(root).path.rstrip("/").count("/")
    return [unquote(part) for part in urlparse(file).path.split("/")[depth + 1 : -1]]


def _partitions(files: Sequence[str], root: str) -> set[str]:
    return {name.split("=", 1)[0] for file in files for name in _below(file, root) if "=" in name}


def _folders(files: Sequence[str], root: str) -> list[str]:
    """Return the first folders below the root that are no partitions, and so may be tables of their own."""
    folders = {
        "/".join(map(without_patterns, names[:end]))
        for names in {tuple(_below(file, root)) for file in files}
        for end in range(1, len(names) + 1)
        if "=" not in names[end - 1]
    }
    return sorted(folders)[:_MOST_FOLDERS]


def _check_no_lake(session: "SparkSession", what: str, root: str, below: Sequence[str]) -> None:
    """Refuse a root that is, lies in or holds a table of a lake, by its marks at every level."""
    scheme, _, path = root.partition(":")
    parts = [part for part in path.split("/") if part]
    authority = f"//{parts.pop(0)}/" if path.startswith("//") and not path.startswith("///") else "///"
    levels = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    places = ",".join([*levels, *("/".join((*parts, folder)) for folder in below)])
    marks = ",".join(f"{folder}/{name}" for folder, name in MARKS.values())
    lakes: list[str] = []
    # where nothing matches, or what lies above may not be looked at, there is no sign of a lake
    with suppress(Exception):
        lakes = session.read.text(f"{scheme}:{authority}{{{places}}}/{{{marks}}}").inputFiles()
    for mark in lakes:
        folder, _, name = unquote(mark).rpartition("/")[0].rpartition("/")
        raise lake_table(what, folder, next(kind for kind, (log, _) in MARKS.items() if log == name))


def _check_agrees(what: str, own: "DataFrame", name: str) -> None:
    """Refuse a column whose values differ from the folders', but for leading zeros of numbers."""
    from pyspark.sql import functions as F  # noqa: PLC0415, N812 - its usual name

    path = F.col("_metadata.file_path")  # a URL, in whose names of folders signs are spelled out once more
    folder = F.regexp_extract(path, f".*/{re.escape(name)}=([^/]*)/", 1)
    for _ in range(2):
        folder = F.url_decode(F.replace(folder, F.lit("+"), F.lit("%2B")))
    spelled = F.nullif(folder, F.lit(NULL))
    value = F.col(name).cast("string")
    odd = (
        own.where(~_plain(value).eqNullSafe(_plain(spelled))).select(path, spelled, value).limit(1).collect()
    )
    for file, text, other in odd:
        raise contradiction(what, unquote(file), name, text, other)


def _plain(text: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: PLC0415, N812

    return F.regexp_replace(text, r"^0+(?=\d)", "")
