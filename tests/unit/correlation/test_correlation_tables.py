"""The tables of correlations: rows, counts, reasons, and what may not depend on what."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.weightstats import DescrStatsW

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


def test_every_class_has_the_correlation_of_its_own_configurations(sample):
    table = correlate(sample)
    for split in query_splits(sample)[0]:
        for label, name in enumerate(split.classes):
            rows = split.labels[sample.query_index] == label
            here = table.filter(pl.col("split") == split.name, pl.col("class") == name)
            assert len(here) == (6 if rows.sum() else 0)
            if rows.sum() < 2:
                continue
            both = np.concatenate([sample.click_values, sample.editorial_values], axis=1)[rows]
            expected = DescrStatsW(both, weights=sample.sessions[rows]).corrcoef[:2, 2:]
            np.testing.assert_allclose(here["correlation"].to_numpy(), expected.ravel(), rtol=1e-11)
            assert here["n_configurations"].unique().to_list() == [rows.sum()]
            assert here["n_queries"].unique().to_list() == [len(set(sample.query_index[rows]))]
            assert here["n_sessions"].unique().to_list() == [sample.sessions[rows].sum()]


def test_the_classes_of_a_split_add_up_to_the_whole(sample):
    table = correlate(sample).filter(pl.col("click_metric") == "C0", pl.col("editorial_metric") == "E0")
    counts = table.group_by("split").agg(pl.col("n_configurations", "n_queries", "n_sessions").sum())
    assert counts.drop("split").unique().rows() == [(130, 40, int(sample.sessions.sum()))]


def test_intervals_contain_the_value_of_a_class_and_are_wider_for_fewer_queries(sample):
    table = correlate(sample).filter(pl.col("split").is_in(["all", "click_entropy"]))
    inside = (table["ci_low"] <= table["correlation"]) & (table["correlation"] <= table["ci_high"])
    assert inside.all()
    width = (
        table.with_columns(width=pl.col("ci_high") - pl.col("ci_low"))
        .group_by("split")
        .agg(pl.col("width").mean())
    )
    widths = dict(width.iter_rows())
    assert widths["click_entropy"] > 1.2 * widths["all"]


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


def test_only_ss_has_a_null_correlation_that_is_not_0(sample):
    named = dataclasses.replace(sample, click_names=("UCTR", "SS"))
    table = correlate(named)
    assert set(table.filter(click_metric="UCTR")["null_correlation"]) == {0.0}
    for split in query_splits(named)[0]:
        for label, name in enumerate(split.classes):
            rows = split.labels[named.query_index] == label
            found = table.filter(split=split.name, click_metric="SS", **{"class": name})["null_correlation"]
            if rows.sum() < 2:
                assert found.null_count() == len(found)
                continue
            expected = [by_loops(named, rows, place) for place in range(3)]
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-10)


def by_loops(sample, rows, editorial):
    """The weighted correlation of null SS, with s (1 - s)/n of chance in each configuration."""
    s, n, x = sample.null_success[rows], sample.sessions[rows], sample.editorial_values[rows, editorial]
    m_s, m_x, total = sum(n * s) / sum(n), sum(n * x) / sum(n), sum(n)
    s_ss = sum(n * (s - m_s) ** 2) + sum(s * (1 - s) * (1 - n / total))
    return sum(n * (s - m_s) * (x - m_x)) / np.sqrt(s_ss * sum(n * (x - m_x) ** 2))


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
