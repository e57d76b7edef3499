"""Queries that share most of their judged results: near-duplicates, which are no independent units."""

import math
from collections.abc import Iterable, Iterator

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
    """Return the group of each query that is alike to another one.

    A group has all queries that are alike to one of it, also by way of others. Pairs are looked for by the
    rarest results of each query: two sets that share 0.6 of all have one of these in common.

    judged: query, url: judged results, also repeatedly.

    Returns query, group (its first query by code point), sorted by query; one row for each query of a group
    of two or more.
    """
    rows = judged.select("query", "url").drop_nulls().unique()
    rows = rows.filter(pl.len().over("query") >= FEWEST)
    queries = rows["query"].unique().sort()
    sets = _sets(rows, queries)
    first = _joined(len(sets), _alike(sets))
    sizes = np.bincount(first, minlength=len(sets)) if len(sets) else first
    many = np.flatnonzero(sizes[first] > 1) if len(sets) else first
    return pl.DataFrame({"query": queries.gather(many), "group": queries.gather(first[many])})


def _sets(rows: pl.DataFrame, queries: pl.Series) -> list[Integers]:
    """Return the results of each query as numbers, ascending; the rarest result has the smallest."""
    by_url = rows.group_by("url").len().sort("len", "url").with_row_index("number").drop("len")
    numbered = rows.join(by_url, on="url").sort("query", "number")
    counts = numbered.group_by("query", maintain_order=True).len()["len"].to_numpy()
    values = numbered["number"].to_numpy().astype(np.int64)
    return np.split(values, np.cumsum(counts)[:-1]) if len(queries) else []


def _alike(sets: list[Integers]) -> Iterator[tuple[int, int]]:
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
        yield from ((other, query) for other in known if _is_alike(members[other], members[query]))
        for result in rarest:
            held = holders.setdefault(result, [])
            if len(held) < _MOST_OF_ONE:
                held.append(query)


def _is_alike(a: frozenset[int], b: frozenset[int]) -> bool:
    shared = len(a & b)
    return shared >= SHARED * (len(a) + len(b) - shared)


def _joined(size: int, pairs: Iterable[tuple[int, int]]) -> Integers:
    """Return for each of so many the first that it is joined with, itself among them."""
    parent = list(range(size))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for a, b in pairs:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return np.array([root(one) for one in range(size)], np.int64)
