"""Indices found by tables and packed numbers are those that NumPy's searching and sorting find."""

import numpy as np
import pytest

from clickassay.inputs.simulate.indices import Shares, stable_order

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


@pytest.mark.parametrize("values", [[], [5], [3, 1, 2, 1, 3, 1], [-(2**40), 2**40, 0, -(2**40)]])
def test_the_order_is_that_of_a_stable_sort(values):
    array = np.array(values, dtype=np.int64)
    assert stable_order(array).tolist() == sorted(range(len(values)), key=lambda place: values[place])
