"""Parts of a result as text, drawn by rich."""

import shutil
import sys
from collections.abc import Iterable
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.core.text.escape import terminal
from clickassay.core.text.words import without_secrets

WIDTH = 160
"""Columns that tables take where the output says no width of its own: a file or a pipe."""

_NARROWEST, _WIDEST = 9, 10_000
"""Columns of a text that is folded, and of the widest table."""


def text_of(parts: Iterable[Part]) -> str:
    """Return parts as text, as wide as the terminal if there is one."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    written = StringIO()
    console = Console(
        file=written, highlight=False, markup=False, emoji=False, color_system=None,
        force_jupyter=False, force_terminal=False,  # in a notebook it would show the text by itself
    )  # fmt: skip
    console.width = shutil.get_terminal_size().columns if is_terminal else max(console.width, WIDTH)
    for part in parts:
        if isinstance(part, ShownTable):
            print_table(console, part)
        else:
            console.print(terminal(without_secrets(part)), soft_wrap=True)
    return written.getvalue().rstrip("\n")


def print_table(console: Console, shown: ShownTable) -> None:
    """Print a table; a number is never cut or folded, since it would be another number."""
    right, ends = set(shown.numbers), set(shown.sections)
    table = Table(box=box.SIMPLE_HEAD)
    cells = [[Text("" if cell is None else terminal(str(cell))) for cell in row] for row in shown.rows]
    for place, head in enumerate("\n".join(map(terminal, head.split("\n"))) for head in shown.heads):
        widest = max((*map(cell_len, head.split("\n")), *(row[place].cell_len for row in cells), 1))
        if shown.heads[place] in right:
            table.add_column(Text(head), justify="right", no_wrap=True, min_width=widest)
        else:
            table.add_column(Text(head), overflow="fold", min_width=min(_NARROWEST, widest))
    for place, row in enumerate(cells):
        table.add_row(*row, style="bold" if place == shown.bold else None, end_section=place in ends)
    needed = Measurement.get(console, console.options.update(width=_WIDEST), table).minimum
    console.width = max(console.width, needed)
    if shown.title:
        console.print(Text(terminal(shown.title), style="bold"), soft_wrap=True)
    console.print(table)
