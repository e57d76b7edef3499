"""A frame as text for programs: CSV and JSON."""

from collections.abc import Sequence

import polars as pl

from clickassay.core import escape


def as_csv(frame: pl.DataFrame) -> str:
    r"""Return `frame` as CSV that neither a spreadsheet nor a parser misreads; lines end with ``\n``."""
    rows = [frame.columns, *frame.iter_rows()]
    return "".join(f"{_csv_line(row)}\n" for row in rows)


def _csv_line(row: Sequence[object]) -> str:
    # parsers would skip a line that is all empty
    return ",".join(map(escape.csv, row)) or '""'


def as_json(frame: pl.DataFrame) -> str:
    """Return `frame` as a JSON array of records, a record a line."""
    body = ",\n".join(f"  {escape.json(row)}" for row in frame.iter_rows(named=True))
    return f"[\n{body}\n]\n" if body else "[]\n"
