"""Whole numbers of every type as Int64, or as the text of their digits if 64 bits may not hold them.

Types, not values, decide, so that no row is read for it; floats alone are looked at (`odd_float`).
"""

import polars as pl

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


def as_digits(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return whole numbers as the text of their decimal digits."""
    return (column if is_wide(dtype) else column.cast(pl.Int64)).cast(pl.String)


def as_id(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return whole numbers as Int64, or as text if their type reaches beyond it."""
    return as_digits(column, dtype) if is_wide(dtype) else as_number(column, dtype)


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
