"""Indices found by tables and packed numbers are those that NumPy's searching and sorting find."""

import numpy as np
import pytest

from clickassay.inputs.simulate.indices import (
    Shares,
    first_of_each_row,
    firsts_of_runs,
    rows_and_columns,
    stable_order,
)

POWER_LAW = np.arange(1, 1001) ** -0.8


@pytest.mark.parametrize(
    "weights",
    [
        np.ones(1),
        np.ones(10),
        POWER_LAW,
        np.array([1e-12, 1e-12, 1e-12, 1, 1e-12, 1e-12]),  # several ends in one cell of the table
        np.array([1, 0, 0, 2]),
    ],
    ids=["one", "equal", "power law", "tiny", "none of some"],
)
def test_shares_are_drawn_as_by_a_search_of_their_ends(weights):
    ends = np.cumsum(weights) / weights.sum()
    numbers = np.concatenate(
        [
            np.random.default_rng(0).random(20_000),
            ends[ends < 1],
            np.nextafter(ends[ends < 1], 1),
            [0, 1 - 2**-53],
        ]
    )
    expected = np.searchsorted(ends, numbers).clip(max=len(ends) - 1)
    assert Shares.of(weights).found(numbers).tolist() == expected.tolist()


def test_ends_that_do_not_reach_1_leave_the_rest_to_the_last():
    assert Shares(np.array([0.5, 1 - 1e-9])).found(np.array([1 - 2**-53])).tolist() == [1]


def test_a_draw_takes_one_number_each():
    drawn = Shares.of(POWER_LAW).draw(100, np.random.default_rng(1))
    assert (drawn == Shares.of(POWER_LAW).found(np.random.default_rng(1).random(100))).all()


@pytest.mark.parametrize("values", [[], [5], [3, 1, 2, 1, 3, 1], [-(2**40), 2**40, 0, -(2**40)]])
def test_the_order_is_that_of_a_stable_sort(values):
    array = np.array(values, dtype=np.int64)
    assert stable_order(array).tolist() == sorted(range(len(values)), key=lambda place: values[place])


def test_the_order_of_many_equal_times_is_that_of_a_stable_sort():
    times = np.random.default_rng(2).integers(0, 500, 70_000) + 1_767_571_200_000
    assert (stable_order(times) == np.argsort(times, kind="stable")).all()


def test_firsts_of_runs():
    assert firsts_of_runs(np.array([4, 4, 5, 4, 4])).tolist() == [True, False, True, True, False]
    assert firsts_of_runs(np.empty(0, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_marks_of_a_matrix_are_found_row_by_row(share):
    marked = np.random.default_rng(3).random((200, 10)) < share
    rows, columns = rows_and_columns(marked)
    pairs = [(row, column) for row in range(200) for column in range(10) if marked[row, column]]
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == pairs
    firsts = dict(reversed(pairs))
    assert list(zip(*np.nonzero(first_of_each_row(marked)), strict=True)) == sorted(firsts.items())
