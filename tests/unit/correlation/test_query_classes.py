"""Attributes of queries: which cannot be split, and which are refused."""

import dataclasses

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.correlation.classes import query_splits


@pytest.fixture
def sample(make_sample):
    return dataclasses.replace(make_sample(0), queries=tuple("abcdefghijkl"))


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
    topic = next(split for split in query_splits(sample, equal)[0] if split.name == "topic")
    assert (topic.classes[topic.labels[0]], topic.classes) == ("x", ("x", "unknown"))
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
