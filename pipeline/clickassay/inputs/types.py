"""Columns as they were read, brought to the canonical types of method 2."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import polars as pl

from clickassay.core.files.tables import scan_parquet

Kind = Literal["id", "text", "time", "moment", "texts", "integer", "flag", "seconds", "any"]
EXPECTED = {
    "id": "integers or text",
    "text": "text",
    "time": "a timestamp, or integer milliseconds since 1970 (UTC)",
    "moment": "a timestamp, or integer milliseconds since 1970 (UTC)",
    "texts": "a list of text",
    "integer": "integers",
    "flag": "true or false, or 1 or 0",
    "seconds": "numbers",
    "any": "integers or text",
}
"""Description of each kind, for messages."""


NO_VALUE = r"\N"
"""What MySQL, Hive and Redshift write where there is no value; it is none in any format."""

UNREADABLE = -(2**62)
"""A moment that is given, but is no time: without one it would hold always."""

UTC = "UTC"
"""Zone of times without one, unless another is given."""
_FARTHEST_MS = 10**13
"""Times (ms) within 317 years of 1970 are brought from a zone to UTC; others are out of range anyway."""


def converted(
    column: pl.Expr, dtype: pl.DataType, kind: Kind, *, from_text: bool, time_zone: str = UTC
) -> pl.Expr | None:
    """Bring a column of a type, as read, to the canonical type of its kind; None if the type cannot hold it.

    from_text: whether the file holds text only, so that times, numbers and lists are spelled out.
    time_zone: zone of times that have none: a local time that occurs twice is the earlier, one that does not
      exist is null.
    Returns int64 or String for an id, String for text, Int64 (ms since 1970, UTC) for a time, List(String)
    for texts, Int64 for an integer, Boolean for a flag, Int64 (whole ms; -1 = of no use) for seconds; null
    where a text is none of these.
    """
    if isinstance(dtype, pl.Null):
        return column.cast(_OF_NULLS.get(kind, pl.String()))
    if dtype == pl.String:
        column = pl.when(column != NO_VALUE).then(column)
    if kind == "any":
        return column
    is_text = isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))
    if kind in ("id", "text"):
        texts = column.cast(pl.String) if is_text else None
        if texts is None and is_whole(dtype):
            as_text = kind == "text" or is_wide(dtype)  # a type that reaches beyond Int64
            digits = (column if is_wide(dtype) else column.cast(pl.Int64)).cast(pl.String)
            return digits if as_text else as_number(column, dtype)
        return id_in_text(texts) if texts is not None and from_text and kind == "id" else texts
    if kind in ("time", "moment"):
        time = _time(column, dtype, is_text=is_text and from_text, time_zone=time_zone)
        is_given = column.cast(pl.String).str.strip_chars() != "" if is_text else column.is_not_null()
        if time is not None and kind == "moment":
            time = pl.when(is_given).then(time.fill_null(UNREADABLE))
        return time
    convert = {"integer": _integer, "flag": _flag, "seconds": _milliseconds, "texts": _texts}[kind]
    return convert(column, dtype, is_text=is_text and from_text)


def from_folder(value: str | None, kind: Kind, time_zone: str = UTC) -> str | int | None:
    """Return the canonical value of a Hive partition, which a folder's name spells out."""
    given = pl.DataFrame({"x": [value]}, schema={"x": pl.String})
    expression = converted(pl.col("x"), pl.String(), kind, from_text=True, time_zone=time_zone)
    return given.select(expression).item() if expression is not None else None


_OF_NULLS = {
    "id": pl.Int64(), "time": pl.Int64(), "moment": pl.Int64(), "integer": pl.Int64(), "flag": pl.Boolean(),
    "seconds": pl.Int64(), "texts": pl.List(pl.String),
}  # fmt: skip

ABSENT: Mapping[Kind, type[pl.DataType] | pl.DataType] = {
    "integer": pl.Int64, "time": pl.Int64, "moment": pl.Int64, "flag": pl.Boolean, "seconds": pl.Int64,
    "texts": pl.List(pl.String),
}  # fmt: skip
"""Types of an optional column that is missing, where they are no text."""

_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0", "")
"""Texts of a flag, in any case; an empty cell is no click."""


def _integer(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    return number_in_text(column) if is_text else _signed(column, dtype)


def _flag(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    if isinstance(dtype, pl.Boolean):
        return column
    if is_text or isinstance(dtype, pl.String):
        texts = column.str.strip_chars().str.to_lowercase()
        known = pl.when(texts.is_in(_TRUE)).then(True).when(texts.is_in(_FALSE)).then(False)
        return known.otherwise(number_in_text(texts) > 0)
    number = _signed(column, dtype)
    return None if number is None else number > 0


MOST_SECONDS = 10**12
"""No stay is longer."""


def _milliseconds(column: pl.Expr, dtype: pl.DataType, *, is_text: bool) -> pl.Expr | None:
    if not (is_text or dtype.is_numeric()):
        return None
    given = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False) if is_text else column
    seconds = given.cast(pl.Float64)
    is_usable = seconds.is_between(0, MOST_SECONDS)  # NaN is not
    milliseconds = (
        pl.when(is_usable).then((seconds * 1000).floor().cast(pl.Int64, strict=False)).otherwise(-1)
    )
    # an empty cell says nothing; any other text is of no use
    is_given = column.str.strip_chars().fill_null("") != "" if is_text else column.is_not_null()
    return pl.when(is_given).then(milliseconds)


def _signed(column: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    return as_number(column, dtype) if is_whole(dtype) else None


def has_no_zone(dtype: pl.DataType | None) -> bool:
    """Return whether a type is a timestamp without a zone."""
    return isinstance(dtype, pl.Datetime) and dtype.time_zone is None


def _time(column: pl.Expr, dtype: pl.DataType, *, is_text: bool, time_zone: str) -> pl.Expr | None:
    if isinstance(dtype, pl.Datetime):
        return _in_utc(column, time_zone) if has_no_zone(dtype) else column.dt.epoch("ms")
    if is_text:
        zoned, local = zoned_and_local(column)
        return pl.coalesce(number_in_text(column), zoned.dt.epoch("ms"), _in_utc(local, time_zone))
    return _signed(column, dtype)


def zoned_and_local(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the times of ISO 8601 that have a zone, and the others of ISO 8601; null for any other text."""
    iso = text.str.strip_chars().str.replace("T", " ", literal=True).str.replace(r"[Zz]$", "+0000")
    zoned = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%#z", time_unit="ms", time_zone="UTC", strict=False)
    return zoned, iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False)


def _in_utc(local: pl.Expr, time_zone: str) -> pl.Expr:
    ms = local.dt.epoch("ms")
    if time_zone == UTC:
        return ms
    is_near = ms.abs() < _FARTHEST_MS
    near = pl.when(is_near).then(ms).cast(pl.Datetime("ms"))
    zoned = near.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return pl.when(is_near).then(zoned.dt.epoch("ms")).otherwise(ms)


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
    is_canonical = isinstance(dtype, pl.List) and isinstance(inner, (pl.String, pl.Categorical))
    return column if is_canonical else column.cast(pl.List(pl.String))


_MOST = 2**63 - 1
_EXACT = {pl.Float64(): 2**53, pl.Float32(): 2**24, pl.Float16(): 2**11}
"""Below these, each whole number is a float of its own."""
_DIGITS_OF_INT64 = 18


def is_whole(dtype: pl.DataType) -> bool:
    """Return whether a type holds whole numbers; floats may (`odd_float`)."""
    return dtype.is_integer() or dtype.is_float() or (isinstance(dtype, pl.Decimal) and not dtype.scale)


def is_wide(dtype: pl.DataType) -> bool:
    """Return whether a type of whole numbers reaches beyond 64 signed bits."""
    if isinstance(dtype, pl.Decimal):
        return not dtype.scale and dtype.precision > _DIGITS_OF_INT64
    return dtype in (pl.UInt64, pl.Int128, pl.UInt128)


def as_number(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return whole numbers as Int64; those beyond its range, which mean nothing, as its nearest."""
    if not is_wide(dtype):
        return column.cast(pl.Int64)
    if dtype in (pl.UInt64, pl.UInt128):
        return column.clip(upper_bound=pl.lit(_MOST, dtype=dtype)).cast(pl.Int64)
    return column.cast(pl.Int128).clip(-_MOST - 1, _MOST).cast(pl.Int64)


def number_in_text(text: pl.Expr) -> pl.Expr:
    """Return the whole numbers that texts spell out, perhaps as floats (``3.0``); null for other texts."""
    digits = text.str.strip_chars().str.replace(r"\.0+$", "")
    return as_number(digits.str.to_integer(dtype=pl.Int128, strict=False), pl.Int128())


def id_in_text(text: pl.Expr) -> pl.Expr:
    """Return ids in text, whole floats as they are printed (``3.0``), below 2^53, as their digits."""
    number = number_in_text(text)
    is_exact = number.abs() < _EXACT[pl.Float64()]
    # where no text ends so, which costs little to see, Polars computes neither branch
    return (
        pl.when(text.str.ends_with(".0"))
        .then(pl.when(is_exact).then(number.cast(pl.String)).otherwise(text))
        .otherwise(text)
    )


def odd_float(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return the first float that is no whole number, or so large that it may have been another; or null."""
    return column.filter(((column.abs() < exact_below(dtype)) & (column == column.floor())).not_()).first()


def exact_below(dtype: pl.DataType) -> int:
    """Return the bound below which floats of a type are exact whole numbers."""
    return next(bound for float_, bound in _EXACT.items() if dtype == float_)


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
