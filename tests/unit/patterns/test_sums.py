"""Sessions counted and added up by packed keys, of one word or two, against a Counter."""

from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.patterns import sums as sums_of_keys
from clickassay.patterns.sums import Counted, Sums, WordLayout, added, counted, order_of_both

LAYOUTS = (WordLayout(10, 2), WordLayout(28, 16), WordLayout(29, 16), WordLayout(62, 1024))
"""Up to 64 bits a key is one word, as in the first two; then it is two."""
MOST = 2**31 - 1


def rows_for(layout):
    return st.lists(
        st.tuples(
            st.one_of(st.integers(0, 3), st.integers(0, MOST)),
            st.integers(0, layout.folds - 1),
            st.one_of(st.integers(0, 1), st.integers(0, 2**layout.depth - 1)),
        ),
        max_size=30,
    )


def words_of(layout, rows):
    numbers, folds, masks = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    return layout.packed(numbers, folds, masks)


def as_dict(layout, table):
    columns = (column.tolist() for column in (*layout.unpacked(table), table.sessions))
    return {row[:3]: row[3] for row in zip(*columns, strict=True)}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_counts_are_those_of_a_counter_in_the_order_of_the_keys(layout, data):
    rows = data.draw(rows_for(layout))
    table = as_dict(layout, counted(words_of(layout, rows)))
    assert table == Counter(rows)
    assert list(table) == sorted(table)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_sums_of_two_counts_are_those_of_all_rows(layout, data):
    one, other = data.draw(rows_for(layout)), data.draw(rows_for(layout))
    both = added([counted(words_of(layout, rows)) for rows in (one, other)])
    table = as_dict(layout, both)
    assert table == Counter([*one, *other])
    assert list(table) == sorted(table)


def test_a_second_word_is_taken_when_one_has_too_few_bits():
    assert [len(words_of(layout, [(1, 0, 1)])) for layout in LAYOUTS] == [1, 1, 2, 2]


@pytest.mark.parametrize("sessions", [1, 2**20, 2**55])
@given(rows=rows_for(LAYOUTS[0]))
def test_sums_are_right_whether_or_not_a_number_fits_behind_its_key(rows, sessions):
    once = counted(words_of(LAYOUTS[0], rows))
    many = Counted(once.words, once.sessions * sessions)
    table = as_dict(LAYOUTS[0], added([many, once, many]))
    assert table == {row: number * (2 * sessions + 1) for row, number in Counter(rows).items()}
    assert list(table) == sorted(table)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_counts_that_are_added_are_those_of_all_rows(layout, data):
    sums, every = Sums(layout), []
    with patch.object(sums_of_keys, "_MERGE_ROWS", data.draw(st.sampled_from([0, 5, 300_000]))):
        for _ in range(data.draw(st.integers(0, 4))):
            rows = data.draw(rows_for(layout).filter(len))
            every += rows
            sums.add(counted(words_of(layout, rows)))
    for drained in (False, True):
        found = sum((Counter(as_dict(layout, table)) for table in sums.tables(drained=drained)), Counter())
        assert found == Counter(every)
    assert not list(sums.tables())


def test_sums_of_more_sessions_than_a_byte_holds_are_right():
    sums, layout = Sums(LAYOUTS[0]), LAYOUTS[0]
    for number in (1, 200, 200, 70_000, 2**33):
        once = counted(words_of(layout, [(7, 1, 5), (2**20, 0, 3)]))
        sums.add(Counted(once.words, once.sessions * number))
    assert as_dict(layout, added([*sums.tables()])) == {
        (7, 1, 5): 2**33 + 70_401,
        (2**20, 0, 3): 2**33 + 70_401,
    }


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1023)), max_size=60),
    shift=st.sampled_from([0, 40, 52, 60]),
)
def test_an_order_by_two_keys_is_that_of_pairs_however_large(rows, shift):
    first, second = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    first <<= shift
    order = order_of_both(first, second)
    assert sorted(order.tolist()) == list(range(len(rows)))
    found = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
    assert found == sorted(zip(first.tolist(), second.tolist(), strict=True))
