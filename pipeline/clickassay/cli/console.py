"""How commands speak: lines for people, text for programs, and the command line as it was given."""

import shlex
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from clickassay.cli.exit import drop_output
from clickassay.cli.options import without_secrets
from clickassay.core.escape import terminal

if TYPE_CHECKING:
    import polars as pl

CONSOLE = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def say(*lines: str) -> None:
    """Print lines as they are, however wide; what a terminal would obey is spelled out."""
    for line in lines:
        CONSOLE.print(terminal(line))


def show(table: Table) -> None:
    """Print a table as wide as the terminal."""
    Console(highlight=False, markup=False, emoji=False).print(table)


def write_frame(frame: "pl.DataFrame", *, csv: bool) -> None:
    """Write a frame to stdout as CSV or JSON."""
    from clickassay.core.frames import as_csv, as_json  # noqa: PLC0415 - Polars takes a while to import

    write_out(as_csv(frame) if csv else as_json(frame))


def write_out(text: str) -> None:
    """Write to stdout, where rich would turn tabs into blanks; whoever reads may stop."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)


def command_line() -> str:
    """Return the command as a shell would take it, without secrets."""
    return shlex.join(["clickassay", *without_secrets(sys.argv[1:])])
