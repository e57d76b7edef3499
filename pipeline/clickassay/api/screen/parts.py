"""Lines and tables that a result shows, before a terminal or a notebook draws them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ShownTable:
    """A table on the screen.

    Attributes
    ----------
    heads
        Heads of the columns; one may be empty.
    rows
        A cell for each column; None is an empty one.
    numbers
        The heads of columns of numbers: aligned right, in one piece. Texts are folded where space is short.
    title
        A line above, in one piece.
    bold
        Place of a row that stands out.
    sections
        Places of rows below which a rule is drawn.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: Sequence[str] = ()
    title: str | None = None
    bold: int | None = None
    sections: Sequence[int] = ()

    def in_words(self, words: Callable[[str], str]) -> "ShownTable":
        """Return the table with its texts said otherwise."""
        rows = [[words(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]
        return replace(self, rows=rows, title=None if self.title is None else words(self.title))


Part = str | ShownTable
"""A line, or a table."""
