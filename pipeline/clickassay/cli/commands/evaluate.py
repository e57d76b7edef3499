"""`clickassay evaluate`: measures of runs against judgments, and which run is better."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import command_line, say, write_out
from clickassay.cli.options import FORCE, QUIET
from clickassay.cli.progress import shown_progress

if TYPE_CHECKING:
    from clickassay.report.model import Table as Shown
    from clickassay.studies.evaluation.job import Evaluated

MEASURES = "nDCG@10 ERR@10 AP RR P@10"

WIDTH = 160
"""Columns that tables take where nobody says how wide the output is."""

NARROWEST, WIDEST = 9, 10_000
"""Columns of a name that is folded, and of the widest table."""


class Format(StrEnum):
    """How numbers are written to stdout."""

    text = "text"
    tsv = "tsv"
    jsonl = "jsonl"
    markdown = "markdown"
    latex = "latex"


class Queries(StrEnum):
    """Which queries means are over."""

    judged = "judged"
    both = "both"


def _list_measures(wanted: bool) -> None:
    if wanted:
        from clickassay.studies.evaluation.catalogue import listing, rules

        _show_table("Measures", *listing())
        say("In a name of trec_eval, K is a depth and L a level of recall. Every measure also takes:")
        say(*(f"{name}: {meaning}" for name, meaning in rules()))
        raise typer.Exit


def evaluate(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Judgments: lines `query 0 doc grade`.")],
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Runs: lines `query Q0 doc rank score tag`.")
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAMES",
            help=f"Measures, with blanks between them; repeatable. [default: {MEASURES}]",
        ),
    ] = None,
    relevant_grade: Annotated[
        int, typer.Option(help="Lowest grade that is relevant, where a name has no rel.")
    ] = 1,
    max_grade: Annotated[
        int, typer.Option(help="Highest grade of the scale, where a name has no max_rel.")
    ] = 4,
    persistence: Annotated[float, typer.Option(help="p of RBP, where a name has none.")] = 0.8,
    queries: Annotated[
        Queries, typer.Option(help="Means over all judged queries, or those that the run has too.")
    ] = Queries.judged,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Also the worst and the best case over results without a grade.")
    ] = False,
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What users know: lines `query doc`.")
    ] = None,
    expected: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How many relevant results users expect: lines `query number`."),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also every value of every query.")] = False,
    format: Annotated[Format, typer.Option(help="How to write the numbers.")] = Format.text,  # noqa: A002
    out: Annotated[
        Path | None, typer.Option(help="Folder for a report with curves; appears whole or not at all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the randomisation test.")] = 0,
    list_measures: Annotated[  # noqa: ARG001 - its callback ends the command
        bool,
        typer.Option(
            "--list-measures", callback=_list_measures, is_eager=True, help="List all measures and exit."
        ),
    ] = False,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Evaluate runs against judgments; tell whether two runs differ.

    Files are those of trec_eval.

    Examples
    --------
        clickassay evaluate qrels.txt run.txt -m "nDCG@10 ERR@10 AP(rel=2)"

        clickassay evaluate qrels.txt old.txt new.txt --bounds --out reports/old-new
    """
    from clickassay.studies.evaluation.job import Choices, check_place, evaluate_files, write_evaluation

    choices = Choices(
        " ".join(measure or [MEASURES]), relevant_grade, max_grade, persistence, queries.value, bounds,
        known, expected, seed,
    )  # fmt: skip
    if out is not None:
        check_place(out, qrels, runs, force=force)
    with shown_progress(quiet=quiet) as progress:
        found = evaluate_files(qrels, runs, choices, progress=progress)
        if out is not None:
            files = {"qrels": qrels, "known": known, "expected": expected}
            inputs = {name: file for name, file in files.items() if file is not None}
            inputs |= {f"run {name}": file for name, file in zip(found.evaluation.lists, runs, strict=True)}
            write_evaluation(found, out, inputs, command=command_line(), per_query=per_query, force=force)
    _show(found, format, per_query=per_query)
    if out is not None and format is Format.text:
        say(f"Report: {out / 'report.html'}")


def _show(found: "Evaluated", form: Format, *, per_query: bool) -> None:
    from clickassay.studies.evaluation.job import as_jsonl, as_latex, as_markdown, as_tsv, shown_tables

    texts = {Format.tsv: as_tsv, Format.jsonl: as_jsonl, Format.markdown: as_markdown, Format.latex: as_latex}
    if form in texts:
        write_out(texts[form](found, per_query=per_query))
        return
    say(*(f"{what}: {how}" for what, how in found.conventions))
    for table in shown_tables(found, per_query=per_query):
        _show_report_table(table)


def _show_report_table(table: "Shown") -> None:
    from clickassay.report.writers.csv import plain_rows

    heads, *rows = plain_rows(table)
    _show_table(table.title, heads, rows, right=heads[-len(table.heads) :])
    say(*table.remarks)


def _show_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for head in heads:
        if head in right:
            table.add_column(Text(head), justify="right", no_wrap=True)
        else:
            table.add_column(Text(head), overflow="fold", min_width=NARROWEST)
    for row in rows:
        table.add_row(*map(Text, row))
    # a number that is cut short would be another number
    needed = Measurement.get(console, console.options.update(width=WIDEST), table).minimum
    console.width = max(console.width, needed, 0 if console.is_terminal else WIDTH)
    console.print(table)
