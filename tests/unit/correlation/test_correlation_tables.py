"""The tables of correlations: rows, counts, reasons, and what may not depend on what."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.correlation import (
    COMPARISONS,
    CORRELATIONS,
    DIFFERENCE_COMPARISONS,
    DIFFERENCES,
)
from clickassay.core.records import Split
from clickassay.correlation.classes import query_splits
from clickassay.correlation.comparisons import comparisons, difference_comparisons
from clickassay.correlation.tables import correlations
from support.one_correlation import ranked
from support.runs.given_sample import rows_of


def correlate(sample, splits=None):
    return correlations(sample, query_splits(sample)[0] if splits is None else splits)


@pytest.fixture(scope="module")
def sample(make_sample):
    return make_sample(1, queries=40, configurations=130)


def test_the_tables_have_the_form_of_their_contracts(sample):
    made = (
        (CORRELATIONS, correlate(sample)),
        (DIFFERENCES, ranked(sample)),
        (COMPARISONS, comparisons(sample)),
        (DIFFERENCE_COMPARISONS, difference_comparisons(sample)),
    )
    for contract, table in made:
        assert table.schema == contract.empty().schema
        assert table.equals(table.sort(contract.key))
        floats = table.select(pl.col(pl.Float64))
        assert not floats.select(pl.any_horizontal(pl.all().is_nan().any())).item()


def test_a_further_split_changes_no_other_row(sample):
    splits, _ = query_splits(sample)
    half = Split("half", ("a", "b"), np.arange(40) % 2)
    more = correlate(sample, (splits[0], half, *splits[1:]))
    assert more.filter(pl.col("split") != "half").equals(correlate(sample, splits))
    assert more["correlation"].null_count() == 0


def test_correlations_and_comparisons_depend_on_no_seed_and_the_closed_form_neither(sample):
    assert correlate(sample).equals(correlate(sample))
    assert comparisons(sample).equals(comparisons(sample))
    here, same, other = (ranked(sample, iterations=20, seed=seed) for seed in (1, 1, 2))
    assert here.equals(same)
    drawn = ["monte_carlo", "monte_carlo_se"]
    assert here.drop(drawn).equals(other.drop(drawn))
    assert not here["monte_carlo"].equals(other["monte_carlo"])


def test_samples_of_other_depths_draw_for_themselves(sample):
    deeper = dataclasses.replace(sample, key=dataclasses.replace(sample.key, depth=10))
    here, there = (ranked(each, iterations=20) for each in (sample, deeper))
    assert here["exact"].equals(there["exact"])
    assert here["ci_low"].equals(there["ci_low"])
    assert not here["monte_carlo"].equals(there["monte_carlo"])


def test_a_class_of_one_query_has_no_interval_and_one_of_one_configuration_no_value(make_sample):
    sample = make_sample(3, queries=3, configurations=6)
    index = np.array([0, 1, 1, 1, 2, 2])
    sample = dataclasses.replace(sample, query_index=index)
    table = correlate(sample, (Split("each", ("a", "b", "c", "d"), np.arange(3)),))
    by_class = {name: rows for (name,), rows in table.group_by("class")}
    assert sorted(by_class) == ["a", "b", "c"]
    assert by_class["a"]["correlation"].null_count() == 6
    assert by_class["a"]["reason"].unique().to_list() == ["fewer than two configurations"]
    assert by_class["b"]["correlation"].null_count() == 0
    assert by_class["b"]["reason"].null_count() == 6
    assert by_class["b"]["ci_low"].null_count() == by_class["b"]["ci_high"].null_count() == 6
    assert by_class["b"]["caution"].unique().to_list() == ["no interval: too few queries vary"]
    assert by_class["a"]["caution"].null_count() == 6  # its reason says it all


def test_a_sample_without_configurations_gives_tables_without_values(make_sample):
    full = make_sample(1)
    none = dataclasses.replace(rows_of(full, np.array([], dtype=int)), queries=())
    assert len(correlate(none)) == 0
    assert ranked(none)["exact"].null_count() == 6
    assert comparisons(none)["difference"].null_count() == 6


def test_renaming_queries_in_the_same_order_changes_no_number(sample):
    renamed = dataclasses.replace(sample, queries=tuple(f"other {number:03d}" for number in range(40)))
    assert correlate(renamed).equals(correlate(sample))
