"""Questions to a finished run in SQL: ready questions and the users' own, on its ``run.duckdb``.

A question can read only the tables of that run: the file is opened read-only, and DuckDB's access to files,
network, extensions and settings is off.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from clickassay.core.contracts.run import ANOTHER_LAYOUT, RUN_TABLES, TABLES_OF_TESTS
from clickassay.core.errors import QueryError
from clickassay.core.files.sql import sql_folders, sql_names, sql_text
from clickassay.core.text.escape import json, plain_text, terminal
from clickassay.core.text.words import did_you_mean
from clickassay.patterns.places import DATABASE


@dataclass(frozen=True)
class Question:
    """A ready question."""

    name: str  # Its name on the command line, from its file.
    answers: str  # A sentence on what it answers: the first comment line of the file.
    file: str  # Folder and name of the file, as `sql_text` takes them.
    sql: str  # The whole text of the file: one SELECT.


def questions() -> tuple[Question, ...]:
    """Return the ready questions, sorted by name."""
    return tuple(question(name) for name in sorted(_files()))


def question(name: str) -> Question:
    """Return the ready question `name`; QueryError, with the closest name and all, if there is none."""
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
    """Return the SQL of a ready question, or SQL as it is; QueryError for one word that is no question."""
    return question(text.strip()).sql if re.fullmatch(r"\w+", text.strip()) else text


_COMMAND = {"memory_limit": "50%", "threads": "1"}
"""Half of this machine's memory for a command's question: an answer too large ends it, and not the machine.

Two threads add up numbers in an order that changes from time to time, and with it the last digits.
"""


def ask(run: Path, sql: str) -> pl.DataFrame:
    """Return the rows of one SELECT on the tables of a run (``contracts.run.RUN_TABLES``), in its order.

    run: folder of the run, or its database file. sql: SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE.
    Raises QueryError if there is no readable database with this version's tables, or `sql` is another.
    """
    file = _database(run)
    with _explained(), closing(_open(file, _COMMAND)) as connection:
        return frame_of(_answer(connection, file, sql))


def _answer(connection: duckdb.DuckDBPyConnection, file: Path, sql: str) -> duckdb.DuckDBPyRelation:
    names = {table.name for table in RUN_TABLES}
    there = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    if there - {table.name for table in TABLES_OF_TESTS} != names:
        raise QueryError(f"{file} {ANOTHER_LAYOUT}")  # its answers would not be what the documents say
    try:
        statements: list[Any] = connection.extract_statements(sql)
        if len(statements) != 1:
            raise QueryError(
                f"found {len(statements)} SQL statements, expected one SELECT; run them one by one"
            )
        kind = statements[0].type
        if kind != duckdb.StatementType.SELECT:
            raise QueryError(
                f"found a {kind.name} statement, expected a SELECT; a run can be read, not changed"
            )
        return connection.sql(statements[0])
    except duckdb.CatalogException as error:
        first = terminal(str(error).splitlines()[0])
        unknown = re.search(r"Table with name \"?(.+?)\"? does not exist", first)
        told = f"the question cannot be answered: {first}"
        if unknown is not None:
            told = f"no table {unknown[1]!r}; {did_you_mean(unknown[1], sorted(names))}"
        raise QueryError(told) from error


MOST_ROWS = 100_000
"""Rows of an answer on a page; a program that takes more holds up all pages while they are handed over."""


class PageQuestions:
    """Questions of a page, one at a time: its end interrupts them. All pages take a quarter of the memory."""

    def __init__(self) -> None:
        self._running: duckdb.DuckDBPyConnection | None = None

    def ask(self, run: Path, sql: str) -> pl.DataFrame:
        """Answer as `ask` does, with at most `MOST_ROWS` rows; QueryError also if the page has gone."""
        file = _database(run)
        limits = _COMMAND | {"memory_limit": "25%"}
        try:
            with _explained(), closing(_open(file, limits)) as connection:
                self._running = connection
                return frame_of(_answer(connection, file, sql).limit(MOST_ROWS))
        except KeyboardInterrupt:
            raise QueryError("the question was interrupted: its page was closed") from None
        finally:
            self._running = None

    def interrupt(self) -> None:
        """End the question that is being answered, if there is one; from any thread."""
        running = self._running
        if running is not None:
            with suppress(duckdb.Error):  # it may end by itself meanwhile
                running.interrupt()


_PLAIN = {
    "BOOLEAN": pl.Boolean, "TINYINT": pl.Int8, "SMALLINT": pl.Int16, "INTEGER": pl.Int32, "BIGINT": pl.Int64,
    "FLOAT": pl.Float32, "DOUBLE": pl.Float64, "VARCHAR": pl.String,
}  # fmt: skip


def frame_of(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return rows as a frame.

    Numbers and texts are handed over one by one: to import PyArrow and NumPy, by which all else comes, takes
    longer than to answer most questions. Times that Python has no type for (infinity, the year 20000, lengths
    in months) are texts, with all others of their column.
    """
    types = [str(kind) for kind in rows.types]
    if len(set(rows.columns)) == len(rows.columns) and all(kind in _PLAIN for kind in types):
        columns = {name: _PLAIN[kind] for name, kind in zip(rows.columns, types, strict=True)}
        return pl.DataFrame(rows.fetchall(), columns, orient="row")
    odd = [name for name, kind in zip(rows.columns, types, strict=True) if _NOT_IN_ARROW.search(kind)]
    texts = _with_texts(rows, odd)
    beyond = [column.name for column in texts if not _fits_python(column)]
    return _with_texts(rows, [*odd, *beyond]) if beyond else texts


def _with_texts(rows: duckdb.DuckDBPyRelation, names: list[str]) -> pl.DataFrame:
    if names:
        columns = [(name, duckdb.ColumnExpression(name)) for name in rows.columns]
        texts = (one.cast("VARCHAR").alias(name) if name in names else one for name, one in columns)
        rows = rows.select(*texts)
    frame: pl.DataFrame = rows.pl()
    return frame


_NOT_IN_ARROW = re.compile(r"INTERVAL|TIMESTAMP_S\b")
"""Types that Polars cannot take, or takes with another value for infinity."""

_DAY = 86_400
_FIRST, _LAST = -719_162 * _DAY, 2_932_897 * _DAY - 1  # seconds from 1970 to the years 1 and 9999
_INFINITY = 2**63 - 1


def _fits_python(column: pl.Series) -> bool:
    """Return whether Python has values for all times of a column, also in lists and structs."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _fits_python(column.explode())
    if isinstance(kind, pl.Struct):
        return all(map(_fits_python, column.struct.unnest()))
    if not isinstance(kind, pl.Date | pl.Datetime):
        return True
    number = column.to_physical()
    if isinstance(kind, pl.Datetime):
        is_finite = number.is_between(-_INFINITY, _INFINITY, closed="none").all()
        number = number // {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.time_unit]
    else:
        is_finite, number = True, number.cast(pl.Int64) * _DAY
    return bool(is_finite and number.is_between(_FIRST, _LAST).all())


def _database(run: Path) -> Path:
    file = run / DATABASE if run.is_dir() else run
    if not file.is_file():
        raise QueryError(f"no {DATABASE} at {run}; expected the folder of a finished run, or its {DATABASE}")
    return file.resolve()


def _open(file: Path, limits: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "enable_external_access": False,
        "lock_configuration": True,
        "python_enable_replacements": False,  # names in SQL never mean variables of this process
        "temp_directory": "",  # spilling would write into the run folder
        **limits,
    }
    return duckdb.connect(str(file), read_only=True, config=config)


@contextmanager
def _explained() -> Iterator[None]:
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
    if not isinstance(value, (float, Decimal)):
        return terminal(plain_text(value))
    number = float(value)  # four significant digits, or all before the point: 0.1235, 12.35, 12346
    text = f"{number:.0f}" if 1000 <= abs(number) < 1e15 else f"{number + 0.0:.4g}"
    return "NaN" if text == "nan" else text
