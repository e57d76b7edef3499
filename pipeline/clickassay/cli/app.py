"""The command line: the application, and which function of `cli.commands` each command is.

Exit codes: 0 fine, 1 a finding, 2 bad input or usage (one line on stderr says what to do), 3 a fault of ours.
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
from clickassay.cli.exit import end_on_sigterm, run_command, write_anything
from clickassay.cli.options import with_options
from clickassay.core.provenance import __version__

app = typer.Typer(
    name="clickassay",
    help="Does your offline metric predict what users click? From raw click logs to an honest answer.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; what a user can change becomes one line and exit code 2."""
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


COMMANDS = {
    "Start": (run, inspect, evaluate),
    "Ask a run": (query, explore, diff, power, audit, learn),
    "Judgments": (plan, estimate),
    "Logs": (patterns, report, sql),
    "More": (simulate,),
}
"""By panel, in the order of `--help`."""

GROUPS = {"store": (stores, "Logs"), "import": (imports, "Logs"), "clicks": (click_models, "Ask a run")}
"""Groups of commands, each in its panel."""

for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(with_options(command))
for name, (group, panel) in GROUPS.items():
    app.add_typer(group, name=name, rich_help_panel=panel)
