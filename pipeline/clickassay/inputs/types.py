"""Columns as they were read, brought to the canonical types of method 2."""

from typing import Literal

import polars as pl

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
    if is_text:
        return column.str.strip_chars().str.to_integer(strict=False)
    return _signed(column, dtype)


def _signed(column: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """Return whole numbers as Int64; unsigned ones beyond its range, which mean nothing, as its largest."""
    if not dtype.is_integer():
        return None
    most = pl.lit(2**63 - 1, dtype=pl.UInt64)
    return (column.clip(upper_bound=most) if dtype == pl.UInt64 else column).cast(pl.Int64)


def _id_or_text(column: pl.Expr, dtype: pl.DataType, *, is_text: bool, text_only: bool) -> pl.Expr | None:
    if is_text:
        return column.cast(pl.String)
    if not dtype.is_integer():
        return None
    # 64 unsigned bits do not fit a signed integer: such ids are kept as text
    return column.cast(pl.String if text_only or dtype == pl.UInt64 else pl.Int64)


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
    inner = dtype.inner
    if not (isinstance(inner, (pl.String, pl.Categorical, pl.Enum, pl.Null)) or inner.is_integer()):
        return None
    return column if dtype == pl.List(pl.String) else column.cast(pl.List(pl.String))
