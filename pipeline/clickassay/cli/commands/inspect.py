"""`clickassay inspect` and `explore`: a log before a run, and a run from within."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import say, show, speaker, write_json, write_out
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import Given, inputs_of
from clickassay.cli.options import JSON, QUIET, RUN
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import GRADE_SETTINGS, MACHINE_SETTINGS, settings_of
from clickassay.core.settings import PROJECT, Settings

_LOOKED_BY = (
    *("depth", "normalise_urls", "column", "shape", "max_rejected", "max_markets", "time_zone"),
    *("health_limit", "signal", "satisfied_seconds", "last_click"),
)


def inspect(
    inputs: Annotated[Given, inputs_of("searches", "clicks", "judgments")],
    settings: Annotated[Settings, settings_of(*_LOOKED_BY, *GRADE_SETTINGS, *MACHINE_SETTINGS)],
    path: Annotated[Path | None, typer.Argument(metavar="PATH", help="A file or folder.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Show types, rows, users and times only; form no sessions.")
    ] = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Show what a file or folder is, which command reads it, and what a run would reject; write nothing.

    Exit code 1 if the layout is unknown, or a run would stop or have nothing to correlate.

    Examples
    --------
        clickassay inspect download/ratings.csv

        clickassay inspect logs

        clickassay inspect ubi_events.ndjson --judgments grades.parquet

        clickassay inspect --searches logs/searches --clicks logs/clicks --judgments grades.csv
    """
    from clickassay.api.inspect import InspectResult

    named = inputs.sources if path is None else {name: inputs.sources[name] for name in inputs.by_option}
    with shown_progress(quiet=quiet) as progress:
        found = InspectResult.of(path, named, settings, quick=quick, progress=progress)
    if json:
        write_json(found.facts)
    else:
        show(found.parts())
        if found.project:
            say("", f"Save as {PROJECT}; then `clickassay run` needs no options:", "")
            write_out(found.project)
    if found.is_finding:
        raise typer.Exit(ExitCode.FINDING)


def explore(
    run_folder: RUN,
    settings: Annotated[Settings, settings_of("min_users")],
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1. [default: a free one]")
    ] = None,
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Open the page. [default: open]", show_default=False),
    ] = True,
    json: JSON = False,
) -> None:
    """Browse a run's configurations, their clicks and the arithmetic of each metric, in a local page.

    Queries with fewer users than --min-users, and their URLs, appear as digests; 1 shows all.

    Only this machine can open the page; Ctrl-C ends it.

    Example:

        clickassay explore reports/june
    """
    from clickassay.studies.explorer.page import explored_run
    from clickassay.studies.explorer.server import serve

    run = explored_run(run_folder, settings.min_users)

    def tell(address: str) -> None:  # its token is no secret to whom it is shown, so that `say` will not do
        if json:
            write_json({"page": address})
            return
        speaker().print(f"Page: {address}")
        say("Press Ctrl-C to end it.")

    serve(run, port=port, open_browser=browser, tell=tell)
    sys.stdout.flush()
    os._exit(0)  # threads of pages that are still open would keep the process alive
