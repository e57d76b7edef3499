"""The tables of correlations: rows, counts, reasons, and what may not depend on what."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from statsmodels.stats.weightstats import DescrStatsW

from pipeline.contracts import COMPARISONS, CORRELATIONS, DIFFERENCES
from pipeline.correlation import tables
from pipeline.correlation.classes import query_splits
from pipeline.correlation.tables import resample
from pipeline.sample import Split


def generator():
    return np.random.default_rng(17)


def correlations(sample, splits, *, resamples, rng):
    return tables.correlations(sample, splits, resample(sample, splits, resamples=resamples, rng=rng))


def differences(sample, *, iterations, resamples, rng):
    resampled = resample(sample, (), resamples=resamples, rng=rng)
    return tables.differences(sample, resampled, iterations=iterations, rng=rng)


def comparisons(sample, *, resamples, rng):
    return tables.comparisons(sample, resample(sample, (), resamples=resamples, rng=rng))


def correlate(sample, splits=None, resamples=60):
    chosen = query_splits(sample)[0] if splits is None else splits
    return correlations(sample, chosen, resamples=resamples, rng=generator())


@pytest.fixture(scope="module")
def sample(make_sample):
    return make_sample(1, queries=40, configurations=130)


def test_the_tables_have_the_form_of_their_contracts(sample):
    rng = generator()
    splits, _ = query_splits(sample)
    made = (
        (CORRELATIONS, correlations(sample, splits, resamples=9, rng=rng)),
        (DIFFERENCES, differences(sample, iterations=9, resamples=9, rng=rng)),
        (COMPARISONS, comparisons(sample, resamples=9, rng=rng)),
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


def test_intervals_hold_the_value_of_a_class_and_are_wider_for_fewer_queries(sample):
    table = correlate(sample, resamples=400).filter(pl.col("split").is_in(["all", "click_entropy"]))
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
    # the order of addition is another, so the last digits of the intervals may be
    assert_frame_equal(more.filter(pl.col("split") != "half"), correlate(sample, splits), rel_tol=1e-12)
    assert more["correlation"].null_count() == 0


def test_the_same_seed_gives_the_same_tables_and_another_one_other_intervals(sample):
    assert correlate(sample).equals(correlate(sample))
    other = correlations(sample, query_splits(sample)[0], resamples=60, rng=np.random.default_rng(18))
    assert other["correlation"].equals(correlate(sample)["correlation"])
    assert not other["ci_low"].equals(correlate(sample)["ci_low"])


def test_samples_of_other_depths_draw_for_themselves(sample):
    deeper = dataclasses.replace(sample, depth=10)
    here, there = (
        differences(each, iterations=20, resamples=20, rng=generator()) for each in (sample, deeper)
    )
    assert here["exact"].equals(there["exact"])
    assert not here["monte_carlo"].equals(there["monte_carlo"])
    assert not here["ci_low"].equals(there["ci_low"])


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


def test_a_constant_metric_gives_null_with_a_reason_everywhere(sample):
    clicks = sample.click_values.copy()
    clicks[:, 1] = 0.3
    constant = dataclasses.replace(sample, click_values=clicks)
    table = correlate(constant).filter(pl.col("click_metric") == "C1", pl.col("split") == "all")
    ranked = differences(constant, iterations=20, resamples=20, rng=generator()).filter(click_metric="C1")
    compared = comparisons(constant, resamples=20, rng=generator()).filter(click_metric="C1")
    for frame, columns in (
        (table, ["correlation", "ci_low", "ci_high"]),
        (
            ranked,
            [
                "monte_carlo",
                "monte_carlo_se",
                "exact",
                "ci_low",
                "ci_high",
                "noise_corrected",
                "sign_agreement",
            ],
        ),
        (compared, ["difference", "ci_low", "ci_high", "p_value"]),
    ):
        assert len(frame) == 3
        assert frame.select(columns).null_count().row(0) == (3,) * len(columns)
    assert table["reason"].str.contains("click metric is the same").all()
    assert ranked["reason"].str.contains("click metric is the same").all()


def test_comparisons_are_differences_of_the_overall_correlations(sample):
    table = comparisons(sample, resamples=300, rng=generator())
    overall = correlate(sample).filter(pl.col("split") == "all")
    value = {
        (click, name): r
        for click, name, r in overall.select("click_metric", "editorial_metric", "correlation").rows()
    }
    assert [row[:3] for row in table.select("click_metric", "metric_a", "metric_b").rows()] == [
        (click, a, b) for click in ("C0", "C1") for a, b in (("E0", "E1"), ("E0", "E2"), ("E1", "E2"))
    ]
    for row in table.iter_rows(named=True):
        a, b = (value[row["click_metric"], row[name]] for name in ("metric_a", "metric_b"))
        assert row["difference"] == pytest.approx(a - b, rel=1e-12)
        assert row["ci_low"] <= row["difference"] <= row["ci_high"]
        beyond = row["ci_low"] > 0 or row["ci_high"] < 0
        assert (row["p_value"] < 0.05) == beyond or 0.03 < row["p_value"] < 0.07


def test_comparisons_draw_the_queries_of_the_overall_correlations(make_sample):
    """Against a metric that correlates at 1 in every resample, the difference only shifts the interval."""
    sample = make_sample(2, queries=30, configurations=90, clicks=1, editorial=1)
    follows = np.concatenate([sample.editorial_values, sample.click_values], axis=1)
    sample = dataclasses.replace(sample, editorial_names=("E0", "same"), editorial_values=follows)
    (row,) = comparisons(sample, resamples=100, rng=generator()).iter_rows(named=True)
    overall = correlate(sample, resamples=100).filter(split="all", editorial_metric="E0")
    assert row["ci_low"] == pytest.approx(overall["ci_low"][0] - 1, rel=1e-10)
    assert row["ci_high"] == pytest.approx(overall["ci_high"][0] - 1, rel=1e-10)


def test_two_metrics_that_are_one_have_no_difference_and_p_value_1(sample):
    twice = np.repeat(sample.editorial_values[:, :1], 2, axis=1) * [1, 3]
    same = dataclasses.replace(sample, editorial_names=("DCG", "three DCG"), editorial_values=twice)
    table = comparisons(same, resamples=50, rng=generator())
    assert table.select("difference", "ci_low", "ci_high", "p_value").unique().rows() == [
        (0.0, 0.0, 0.0, 1.0)
    ]


def test_differences_count_the_queries_with_two_configurations(sample):
    counts = np.bincount(sample.query_index)
    table = differences(sample, iterations=30, resamples=30, rng=generator())
    assert table["n_queries"].unique().to_list() == [(counts >= 2).sum()]
    assert table["n_configurations"].unique().to_list() == [counts[counts >= 2].sum()]
    assert table["reason"].null_count() == len(table) == 6


def test_one_configuration_per_query_gives_no_difference_but_a_reason(make_sample):
    sample = make_sample(1, queries=8, configurations=8)
    table = differences(sample, iterations=5, resamples=5, rng=generator())
    assert table["reason"].unique().to_list() == ["no query has two configurations"]
    assert table["monte_carlo"].null_count() == table["exact"].null_count() == 6


def test_a_sample_without_configurations_gives_tables_without_values(make_sample):
    full = make_sample(1)
    none = dataclasses.replace(
        full,
        queries=(),
        query_index=full.query_index[:0],
        sessions=full.sessions[:0],
        click_values=full.click_values[:0],
        click_variances=full.click_variances[:0],
        editorial_values=full.editorial_values[:0],
        click_entropy=full.click_entropy[:0],
    )
    assert len(correlate(none)) == 0
    assert differences(none, iterations=5, resamples=5, rng=generator())["exact"].null_count() == 6
    assert comparisons(none, resamples=5, rng=generator())["difference"].null_count() == 6


def test_renaming_queries_in_the_same_order_changes_no_number(sample):
    renamed = dataclasses.replace(sample, queries=tuple(f"other {number:03d}" for number in range(40)))
    assert correlate(renamed).equals(correlate(sample))
