"""Lines and tables that a result shows, before a terminal or a notebook draws them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clickassay.report.tables import ReportTable


@dataclass(frozen=True)
class ShownTable:
    """A table on the screen, as texts."""

    heads: Sequence[str]  # One may be empty.
    rows: Sequence[Sequence[object]]  # A cell for each column; None is an empty one.
    # Heads of columns of numbers: aligned right, in one piece. Texts are folded where space is short.
    numbers: Sequence[str] = ()
    title: str | None = None  # A line above, in one piece.
    bold: int | None = None  # Place of a row that stands out.
    sections: Sequence[int] = ()  # Places of rows below which a rule is drawn.

    def in_words(self, words: Callable[[str], str]) -> "ShownTable":
        """Return the table with its texts said otherwise."""
        rows = [[words(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]
        return replace(self, rows=rows, title=None if self.title is None else words(self.title))


Part = str | ShownTable
"""A line, or a table."""


def on_screen(table: "ReportTable") -> Iterator[Part]:
    """Yield a table of a report, and its remarks."""
    from clickassay.report.writers.tables import plain_rows  # noqa: PLC0415 - for printing alone

    heads, *rows = plain_rows(table)
    yield ShownTable(heads, rows, heads[-len(table.heads) :], table.title)
    yield from table.remarks
