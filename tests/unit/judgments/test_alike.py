"""Groups of queries that share most of their judged results, against all pairs and their components."""

import itertools

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from clickassay.judgments.alike import groups_of_queries

SETS = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.sets(st.integers(0, 9), max_size=7), max_size=12
)


def frame_of(sets):
    rows = [(query, f"u{url}") for query, urls in sets.items() for url in urls]
    return pl.DataFrame(rows, schema={"query": pl.String, "url": pl.String}, orient="row")


def expected(sets):
    names = sorted(sets)
    alike = np.zeros((len(names), len(names)))
    for a, b in itertools.combinations(range(len(names)), 2):
        x, y = sets[names[a]], sets[names[b]]
        alike[a, b] = min(len(x), len(y)) >= 3 and len(x & y) >= 0.6 * len(x | y)
    _, parts = connected_components(alike, directed=False) if names else (0, [])
    first = {part: name for name, part in zip(reversed(names), reversed(list(parts)), strict=True)}
    sizes = np.bincount(parts, minlength=1) if names else []
    return {name: first[part] for name, part in zip(names, parts, strict=True) if sizes[part] > 1}


@given(SETS)
def test_groups_are_the_components_of_all_alike_pairs(sets):
    found = groups_of_queries(frame_of(sets))
    assert dict(found.iter_rows()) == expected(sets)
    assert found["query"].to_list() == sorted(found["query"])


@given(SETS, st.randoms())
def test_neither_the_order_of_judgments_nor_their_repetition_matters(sets, draw):
    rows = frame_of(sets)
    mixed = pl.concat([rows, rows]).sample(fraction=1, shuffle=True, seed=draw.randrange(100))
    assert groups_of_queries(mixed).equals(groups_of_queries(rows))


def test_a_group_reaches_over_queries_that_are_alike_to_one_of_it():
    sets = {"a": {1, 2, 3, 4}, "b": {2, 3, 4, 5}, "c": {3, 4, 5, 6}, "d": {7, 8, 9}}
    assert dict(groups_of_queries(frame_of(sets)).iter_rows()) == {"a": "a", "b": "a", "c": "a"}


def test_three_results_are_the_fewest_that_show_likeness():
    assert groups_of_queries(frame_of({"a": {1, 2}, "b": {1, 2}})).is_empty()
    assert groups_of_queries(frame_of({"a": {1, 2, 3}, "b": {1, 2, 3}})).height == 2
