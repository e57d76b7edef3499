"""Pools: what is checked, how faults are reported, and cuts."""

import numpy as np
import pytest

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling.pool import RankedDocuments, pool_of


def given(**changes):
    """A sound pool of two queries with two documents and one, and what is changed of it."""
    one = RankedDocuments(np.array([1, 0, 2]), np.array([0, 2, 3]))
    parts = {
        "queries": ["a", "b"],
        "offsets": [0, 2, 3],
        "probabilities": [[0.5, 0.5], [1, 0], [0.2, 0.8]],
        "rankings": [one],
        "costs": [1, 2],
    }
    parts |= changes
    arguments = [parts.pop(name) for name in ("queries", "offsets", "probabilities", "rankings")]
    return pool_of(*arguments, **parts)


def ranking(documents, offsets):
    return RankedDocuments(np.array(documents, dtype=np.int64), np.array(offsets))


FAULTS = {
    "a free query": ({"costs": [1, 0]}, "labelling query 'b' costs 0: give a number above 0"),
    "an endless cost": ({"costs": [float("inf"), 1]}, "labelling query 'a' costs inf"),
    "a cost that is no number": ({"costs": [1, float("nan")]}, "labelling query 'b' costs nan"),
    "a negative weight": ({"weights": [1, -1]}, "query 'b' has the weight -1: give a number from 0 up"),
    "a weight that is no number": ({"weights": [float("nan"), 1]}, "query 'a' has the weight nan"),
    "no weight at all": ({"weights": [0, 0]}, "the weights of the queries have no finite sum above 0"),
    "probabilities above 1": (
        {"probabilities": [[0.5, 0.5], [1, 0.1], [1, 0]]},
        r"the probabilities of document 2 of query 'a' are 1, 0\.1: give",
    ),
    "a negative probability": (
        {"probabilities": [[1, 0], [1, 0], [-0.5, 1.5]]},
        "document 1 of query 'b' are -0.5, 1.5",
    ),
    "a probability that is no number": (
        {"probabilities": [[1, 0], [np.nan, 1], [1, 0]]},
        "document 2 of query 'a'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_in_one_line_with_its_place_and_the_remedy(fault):
    changes, message = FAULTS[fault]
    with pytest.raises(ActiveError, match=message) as raised:
        given(**changes)
    assert "\n" not in str(raised.value)


def test_probabilities_and_weights_are_divided_by_their_sums():
    pool = given(probabilities=[[0.5, 0.5000005], [1, 0], [0.2, 0.8]], weights=[30, 10])
    assert pool.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert pool.weights.tolist() == [0.75, 0.25]
    assert given().weights.tolist() == [0.5, 0.5]


def test_a_list_may_be_empty_and_so_may_all_of_them():
    pool = given(rankings=[ranking([], [0, 0, 0]), ranking([2], [0, 0, 1])])
    assert [each.lengths.tolist() for each in pool.rankings] == [[0, 0], [0, 1]]
