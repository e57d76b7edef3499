"""Inputs that SQL selects from files and from a DuckDB database, written as Parquet in the scratch folder.

DuckDB may read the files that the text names and the database, and nothing else; a statement that writes is
refused.
"""

import glob
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.scratch import scratch_file
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.paths import is_text, is_uri, local_path
from clickassay.core.text.words import first_line
from clickassay.inputs.sources.fingerprint import (
    FileFingerprint,
    Made,
    Origin,
    file_fingerprint,
    refusing_changes,
)
from clickassay.inputs.staging.lists import DistinctLists

_SELECTED = "clickassay_selected"

_BATCH = 100_000
_PLAIN = {"BIGINT", "INTEGER", "VARCHAR", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}
"""Types of columns that are the same by way of Arrow as in the Parquet of DuckDB."""

QUIET = "SET enable_progress_bar = false"
"""DuckDB draws its own bar on stdout, where results are printed."""

_PATH = ("path", "paths", "pattern")
"""What DuckDB calls the first parameter of a function that reads files."""

SQL = "sql"
"""Kind of digest: of a text of SQL, and of the files that it reads."""


@dataclass(frozen=True)
class InputSql:
    """SQL that selects an input."""

    text: str  # One SELECT.
    file: Path | None = None  # The file that it stands in, if any.
    database: Path | None = None  # A DuckDB database whose tables it may name.
    folder: Path | None = None  # The folder that paths in it count from; None = the working folder.

    @classmethod
    def of(cls, given: str, database: Path | None, folder: Path | None = None) -> Self:
        """Return the SQL of a text or ``.sql`` file (InputError if unreadable); paths count from `folder`."""
        if not given.strip().lower().endswith(".sql"):
            return cls(given, None, database, folder)
        file = Path(given.strip()) if folder is None else folder / given.strip()
        try:
            return cls(file.read_text(encoding="utf-8"), file, database, folder)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the SQL of {file}: {first_line(error)}") from error

    @property
    def is_elsewhere(self) -> bool:
        """Whether paths in it count from another folder than the working one."""
        return self.folder is not None and self.folder.resolve() != Path.cwd()

    def __str__(self) -> str:
        return str(self.file) if self.file is not None else "the given SQL"


def selected(what: str, sql: InputSql, progress: Progress = silent, lists_in: str | None = None) -> Made:
    """Write the rows of SQL as Parquet; `lists_in` may have numbers of lists, which stay in memory.

    Raises InputError if it is not one SELECT with columns that can be run, or the database is in use.
    """
    progress(Event(f"running the SQL of {what}"))
    file = scratch_file(sql, f"{what}.parquet")
    with _connection(what, sql, file.parent) as connection:
        tree = _checked(what, sql, connection)
        with _failures(what, sql):
            named = _named(tree, sql, connection)
        known = _fingerprints(what, sql, named)
        _confine(sql, connection, file.parent, named)
        with refusing_changes({what: known}), _failures(what, sql, named):
            placed = json.dumps(tree).replace("'", "''")
            is_placed = sql.folder is not None and not tree["error"]
            text = f"FROM json_execute_serialized_sql('{placed}')" if is_placed else sql.text
            # a view and no relation, which ends at a comment after a semicolon
            connection.execute(f"CREATE TEMPORARY VIEW {_SELECTED} AS {text}")
            rows, lists = connection.table(_SELECTED), {}
            kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
            if lists_in in kinds and kinds.pop(lists_in) == "VARCHAR[]" and set(kinds.values()) <= _PLAIN:
                lists = {lists_in: _numbered(rows, lists_in, file)}
            else:
                rows.write_parquet(str(file), compression="uncompressed")
        if what == "searches" and scan_parquet(file).head(1).collect().is_empty():
            raise InputError(
                f"searches: {sql} returned no rows; correct it: no row of its files meets its WHERE"
            )
    return Made(file, {file: Origin((_identity(what, sql, known),))}, lists=lists)


def _numbered(rows: duckdb.DuckDBPyRelation, column: str, file: Path) -> pl.Series:
    """Write rows with the numbers of the lists of a column, and return the lists."""
    lists, batches = DistinctLists(), rows.to_arrow_reader(_BATCH)
    place = batches.schema.get_field_index(column)
    schema = batches.schema.set(place, pa.field(column, pa.uint32()))
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for batch in batches:
            results = pl.Series(batch.column(place))
            keys, tops = (some.hash().to_numpy() for some in (results, results.list.first()))
            numbers = pl.Series(lists.numbers_of(keys, tops, results.gather))
            writer.write_batch(batch.set_column(place, column, numbers.to_arrow()))
    return lists.lists


def _connection(what: str, sql: InputSql, folder: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "temp_directory": str(folder / "spilled"),
        "memory_limit": "2GB",
        "python_enable_replacements": False,
        "produce_arrow_string_view": True,
        "arrow_large_buffer_size": True,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if sql.database is None:
        connection = duckdb.connect(config=config)
        connection.execute(QUIET)
        return connection
    if not sql.database.is_file():
        raise InputError(f"{what}: database {sql.database} does not exist; give --database FILE.duckdb")
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


def _checked(what: str, sql: InputSql, connection: duckdb.DuckDBPyConnection) -> Any:  # noqa: ANN401 - JSON
    if not is_text(sql.text):
        raise InputError(f"{what}: {sql} is not UTF-8; convert it to UTF-8")
    with _failures(what, sql):
        kinds = [statement.type for statement in connection.extract_statements(sql.text)]
        if kinds != [duckdb.StatementType.SELECT]:
            found = ", ".join(kind.name.replace("_", " ") for kind in kinds)
            raise InputError(
                f"{what}: {sql} is {found or 'no statement'}; only a single SELECT is "
                "allowed (FROM\u2026 is short for one)"
            )
        (text,) = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql.text]).fetchall()[0]
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError(f"{what}: {sql} is nested too deeply; shorten its longest expression") from error


@dataclass(frozen=True)
class _Named:
    written: str  # As it stands there.
    path: str  # As DuckDB is given it.
    files: tuple[Path, ...]  # The files that are there now.


def _named(tree: Any, sql: InputSql, connection: duckdb.DuckDBPyConnection) -> list[_Named]:  # noqa: ANN401
    functions = connection.table_function("duckdb_functions").project("function_name, parameters").fetchall()
    readers = {name.lower() for name, parameters in functions if parameters and parameters[0] in _PATH}
    known = [("duckdb_tables", "table_name"), ("duckdb_views", "view_name")]
    rows = (connection.table_function(kind).project(column).fetchall() for kind, column in known)
    tables = {name.lower() for some in rows for (name,) in some}
    tables |= {one["key"].lower() for node in _nodes(tree) for one in node.get("cte_map", {}).get("map", ())}
    named: list[_Named] = []
    for node in _naming(tree, readers, tables):
        literal = "text" in node
        written = path = str(node["text"] if literal else ".".join(node["qualified_name"]["path"]))
        if sql.folder is not None and not is_uri(path) and not path.startswith("~"):
            path = str(Path(glob.escape(str(sql.folder.absolute())), path))
            table = {
                "catalog_name": "",
                "schema_name": "",
                "table_name": path,
                "qualified_name": {"path": [path]},
            }
            node.update({"text": path} if literal else table)
        is_here = not is_uri(path) or local_path(path) != path
        found = connection.table_function("glob", [path]).fetchall() if is_here else []
        named.append(_Named(written, path, tuple(file for (one,) in found if (file := Path(one)).is_file())))
    return named


def _naming(tree: Any, readers: Collection[str], tables: Collection[str]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield the nodes that may be paths: names of no known table, and first arguments of what reads files."""
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE" and node["qualified_name"]["path"][-1].lower() not in tables:
            yield node
        elif node.get("type") == "TABLE_FUNCTION" and node["function"]["function_name"].lower() in readers:
            yield from _texts(node["function"]["arguments"][:1])


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - a tree of JSON
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
        left += reversed(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _texts(nodes: list[Any]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        one = node.get("expression", node)
        if one["class"] == "CONSTANT" and one["literal"]["kind"] == "STRING":
            yield one["literal"]
        elif (
            one["type"] in ("OPERATOR_CAST", "ARRAY_CONSTRUCTOR") or one.get("function_name") == "list_value"
        ):
            yield from _texts(one.get("arguments", one.get("children", [one.get("child")])))


def _confine(sql: InputSql, connection: duckdb.DuckDBPyConnection, folder: Path, named: list[_Named]) -> None:
    """Let a connection read these files, and reach its own folder and database; the order matters."""
    places = {one.path for one in named if glob.has_magic(one.path)}
    for file in (file for one in named for file in one.files):
        places |= {str(place) for place in (file, file.resolve(), *_beside(file, sql))}
    connection.execute("SET allowed_paths = $1", [sorted(places)])
    connection.execute("SET allowed_directories = $1", [[str(folder)]])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _beside(file: Path, sql: InputSql) -> list[Path]:
    is_database = file == sql.database or file.suffix in (".duckdb", ".db", ".ddb")
    return [file.with_name(f"{file.name}.wal")] if is_database else []


def _fingerprints(what: str, sql: InputSql, named: list[_Named]) -> list[FileFingerprint]:
    files = sorted({file for one in named for file in one.files})
    files += [] if sql.database is None else [sql.database]
    files += [log for file in files for log in _beside(file, sql) if log.exists()]
    try:
        return [file_fingerprint(file) for file in files]
    except OSError as error:
        raise InputError(f"{what}: cannot read a file of {sql}: {first_line(error)}") from error


def _identity(what: str, sql: InputSql, known: list[FileFingerprint]) -> FileFingerprint:
    whole = hashlib.sha256("\n".join([sql.text, *(one.digest for one in known)]).encode()).hexdigest()
    name = sql.file.name if sql.file is not None else f"{what}.sql"
    return FileFingerprint(
        name, f"{SQL}:{whole}", sum(one.bytes for one in known), f"{SQL}:{whole}", read=tuple(known)
    )


@contextmanager
def _failures(what: str, sql: InputSql, named: Sequence[_Named] = ()) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:  # rows that come by way of Arrow fail with OSError
        text = first_line(error)
        for one in named:
            text = text.replace(one.path, one.written)
        is_refused = re.search("^Permission Error|disabled by conf|No files found", text) is not None
        for one in named:
            name = re.escape(one.written)
            met = re.search(rf'"{name}(/.*)?"' if is_refused else rf"name {name}() does not exist", text)
            # a name with a slash that is no table is a path
            if met and (is_refused or "/" in one.written) and not one.files and not is_uri(one.path):
                files = f"'{one.written.rstrip('/')}{met[1] or '/*.parquet'}'"
                why = (
                    f"the folder {one.written}; name its files, such as {files}"
                    if Path(one.path).is_dir()
                    else f"{one.written}, but there is no such file; correct the path, which counts from "
                    f"{(sql.folder or Path()).absolute()}"
                )
                raise InputError(f"{what}: {sql} names {why}") from error
        remedy = "correct it, and test it in DuckDB"
        if is_refused:
            remedy = "name files as plain text in the SQL; network addresses are not read"
        elif text.startswith("Out of Memory Error") or is_disk_full(error):
            remedy = "free space on the disk, or select fewer columns or rows"
        elif "does not exist" in text:
            remedy = "check the name, or give --database"
        raise InputError(f"{what}: {sql} cannot be run: {text}; {remedy}") from error
