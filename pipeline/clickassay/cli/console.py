"""How commands speak: lines for people, text for programs, and the command line as it was given."""

import shlex
import sys

from rich.console import Console

from clickassay.cli.exit import drop_output
from clickassay.cli.options import without_secrets
from clickassay.core.escape import terminal

CONSOLE = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def say(*lines: str) -> None:
    """Print lines as they are, however wide; what a terminal would obey is spelled out."""
    for line in lines:
        CONSOLE.print(terminal(line))


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
