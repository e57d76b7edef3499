"""Groups of queries are units, which intervals leave out one at a time; which columns make classes."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.core.errors import InputError
from clickassay.correlation.classes import groups_of, has_groups, query_splits, unsplit, with_units
from clickassay.correlation.comparisons import comparisons, difference_comparisons, within_comparisons
from clickassay.correlation.tables import correlations, differences, within
from clickassay.correlation.within.groups import query_groups
from support.one_correlation import jackknife
from support.runs.given_sample import sample_of

NOT_COMPARED = ("n_queries", "n_configurations", "n_sessions", "monte_carlo", "monte_carlo_se")


def drawn(seed, queries=12, lists=3):
    """A sample of random values, each query with so many lists."""
    rng = np.random.default_rng(seed)
    n = queries * lists
    sessions = rng.integers(2, 30, n)
    clicks = rng.binomial(sessions[:, None], rng.random((n, 2))) / sessions[:, None]
    variances = clicks * (1 - clicks) * (sessions / (sessions - 1))[:, None]
    index = np.repeat(np.arange(queries), lists)
    return sample_of(clicks, rng.random((n, 3)), sessions, index, variances)


def twice(sample):
    """Every query twice, each pair of one intent."""
    order = np.concatenate([np.arange(len(sample.query_index))] * 2)
    doubled = sample.of_rows(order)
    size = len(sample.queries)
    index = np.concatenate([sample.query_index, sample.query_index + size])
    names = tuple(f"{query} {copy}" for copy in "ab" for query in sample.queries)
    return replace(
        doubled,
        queries=names,
        query_index=index,
        click_entropy=np.zeros(2 * size),
        units=tuple(f"group {query}" for query in sample.queries) * 2,
    )


def tables_of(sample):
    splits = [unsplit(sample)]
    place = query_groups([sample], [splits])[0]
    ranked, _ = differences(sample, iterations=2, rng=np.random.default_rng(0))
    return (
        correlations(sample, splits), comparisons(sample), ranked, difference_comparisons(sample),
        within(place), within_comparisons(place),
    )  # fmt: skip


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_near_duplicates_that_are_groups_change_no_interval(seed):
    sample = drawn(seed)
    for place, (own, other) in enumerate(zip(tables_of(sample), tables_of(twice(sample)), strict=True)):
        names = [name for name in own.columns if name not in NOT_COMPARED and own[name].dtype == pl.Float64]
        if not place:  # centring over all queries leaves more of the noise where there are more sessions
            names = [name for name in names if not name.startswith("noise_corrected")]
        for name in names:
            assert own[name].to_list() == pytest.approx(other[name].to_list(), abs=1e-8, nan_ok=True), name


def in_units(sample, attributes):
    queries = pl.DataFrame({"market": sample.key.market, "query": sample.queries})
    return with_units(sample, groups_of(queries, attributes))


def difference_of(sample, rows, click, a, b):
    columns = sample.click_values[:, [click]], sample.editorial_values[:, [a, b]]
    found = DescrStatsW(np.concatenate(columns, axis=1)[rows], weights=sample.sessions[rows]).corrcoef
    return found[0, 1] - found[0, 2]


def test_a_group_is_left_out_whole():
    """Against leaving out the rows of each unit and computing anew, with Student's t."""
    sample = replace(drawn(3), units=tuple(f"group {number // 3}" for number in range(12)))
    table = comparisons(sample).filter(click_metric="C0", metric_a="E0", metric_b="E1")
    units = np.array(sample.units)[sample.query_index]
    left = [difference_of(sample, units != unit, 0, 0, 1) for unit in sorted(set(sample.units))]
    error, degrees = jackknife(left)
    assert table["error"].item() == pytest.approx(error, abs=1e-9)
    margin = student.ppf(0.975, degrees) * error
    assert table["ci_high"].item() == pytest.approx(
        difference_of(sample, slice(None), 0, 0, 1) + margin, abs=1e-8
    )
    assert table["n_queries"].item() == 4


def test_the_column_group_names_units_and_is_no_split():
    sample = drawn(0, queries=3)
    first, second, third = sample.queries
    attributes = pl.DataFrame(
        {"query": [first, second, third], "group": [7, 7, None], "kind": ["a", "b", "a"]}
    )
    assert in_units(sample, attributes).units == ("group 7", "group 7", f"query {third}")
    splits, left_out = query_splits(sample, attributes)
    assert "kind" in [split.name for split in splits]
    assert "group" not in [split.name for split in splits]
    assert left_out == ()
    assert has_groups(attributes)
    for nothing in (float("nan"), "", "  "):  # no names: these queries stand alone
        assert not has_groups(attributes.with_columns(group=pl.lit(nothing)))
        one = pl.DataFrame({"query": [first, second], "group": [nothing, nothing]})
        assert in_units(sample, one).units is None
    assert not has_groups(attributes.with_columns(group=pl.lit(None)))
    assert in_units(sample, attributes.drop("group")) is sample


def test_a_query_has_one_group_and_a_group_has_a_name():
    sample = drawn(0, queries=3)
    two = pl.DataFrame({"query": [sample.queries[0]] * 2, "group": ["a", "b"]})
    with pytest.raises(InputError, match="1 queries have more than one group"):
        in_units(sample, two)
    with pytest.raises(InputError, match="column group cannot be converted to text"):
        in_units(sample, pl.DataFrame({"query": [sample.queries[0]], "group": [["a"]]}))


@pytest.fixture
def sample(make_sample):
    return replace(make_sample(0), queries=tuple("abcdefghijkl"))


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
