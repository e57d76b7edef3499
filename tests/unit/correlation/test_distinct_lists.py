"""Equal rows: each kind once, judged against tuples in a dictionary."""

import numpy as np
import pytest

from clickassay.correlation.conventions import distinct

WIDE = [[-(2**40), 2**40], [2**40, -(2**40)], [0, 0], [0, 1]]


def drawn(top, columns):
    return np.random.default_rng(0).integers(-100, top, (300, columns))


@pytest.mark.parametrize(
    "rows",
    [
        drawn(-97, 3),  # many equal
        np.concatenate([drawn(2**30, 5)] * 2),  # more combinations than one number can tell apart
        np.repeat(np.array(WIDE), 3, axis=0),
        drawn(5, 1),
        np.zeros((4, 0), dtype=np.int64),
        np.zeros((0, 3), dtype=np.int64),
    ],
)
def test_rows_have_the_same_kind_just_where_they_are_equal(rows):
    first, kinds = distinct(rows)
    places = {}
    for place, row in enumerate(map(tuple, rows.tolist())):
        places.setdefault(row, []).append(place)
    found = {tuple(np.flatnonzero(kinds == kind).tolist()): int(first[kind]) for kind in range(len(first))}
    assert found == {tuple(same): same[0] for same in places.values()}
