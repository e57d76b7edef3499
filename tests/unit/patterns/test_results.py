"""Results by number: two places have one number where query and URL are the same, told by comparing texts."""

import numpy as np
import polars as pl
import pytest

from clickassay.patterns.lists import number_results

LISTS = [["a", "b", "c"], ["c", "a"], [], ["a", "b"], ["b", "ä", "a", "a"]]
QUERY = np.array([1, 1, 0, 3, 1])


def fixed(value):
    return lambda texts: np.full(len(texts), value, np.uint64)


@pytest.mark.parametrize("fingerprints", [None, fixed(7)], ids=["hash", "all alike"])
def test_two_places_share_a_number_if_query_and_url_are_the_same(fingerprints):
    options = {} if fingerprints is None else {"fingerprints": fingerprints}
    found = number_results(pl.Series(LISTS), QUERY, **options)
    places = {
        (query, url, int(number))
        for query, urls, numbers in zip(QUERY, LISTS, found.numbers, strict=True)
        for url, number in zip(urls, numbers, strict=False)
    }
    assert len(places) == len({place[:2] for place in places}) == len({place[2] for place in places}) == 6
    assert sorted(place[2] for place in places) == list(range(6))
    named = {(QUERY[row], url) for row, url in zip(found.lists, found.urls, strict=True)}
    assert named == {place[:2] for place in places}
    assert all(found.urls[number] == url for _, url, number in places)


def test_the_top_of_a_list_ends_with_it():
    found = number_results(pl.Series(LISTS), QUERY)
    assert (found.top(6) >= 0).sum(axis=1).tolist() == [3, 2, 0, 2, 4]
    assert (found.top(2) >= 0).sum(axis=1).tolist() == [2, 2, 0, 2, 2]
    assert found.top(2)[0].tolist() == found.numbers[0, :2].tolist()


def test_no_lists_have_no_results():
    found = number_results(pl.Series([], dtype=pl.List(pl.String)), np.zeros(0, np.int64))
    assert (found.numbers.shape, found.top(3).shape, len(found.urls)) == ((0, 0), (0, 3), 0)
