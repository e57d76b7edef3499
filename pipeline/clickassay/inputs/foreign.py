"""Files that are neither Parquet nor a table as text: their kind by the first bytes, and the step to take.

Archives, workbooks, files of other programs, pointers of Git LFS, web pages and errors of a store that were
saved under the name of the file, and tables that pandas writes as JSON by columns.
"""

import re
import shlex
import zipfile
from contextlib import suppress
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.core.text.words import visible

FIRST_BYTES = 4096
"""Bytes that tell what a file is."""

_PYTHON = "write it as Parquet: python -c 'import sys, {}' {{file}} {{stem}}.parquet"
_POLARS = _PYTHON.format("polars; polars.{}(sys.argv[1]).write_parquet(sys.argv[2])")
_ORC = "pyarrow.orc as o, pyarrow.parquet as p; p.write_table(o.read_table(sys.argv[1]), sys.argv[2])"
_PACKED = "compressed with gzip as a whole", "unpack it: gunzip -c {file} > {stem}-unpacked.parquet"
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook", "save it as CSV UTF-8 there"),
    (b"ORC", "an ORC file", _PYTHON.format(_ORC)),
    (b"Obj\x01", "an Avro file", _POLARS.replace("{}", "read_avro")),
    (b"ARROW1", "an Arrow (Feather) file", _POLARS.replace("{}", "read_ipc")),
    (b"\xff\xff\xff\xff", "an Arrow stream", _POLARS.replace("{}", "read_ipc_stream")),
    (b"FEA1", "an old Feather file", "write it as Parquet (pandas: read_feather, to_parquet)"),
    (
        b"SQLite format 3\0",
        "an SQLite database",
        "write a table of it: sqlite3 -header -csv {file} 'SELECT * FROM TABLE' > {stem}.csv",
    ),
    (b"\x89HDF", "an HDF5 file", "write it as Parquet (pandas: read_hdf, to_parquet)"),
    (b"%PDF", "a PDF", "export the table as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it: 7z x {file}"),
    (b"Rar!", "a RAR archive", "unpack it: unrar x {file}"),
    (b"BZh", "compressed with bzip2", "unpack it: bunzip2 -k {file}"),
    (b"\xfd7zXZ", "compressed with xz", "unpack it: unxz -k {file}"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "unpack it: lz4 -d {file}"),
    (b"\x1f\x8b", *_PACKED),
    (b"version https://git-lfs", "a Git LFS pointer, not the file", "fetch it: git lfs pull"),
)
_ZIP, _PARQUET = (b"PK\x03\x04", b"PK\x05\x06"), b"PAR1"
_INSIDE: tuple[tuple[int, bytes, str, str], ...] = (
    (257, b"ustar", "a tar archive", "unpack it: tar xf {file}"),
    (8, b"DUCK", "a DuckDB database", "give a table by SQL: --searches-sql 'FROM TABLE' --database {file}"),
)
"""Signatures that do not lie at the beginning, by their places."""
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95c}\](]")
_PAGE = re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE)
_STORE_ERROR = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<Error>.*?<Code>([^<]*)</Code>", re.DOTALL)
_NUMBERS = {
    *("search_id", "user_id", "query_id", "qid", "docid", "doc_id", "outcome_id", "timestamp", "position"),
    *("rank", "page", "dwell_seconds", "grade", "label", "rating", "relevance", "rel", "score", "value"),
    *("sessions", "clicks", "clicked_at"),
}
"""Columns that are read, and likely ones, whose first number is not that of a document called 0."""
_BY_COLUMN = re.compile(rb'\s*\{\s*"([^"]+)"\s*:\s*\{\s*"0"\s*:\s*([-\dn])?')
_BY_INDEX = re.compile(rb'\s*\{\s*"0"\s*:\s*\{\s*"([^"]+)"\s*:\s*([-\dn])?')
_SPLIT = re.compile(rb'\s*(?:\[\s*\[|\{\s*(?:"columns"\s*:\s*\[|"schema"\s*:\s*\{\s*"fields"\s*:))')


def foreign_kind(file: Path, first: bytes) -> tuple[str, str] | None:
    """Return what a file is by its first bytes, and the step that makes it a table as text.

    None where they may begin Parquet, a log or judgments.
    """
    if first.startswith(_ZIP):
        return _of_zip(file)
    signs = (*((0, *one) for one in _SIGNATURES), *_INSIDE)
    found = next(((kind, step) for place, sign, kind, step in signs if first[place:].startswith(sign)), None)
    error = _STORE_ERROR.match(first)
    if first.startswith(_PARQUET):
        with file.open("rb") as stream:
            found = None if stream.read(4) == _PARQUET else _PACKED
    elif found is None and _PICKLE.match(first):
        found = "a Python pickle", "write it as Parquet (pandas: read_pickle, to_parquet)"
    elif found is None and _PAGE.match(first):
        title = re.search(rb"<title[^>]*>([^<]*)<", first, re.IGNORECASE)
        called = f" ({_quoted(title[1])})" if title and title[1].strip() else ""
        found = f"a web page{called}, not the file", "download it again, signed in"
    elif found is None and error:
        found = (
            f"an error message of the store ({_quoted(error[1])}), not the file",
            "copy it again with permission to read",
        )
    elif found is None and _is_of_pandas(first):
        step = f'write one object per line: to_json("{_stem(file)}.jsonl", orient="records", lines=True)'
        found = "JSON from pandas without one object per row", step
    if found is None:
        return None
    given, stem = shlex.quote(str(file)), shlex.quote(_stem(file))
    return found[0], found[1].replace("{stem}", stem).replace("{file}", given)


def refuse_foreign(file: Path, first: bytes, what: str = "") -> None:
    """Refuse a file whose first bytes show that it is no text: InputError `what`, what it is, what to do."""
    found = foreign_kind(file, first)
    if found is not None:
        raise InputError(f"{what}{': ' if what else ''}{file} is {found[0]}; {found[1]}")


def _stem(file: Path) -> str:
    return file.name.split(".")[0]


def _of_zip(file: Path) -> tuple[str, str]:
    names: list[str] = []
    with suppress(zipfile.BadZipFile, OSError, ValueError), zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook", "save it as CSV UTF-8 there (File, Save as), and give that"
    if "content.xml" in names:
        return "a workbook", "save it as CSV in UTF-8 there, and give that"
    given = shlex.quote(str(file))
    inside = f", and give {names[0]!r}, which is in it" if len(names) == 1 else ""
    return "a zip archive", f"unpack it: unzip {given}{inside}"


def _quoted(text: bytes) -> str:
    return f"“{visible(text.decode('utf-8', errors='replace').strip())}”"


def _is_of_pandas(first: bytes) -> bool:
    """Return whether JSON has a table by columns or by the index, and not a dict of documents called 0."""
    named = _BY_COLUMN.match(first) or _BY_INDEX.match(first)
    if named is None:
        return _SPLIT.match(first) is not None
    name = named[1].decode("utf-8", errors="replace").strip().lower()
    return named[2] is None or name in _NUMBERS
