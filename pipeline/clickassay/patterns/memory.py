"""Memory that was freed is given back to the system, and texts are held without that of others."""

import ctypes
from contextlib import suppress

import polars as pl


def held_densely(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without the memory of those that they were chosen from: texts would keep all of it."""
    old = pl.CompatLevel.oldest()
    columns = (pl.Series(one.name, one.rechunk().to_arrow(compat_level=old)) for one in rows)
    return pl.DataFrame(columns)


def give_back() -> None:
    """Give back memory that the C library keeps for later: after many small arrays it is a lot.

    Does nothing where the C library is not glibc.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
