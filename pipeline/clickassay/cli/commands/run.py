"""`clickassay run` and `clickassay report`: logs, or a stored pattern table, to the report of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import conclude, say, show, write_json
from clickassay.cli.exit import command_line
from clickassay.cli.inputs import Given, inputs_of
from clickassay.cli.options import FORCE, JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import (
    GRADE_SETTINGS,
    MACHINE_SETTINGS,
    METRIC_SETTINGS,
    REPORT_SETTINGS,
    SPARK_SETTINGS,
    TABLE_SETTINGS,
    settings_of,
)
from clickassay.core.settings import PROJECT, Settings

if TYPE_CHECKING:
    from clickassay.api.run import RunResult

OUT = Annotated[
    Path | None, typer.Option(help=f"Output folder (written atomically). [default: out of {PROJECT}]")
]


def run(
    inputs: Annotated[
        Given, inputs_of("searches", "clicks", "judgments", "queries", "scores", "outcomes", "assignments")
    ],
    settings: Annotated[
        Settings,
        settings_of(
            *(*TABLE_SETTINGS, *GRADE_SETTINGS, *METRIC_SETTINGS, *REPORT_SETTINGS),
            *(*MACHINE_SETTINGS, *SPARK_SETTINGS),
        ),
    ],
    out: OUT = None,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Build the report from logs and judgments.

    Exit code 1 if a check of the data, or of an A/B test declared by --test, found a problem, or too few
    results are judged for any correlation; the output says what to do first.

    Examples
    --------
        clickassay run --searches logs/searches --clicks logs/clicks --judgments grades.csv --out reports/june

        clickassay run
    """
    from clickassay.api.run import RunResult
    from clickassay.jobs.run import make_run

    out, sources = inputs.out(out), inputs.needing("searches", "judgments")
    with shown_progress(quiet=quiet) as progress:
        made = make_run(sources, settings, out=out, force=force, command=command_line(), progress=progress)
    inputs.tell(quiet=quiet)
    _show(out, RunResult(*made), json=json)


def report(
    inputs: Annotated[Given, inputs_of("judgments", "queries", "scores")],
    settings: Annotated[
        Settings,
        settings_of(
            "depth", "test", "column", "max_rejected", *GRADE_SETTINGS, *METRIC_SETTINGS, *REPORT_SETTINGS
        ),
    ],
    patterns: Annotated[
        Path | None,
        typer.Option(help=f"Folder or store written by `clickassay patterns`. [default: store of {PROJECT}]"),
    ] = None,
    out: OUT = None,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Second half of `run`: build the report from a pattern table and judgments, in seconds.

    Exit code 1: as for `run`.

    Example:

        clickassay report --patterns june-patterns --judgments grades.csv --relevant-grade 2 --out june-2
    """
    from clickassay.api.run import RunResult
    from clickassay.jobs.run import make_run

    out, patterns, sources = inputs.out(out), inputs.patterns(patterns), inputs.needing("judgments")
    with shown_progress(quiet=quiet) as progress:
        made = make_run(
            sources, settings, patterns=patterns, out=out, force=force,
            command=command_line(), progress=progress,
        )  # fmt: skip
    inputs.tell(quiet=quiet)
    _show(out, RunResult(*made), json=json)


def _show(out: Path, finished: "RunResult", *, json: bool) -> None:
    if json:
        write_json(finished.summary)
    else:
        show(finished.parts())
        say(f"Report: {out / 'report.html'}")
    conclude(is_finding=finished.is_finding, stderr=json)
