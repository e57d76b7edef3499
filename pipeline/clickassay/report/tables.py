"""A shown table as data, for every face: cells, rows, columns over a frame, and the remarks that follow."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from clickassay.core.files.tables import csv_lines
from clickassay.core.text.words import MISSING, number
from clickassay.findings.estimates import Estimate, estimate

ROWS_SHOWN = 120
"""Rows of one table on the page and in LaTeX; the CSV files hold all of them."""


@dataclass(frozen=True)
class Share:
    """A part of a whole, 0..1, with its interval where there is one."""

    value: float | None
    low: float | None = None
    high: float | None = None


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


@dataclass(frozen=True)
class ReportTable:
    """One table: the rows of the page, and the rows of its CSV file."""

    name: str  # File stem, also the id on the page.
    title: str
    name_head: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]  # All rows; the first `most` are shown.
    # Heads over several columns: (text, index of the first column, number of columns).
    spanners: tuple[tuple[str, int, int], ...] = ()
    notes: tuple[str, ...] = ()  # Remarks under the table.
    # The rows of the CSV file, mostly more than are shown; None: the rows of the table itself.
    data: pl.DataFrame | None = None
    for_papers: bool = True  # Whether the table is also written as LaTeX.
    group_head: str = "Sample"  # Head of the column of groups.
    explained: bool = True  # Whether its texts link to the glossary of the page.
    most: int = ROWS_SHOWN  # Largest number of rows that are shown.

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that fit the page."""
        return self.rows[: self.most]

    @property
    def grouped(self) -> bool:
        """Whether a shown row has a group."""
        return any(row.group for row in self.shown)

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """The shown rows by their group, in their order."""
        return [(group, list(rows)) for group, rows in groupby(self.shown, key=lambda row: row.group)]

    @property
    def numeric(self) -> list[bool]:
        """Whether no shown cell is a text, by column."""
        cells = [row.cells for row in self.shown]
        return [not any(isinstance(row[place], str) for row in cells) for place in range(len(self.heads))]

    @property
    def above(self) -> dict[int, tuple[str, int]]:
        """The head over each column that has one, and the first column under it."""
        return {
            start + offset: (text, start) for text, start, width in self.spanners for offset in range(width)
        }

    @property
    def full_heads(self) -> list[str]:
        """The heads of the columns, each with the head over it where there is one."""
        above = self.above
        return [
            f"{above[place][0]}, {head}" if place in above else head for place, head in enumerate(self.heads)
        ]

    @property
    def spans(self) -> Iterator[tuple[str, int, int]]:
        """The heads over columns from left to right, with '' over columns that have none."""
        column = 0
        for text, start, width in sorted(self.spanners, key=itemgetter(1)):
            if start > column:
                yield "", column, start - column
            yield text, start, width
            column = start + width
        if column < len(self.heads):
            yield "", column, len(self.heads) - column

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes, cautions about intervals, reasons of missing values, and whether rows are left out."""
        cells = [cell for row in self.shown for cell in row.cells]
        known = [one for one in _known(cells) if one.has_interval or one.caution]
        cautions = Counter((one.caution, one.has_interval) for one in known if one.caution)
        reasons = Counter(
            cell.reason or "no value" for cell in cells if isinstance(cell, Estimate) and cell.value is None
        )
        remarks = [
            f"{'Unreliable intervals' if has_interval else 'No interval'}: {times} of {len(known)} values "
            f"({caution_reason(caution)})."
            for (caution, has_interval), times in sorted(cautions.items(), key=str)
        ]
        remarks += [
            f"Dash: {reason} ({reasons[reason]} of {len(cells)} cells)." for reason in sorted(reasons)
        ]
        if len(self.rows) > len(self.shown):
            remarks.append(f"The first {self.most} of {len(self.rows)} rows; all are in the CSV file.")
        return (*self.notes, *remarks)

    @cached_property
    def csv_lines(self) -> list[str]:
        """The lines of its CSV file, of `data` or else its rows: full precision, no text a formula."""
        if self.data is not None:
            return csv_lines(self.data)
        columns: dict[str, list[object]] = {}
        if any(row.group for row in self.rows):
            columns[self.group_head] = [row.group for row in self.rows]
        columns[self.name_head] = [row.name for row in self.rows]
        for place, head in enumerate(self.full_heads):
            if head in columns:
                raise ValueError(f"table {self.name} has two columns {head!r}: give it a frame of its own")
            cells = [row.cells[place] for row in self.rows]
            columns[head] = [
                cell if isinstance(cell, (str, int)) or cell is None else cell.value for cell in cells
            ]
            ends = [(cell.low, cell.high) if isinstance(cell, Estimate) else (None, None) for cell in cells]
            if any(low is not None for low, _ in ends):
                lows, highs = map(list, zip(*ends, strict=True))
                columns |= {f"{head}, low": lows, f"{head}, high": highs}
        return csv_lines(pl.DataFrame(columns, strict=False))


def _known(cells: Iterable[Cell]) -> list[Estimate]:
    return [cell for cell in cells if isinstance(cell, Estimate) and cell.value is not None]


def caution_reason(caution: str | None) -> str:
    """Return a caution without its beginning ``no interval: ``."""
    return (caution or "").removeprefix("no interval: ")


def why_unreliable(tables: Iterable[ReportTable]) -> str | None:
    """Return why no interval of tables can be relied on; None if one can."""
    known = _known(cell for table in tables for row in table.rows for cell in row.cells)
    if not known:
        return "nothing can be shown"
    if any(cell.has_interval and cell.caution is None for cell in known):
        return None
    reasons = Counter(caution_reason(cell.caution) for cell in known if cell.caution)
    if not reasons:
        return "no value has an interval"
    ((most, _),) = reasons.most_common(1)
    return f"all intervals are unreliable ({most})"


def p_text(p: float | None) -> str:
    """Return a p-value with three decimals; below 0.001 as ``< 0.001``."""
    if p is None:
        return MISSING
    return "< 0.001" if p < 0.001 else number(p)


def p_cell(p: float | None) -> Cell:
    """Return the cell of a p-value."""
    return Estimate(None, reason="not tested") if p is None else Spelled(p_text(p), p)


# ---- columns over the rows of a frame -----------------------------------------------------------


Fields = Mapping[str, Any]
Text = str | Callable[[Fields], str | None]


@dataclass(frozen=True)
class ShownColumn:
    """A column of a shown table: head, the cell of a row, and a head that it shares with its neighbours."""

    head: str
    cell: Callable[[Fields], Cell]
    over: str = ""


def field(head: str, name: str) -> ShownColumn:
    """Show a whole number or a text as it is."""
    return ShownColumn(head, itemgetter(name))


def share(head: str, name: str) -> ShownColumn:
    """Show a part of a whole."""
    return ShownColumn(head, lambda row: Share(row[name]))


def p_value(head: str, name: str) -> ShownColumn:
    """Show a p-value."""
    return ShownColumn(head, lambda row: p_cell(row[name]))


def value(head: str, name: str, reason: Text | None = None) -> ShownColumn:
    """Show a number; `reason` is why it may be null."""
    return ShownColumn(
        head, lambda row: Estimate(row[name], reason=reason(row) if callable(reason) else reason)
    )


def with_interval(head: str, name: str, reason: str | None = None) -> ShownColumn:
    """Show a number and its interval, ``ci_low`` to ``ci_high``, in one cell."""
    return ShownColumn(head, lambda row: estimate(row, name, reason=reason))


def ends(
    head: str, name: str, reason: Text, low: str = "ci_low", high: str = "ci_high"
) -> tuple[ShownColumn, ShownColumn, ShownColumn]:
    """Show a number and the ends of its interval in columns of their own."""

    def why(row: Fields) -> str | None:
        return "no interval" if row[name] is not None else reason(row) if callable(reason) else reason

    return value(head, name, reason), value("low", low, why), value("high", high, why)


def under(over: str, *columns: ShownColumn) -> tuple[ShownColumn, ...]:
    """Put a head over columns."""
    return tuple(replace(one, over=over) for one in columns)


def shown_table(
    name: str,
    title: str,
    rows: pl.DataFrame | Iterable[Fields],
    first: ShownColumn,
    columns: Sequence[ShownColumn],
    *,
    group: Callable[[Fields], str] = lambda _: "",
    **more: Any,  # noqa: ANN401 - fields of `ReportTable`
) -> ReportTable:
    """Return a table with a row for each row of a frame, its data; `first` is the column of names."""
    is_frame = isinstance(rows, pl.DataFrame)
    shown = tuple(
        Row(group(row), str(first.cell(row)), tuple(one.cell(row) for one in columns))
        for row in (rows.iter_rows(named=True) if isinstance(rows, pl.DataFrame) else rows)
    )
    heads = tuple(one.head for one in columns)
    spanners, place = [], 0
    for over, own in groupby(columns, key=lambda one: one.over):
        width = len(list(own))
        spanners += [(over, place, width)] if over else []
        place += width
    fields = {"spanners": tuple(spanners), "data": rows if is_frame else None, **more}
    return ReportTable(name, title, first.head, heads, shown, **fields)
