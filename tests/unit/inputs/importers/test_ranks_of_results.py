"""Lists rebuilt from ranks, against the rule read literally."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.inputs.importers.base import RANK_COUNTS, rank_list

RANKED = st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abcdefgh")), max_size=7)


def counted(ranked):
    counts = dict.fromkeys(RANK_COUNTS, 0)
    return rank_list(ranked, counts), tuple(counts.values())


@pytest.mark.parametrize(
    ("ranked", "results", "counts"),
    [
        ([(2, "b"), (1, "a"), (3, "c")], ["a", "b", "c"], (1, 0, 0)),
        ([(1, "a"), (3, "c"), (4, "d")], ["a"], (0, 1, 2)),
        ([(1, "a"), (2, "b"), (2, "c"), (3, "d")], ["a"], (0, 1, 3)),
        ([(11, "a"), (12, "b")], [], (0, 1, 2)),
    ],
    ids=["out of order", "a rank is missing", "two results hold a rank", "no first rank"],
)
def test_a_list_is_in_the_order_of_its_ranks_and_ends_above_what_is_not_known(ranked, results, counts):
    assert counted(ranked) == (results, counts)


@given(RANKED, st.randoms(use_true_random=False))
def test_what_stands_at_a_place_alone_has_its_rank_whatever_the_order(ranked, random):
    results, _ = counted(ranked)
    for rank, result in enumerate(results, 1):
        assert [other for at, other in ranked if at == rank] == [result]
    assert [rank for rank, _ in ranked].count(len(results) + 1) != 1
    assert counted(random.sample(ranked, len(ranked)))[0] == results


@given(RANKED)
def test_results_placed_and_not_placed_add_up(ranked):
    results, (_, cut, left_out) = counted(ranked)
    assert len(results) + left_out == len(ranked)
    assert cut == (left_out > 0)
