"""`clickassay judges`: how far sources of judgments agree, without a log."""

from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import command_line, say, show, write_json
from clickassay.cli.options import JSON, QUIET, TablesOut
from clickassay.cli.progress import shown_progress


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
        str | None, typer.Option(metavar="MAP", help="Grades of ratings that are none: 0=0,1=1,10=3,100=4.")
    ] = None,
    max_grade: Annotated[
        int | None,
        typer.Option(metavar="GRADE", help="Highest grade of the scale. [default: the highest found]"),
    ] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Measure how far judges agree, such as people and a language model, without a log.

    Files may have any layout that `import judgments` reads. Intervals take queries as units. With --out, also
    a sheet of the results that judges grade differently, to be decided: fill in its column grade.

    Example:

        clickassay judges people.csv model.csv --out people-model
    """
    from clickassay.api.studies.judges import JudgesResult, rating_options
    from clickassay.core.files.output import check_apart, check_free

    options = rating_options(files, judge or [], grade_map, max_grade)
    if output.out is not None:
        check_free(output.out, force=output.force)
        check_apart(output.out, *files)
    with shown_progress(quiet=quiet) as progress:
        found = JudgesResult.of(files, options, progress)
        if output.out is not None:
            found.write(output.out, force=output.force, command=command_line())
    if json:
        write_json({"verdict": found.verdict, "agreement": found.agreement.to_dicts()})
        return
    show(found.parts())
    if output.out is not None:
        say(f"Tables: {output.out}")
