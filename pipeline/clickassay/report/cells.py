"""Cells of a shown table, and the remarks below it that follow from them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clickassay.core.text.words import MISSING, number
from clickassay.findings.estimates import Estimate


@dataclass(frozen=True)
class Share:
    """A part of a whole, 0..1."""

    value: float | None


@dataclass(frozen=True)
class Spelled:
    """A number with a text of its own, such as ``< 0.001``; it is sorted by the number."""

    text: str
    value: float


Cell = str | int | Estimate | Share | Spelled | None


@dataclass(frozen=True)
class Row:
    """One row of a shown table: its group heading (or ''), its name, and its cells."""

    group: str
    name: str
    cells: tuple[Cell, ...]


def p_text(p: float | None) -> str:
    """Return a p-value with three decimals; below 0.001 as ``< 0.001``."""
    if p is None:
        return MISSING
    return "< 0.001" if p < 0.001 else number(p)


def p_cell(p: float | None) -> Cell:
    """Return the cell of a p-value."""
    return Estimate(None, reason="not tested") if p is None else Spelled(p_text(p), p)


def missing_value_remarks(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return one remark per reason why cells have no value."""
    cells = [cell for row in rows for cell in row.cells]
    reasons = Counter(
        cell.reason or "no value" for cell in cells if isinstance(cell, Estimate) and cell.value is None
    )
    return tuple(f"Dash: {reason} ({reasons[reason]} of {len(cells)} cells)." for reason in sorted(reasons))


def caution_remarks(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return one remark per caution: how many intervals are missing or not to be relied on, and why."""
    known = [
        cell
        for row in rows
        for cell in row.cells
        if isinstance(cell, Estimate) and cell.value is not None and (cell.has_interval or cell.caution)
    ]
    reasons = Counter((cell.caution, cell.has_interval) for cell in known if cell.caution)
    return tuple(
        f"{'Interval not to be relied on' if has_interval else 'No interval'} for {times} of {len(known)} "
        f"values: {caution_reason(caution)}."
        for (caution, has_interval), times in sorted(reasons.items(), key=str)
    )


def caution_reason(caution: str | None) -> str:
    """Return a caution without its beginning ``no interval: ``."""
    return (caution or "").removeprefix("no interval: ")
