"""Columns as they were read, brought to the canonical types of method 2."""

from typing import Literal

import polars as pl

from clickassay.inputs.integers import as_digits, as_id, as_number, is_whole, number_in_text

Kind = Literal["id", "text", "time", "texts", "integer", "any"]
EXPECTED = {
    "id": "integers or text",
    "text": "text",
    "time": "a timestamp, or integer milliseconds since 1970 (UTC)",
    "texts": "a list of text",
    "integer": "integers",
    "any": "integers or text",
}
"""Description of each kind, for messages."""


def converted(column: pl.Expr, dtype: pl.DataType, kind: Kind, *, from_text: bool) -> pl.Expr | None:
    """Bring a column to the canonical type of its kind.

    Parameters
    ----------
    column, dtype
        The column, and its type as it was read.
    kind
        What it has to hold.
    from_text
        Whether the file holds text only, so that times, numbers and lists are spelled out.

    Returns
    -------
    Int64 or String for an id, String for text, Int64 (ms since 1970, UTC) for a time, List(String) for texts,
    Int64 for an integer; null where a text is none of these. None if the type cannot hold the kind.
    """
    if isinstance(dtype, pl.Null):
        return column.cast(_OF_NULLS.get(kind, pl.String()))
    if kind == "any":
        return column
    is_text = isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))
    if kind in ("id", "text"):
        return _id_or_text(column, dtype, is_text=is_text, text_only=kind == "text")
    convert = {"time": _time, "integer": _integer, "texts": _texts}[kind]
    return convert(column, dtype, is_text=is_text and from_text)


def from_folder(value: str | None, kind: Kind) -> str | int | None:
    """Return the canonical value of a Hive partition, which a folder's name spells out."""
    given = pl.DataFrame({"x": [value]}, schema={"x": pl.String})
    expression = converted(pl.col("x"), pl.String(), kind, from_text=True)
    found: str | int | None = given.select(expression).item() if expression is not None else None
    return found


_OF_NULLS = {"id": pl.Int64(), "time": pl.Int64(), "integer": pl.Int64(), "texts": pl.List(pl.String)}


def _integer(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    return number_in_text(column) if is_text else _signed(column, dtype)


def _signed(column: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    return as_number(column, dtype) if is_whole(dtype) else None


def _id_or_text(column: pl.Expr, dtype: pl.DataType, *, is_text: bool, text_only: bool) -> pl.Expr | None:
    if is_text:
        return column.cast(pl.String)
    if not is_whole(dtype):
        return None
    return as_digits(column, dtype) if text_only else as_id(column, dtype)


def _time(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    if isinstance(dtype, pl.Datetime):
        return column.dt.epoch("ms")
    if is_text:
        return _parsed_time(column.str.strip_chars())
    return _signed(column, dtype)


def _parsed_time(text: pl.Expr) -> pl.Expr:
    """Integer milliseconds, or ISO 8601 with or without a zone (none = UTC); null where it is neither."""
    iso = text.str.replace("T", " ", literal=True).str.replace(r"[Zz]$", "+0000")
    zoned = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%#z", time_unit="ms", time_zone="UTC", strict=False)
    naive = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False)
    return pl.coalesce(text.str.to_integer(strict=False), zoned.dt.epoch("ms"), naive.dt.epoch("ms"))


# one item of a JSON array (RFC 8259): null, an integer, or a string whose surrogates come in pairs
_JSON_ITEM = (
    r"""(?:null|-?(?:0|[1-9]\d*)|"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u(?:[0-9a-ce-fA-CE-F][0-9a-fA-F]{3}"""
    r"""|[dD][0-7][0-9a-fA-F]{2}|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))*")"""
)
_JSON_ARRAY = (
    rf"^[ \t\r\n]*\[[ \t\r\n]*(?:{_JSON_ITEM}[ \t\r\n]*(?:,[ \t\r\n]*{_JSON_ITEM}[ \t\r\n]*)*)?\][ \t\r\n]*$"
)


def _texts(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    if is_text:  # a JSON array in a CSV cell; any other text has no results, and does not stop the reader
        return pl.when(column.str.contains(_JSON_ARRAY)).then(column).str.json_decode(pl.List(pl.String))
    if not isinstance(dtype, (pl.List, pl.Array)):
        return None
    inner: pl.DataType = dtype.inner  # type: ignore[assignment] # of a schema: never a class
    is_integer = is_whole(inner) and not inner.is_float()
    if not (isinstance(inner, (pl.String, pl.Categorical, pl.Enum, pl.Null)) or is_integer):
        return None
    return column if dtype == pl.List(pl.String) else column.cast(pl.List(pl.String))
