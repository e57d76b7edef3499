"""Means and correlations of two runs side by side, each with its change, and in sentences."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.core.records import SampleKey
from clickassay.correlation.changes import weighted_changes
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.findings.arrays import graded_sample
from clickassay.findings.run import open_run
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.numbers import NOTHING_WORSE, DiffOptions, Watch, flag_findings
from clickassay.studies.runs_compared.words import alone_words, change_words, sentences
from support.runs.given_runs import (
    COLUMNS,
    FIRST,
    ONE,
    at,
    changed_table,
    judgments,
    made,
    number,
    with_folds,
)


def test_every_number_of_both_runs_stands_beside_the_other_with_its_change(halves, apart):
    values = {"correlations": "correlation", "differences": "exact", "within": "correlation"}
    for table, value in values.items():
        stated = []
        for run in halves:
            rows = pl.read_parquet(run / f"{table}.parquet")
            rows = rows.filter(pl.col("split") == "all") if table != "differences" else rows
            stated.append({row[:5]: row[5] for row in rows.select(*COLUMNS, value).iter_rows()})
        found = apart.numbers.filter(table=table)
        assert found.height == len(stated[0])
        for row in found.iter_rows(named=True):
            place = tuple(row[name] for name in COLUMNS)
            assert (row["a"], row["b"]) == (stated[0][place], stated[1][place])
            assert row["change"] == pytest.approx(row["b"] - row["a"], abs=1e-15)
            assert row["ci_low"] < row["change"] < row["ci_high"]
            assert row["tested_by"] == "queries and users left out"


def test_runs_of_other_queries_share_none_and_err_as_both_intervals_say(halves, apart):
    both = apart.overlap.select("queries_both", "configurations_both").unique().rows()
    assert both == [(0, 0)]
    counted = pl.read_parquet(halves[0] / "statistics.parquet").sort("market")["n_queries"].to_list()
    assert apart.overlap.sort("market")["queries_a"].to_list() == counted
    half_width = [
        (row["ci_high"] - row["ci_low"]) / 2
        for run in halves
        for row in pl.read_parquet(run / "correlations.parquet").filter(at()).iter_rows(named=True)
    ]
    # as from independent samples of queries; what two folds of users show between them can only add to it
    row = number(apart)
    assert (row["ci_high"] - row["ci_low"]) / 2 > 0.85 * math.hypot(*half_width)
    samples = [graded_sample(open_run(run), SampleKey("north", 5, "all")).sample for run in halves]
    found = weighted_changes(*(sample.narrowed(["MeanRR"], ["ERR"]) for sample in samples))
    assert (found.high[0] - found.low[0]) / 2 == pytest.approx(math.hypot(*half_width), rel=0.15)


FEW = "users in fewer than 8 folds"


@pytest.mark.parametrize(("folds", "few"), [((8, 8), False), ((2, 2), True), ((8, 4), True)])
def test_a_comparison_with_few_folds_says_so_beside_each_number(halves, tmp_path, folds, few):
    pair = [with_folds(run, tmp_path / run.name, n) for run, n in zip(halves, folds, strict=True)]
    # correlations within queries are another number with other folds: these runs state the old ones
    rows = compare_runs(*pair, ONE).numbers.filter(pl.col("change") != 0, pl.col("table") != "within")
    assert set(rows["tested_by"]) == {"queries and users left out"}
    assert {FEW in (caution or "") for caution in rows["caution"]} == {few}
    assert ("(users in fewer than 8 folds)" in change_words(rows.row(0, named=True))) == few


def test_runs_of_8_and_of_2_folds_are_compared_by_the_2_that_both_have(halves, tmp_path):
    two = [with_folds(run, tmp_path / run.name, 2) for run in halves]
    assert compare_runs(halves[0], two[1]).numbers.equals(compare_runs(*two).numbers)
    odd = with_folds(halves[1], tmp_path / "one", 1)
    numbers = compare_runs(halves[0], odd, ONE).numbers
    alone = numbers.filter(pl.col("change") != 0, pl.col("table") != "within")
    assert set(alone["tested_by"]) == {"queries left out"}


FAMILIES = 5
"""Means of metrics and of clicks, correlations within queries and over all, closed forms."""


@pytest.mark.parametrize("table", ["within", "correlations", "differences"])
def test_p_values_are_adjusted_over_all_rows_of_their_table_and_for_all_tables(apart, table):
    rows = apart.numbers.filter(table=table)
    expected = np.minimum(1, FAMILIES * multipletests(rows["p_value"].to_numpy(), method="holm")[1])
    np.testing.assert_allclose(rows["p_adjusted"].to_numpy(), expected, rtol=1e-12)
    assert (rows["status"] == "beyond noise").to_list() == [p < 0.05 for p in expected]


def test_numbers_that_are_the_same_are_no_tests_and_weaken_none(whole, tmp_path):
    def lowered(rows):
        columns = ("correlation", "ci_low", "ci_high")
        return rows.with_columns(
            pl.when(at()).then(pl.col(name) - 0.2).otherwise(name).alias(name) for name in columns
        )

    diff = compare_runs(whole, changed_table(whole, tmp_path / "other", "correlations", lowered), ONE)
    tested = diff.numbers.filter(pl.col("p_value").is_not_null())
    assert set(diff.numbers.filter(table="means")["status"]) == {"same"}
    assert tested.select("click_metric", "editorial_metric", "status").rows() == [
        ("MeanRR", "ERR", "beyond noise")
    ]
    assert tested["p_adjusted"].to_list() == tested["p_value"].to_list()


def test_classes_of_queries_are_tested_by_their_intervals_and_leave_the_overall_rows_alone(halves, apart):
    overall, every = apart.numbers, compare_runs(*halves, DiffOptions(splits=True)).numbers
    classes = every.filter(pl.col("split") != "all")
    assert every.filter(pl.col("split") == "all").equals(overall)
    assert set(classes.filter(pl.col("p_value").is_not_null())["tested_by"]) == {"intervals"}
    assert {"length", "frequency"} <= set(classes["split"])


def test_a_number_that_its_configurations_do_not_give_is_tested_by_intervals(whole, halves, tmp_path):
    def raise_one(rows):
        raised = pl.when(at()).then(pl.col("correlation") + 0.001).otherwise("correlation")
        return rows.with_columns(raised.alias("correlation"))

    other = changed_table(halves[0], tmp_path / "other", "correlations", raise_one)
    diff = compare_runs(whole, other, replace(ONE, metrics=("ERR", "DCG")))
    assert number(diff)["tested_by"] == "intervals"
    assert number(diff, place=(*FIRST[:4], "DCG"))["tested_by"] == "queries and users left out"
    assert change_words(number(diff)).endswith("tested from intervals alone")


def test_the_end_that_is_nearer_to_no_change_comes_first_in_words():
    row = {"table": "correlations", "depth": 5} | dict.fromkeys(("market", "judge", "split", "class"), "all")
    row |= {"click_metric": "MeanRR", "editorial_metric": "ERR", "change": -0.031, "ci_low": -0.05}
    row |= {"ci_high": -0.01, "p_adjusted": 0.004, "status": "beyond noise", "tested_by": "queries left out"}
    row |= {"a": 0.431, "b": 0.4, "caution": None}
    assert change_words(row) == (
        "the correlation of ERR with MeanRR (top 5) fell from 0.431 to 0.4, by 0.031 [0.01, 0.05], "
        "significant (adjusted p 0.004)"
    )
    mean = row | {"table": "means", "click_metric": None, "change": 0.031, "a": 0.4, "b": 0.431}
    assert change_words(mean | {"ci_low": 0.01, "ci_high": 0.05}) == (
        "mean ERR (top 5) rose from 0.4 to 0.431, by 0.031 [0.01, 0.05], significant (adjusted p 0.004)"
    )


def test_means_are_those_over_sessions_and_families_are_adjusted_each_by_itself(halves, apart):
    rows = [pl.read_parquet(run / "configurations.parquet").filter(market="north") for run in halves]
    means = apart.numbers.filter(table="means", market="north")
    for row in means.iter_rows(named=True):
        name = row["editorial_metric"] or row["click_metric"]
        stated = [
            DescrStatsW(own[name].to_numpy(), weights=own["n_sessions"].to_numpy()).mean for own in rows
        ]
        assert (row["a"], row["b"]) == pytest.approx(stated, rel=1e-12)
        assert row["ci_low"] < row["change"] < row["ci_high"]
        assert (row["click_metric"] is None) == (row["family"] == "means of editorial metrics")
        assert row["caution"] == HEAVY_TAIL  # one caution is enough
    assert means.height == 7 + 11
    for family in ("means of editorial metrics", "means of click metrics"):
        own = apart.numbers.filter(family=family)
        expected = np.minimum(1, FAMILIES * multipletests(own["p_value"].to_numpy(), method="holm")[1])
        np.testing.assert_allclose(own["p_adjusted"].to_numpy(), expected, rtol=1e-12)


@pytest.mark.slow
def test_a_mean_that_rises_is_said_to_rise_although_its_correlation_falls(whole, tmp_path):
    rng = np.random.default_rng(0)  # grades drawn anew, without regard to the results, and high ones
    raised = judgments().with_columns(
        grade=pl.Series(rng.choice([2, 3, 4], judgments().height), dtype=pl.Int8)
    )
    diff = compare_runs(
        whole, made(tmp_path / "raised", raised), DiffOptions(metrics=("ERR",), markets=("north",))
    )
    told = " ".join(sentences(diff)).split(" Clearest: ")
    assert told[1].startswith("mean ERR (market north, top 5) rose from ")
    assert number(diff)["change"] < -0.1
    assert " fell from " in told[-2]
    assert "correlation of ERR with " in told[-2]
    assert "ERR with" not in told[0] + told[1].split(".")[0]


@pytest.mark.slow
def test_a_number_that_is_gone_is_a_finding_and_one_that_came_is_none(whole, tmp_path):
    def emptied(rows):
        none = pl.when(at()).then(None)
        return rows.with_columns(
            *(none.otherwise(name).alias(name) for name in ("correlation", "ci_low", "ci_high")),
            reason=pl.when(at()).then(pl.lit("clicks are the same")).otherwise("reason"),
        )

    less = changed_table(whole, tmp_path / "less", "correlations", emptied)
    for runs, status, finding in (((whole, less), "only in A", True), ((less, whole), "only in B", False)):
        numbers = flag_findings(compare_runs(*runs, ONE).numbers, Watch(0.5, beyond_noise=True))
        row = numbers.filter(at(), table="correlations").row(0, named=True)
        assert (row["status"], row["reason"]) == (status, "clicks are the same")
        assert row["finding"] == numbers["finding"].any() == finding


@pytest.mark.slow
def test_what_only_one_run_computed_is_named_by_what_the_other_lacks(whole, tmp_path):
    def without_dcg(rows):
        return rows.filter(pl.col("editorial_metric") != "DCG")

    less = changed_table(whole, tmp_path / "less", "correlations", without_dcg)
    numbers = compare_runs(whole, less, DiffOptions(click_metrics=("MeanRR",))).numbers.filter(
        table="correlations"
    )
    assert alone_words(numbers, "only in A") == "2 numbers only in A: offline metric DCG"
    assert alone_words(numbers, "only in B") is None


@pytest.mark.slow
def test_another_depth_has_nothing_to_compare_with(whole, tmp_path):
    other = made(tmp_path / "three", depth=(3,))
    diff = compare_runs(whole, other, DiffOptions(metrics=("ERR",), click_metrics=("UCTR",)))
    assert set(diff.numbers["status"]) == {"only in A", "only in B"}
    # in two markets: the means of ERR and UCTR, their correlation, its closed form, and within queries, as
    # for both together
    assert alone_words(diff.numbers, "only in A") == "11 numbers only in A: depth 5"
    a, b = diff.names
    assert " ".join(sentences(diff)) == (
        f"The setting depth changed; no number is in both runs; 11 numbers only in {a}; 11 numbers only in "
        f"{b}."
    )


@pytest.mark.parametrize("table", ["means", "correlations", "differences"])
def test_which_changes_are_findings(table):
    rows = [  # change, status | a finding above 0.1, and beyond noise alone | worse, and certainly so
        (-0.2, "beyond noise", True, True, True, True),
        (0.2, "beyond noise", True, True, False, False),
        (-0.2, "within noise", True, False, False, False),
        (0.2, "within noise", True, False, False, False),
        (-0.2, "not tested", True, True, True, False),
        (0.2, "not tested", True, True, False, False),
        (0.1, "beyond noise", False, False, False, False),
        (-0.001, "beyond noise", False, False, True, True),
        (0.0, "same", False, False, False, False),
        (None, "only in B", False, False, False, False),
        (None, "only in A", True, True, True, True),
    ]
    numbers = pl.DataFrame([row[:2] for row in rows], ["change", "status"], orient="row")
    numbers = numbers.with_columns(table=pl.lit(table))
    for place, watch in ((2, Watch(0.1)), (3, Watch(0.1, beyond_noise=True))):
        found = flag_findings(numbers, watch)["finding"].to_list()
        assert found == [row[place] and table != "means" for row in rows]
    assert not flag_findings(numbers, None)["finding"].any()
    found = numbers.select(a=NOTHING_WORSE.finding, b=NOTHING_WORSE.certain)
    assert found.rows() == [row[4:] for row in rows]
