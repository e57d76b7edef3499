"""Clicks put to their searches and placed on lists, against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.logs.arrays.clicks import places, rows_of_ids

IDS = {"dense": st.integers(-20, 20), "far apart": st.sampled_from([-(2**63), -5, 0, 7, 2**62, 2**63 - 1])}


@pytest.mark.parametrize("kind", IDS)
@given(data=st.data())
def test_the_row_of_each_wanted_id_is_the_one_that_counts(kind, data):
    ids = data.draw(st.lists(IDS[kind], unique=True, max_size=12))
    counts = data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    wanted = data.draw(st.lists(IDS[kind], max_size=12))
    expected = [ids.index(one) if one in ids and counts[ids.index(one)] else -1 for one in wanted]
    found = rows_of_ids(np.array(ids, np.int64), np.array(counts, bool), np.array(wanted, np.int64))
    assert found.tolist() == expected


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=5), st.data())
def test_a_place_is_the_first_of_the_url_in_the_list(lists, data):
    wide = max(map(len, lists))
    top = np.array([[*one, *[-1] * (wide - len(one))] for one in lists], np.int32).reshape(len(lists), wide)
    clicked = data.draw(st.lists(st.tuples(st.integers(0, len(lists) - 1), st.integers(-3, 6)), max_size=20))
    clicked = [(one, url if url != -1 else -2) for one, url in clicked]  # -1 fills the ends of lists
    rows, urls = (np.array([click[part] for click in clicked], np.int32) for part in range(2))
    expected = [lists[one].index(url) + 1 if url in lists[one] else 0 for one, url in clicked]
    assert places(top, rows, urls).tolist() == expected
