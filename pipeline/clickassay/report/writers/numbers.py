"""Cells as text: numbers, shares and intervals in the format of each kind of file."""

from collections.abc import Callable

from clickassay.core.text.words import count, number, percent, span, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.cells import Cell, Share, Spelled


def _second_line(cell: Estimate) -> str:
    # the style sheet keeps the line end and makes the second line smaller
    return "\n" + span(cell.low, cell.high).replace(" to ", "…")


def _in_brackets(cell: Estimate) -> str:
    return f" ({span(cell.low, cell.high)})"


HTML, MARKDOWN = _second_line, _in_brackets


def cell_text(cell: Cell, interval: Callable[[Estimate], str] | None = None) -> str:
    """Return a cell as text: 3 decimals for estimates, whole numbers with thousands, shares in per cent.

    `interval` formats the interval of an estimate: `HTML` or `MARKDOWN`; None leaves it out.
    """
    if isinstance(cell, Estimate):
        has_interval = cell.value is not None and cell.low is not None
        return number(cell.value) + (interval(cell) if interval and has_interval else "")
    if isinstance(cell, Share):
        return percent(cell.value)
    if isinstance(cell, Spelled):
        return cell.text
    if isinstance(cell, int):
        return count(cell)
    return "" if cell is None else visible(cell, limit=2_000)
