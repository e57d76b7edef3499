"""`clickassay query`: a finished run asked in SQL."""

from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import CONSOLE
from clickassay.cli.options import CSV, JSON


def query(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its run.duckdb.")],
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="A SELECT over the run's tables.")] = None,
    name: Annotated[str | None, typer.Option(help="A ready question; `--list` shows them.")] = None,
    list_questions: Annotated[bool, typer.Option("--list", help="List the ready questions.")] = False,
    csv: CSV = False,
    json: JSON = False,
) -> None:
    """Ask a run a question in SQL.

    Examples
    --------
        clickassay query reports/june "SELECT * FROM statistics"

        clickassay query reports/june --name worst_disagreements --csv
    """
    from clickassay.cli.tables import answer, list_all

    if list_questions:
        list_all(CONSOLE)
    else:
        answer(CONSOLE, run_folder, sql, name, as_csv=csv, as_json=json)
