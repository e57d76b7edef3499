"""Columns of Arrow as NumPy arrays, without Arrow's own conversion."""

import numpy as np
import polars as pl
import pytest

from clickassay.logs.arrays.columns import as_arrow, nulls_in, numbers_in

COLUMNS = [
    pl.Series([], dtype=pl.Int64),
    pl.Series([1, 2, 3]),
    pl.Series([None, None], dtype=pl.Int64),
    pl.Series([1, None, 3, *range(20), None], dtype=pl.Int32),
    pl.Series([2**64 - 1, None], dtype=pl.UInt64),
]


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("column", COLUMNS)
def test_numbers_of_a_column_and_of_a_part_of_it(column, first):
    part = column[first:]
    found = numbers_in(part, 7)
    assert found.tolist() == [7 if value is None else value for value in part]
    assert pl.Series(found).dtype == column.dtype


def test_numbers_of_a_column_in_several_pieces():
    column = pl.concat([pl.Series([1, None]), pl.Series([3])], rechunk=False)
    assert numbers_in(column, -1).tolist() == [1, -1, 3]


@pytest.mark.parametrize("column", COLUMNS)
def test_nulls_of_a_column(column):
    assert np.array_equal(nulls_in(as_arrow(column)), column.is_null().to_numpy())
