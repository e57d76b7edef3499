"""Lists by number, each result at its first place; lists that differ from their top are kept as read too."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.logs.arrays.shown import ShownLists

NORMAL = np.array([0, 0, 2, 3, 3, 5], np.int32)
TEXTS = pl.Series([f"u{number}" for number in range(len(NORMAL))])
LISTS = st.lists(st.lists(st.integers(0, len(NORMAL) - 1), max_size=6), max_size=8)


@given(st.integers(1, 5), st.lists(LISTS, min_size=1, max_size=4), st.data())
def test_every_list_keeps_its_results_as_read_and_their_normal_forms(depth, parts, data):
    lists, read = ShownLists(depth), [results for part in parts for results in part]
    for part in parts:
        urls = np.array([url for results in part for url in results], np.int32)
        lengths = np.array([len(results) for results in part], np.int64)
        lists.keep(np.zeros(len(part), np.int32), urls, lengths, NORMAL)
    chosen = np.array(data.draw(st.lists(st.integers(0, max(len(read) - 1, 0)), max_size=9)), np.int32)
    chosen = chosen[: 9 * len(read)]
    wanted = [read[number] for number in chosen]
    shown = lists.results(chosen, TEXTS).to_list()
    assert shown == [[f"u{url}" for url in results] for results in wanted]
    tops = [[number for number in row if number >= 0] for row in lists.top.values.tolist()]
    assert tops == [list(dict.fromkeys(NORMAL[results].tolist()))[:depth] for results in read]
    assert lists.repeats.values.tolist() == [len(set(NORMAL[results])) < len(results) for results in read]
    for place in range(1, 8):
        found = lists.at(chosen, np.full(len(chosen), place)).tolist()
        assert found == [results[place - 1] if place <= len(results) else -1 for results in wanted]


@pytest.mark.parametrize("length", [100, 1000])
def test_long_lists_show_each_result_at_its_first_place(length):
    rng = np.random.default_rng(length)
    read = [rng.integers(0, 5 * length, size) for size in (length, 3, length // 2, 0, length)]
    lists = ShownLists(62)
    urls, lengths = np.concatenate(read).astype(np.int32), np.array([len(results) for results in read])
    lists.keep(np.zeros(len(read), np.int32), urls, lengths, np.arange(5 * length, dtype=np.int32))
    tops = [[number for number in row if number >= 0] for row in lists.top.values.tolist()]
    assert tops == [list(dict.fromkeys(results.tolist()))[:62] for results in read]
    assert lists.repeats.values.tolist() == [len(set(results)) < len(results) for results in read]
