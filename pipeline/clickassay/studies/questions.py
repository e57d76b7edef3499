"""Questions to a finished run in SQL: ready ones and those of users, on its ``run.duckdb``.

A question can read only the tables of that run: the file is opened read-only, and DuckDB's access to files,
network, extensions and settings is off.
"""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from clickassay.core.contracts.run import ANOTHER_LAYOUT, RUN_TABLES
from clickassay.core.errors import QueryError
from clickassay.core.escape import json, plain_text, terminal
from clickassay.core.sqlfiles import sql_folders, sql_names, sql_text
from clickassay.core.text import did_you_mean
from clickassay.patterns.places import DATABASE


@dataclass(frozen=True)
class Question:
    """A ready question.

    Attributes
    ----------
    name
        Its name on the command line: that of its file.
    answers
        A sentence on what it answers: the first comment line of the file.
    file
        Folder and name of the file, as `sql_text` takes them.
    sql
        The whole text of the file: one SELECT.
    """

    name: str
    answers: str
    file: str
    sql: str


def questions() -> tuple[Question, ...]:
    """Return the ready questions, sorted by name."""
    return tuple(question(name) for name in sorted(_files()))


def question(name: str) -> Question:
    """Return the ready question `name`.

    Raises
    ------
    QueryError
        If there is none of this name; the message lists the closest name and all names.
    """
    files = _files()
    if name not in files:
        raise QueryError(f"no question {terminal(name)!r}; {did_you_mean(name, sorted(files))}")
    sql = sql_text(files[name])
    return Question(name, sql.splitlines()[0].removeprefix("--").strip(), files[name], sql)


def _files() -> dict[str, str]:
    """Return the files of the questions by name; they are in one folder per subject."""
    folders = [folder for folder in sql_folders() if folder.startswith("questions/")]
    return {name: f"{folder}/{name}" for folder in folders for name in sql_names(folder)}


def sql_of(text: str) -> str:
    """Return the SQL of a ready question that is given by its name alone, or SQL as it is.

    Raises
    ------
    QueryError
        If the text is one word, but no name of a question: SQL has several.
    """
    return question(text.strip()).sql if re.fullmatch(r"\w+", text.strip()) else text


def ask(run: Path, sql: str) -> pl.DataFrame:
    """Run one SELECT on the tables of a run (``contracts.run.RUN_TABLES``).

    Parameters
    ----------
    run
        Folder of the run, or its database file.
    sql
        One statement that returns rows: SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW or SUMMARIZE.

    Returns
    -------
    The rows, in the order of `sql`.

    Raises
    ------
    QueryError
        If `run` holds no readable database, or one with other tables than this version's, or `sql` is not
        one valid statement that returns rows.
    """
    file = _database(run)
    with _explained(), closing(_open(file)) as connection:
        _check_tables(connection, file)
        statement = _only_statement(connection.extract_statements(sql))
        try:
            return frame_of(connection.sql(statement))
        except duckdb.CatalogException as error:
            raise QueryError(_with_tables(error)) from error


def _with_tables(error: duckdb.CatalogException) -> str:
    """Return the message of an unknown name; of a table with the tables that there are."""
    first = terminal(str(error).splitlines()[0])
    named = _UNKNOWN_TABLE.search(first)
    if named is None:
        return f"the question cannot be answered: {first}"
    return f"no table {named[1]!r}; {did_you_mean(named[1], sorted(table.name for table in RUN_TABLES))}"


_UNKNOWN_TABLE = re.compile(r"Table with name \"?(.+?)\"? does not exist")

_PLAIN = {
    "BOOLEAN": pl.Boolean, "TINYINT": pl.Int8, "SMALLINT": pl.Int16, "INTEGER": pl.Int32, "BIGINT": pl.Int64,
    "FLOAT": pl.Float32, "DOUBLE": pl.Float64, "VARCHAR": pl.String,
}  # fmt: skip


def frame_of(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return rows as a frame.

    Numbers and texts are handed over one by one: to import PyArrow and NumPy, by which all else comes, takes
    longer than to answer most questions.
    """
    types = [str(kind) for kind in rows.types]
    if len(set(rows.columns)) == len(rows.columns) and all(kind in _PLAIN for kind in types):
        columns = {name: _PLAIN[kind] for name, kind in zip(rows.columns, types, strict=True)}
        return pl.DataFrame(rows.fetchall(), columns, orient="row")
    found: pl.DataFrame = rows.pl()
    return found


def _database(run: Path) -> Path:
    file = run / DATABASE if run.is_dir() else run
    if not file.is_file():
        raise QueryError(f"no {DATABASE} at {run}; expected the folder of a finished run, or its {DATABASE}")
    return file.resolve()


def _open(file: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "enable_external_access": False,
        "lock_configuration": True,
        "python_enable_replacements": False,  # names in SQL never mean variables of this process
        "temp_directory": "",  # spilling would write into the run folder
    }
    return duckdb.connect(str(file), read_only=True, config=config)


def _check_tables(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Refuse a run whose tables have other names: its answers would not be what the documents say."""
    found = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    if found != {table.name for table in RUN_TABLES}:
        raise QueryError(f"{file} {ANOTHER_LAYOUT}")


def _only_statement(statements: list[Any]) -> Any:  # noqa: ANN401 - DuckDB's statement has no useful type
    if len(statements) != 1:
        raise QueryError(f"found {len(statements)} SQL statements, expected one SELECT; run them one by one")
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise QueryError(f"found a {kind.name} statement, expected a SELECT; a run can be read, not changed")
    return statements[0]


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of DuckDB and Polars into messages of one line."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pl.exceptions.PolarsError, ValueError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise QueryError(f"the question cannot be answered: {terminal(lines[0])}") from error


def cells(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of `frame` as texts for display: numbers to four digits, control characters escaped."""
    return [[_display(value) for value in row] for row in frame.iter_rows()]


def _display(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join("null" if item is None else _display(item) for item in value)
    if isinstance(value, Mapping):
        return json(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (float, Decimal)):
        return _four_digits(float(value))
    return terminal(plain_text(value))


def _four_digits(number: float) -> str:
    """Return four significant digits, or all digits before the point: 0.1235, 12.35, 12346."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else str(number)
    if 1000 <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{number + 0.0:.4g}"
