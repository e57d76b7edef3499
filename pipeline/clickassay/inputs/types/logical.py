"""Columns of Parquet that are bytes with a meaning: UUIDs and JSON, read as text."""

import re
from pathlib import Path

import polars as pl

from clickassay.core.files.tables import scan_parquet

INTERVAL = pl.Struct({"months": pl.Int32, "days": pl.Int32, "nanoseconds": pl.Duration("ns")})
"""The type of an INTERVAL as Polars reads it: columns of it can be there, but their values not be read."""

Logical = dict[str, str]
"""``UUID`` or ``JSON`` by the path of a column; of a field of records with dots, as `--column` takes it."""

_OF_LISTS = re.compile(r"\.(?:list|bag)\.(?:element|item|array_element|array)(?=\.|$)")
_UUID_PIECES = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))


def logical_columns(file: Path, schema: pl.Schema) -> Logical:
    """Return the columns of a Parquet file that Polars reads as bytes, and that are UUIDs or JSON."""
    if not any("Binary" in str(dtype) for dtype in schema.values()):
        return {}
    import pyarrow.parquet as pq  # noqa: PLC0415 - few files need it, and it takes its time

    with pq.ParquetFile(file) as opened:
        columns = [opened.schema.column(place) for place in range(len(opened.schema))]
    kinds = {_OF_LISTS.sub("", column.path): column.logical_type.type for column in columns}
    return {path: kind for path, kind in kinds.items() if kind in ("UUID", "JSON")}


def as_text(column: pl.Expr, dtype: pl.DataType, kind: str) -> tuple[pl.Expr, pl.DataType]:
    """Return UUIDs as they are usually written, JSON strings as their text, and other JSON as it is."""
    if isinstance(dtype, pl.List):
        return column.list.eval(as_text(pl.element(), pl.Binary(), kind)[0]), pl.List(pl.String())
    if kind == "UUID":
        digits = column.bin.encode("hex")
        text = pl.concat_str([digits.str.slice(*piece) for piece in _UUID_PIECES], separator="-")
    else:
        text = column.cast(pl.String).str.json_path_match("$")
    return text, pl.String()


def scan_texts(file: Path) -> pl.LazyFrame:
    """Return the rows of a Parquet file, unread; UUIDs and JSON as text."""
    rows = scan_parquet(file)
    schema = rows.collect_schema()
    kinds = {name: kind for name, kind in logical_columns(file, schema).items() if name in schema}
    return rows.with_columns(
        as_text(pl.col(name), schema[name], kind)[0].alias(name) for name, kind in kinds.items()
    )
