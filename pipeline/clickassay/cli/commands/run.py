"""`clickassay run` and `clickassay report`: logs, or a stored pattern table, to the report of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import command_line, conclude, say, show_table, write_json
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
from clickassay.core.text.words import capital, number, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from clickassay.health.checks import HealthCheck
    from clickassay.jobs.run import RunSummary

_MOST_CHECKS = 3
"""Checks of the log's health that are shown on the screen; the report has all."""

_MOST_METRICS, _BAR = 12, 24
"""Metrics of the ranking on the screen, and the letters of the longest bar."""

OUT = Annotated[
    Path | None,
    typer.Option(help=f"Folder to write; appears whole or not at all. [default: out of {PROJECT}]"),
]


def run(
    inputs: Annotated[Given, inputs_of("searches", "clicks", "judgments", "queries")],
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
    """Do the whole job: logs and judgments to a report.

    Exit code 1 if something is wrong with the log, or too little is judged for any correlation: the output
    says what to do first.

    Examples
    --------
        clickassay run --searches logs/searches --clicks logs/clicks --judgments grades.csv --out reports/june

        clickassay run
    """
    from clickassay.jobs.run import make_run

    out = inputs.out(out)
    with shown_progress(quiet=quiet) as progress:
        finished = make_run(
            inputs.needed("searches"),
            inputs.optional("clicks"),
            inputs.needed("judgments"),
            inputs.optional("queries"),
            out,
            settings,
            command=command_line(),
            force=force,
            progress=progress,
        )
    inputs.tell(quiet=quiet)
    _show_findings(out, finished, json=json)


def report(
    inputs: Annotated[Given, inputs_of("judgments", "queries")],
    settings: Annotated[
        Settings,
        settings_of("depth", "column", "max_rejected", *GRADE_SETTINGS, *METRIC_SETTINGS, *REPORT_SETTINGS),
    ],
    patterns: Annotated[
        Path | None,
        typer.Option(help=f"Folder or store that `clickassay patterns` made. [default: store of {PROJECT}]"),
    ] = None,
    out: OUT = None,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Second half of `run`: a stored pattern table and judgments to a report, in seconds.

    Exit code 1 if something is wrong with the log, or too little is judged for any correlation: the output
    says what to do first.

    Example:

        clickassay report --patterns june-patterns --judgments grades.csv --relevant-grade 2 --out june-2
    """
    from clickassay.jobs.run import make_report

    out = inputs.out(out)
    with shown_progress(quiet=quiet) as progress:
        finished = make_report(
            inputs.patterns(patterns),
            inputs.needed("judgments"),
            inputs.optional("queries"),
            out,
            settings,
            command=command_line(),
            force=force,
            progress=progress,
        )
    inputs.tell(quiet=quiet)
    _show_findings(out, finished, json=json)


def _show_findings(out: Path, finished: "RunSummary", *, json: bool) -> None:
    if json:
        write_json(finished.content)
    else:
        _show_decision(finished)
        is_said = finished.content["decision"]["kind"] == "log_at_fault" and not finished.undecided
        if is_said and finished.health[0].example:  # which the page does not show
            say(finished.health[0].example)
        wrong = finished.health[1:] if is_said else finished.health
        said = health_lines(wrong, finished.well) if wrong or not finished.health else ()
        undrawn = f"Note: the report has no pictures: {finished.undrawn}" if finished.undrawn else None
        say(*said, *filter(None, (undrawn, f"Report: {out / 'report.html'}")))
    conclude(is_finding=finished.is_finding, stderr=json)


def _show_decision(finished: "RunSummary") -> None:
    """Print what to do and why, and the ranking; or why there is none, and what to judge."""
    decision, decides = finished.content["decision"], finished.content["verdict"]["quantity"]
    if finished.undecided:
        say(*finished.undecided)
        return
    reason = " ".join(filter(None, (decision["reason"], decision["caution"])))
    step = f"Next: {decision['next_step']}"
    say(f"{decision['sentence']}.", *filter(None, (decision["scope"], reason)), step)
    ranking = next(one for one in finished.content["findings"] if one.get("quantity") == decides)
    if ranking["numbers"]:
        _show_ranking(ranking)


def _show_ranking(content: "Mapping[str, Any]") -> None:
    """Print metrics and baselines, highest first, each with a bar."""
    numbers, best = content["numbers"], set(content["among_best"])
    highest = max(abs(one["value"]) for one in numbers) or 1.0
    rows = [
        (
            one["metric"],
            number(one["value"]),
            "\u2588" * round(_BAR * max(0.0, one["value"]) / highest),
            "yes" if one["metric"] in best else "",
        )
        for one in numbers[:_MOST_METRICS]
    ]
    title = f"{capital(content['quantity'])} with {content['click_metric']}, highest first"
    show_table(("Metric", "Correlation", "", "Among the best"), rows, numbers=("Correlation",), title=title)
    if len(numbers) > _MOST_METRICS:
        say(f"{plural(len(numbers) - _MOST_METRICS, 'more metric')}: see the report.")


def health_lines(checks: "Sequence[HealthCheck]", well: str) -> "Iterator[str]":
    """Yield a line for each of the first checks that fire, and how many there are besides; or `well`."""
    for one in checks[:_MOST_CHECKS]:
        yield f"{capital(one.status)}: {one.text}"
    if not checks:
        yield f"Health: {well}."
    if len(checks) > _MOST_CHECKS:
        rest = plural(len(checks) - _MOST_CHECKS, "more check")
        yield f"{capital(rest)} of the log's health: see its section in the report."
