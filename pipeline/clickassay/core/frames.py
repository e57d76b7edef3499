"""A frame as text for programs: CSV and JSON."""

import polars as pl

from clickassay.core import escape

EMPTY = '""'


def as_csv(frame: pl.DataFrame) -> str:
    r"""Return `frame` as CSV that neither a spreadsheet nor a parser misreads; lines end with ``\n``."""
    columns = [_cells(frame[name]) for name in frame.columns]
    lines = [map(escape.csv, frame.columns), *zip(*columns, strict=True)]
    # parsers would skip a line that is all empty
    return "".join([f"{','.join(cells) or EMPTY}\n" for cells in lines])


def _cells(column: pl.Series) -> list[str]:
    """Return the cells of a column; of equal texts, one is escaped."""
    values = column.to_list()
    if column.dtype.is_numeric():
        return ["" if value is None else str(value) for value in values]
    if column.dtype == pl.String:
        cells = {value: escape.csv(value) for value in dict.fromkeys(values)}
        return [cells[value] for value in values]
    return [escape.csv(value) for value in values]


def as_json(frame: pl.DataFrame) -> str:
    """Return `frame` as a JSON array of records, a record a line."""
    body = ",\n".join(f"  {escape.json(row)}" for row in frame.iter_rows(named=True))
    return f"[\n{body}\n]\n" if body else "[]\n"
