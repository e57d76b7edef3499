"""Questions to a finished run: ready ones and the reader's own, asked of its ``run.duckdb``.

A question can read the tables of that one run and nothing else: the file is opened read-only, and
neither files, network, extensions nor settings are within its reach.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from clickassay.errors import QueryError
from clickassay.sqlfiles import advice, sql_names, sql_text

DATABASE = "run.duckdb"
"""The file of a run folder that holds all its tables."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them, and they move nothing on a line
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Question:
    """A ready question.

    Attributes
    ----------
    name
        What the command line calls it: the name of its file.
    answers
        What it answers, in words: the first comment line of the file.
    sql
        The whole text of the file: one SELECT.
    """

    name: str
    answers: str
    sql: str


def questions() -> tuple[Question, ...]:
    """Return the ready questions, sorted by name."""
    return tuple(question(name) for name in sql_names("explore"))


def question(name: str) -> Question:
    """Return the ready question `name`.

    Raises
    ------
    QueryError
        If there is none of this name; the message names the closest one and all that there are.
    """
    known = sql_names("explore")
    if name not in known:
        raise QueryError(f"no question {printable(name)!r}; {advice(name, known)}")
    sql = sql_text(f"explore/{name}")
    return Question(name, sql.splitlines()[0].removeprefix("--").strip(), sql)


def ask(run: Path, sql: str) -> pl.DataFrame:
    """Run one SELECT on the tables of a run (``contracts.RUN_TABLES``).

    Parameters
    ----------
    run
        Folder of the run, or its database file.
    sql
        One statement that returns rows: SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW or SUMMARIZE.

    Returns
    -------
    The rows, in the order that `sql` asks for.

    Raises
    ------
    QueryError
        If `run` holds no readable database, or `sql` is not one valid statement that returns rows.
    """
    with _explained(), closing(_open(_database(run))) as connection:
        statement = _only_statement(connection.extract_statements(sql))
        rows: pl.DataFrame = connection.sql(statement).pl()
        return rows


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
        "temp_directory": "",  # spilling would write beside the run
    }
    return duckdb.connect(str(file), read_only=True, config=config)


def _only_statement(statements: list[Any]) -> Any:  # noqa: ANN401 - DuckDB's statement has no useful type
    if len(statements) != 1:
        raise QueryError(f"found {len(statements)} SQL statements, expected one SELECT; ask them one by one")
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise QueryError(f"found a {kind.name} statement, expected a SELECT; a run can be read, not changed")
    return statements[0]


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what DuckDB raises into one line."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pl.exceptions.PolarsError, ValueError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise QueryError(f"the question cannot be answered: {printable(lines[0])}") from error


def as_csv(frame: pl.DataFrame) -> str:
    r"""Return `frame` as CSV that neither a spreadsheet nor a parser misreads.

    Texts that a spreadsheet would take for a formula (they start with ``= + - @``, tab or carriage
    return) get a leading apostrophe; lists and structs are JSON text; numbers have full precision;
    null is an empty cell, an empty text ``""``; lines end with ``\n``.
    """
    rows = [frame.columns, *frame.iter_rows()]
    return "".join(f"{_csv_line(row)}\n" for row in rows)


def _csv_line(row: Sequence[object]) -> str:
    # a line that is all empty would be skipped by readers
    return ",".join(_csv_cell(value) for value in row) or '""'


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, list, Mapping)):
        return _quoted(json_line(value))
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    text = _text(value)
    return _quoted(f"'{text}" if text.startswith(_FORMULA_STARTS) else text)


def _quoted(text: str) -> str:
    # an empty text is quoted, so that it is not null; csv.writer leaves a lone carriage return bare
    needed = not text or any(letter in text for letter in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needed else text


def as_json(frame: pl.DataFrame) -> str:
    """Return `frame` as a JSON array of records, a record a line; what JSON lacks (NaN, infinity) is null."""
    records = (json_line(row) for row in frame.iter_rows(named=True))
    body = ",\n".join(f"  {record}" for record in records)
    return f"[\n{body}\n]\n" if body else "[]\n"


def json_line(value: object) -> str:
    """Return `value` as JSON on one line, without a character that a terminal obeys."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    # A terminal obeys these characters though JSON allows them raw; escaped, they stay what they are.
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: object) -> object:
    """Return `value` in the types that JSON knows."""
    if isinstance(value, Mapping):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, (bool, int)) else _text(value)


def cells(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of `frame` as display texts: numbers to four digits, no character that acts."""
    return [[_display(value) for value in row] for row in frame.iter_rows()]


def printable(text: str) -> str:
    r"""Return `text` with every character that would act on a terminal written out, e.g. ``\x1b``.

    These are the control characters (ANSI escapes, newlines, tabs), line and paragraph separators,
    and the invisible format characters that reorder text, such as U+202E.
    """
    return "".join(_written_out(letter) if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _UNPRINTABLE


def _written_out(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _display(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join("null" if item is None else _display(item) for item in value)
    if isinstance(value, Mapping):
        return printable(json_line(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (float, Decimal)):
        return _four_digits(float(value))
    return printable(_text(value))


def _four_digits(number: float) -> str:
    """Four digits, but never fewer than stand before the point: 0.1235, 12.35, 12346."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else str(number)
    if 1000 <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{number + 0.0:.4g}"


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value if not isinstance(value, timedelta) else value.total_seconds())
