"""The command line: the application, and which function of `cli.commands` each command is.

Exit codes: 0 fine, 1 a finding, 2 something the user can mend (one line on stderr says what).
"""

import sys
from typing import Annotated

import typer

from clickassay.cli.commands.audit import audit
from clickassay.cli.commands.clicks import clicks as click_models
from clickassay.cli.commands.diff import diff
from clickassay.cli.commands.evaluate import evaluate
from clickassay.cli.commands.explore import explore
from clickassay.cli.commands.imports import imports
from clickassay.cli.commands.inspect import inspect
from clickassay.cli.commands.label import estimate, plan
from clickassay.cli.commands.learn import learn
from clickassay.cli.commands.patterns import patterns, sql, stores
from clickassay.cli.commands.power import power
from clickassay.cli.commands.query import query
from clickassay.cli.commands.run import report, run
from clickassay.cli.commands.simulate import simulate
from clickassay.cli.console import say
from clickassay.cli.exit import end_on_sigterm, keep_memory, run_command, write_anything
from clickassay.core.provenance import __version__

app = typer.Typer(
    name="clickassay",
    help="Does your offline metric tell what users feel? From raw click logs to an honest answer.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(imports, name="import")
app.add_typer(stores, name="store")
app.add_typer(click_models, name="clicks")


def main() -> None:
    """Run the command line; what a user can mend becomes one line and exit code 2."""
    keep_memory()
    write_anything()
    end_on_sigterm()
    sys.exit(run_command(app))


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"clickassay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = None,
) -> None:
    """Check offline search metrics against what users click."""


COMMANDS = (
    run, inspect, patterns, sql, power, evaluate, learn, audit, plan, estimate, diff, explore, report,
    simulate, query,
)  # fmt: skip
"""In the order of `--help`; groups of commands follow them."""

for command in COMMANDS:
    app.command()(command)
