"""Ids of configurations in order: as numbers, since texts are sorted several times slower."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FIRST_DIGITS = 15  # as many as a signed 64-bit number holds
_DIGITS = f"^[0-9a-f]{{{_FIRST_DIGITS}}}"


def first_digits(ids: pl.Series) -> NDArray[np.int64]:
    """Return the first 15 hexadecimal digits of each id as a number; 0 where it is none."""
    numbers = ids.str.head(_FIRST_DIGITS).str.to_integer(base=16, strict=False)
    found: NDArray[np.int64] = numbers.fill_null(0).to_numpy()
    return found


def order_by_id(ids: pl.Series, before: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the order of rows by a number, if one is given, then by id; equal rows keep theirs.

    Texts are sorted only where the first digits do not tell: two ids share them by a rare chance.
    """
    number = np.zeros(len(ids), np.int64) if before is None else before
    if ids.str.contains(_DIGITS).all():
        first = first_digits(ids)
        order: NDArray[np.int64] = np.lexsort((first, number))
        is_same = (first[order][1:] == first[order][:-1]) & (number[order][1:] == number[order][:-1])
        texts = ids.gather(order)
        if not (is_same & (texts[1:] != texts[:-1]).to_numpy()).any():
            return order
    rows = pl.DataFrame({"number": number, "id": ids})
    sort = pl.arg_sort_by("number", "id", maintain_order=True)
    return rows.select(sort).to_series().to_numpy().astype(np.int64)
