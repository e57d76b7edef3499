"""Queries that share most of their judged results: near-duplicates, which are no independent units."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from clickassay.core.records import Integers

SHARED = 0.6
"""Two queries are alike if they share so much of the judged results that either has (Jaccard); 0..1."""

FEWEST = 3
"""Queries with fewer judged results are alike to none."""

_MOST_OF_ONE = 50
"""Of more queries that have one result among their rarest, each further one is compared with so many."""


def groups_of_queries(judged: pl.DataFrame) -> pl.DataFrame:
    """Return query, group (its first query by code point), sorted, of queries alike to another one.

    A group has all queries that are alike, also by way of others. Pairs are looked for by the rarest results
    of each: two sets that share 0.6 of all have one of these in common.
    judged: query, url: judged results, also repeatedly.
    """
    rows = judged.select("query", "url").drop_nulls().unique()
    rows = rows.filter(pl.len().over("query") >= FEWEST)
    queries = rows["query"].unique().sort()
    if queries.is_empty():
        return pl.DataFrame({"query": queries, "group": queries})
    # the results of each query as numbers, ascending; the rarest result has the smallest
    by_url = rows.group_by("url").len().sort("len", "url").with_row_index("number").drop("len")
    numbered = rows.join(by_url, on="url").sort("query", "number")
    counts = numbered.group_by("query", maintain_order=True).len()["len"].to_numpy()
    sets = np.split(numbered["number"].to_numpy().astype(np.int64), np.cumsum(counts)[:-1])
    parent = list(range(len(sets)))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for pair in _alike_pairs(sets):
        low, high = sorted(map(root, pair))
        parent[high] = low
    first = np.array([root(one) for one in range(len(sets))], np.int64)
    many = np.flatnonzero(np.bincount(first, minlength=len(sets))[first] > 1)
    return pl.DataFrame({"query": queries.gather(many), "group": queries.gather(first[many])})


def _alike_pairs(sets: list[Integers]) -> Iterator[tuple[int, int]]:
    """Yield pairs of queries that are alike; those that follow from others may be left out."""
    holders: dict[int, list[int]] = {}
    same: dict[bytes, int] = {}
    members = [frozenset(results.tolist()) for results in sets]
    for query, results in enumerate(sets):
        twin = same.setdefault(results.tobytes(), query)
        if twin != query:
            yield twin, query
            continue
        rarest = results[: len(results) - math.ceil(SHARED * len(results)) + 1].tolist()
        known = {other for result in rarest for other in holders.get(result, ())}
        for other in known:
            shared = len(members[other] & members[query])
            if shared >= SHARED * (len(members[other]) + len(members[query]) - shared):
                yield other, query
        for result in rarest:
            held = holders.setdefault(result, [])
            if len(held) < _MOST_OF_ONE:
                held.append(query)
