"""Ids are put in order as texts are, whether or not they are digests."""

import numpy as np
import polars as pl
import pytest

from clickassay.core.records import first_digits, order_by_id

DIGESTS = ["0f" * 16, "ff" * 16, "00" * 16, "0f" * 15 + "00", "0f" * 16]
OTHERS = ["z", "a", "b1", "", "a"]


@pytest.mark.parametrize("ids", [DIGESTS, OTHERS, DIGESTS + OTHERS, ["B" * 32, "a" * 32], []])
def test_rows_are_in_the_order_of_a_number_then_of_the_text(ids):
    number = np.arange(len(ids)) % 2
    order = order_by_id(pl.Series(ids, dtype=pl.String), number)
    assert order.tolist() == sorted(range(len(ids)), key=lambda row: (number[row], ids[row], row))
    assert order_by_id(pl.Series(ids, dtype=pl.String)).tolist() == sorted(
        range(len(ids)), key=lambda row: (ids[row], row)
    )


def test_the_first_digits_are_a_number_and_0_where_there_are_none():
    assert first_digits(pl.Series(["0f" * 16, "zz"])).tolist() == [0x0F0F0F0F0F0F0F0, 0]
