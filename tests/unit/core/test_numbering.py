"""Numbers for keys, by one thread or by many, and arrays that grow, against plain Python."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.numbering import Growing, Numbers, first_rows

KEYS = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))


def keys_of(values):
    return np.array(values, np.uint64)


@given(st.lists(st.lists(KEYS, max_size=40), max_size=6))
def test_each_key_keeps_the_number_of_its_first_appearance_among_distinct_ones(parts):
    numbers, known, learnt = Numbers(), {}, []
    for part in parts:
        keys = keys_of(part)
        found = numbers.get_or_add(keys, lambda rows, keys=keys: learnt.extend(keys[rows].tolist()))
        for key, number in zip(part, found.tolist(), strict=True):
            assert known.setdefault(key, number) == number
    assert sorted(known.values()) == list(range(numbers.count))
    assert [known[key] for key in learnt] == list(range(numbers.count))
    assert (numbers.get(keys_of([*known])) == list(known.values())).all()


def test_many_keys_that_fall_into_one_slot_are_kept_apart():
    numbers = Numbers()
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    keys = keys_of([(place * inverse) % 2**64 for place in range(1, 3000)])  # all mixed to small numbers
    numbers.add(keys)
    assert (numbers.get(keys) == np.arange(2999)).all()
    assert numbers.get(keys_of([5 * inverse % 2**64 + 1]))[0] == -1


@given(st.lists(st.lists(st.integers(-9, 9), max_size=9), max_size=20))
def test_an_array_grows_by_what_is_appended(parts):
    grown = Growing(np.int32)
    for part in parts:
        grown.append(np.array(part, np.int32))
    assert grown.values.tolist() == [value for part in parts for value in part]
    assert grown.count == len(grown.values)


def test_rows_that_become_wider_are_filled():
    grown = Growing(np.int32, fill=-1)
    for rows in ([[1], [2]], [[3, 4, 5]], [[6, 7]], []):
        grown.append(np.array(rows, np.int32).reshape(len(rows), -1 if rows else 0))
    assert grown.values.tolist() == [[1, -1, -1], [2, -1, -1], [3, 4, 5], [6, 7, -1]]


@given(st.lists(KEYS, max_size=60))
def test_the_first_row_of_each_key_in_the_order_of_the_keys(values):
    chosen = first_rows(keys_of(values), np.arange(len(values)))
    assert chosen.tolist() == [values.index(key) for key in sorted(set(values))]


def test_threads_that_meet_the_same_keys_give_each_one_number_and_what_it_stands_for():
    rng = np.random.default_rng(0)
    numbers, learnt = Numbers(), Growing(np.uint64)
    parts = [rng.integers(0, 50_000, 2_000).astype(np.uint64) for _ in range(200)]

    def number(keys):
        found = numbers.get_or_add(keys, lambda rows: learnt.append(keys[rows]))
        return np.array_equal(learnt.values[found], keys)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(number, parts))
    assert sorted(learnt.values.tolist()) == np.unique(np.concatenate(parts)).tolist()
    assert numbers.count == learnt.count
