"""`clickassay explore`: a local page of a run for the engineer behind the report."""

import os
import sys
from typing import Annotated

import typer

from clickassay.cli.console import say
from clickassay.cli.options import RUN
from clickassay.cli.settings import settings_of
from clickassay.core.settings import Settings


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
) -> None:
    """Look at a run's configurations, their clicks and the arithmetic of each metric, in a local page.

    Queries of fewer users than --min-users, and their URLs, appear as digests; 1 shows all.

    The page is served to this machine alone and ends with Ctrl-C. It needs the extra:
    pip install 'clickassay[explore]'

    Example:

        clickassay explore reports/june
    """
    from clickassay.studies.explorer.server import check_installed, serve

    check_installed()
    from clickassay.studies.explorer.read import open_run

    open_run(run_folder, settings.min_users)
    serve(run_folder, port=port, min_users=settings.min_users, open_browser=browser, tell=_show_address)
    sys.stdout.flush()
    os._exit(0)  # threads of pages that are still open would keep the process alive


def _show_address(address: str) -> None:
    say(f"Page: {address}", "Ctrl-C ends it.")
