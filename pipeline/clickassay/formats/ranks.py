"""Results that a log gives with their ranks, in any order, as a list best first."""

from collections import defaultdict
from collections.abc import Sequence

RANK_COUNTS = ("searches_out_of_order", "searches_cut_short", "results_not_placed")
"""What `placed` counts."""


def placed(ranked: Sequence[tuple[int, str]], counts: dict[str, int]) -> list[str]:
    """Return results best first, up to the first rank that is missing or held twice.

    Which result stood there is not known, and a list that closed the hole would move all below it up. A run
    leaves out a list that is too short for its depth (contract 3.7), and counts it.

    Parameters
    ----------
    ranked
        (rank from 1, result), in the order of the log.
    counts
        ``searches_out_of_order`` grows by 1 where the log's order is not that of the ranks;
        ``searches_cut_short`` by 1, and ``results_not_placed`` by the results left out, at such a rank.
    """
    ranks = [rank for rank, _ in ranked]
    holders: defaultdict[int, list[str]] = defaultdict(list)
    for rank, result in ranked:
        holders[rank].append(result)
    results: list[str] = []
    while len(holders.get(len(results) + 1, ())) == 1:
        results += holders[len(results) + 1]
    counts["searches_out_of_order"] += ranks != sorted(ranks)
    counts["searches_cut_short"] += len(results) < len(ranked)
    counts["results_not_placed"] += len(ranked) - len(results)
    return results
