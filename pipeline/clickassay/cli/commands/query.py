"""`clickassay query`: a finished run asked in SQL."""

from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import show_frame, show_table, write_frame
from clickassay.cli.options import Format
from clickassay.core.errors import QueryError

MOST_ROWS = 100
"""Rows shown as a table; CSV and JSON have them all."""


def question_names(incomplete: str) -> list[str]:
    """Return the ready questions whose names begin so: the shell completes them."""
    from clickassay.studies.questions import questions

    return [known.name for known in questions() if known.name.startswith(incomplete)]


def query(
    form: Format,
    run_folder: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A run folder, or its run.duckdb.")
    ] = None,
    sql: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="A SELECT on the run's tables, or the name of a ready question."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A ready question; --list shows them.", autocompletion=question_names
        ),
    ] = None,
    list_questions: Annotated[bool, typer.Option("--list", help="List the ready questions.")] = False,
) -> None:
    """Ask a run a question in SQL.

    Examples
    --------
        clickassay query reports/june "SELECT * FROM statistics"

        clickassay query reports/june worst_disagreements --csv

        clickassay query --list
    """
    from clickassay.studies.questions import ask, question, questions, sql_of

    if list_questions:
        heads, rows = ("name", "what it answers"), [(known.name, known.answers) for known in questions()]
        if form.for_programs:
            import polars as pl

            write_frame(pl.DataFrame(rows, heads, orient="row"), csv=form.csv)
        else:
            show_table(heads, rows)
        return
    if run_folder is None:
        raise QueryError("give a run folder: clickassay query RUN, then SQL or --name NAME")
    if (sql is None) == (name is None):
        raise QueryError(
            "give either SQL or --name NAME; `clickassay query --list` shows the ready questions"
        )
    frame = ask(run_folder, question(name).sql if name is not None else sql_of(str(sql)))
    if form.for_programs:
        write_frame(frame, csv=form.csv)
    else:
        show_frame(frame, most_rows=MOST_ROWS)
