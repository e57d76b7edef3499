"""Inputs that SQL selects from files and from a DuckDB database, written as Parquet in the scratch folder.

DuckDB may read what the text names and the database, and nothing else; a statement that writes is refused.
"""

import glob
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb

from clickassay.core.errors import InputError
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.scratch import scratch_file
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.words import first_line
from clickassay.inputs.sources.fingerprint import FileFingerprint, Origin, file_fingerprint, refusing_changes
from clickassay.inputs.staging.made import Made

_SELECTED = "clickassay_selected"

QUIET = "SET enable_progress_bar = false"
"""DuckDB draws its own bar on stdout, where results are printed."""

SQL = "sql"
"""Kind of digest: of a text of SQL, and of the files that it reads."""


@dataclass(frozen=True)
class InputSql:
    """SQL that selects an input."""

    text: str  # One SELECT.
    file: Path | None = None  # The file that it stands in, if any.
    database: Path | None = None  # A DuckDB database whose tables it may name.

    @classmethod
    def of(cls, given: str, database: Path | None, folder: Path | None = None) -> Self:
        """Return the SQL of an option: a text, or the content of a file whose name ends in ``.sql``.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        if not given.strip().lower().endswith(".sql"):
            return cls(given, None, database)
        file = Path(given.strip()) if folder is None else folder / given.strip()
        try:
            return cls(file.read_text(encoding="utf-8"), file, database)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the SQL of {file}: {first_line(error)}") from error

    def __str__(self) -> str:
        return str(self.file) if self.file is not None else "the given SQL"


def selected(what: str, sql: InputSql, progress: Progress = silent) -> Made:
    """Write the rows of SQL as Parquet.

    Parameters
    ----------
    what
        Name of the input, for messages.

    Raises
    ------
    InputError
        If the text is not one SELECT, cannot be run, or gives no column; or the database is in use.
    """
    progress(Event(f"running the SQL of {what}"))
    file = scratch_file(sql, f"{what}.parquet")
    with _connection(what, sql, file.parent) as connection:
        paths = _checked(what, sql, connection)
        known = _fingerprints(what, sql, paths)
        _confine(connection, [file.parent, *{_fixed_part(path) for path in paths}])
        with refusing_changes({what: known}), _failures(what, sql):
            # a view and no relation, which ends at a comment after a semicolon
            connection.execute(f"CREATE TEMPORARY VIEW {_SELECTED} AS {sql.text}")
            connection.table(_SELECTED).write_parquet(str(file), compression="uncompressed")
    return Made(file, {file: Origin((_identity(what, sql, known),))})


def _connection(what: str, sql: InputSql, folder: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "temp_directory": str(folder / "spilled"),
        "memory_limit": "2GB",
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if sql.database is None:
        connection = duckdb.connect(config=config)
        connection.execute(QUIET)
        return connection
    if not sql.database.is_file():
        raise InputError(f"{what}: there is no database {sql.database}; give --database FILE.duckdb")
    try:
        connection = duckdb.connect(str(sql.database), read_only=True, config=config)
        connection.execute(QUIET)
    except duckdb.Error as error:
        if "lock" in str(error):
            raise InputError(
                f"{what}: another process has {sql.database} open for writing; wait for it to end, or give a "
                "copy of the file"
            ) from error
        raise InputError(f"{what}: cannot open {sql.database}: {first_line(error)}") from error
    return connection


def _checked(what: str, sql: InputSql, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the paths that the SQL names, if it is one SELECT."""
    with _failures(what, sql):
        kinds = [statement.type for statement in connection.extract_statements(sql.text)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise InputError(
                f"{what}: {sql} is {_named(kinds)}; give one SELECT, which is all that is run "
                "(a FROM may begin it)"
            )
        row = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql.text]).fetchone()
    tree = json.loads(row[0]) if row else {}
    return list(dict.fromkeys(path for path in _paths(tree) if glob.glob(path, recursive=True)))  # noqa: PTH207


def _named(kinds: list[Any]) -> str:
    names = ", ".join(kind.name.replace("_", " ") for kind in kinds)
    return names or "no statement"


def _paths(node: Any) -> Iterator[str]:  # noqa: ANN401 - a tree of JSON
    """Yield the texts that may be paths: names of tables, and texts that table functions are given."""
    if isinstance(node, list):
        for one in node:
            yield from _paths(one)
    elif isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            yield str(node["table_name"])
        elif node.get("type") == "TABLE_FUNCTION":
            yield from _texts(node["function"])
        for one in node.values():
            yield from _paths(one)


def _texts(node: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    if isinstance(node, list):
        for one in node:
            yield from _texts(one)
    elif isinstance(node, dict):
        if node.get("kind") == "STRING" and isinstance(node.get("text"), str):
            yield node["text"]
        for one in node.values():
            yield from _texts(one)


def _fixed_part(path: str) -> Path:
    """Return the folder above the first sign of a glob, or a file's own."""
    parts = Path(path).absolute().parts
    first = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    place = Path(*parts[:first])
    return place if place.is_dir() else place.parent


def _confine(connection: duckdb.DuckDBPyConnection, folders: list[Path]) -> None:
    """Let a connection reach these folders and its database alone; the order of the three matters."""
    connection.execute("SET allowed_directories = $1", [[str(folder) for folder in folders]])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _fingerprints(what: str, sql: InputSql, paths: list[str]) -> list[FileFingerprint]:
    """Return the identity of each file that the SQL reads, the database among them."""
    found = [Path(one) for path in paths for one in glob.glob(path, recursive=True)]  # noqa: PTH207
    files = sorted({file for file in found if file.is_file()})
    if sql.database is not None:
        beside = sql.database.with_name(f"{sql.database.name}.wal")
        files += [file for file in (sql.database, beside) if file.exists()]
    try:
        return [file_fingerprint(file) for file in files]
    except OSError as error:
        raise InputError(f"{what}: cannot read a file of {sql}: {first_line(error)}") from error


def _identity(what: str, sql: InputSql, known: list[FileFingerprint]) -> FileFingerprint:
    """Return the identity of the text and of the files that it reads."""
    whole = hashlib.sha256("\n".join([sql.text, *(one.digest for one in known)]).encode()).hexdigest()
    name = sql.file.name if sql.file is not None else f"{what}.sql"
    return FileFingerprint(name, f"{SQL}:{whole}", sum(one.bytes for one in known), f"{SQL}:{whole}")


@contextmanager
def _failures(what: str, sql: InputSql) -> Iterator[None]:
    """Turn an error of DuckDB into one line with the remedy."""
    try:
        yield
    except duckdb.Error as error:
        raise _failed(what, sql, error) from error


def _failed(what: str, sql: InputSql, error: duckdb.Error) -> InputError:
    text = first_line(error)
    if isinstance(error, duckdb.PermissionException) or "disabled by configuration" in text:
        remedy = "SQL reads files that it names as plain text, and no address of a network"
    elif isinstance(error, duckdb.OutOfMemoryException) or is_disk_full(error):
        remedy = "free space on the disk, or select fewer columns or rows"
    elif "does not exist" in text:
        remedy = "check the name, or give --database"
    else:
        remedy = "correct it, and try it with DuckDB alone"
    return InputError(f"{what}: {sql} cannot be run: {text}; {remedy}")
