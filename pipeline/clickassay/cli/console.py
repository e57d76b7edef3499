"""How commands speak: lines and tables for people, text for programs, the command line as it was given."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.text import WIDTH, print_table
from clickassay.cli.exit import ExitCode, drop_output
from clickassay.core.text import escape
from clickassay.core.text.escape import terminal
from clickassay.core.text.words import plural, without_secrets

if TYPE_CHECKING:
    import polars as pl


class Speaker(Console):
    """A console whose reader may leave: what was found still decides the exit code."""

    def on_broken_pipe(self) -> None:
        """Write no more; rich would end the command with exit code 1, which means a finding here."""
        self.quiet = True
        drop_output(self.file)


def speaker(*, stderr: bool = False, soft_wrap: bool = True) -> Speaker:
    """Return a console: nothing is marked up or coloured by content, and lines are not cut."""
    return Speaker(highlight=False, soft_wrap=soft_wrap, markup=False, emoji=False, stderr=stderr)


def say(*lines: str, stderr: bool = False) -> None:
    """Print lines, however wide; what a terminal would obey is spelled out, and secrets are left out."""
    console = speaker(stderr=stderr)
    for line in lines:
        console.print(terminal(without_secrets(line)))


def show_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[str] = (), title: str = ""
) -> None:
    """Print a table; `ShownTable` says what its parts are."""
    _print_table(ShownTable(heads, list(map(tuple, rows)), tuple(numbers), title or None))


def show(parts: "Iterable[Part]") -> None:
    """Print what a result shows."""
    for part in parts:
        say(part) if isinstance(part, str) else _print_table(part)


def _print_table(table: ShownTable) -> None:
    console = speaker(soft_wrap=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    print_table(console, table)


def show_frame(frame: "pl.DataFrame", *, most_rows: int) -> None:
    """Print the first rows of a frame as a table, and how many it has."""
    from clickassay.studies.questions import cells  # noqa: PLC0415 - DuckDB takes a while to import

    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    heads = list(map(terminal, frame.columns))  # a name may hold an end of line, where our own heads break
    show_table(heads, cells(frame.head(most_rows)), numbers=list(map(terminal, numbers)))
    more = f" (first {most_rows} shown; --csv gives all)" if frame.height > most_rows else ""
    say(f"{plural(frame.height, 'row')}{more}")


def write_frame(frame: "pl.DataFrame", *, csv: bool) -> None:
    """Write a frame to stdout as CSV or JSON."""
    from clickassay.core.files.tables import as_csv, as_json  # noqa: PLC0415 - Polars takes a while to import

    write_out(as_csv(frame) if csv else as_json(frame))


def write_json(results: Any) -> None:  # noqa: ANN401 - what JSON can hold, a dataclass of it, a list of these
    """Write results to stdout as JSON."""
    plain = [_plain(one) for one in results] if isinstance(results, list) else _plain(results)
    write_out(escape.json(plain, indent=2) + "\n")


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def write_out(text: str) -> None:
    """Write to stdout, where rich would turn tabs into blanks; the reader may close the pipe early."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)


def conclude(*, is_finding: bool, stderr: bool) -> None:
    """End a command whose exit code answers a question, after a last line that only an answer has.

    Libraries in C end a process with 1 when memory is short, and 1 means a finding here. Raises typer.Exit
    with code 1 for a finding; the line is on stderr where a program reads the output.
    """
    say(f"status: {'problem found' if is_finding else 'ok'}", stderr=stderr)
    if is_finding:
        raise typer.Exit(ExitCode.FINDING)
