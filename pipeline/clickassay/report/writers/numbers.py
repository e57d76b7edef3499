"""How numbers are spelled in a cell, by language."""

from collections.abc import Callable
from dataclasses import dataclass

from clickassay.core.text import MINUS, count, number, percent, span, visible
from clickassay.report.cells import Cell, Estimate, Share, Spelled


@dataclass(frozen=True)
class Style:
    """How numbers are spelled in one language: the minus sign, the per cent sign, the interval."""

    minus: str
    interval: Callable[[Estimate], str]


def _second_line(found: Estimate) -> str:
    # the style sheet keeps the line end and sets what follows smaller
    return "\n" + span(found.low, found.high).replace(" to ", "…")


def _in_brackets(found: Estimate) -> str:
    return f" ({span(found.low, found.high)})"


HTML = Style(MINUS, _second_line)
MARKDOWN = Style(MINUS, _in_brackets)
LATEX = Style(MINUS, lambda _found: "")


def cell_text(cell: Cell, style: Style) -> str:
    """Return a cell as text: 3 decimals for estimates, whole numbers with thousands, shares in per cent."""
    if isinstance(cell, Estimate):
        has_interval = cell.value is not None and cell.low is not None
        return number(cell.value, minus=style.minus) + (style.interval(cell) if has_interval else "")
    if isinstance(cell, Share):
        return percent(cell.value)
    if isinstance(cell, Spelled):
        return cell.text
    if isinstance(cell, int):
        return count(cell)
    return "" if cell is None else visible(cell, limit=2_000)
