"""A `ReportTable` as CSV and as plain rows."""

import polars as pl

from clickassay.core.files.tables import as_csv
from clickassay.core.text.words import MINUS, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.model import ReportTable
from clickassay.report.writers.numbers import MARKDOWN, cell_text
from clickassay.report.writers.tables import full_heads


def plain_rows(table: ReportTable) -> list[list[str]]:
    """Return heads and rows as plain text with plain minus signs, a column of groups first if there are any.

    A head over several columns is on a line of its own above the first of them.
    """
    grouped = any(row.group for row in table.shown)
    rows = [[row.group, row.name, *(cell_text(cell, MARKDOWN) for cell in row.cells)] for row in table.shown]
    above = {start: text for text, start, _ in table.spanners}
    shown = [visible(head, limit=2_000) for head in table.heads]
    heads = [f"{above.get(place, '')}\n{head}" if above else head for place, head in enumerate(shown)]
    plain = [[visible(text, limit=2_000).replace(MINUS, "-") for text in row] for row in rows]
    return [row[0 if grouped else 1 :] for row in ([table.group_head, table.name_head, *heads], *plain)]


def csv_text(table: ReportTable) -> str:
    """Return the table as CSV in full precision; no cell of text can be read as a formula.

    It has the rows of `Table.data`, or if that is None, the rows of the table itself.
    """
    return as_csv(_own_frame(table) if table.data is None else table.data)


def _own_frame(table: ReportTable) -> pl.DataFrame:
    columns: dict[str, list[object]] = {}
    if any(row.group for row in table.rows):
        columns[table.group_head] = [row.group for row in table.rows]
    columns[table.name_head] = [row.name for row in table.rows]
    for place, head in enumerate(full_heads(table)):
        if head in columns:
            raise ValueError(f"table {table.name} has two columns {head!r}: give it a frame of its own")
        cells = [row.cells[place] for row in table.rows]
        columns[head] = [
            cell if isinstance(cell, (str, int)) or cell is None else cell.value for cell in cells
        ]
        ends = [(cell.low, cell.high) if isinstance(cell, Estimate) else (None, None) for cell in cells]
        if any(low is not None for low, _ in ends):
            columns |= {f"{head}, low": [low for low, _ in ends], f"{head}, high": [high for _, high in ends]}
    return pl.DataFrame(columns, strict=False)
