"""`clickassay judges`: how far sources of judgments agree, without a log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import command_line, say, show, write_json
from clickassay.cli.options import JSON, QUIET, TablesOut, metric_names
from clickassay.cli.progress import shown_progress


@dataclass(frozen=True)
class Questions:
    """What is asked of judges besides their agreement."""

    rankings: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Ranked lists: whose order differs under the judges. Repeat it."),
    ] = None
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", metavar="NAMES", help="Metrics of the rankings. [default: nDCG@10]",
            autocompletion=metric_names,
        ),
    ] = None  # fmt: skip
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table with a column query and classes of queries.")
    ] = None
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Class to split by. [default: every class]")
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Pattern table, or run of these judges: whose order do its clicks support?"
        ),
    ] = None
    at_least: Annotated[
        float | None,
        typer.Option(metavar="KAPPA", help="Quadratic kappa that the agreement is held against."),
    ] = None


def judges(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Judgments: a file for each judge, or one with a column judge."),
    ],
    output: TablesOut,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name of each judge, in their order. [default: its own]"),
    ] = None,
    grade_map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP",
            help="Grades of ratings that are none: 0=0,1=1,10=3,100=4; once, or once for each judge.",
        ),
    ] = None,
    max_grade: Annotated[
        int | None,
        typer.Option(metavar="GRADE", help="Highest grade of the scale. [default: the highest found]"),
    ] = None,
    *,
    questions: Questions,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Measure how far judges agree, such as people and a language model, without a log.

    Files may have any layout that `import judgments` reads. Intervals take queries as units. With --out, also
    a report, and a sheet of the results that judges grade differently, to be decided: fill in its column
    grade.

    Examples
    --------
        clickassay judges people.csv model.csv --at-least 0.4 --out people-model

        clickassay judges people.txt model.txt --rankings old.txt --rankings new.txt
    """
    from clickassay.api.studies.judges import JudgesResult, rating_options
    from clickassay.core.files.output import check_apart, check_free
    from clickassay.jobs.judges import MEASURE, JudgesAsked

    options = rating_options(files, judge or [], grade_map or (), max_grade)
    asked = JudgesAsked(
        tuple(questions.rankings or ()), " ".join(questions.metric or [MEASURE]), questions.queries,
        tuple(questions.by or ()), questions.run,
    )  # fmt: skip
    if output.out is not None:
        check_free(output.out, force=output.force)
        check_apart(output.out, *files, *asked.rankings, asked.queries, asked.run)
    with shown_progress(quiet=quiet) as progress:
        found = JudgesResult.of(files, options, asked, questions.at_least, progress)
        if output.out is not None:
            found.write(output.out, force=output.force, command=command_line())
    if json:
        tables = {name: table.to_dicts() for name, table in found.tables.items() if name != "sheet"}
        again = {
            judge: {"results": results, "same_grade": equal, "rule": "first"}
            for judge, (results, equal) in found.found.repeated.items()
        }
        counts = {"not_judged": found.found.not_judged, "judged_again": again}
        write_json({"verdict": found.verdict, **counts, **tables})
        return
    show(found.parts())
    if output.out is not None:
        say(f"Report: {output.out / 'report.html'}")
