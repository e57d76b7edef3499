"""How the command line shows answers: a table for people, CSV and JSON for programs."""

from pathlib import Path

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import write_frame
from clickassay.core.errors import QueryError
from clickassay.core.escape import terminal
from clickassay.studies.questions import ask, cells, question, questions

MOST_ROWS = 100
"""Rows shown as a table; CSV and JSON have them all."""


def list_all(console: Console) -> None:
    """Show the ready questions."""
    table = Table("name", "what it answers", box=box.SIMPLE_HEAD)
    for known in questions():
        table.add_row(Text(known.name), Text(known.answers))
    console.print(table)


def answer(
    console: Console, run: Path, sql: str | None, name: str | None, *, as_csv: bool, as_json: bool
) -> None:
    """Ask a run and show the answer.

    Raises
    ------
    QueryError
        If not exactly one of `sql` and `name`, or both formats, are given, or the question fails.
    """
    if (sql is None) == (name is None):
        raise QueryError(
            "give either SQL or --name NAME; `clickassay query RUN --list` shows the ready questions"
        )
    if as_csv and as_json:
        raise QueryError("give --csv or --json, not both")
    frame = ask(run, question(name).sql if name is not None else str(sql))
    if as_csv or as_json:
        write_frame(frame, csv=as_csv)
    else:
        _show(console, frame)


def _show(console: Console, frame: pl.DataFrame) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name, dtype in frame.schema.items():
        table.add_column(Text(terminal(name)), justify="right" if dtype.is_numeric() else "left")
    for row in cells(frame.head(MOST_ROWS)):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    more = f" (first {MOST_ROWS} shown; --csv gives all)" if frame.height > MOST_ROWS else ""
    console.print(f"{frame.height:,} rows{more}")
