"""Splits of queries into classes, against small cases worked by hand."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.correlation.classes import query_splits


@pytest.fixture
def sample(make_sample):
    """Twelve queries of 0 to 6 words; their sessions are 24, 22, ..., 2, their click entropies rise."""
    base = make_sample(0, queries=12, configurations=24)
    words = ("", "a", "b c", "c d e", "d e f g", "e f g h i", "f", "g", "h", "i", "j", "k")
    return dataclasses.replace(
        base,
        queries=words,
        query_index=np.repeat(np.arange(12), 2),
        sessions=np.repeat(np.arange(12, 0, -1), 2),
        click_entropy=np.arange(12) / 12,
    )


def classes_of(sample, name, attributes=None):
    splits, _ = query_splits(sample, attributes)
    (split,) = [split for split in splits if split.name == name]
    return [split.classes[label] for label in split.labels]


def test_the_splits_come_in_the_order_of_reports_the_whole_first(sample):
    splits, left_out = query_splits(sample)
    assert [split.name for split in splits] == ["all", "length", "frequency", "click_entropy"]
    assert splits[0].classes == ("all",)
    assert left_out == ()


def test_a_boolean_attribute_is_split_in_true_false_and_unknown(sample):
    frame = pl.DataFrame({"query": ["", "a", "b c", "not here"], "navigational": [True, False, None, True]})
    assert classes_of(sample, "navigational", frame) == ["true", "false", *["unknown"] * 10]
    splits, _ = query_splits(sample, frame)
    assert [split.name for split in splits] == ["all", "length", "frequency", "navigational"]
    assert splits[3].classes == ("true", "false", "unknown")


def test_other_attributes_are_split_by_their_text_in_the_order_of_their_values(sample):
    frame = pl.DataFrame(
        {
            "query": sample.queries,
            "topic": ["x", "b", None, "unknown"] * 3,
            "size": [10, 9, None, 2] * 3,
            "day": pl.Series([0, 1, None, 400] * 3).cast(pl.Date),
        }
    )
    splits = {split.name: split for split in query_splits(sample, frame)[0]}
    assert splits["topic"].classes == ("b", "x", "unknown")
    assert splits["size"].classes == ("2", "9", "10", "unknown")
    assert splits["day"].classes == ("1970-01-01", "1970-01-02", "1971-02-05", "unknown")
    assert classes_of(sample, "topic", frame)[:4] == ["x", "b", "unknown", "unknown"]
    assert classes_of(sample, "size", frame)[:4] == ["10", "9", "unknown", "2"]
    assert "click_entropy" in splits


def test_a_market_has_its_own_attributes(sample):
    frame = pl.DataFrame({"market": ["de", "fr"], "query": ["a", "a"], "topic": ["x", "y"]})
    for market, topic in (("de", "x"), ("fr", "y"), ("uk", "unknown")):
        own = dataclasses.replace(sample, key=dataclasses.replace(sample.key, market=market))
        assert classes_of(own, "topic", frame)[1] == topic


def test_a_log_without_markets_uses_the_attributes_of_all(sample):
    frame = pl.DataFrame({"market": ["de", "fr", "fr"], "query": ["a", "a", "f"], "topic": ["x", "x", "y"]})
    assert classes_of(sample, "topic", frame)[1] == "x"
    assert classes_of(sample, "topic", frame)[6] == "y"


def test_a_column_with_many_values_or_without_text_is_named_and_not_split(sample):
    frame = pl.DataFrame(
        {
            "query": [f"q{number}" for number in range(51)],
            "id": range(51),
            "fifty": [number % 50 for number in range(51)],
            "parts": [[1]] * 51,
            "took": pl.Series([1] * 51).cast(pl.Duration),
        }
    )
    splits, left_out = query_splits(sample, frame)
    assert left_out == ("id", "parts", "took")
    assert "fifty" in {split.name for split in splits}


def test_a_navigational_column_that_cannot_be_split_leaves_the_thirds_of_click_entropy(sample):
    frame = pl.DataFrame({"query": [f"q{number}" for number in range(60)], "navigational": range(60)})
    splits, left_out = query_splits(sample, frame)
    assert splits[-1].name == "click_entropy"
    assert left_out == ("navigational",)


def test_equal_rows_of_a_query_collapse_and_different_ones_are_refused(sample):
    equal = pl.DataFrame({"query": ["a", "a", "a"], "topic": ["x", "x", None]})
    assert classes_of(sample, "topic", equal)[1] == "x"
    other = pl.DataFrame({"query": ["a", "a"], "topic": ["x", "y"]})
    with pytest.raises(InputError, match=r"1 queries have more than one topic, e\.g\. 'a': x, y"):
        query_splits(sample, other)


@pytest.mark.parametrize("name", ["all", "length", "frequency", "click_entropy"])
def test_an_attribute_with_the_name_of_a_built_in_split_is_refused(sample, name):
    with pytest.raises(InputError, match=f"column {name} has the name of a built-in split"):
        query_splits(sample, pl.DataFrame({"query": ["a"], name: ["x"]}))


def test_attributes_without_a_query_column_are_refused(sample):
    with pytest.raises(InputError, match="no column query among topic"):
        query_splits(sample, pl.DataFrame({"topic": ["x"]}))
