"""Rows found by keys, and columns of Arrow, against plain Python."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.logs.arrays.columns import Searches, among, distinct, is_in, numbers_in, repeated
from clickassay.logs.arrays.routes import SearchIds
from clickassay.logs.arrays.steps.clicks import places
from clickassay.logs.arrays.workers import Workers
from clickassay.patterns.sums import order_of, sorted_values

KEYS = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))


def keys_of(values):
    return np.array(values, np.uint64)


@given(st.lists(KEYS, max_size=60), st.lists(KEYS, max_size=9))
def test_among_finds_all_rows_of_the_few(keys, few):
    rows = among(keys_of(keys), keys_of(few))
    wanted = {row for row, key in enumerate(keys) if key in few}
    assert wanted <= set(rows.tolist())


@given(st.lists(KEYS, max_size=60))
def test_values_in_order_each_once_and_those_that_occur_again(values):
    keys = keys_of(values)
    assert sorted_values(keys).tolist() == sorted(values)
    assert distinct(keys).tolist() == sorted(set(values))
    assert repeated(keys).tolist() == sorted({key for key in values if values.count(key) > 1})


@given(st.lists(st.tuples(st.integers(-3, 3), KEYS), max_size=40))
def test_rows_are_ordered_by_the_first_key_then_the_next(rows):
    one, other = np.array([row[0] for row in rows], np.int64), keys_of([row[1] for row in rows])
    assert [rows[row] for row in order_of(one, other)] == sorted(rows)
    assert [rows[row][1] for row in order_of(other)] == sorted(row[1] for row in rows)


@given(st.lists(KEYS, max_size=40), st.lists(KEYS, max_size=9))
def test_values_among_a_few(values, few):
    found = is_in(keys_of(values), keys_of(sorted(few)))
    assert found.tolist() == [value in few for value in values]


IDS = {"dense": st.integers(-20, 20), "far apart": st.sampled_from([-(2**63), -5, 0, 7, 2**62, 2**63 - 1])}


@pytest.mark.parametrize("kind", IDS)
@given(data=st.data())
def test_the_part_and_the_row_of_each_wanted_id_are_those_of_the_search_that_counts(kind, data):
    ids = data.draw(st.lists(IDS[kind], unique=True, max_size=12))
    counts = data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    part = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    ambiguous = sorted(data.draw(st.sets(IDS[kind], max_size=2)))
    wanted = data.draw(st.lists(IDS[kind], max_size=12))
    members = [[row for row in range(len(ids)) if part[row] == number] for number in range(4)]
    searches = [some_searches([ids[row] for row in rows]) for rows in members]
    chosen = [np.array([counts[row] for row in rows], bool) for rows in members]
    with Workers(2) as workers:
        known = SearchIds(list(zip(searches, chosen, strict=True)), np.array(ambiguous, np.int64), workers)
    order, ends, rows = known.by_part(np.array(wanted, np.int64))
    *found, without = np.split(order, ends)
    for number, (own, of_searches) in enumerate(zip(found, rows, strict=True)):
        places = [(wanted[one], members[number][row]) for one, row in zip(own, of_searches, strict=True)]
        assert all(ids[row] == one and counts[row] and part[row] == number for one, row in places)
    usable = {one for one, is_counted in zip(ids, counts, strict=True) if is_counted} - {*ambiguous}
    assert {wanted[one] for one in without} == {*wanted} - usable
    assert sorted([*without, *np.concatenate(found)]) == [*range(len(wanted))]


def some_searches(ids):
    none, few = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32)
    return Searches(np.array(ids, np.int64), none, none, few, few, none, few.astype(np.uint16), few > 0)


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=5), st.data())
def test_a_place_is_the_first_of_the_url_in_the_list(lists, data):
    wide = data.draw(st.sampled_from([max(map(len, lists)), 8, 9, 20]))
    top = np.array([[*one, *[-1] * (wide - len(one))] for one in lists], np.int32).reshape(len(lists), wide)
    clicked = data.draw(st.lists(st.tuples(st.integers(0, len(lists) - 1), st.integers(-3, 6)), max_size=20))
    clicked = [(one, url if url != -1 else -2) for one, url in clicked]  # -1 fills the ends of lists
    rows, urls = (np.array([click[part] for click in clicked], np.int32) for part in range(2))
    expected = [lists[one].index(url) + 1 if url in lists[one] else 0 for one, url in clicked]
    assert places(top, rows, urls).tolist() == expected


COLUMNS = [
    pl.Series([], dtype=pl.Int64),
    pl.Series([1, 2, 3]),
    pl.Series([None, None], dtype=pl.Int64),
    pl.Series([1, None, 3, *range(20), None], dtype=pl.Int32),
    pl.Series([2**64 - 1, None], dtype=pl.UInt64),
]


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("column", COLUMNS)
def test_numbers_of_a_column_and_of_a_part_of_it(column, first):
    part = column[first:]
    found = numbers_in(part, 7)
    assert found.tolist() == [7 if value is None else value for value in part]
    assert pl.Series(found).dtype == column.dtype
