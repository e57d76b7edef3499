"""What a cell of a shown table holds, and the remarks that follow from the cells."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clickassay.core.text import MISSING, number


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, or the reason why there is none.

    Attributes
    ----------
    value, low, high
        The number and the ends of its interval.
    reason
        Why there is no number; None when there is one.
    caution
        Why there is no interval, or why it is not to be relied on; None when it is.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    caution: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether there are both ends of an interval."""
        return self.low is not None and self.high is not None

    @property
    def covers_zero(self) -> bool:
        """Whether the interval holds 0; also when there is no interval to tell."""
        return self.low is None or self.high is None or self.low <= 0 <= self.high


def absent() -> Estimate:
    """Return what stands where a pair of metrics is not in a table."""
    return Estimate(None, reason="not computed")


@dataclass(frozen=True)
class Share:
    """A part of a whole, 0..1."""

    value: float | None


@dataclass(frozen=True)
class Spelled:
    """A number in its own spelling, as ``< 0.001``, and the number itself, by which it is sorted."""

    text: str
    value: float


Cell = str | int | Estimate | Share | Spelled | None


@dataclass(frozen=True)
class Row:
    """One row of a shown table: its group heading (or ''), its name, and its cells."""

    group: str
    name: str
    cells: tuple[Cell, ...]


def p_words(p: float | None) -> str:
    """Return a p-value with three decimals; a smaller one is only said to be smaller."""
    if p is None:
        return MISSING
    return "< 0.001" if p < 0.001 else number(p)


def p_cell(p: float | None) -> Cell:
    """Return the cell of a p-value."""
    return Estimate(None, reason="not tested") if p is None else Spelled(p_words(p), p)


def missing_reasons(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return one remark per reason for which cells have no value."""
    cells = [cell for row in rows for cell in row.cells]
    reasons = Counter(
        cell.reason or "no value" for cell in cells if isinstance(cell, Estimate) and cell.value is None
    )
    return tuple(f"Dash: {reason} ({reasons[reason]} of {len(cells)} cells)." for reason in sorted(reasons))


def doubts(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return one remark per caution: how many intervals are missing or not to be relied on, and why."""
    known = [
        cell
        for row in rows
        for cell in row.cells
        if isinstance(cell, Estimate) and cell.value is not None and (cell.has_interval or cell.caution)
    ]
    found = Counter((cell.caution, cell.has_interval) for cell in known if cell.caution)
    return tuple(
        f"{'Interval not to be relied on' if there else 'No interval'} for {times} of {len(known)} values: "
        f"{why_none(caution)}."
        for (caution, there), times in sorted(found.items(), key=str)
    )


def why_none(caution: str | None) -> str:
    """Return a caution without the words that there is no interval."""
    return (caution or "").removeprefix("no interval: ")
