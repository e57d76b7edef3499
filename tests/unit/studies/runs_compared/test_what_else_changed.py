"""What else differs between two runs: the order of metrics, inputs, settings, versions, sizes."""

from dataclasses import replace
from typing import get_args

import polars as pl
import pytest

from clickassay.core.errors import ReportError
from clickassay.findings.decision import Kind
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.numbers import DiffOptions
from clickassay.studies.runs_compared.words import decision_sentence, sentences
from support.runs.given_runs import ONE, between, changed_info, changed_table, fingerprint


def compared_pair(difference, p, pair=("DCG", "ERR")):
    """Set one comparison of the table; all others are not significant."""

    def change(rows):
        wanted = {"metric_a": "DCG", "metric_b": "ERR", "click_metric": "MeanRR", "market": "north"}
        own = pl.all_horizontal(pl.col(name) == value for name, value in wanted.items())
        return rows.with_columns(
            pl.when(own).then(difference).otherwise("difference").alias("difference"),
            pl.when(own).then(p).otherwise(1.0).alias("p_adjusted"),
            pl.when(own).then(pl.lit(pair[0])).otherwise("metric_a").alias("metric_a"),
            pl.when(own).then(pl.lit(pair[1])).otherwise("metric_b").alias("metric_b"),
        )

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        ((0.1, 0.01), (-0.1, 0.02), "reversed"),
        ((0.1, 0.01), (0.1, 0.05), "no longer significant"),
        ((-0.1, 0.3), (-0.1, 0.049), "newly significant"),
        ((0.1, 0.01), (0.1, None), "no longer significant"),
        ((0.1, 0.01), (0.2, 0.01), None),
        ((0.1, 0.2), (-0.2, 0.2), None),
        ((0.1, 0.01), (-0.2, 0.01, ("ERR", "DCG")), None),  # the same order, spelled the other way round
        ((0.1, 0.01), (0.2, 0.01, ("ERR", "DCG")), "reversed"),
    ],
)
def test_a_comparison_flips_when_significance_comes_goes_or_changes_sides(
    whole, tmp_path, of_a, of_b, expected
):
    runs = [
        changed_table(whole, tmp_path / name, "comparisons", compared_pair(*given))
        for name, given in (("a", of_a), ("b", of_b))
    ]
    found = compare_runs(*runs, ONE).flips
    pairs = found.select("market", "metric_a", "metric_b", "what").rows()
    assert pairs == ([("north", "DCG", "ERR", expected)] if expected else [])


@pytest.mark.slow
def test_the_highest_correlation_may_be_a_baselines(whole, tmp_path):
    def raised(rows):
        highest = pl.col("editorial_metric").replace_strict(
            {"RR": 0.97, "P@1": 0.99}, default=pl.col("correlation")
        )
        own = (
            (pl.col("click_metric") == "MeanRR") & (pl.col("market") == "north") & (pl.col("split") == "all")
        )
        return rows.with_columns(pl.when(own).then(highest).otherwise("correlation").alias("correlation"))

    before = pl.read_parquet(whole / "correlations.parquet").filter(
        market="north", split="all", click_metric="MeanRR"
    )
    best = max(before.iter_rows(named=True), key=lambda row: row["correlation"])
    other = changed_table(whole, tmp_path / "other", "correlations", raised)
    of_click = DiffOptions(click_metrics=("MeanRR",), markets=("north",))
    (row,) = compare_runs(whole, other, of_click).highest.to_dicts()
    assert (row["market"], row["click_metric"]) == ("north", "MeanRR")
    assert (row["highest_a"], row["correlation_a"]) == (best["editorial_metric"], best["correlation"])
    assert (row["highest_b"], row["correlation_b"], row["significant"]) == ("P@1", 0.99, False)
    pair = sorted([best["editorial_metric"], "P@1"])
    sign = 0.2 if pair[0] == best["editorial_metric"] else -0.2  # each leads significantly in its run

    def led(side):
        def change(rows):
            own = (pl.col("click_metric") == "MeanRR") & (pl.col("market") == "north")
            own &= pl.concat_list("metric_a", "metric_b").list.sort() == pair
            first = pl.when(pl.col("metric_a") == pair[0]).then(side).otherwise(-side)
            return rows.with_columns(
                pl.when(own).then(first).otherwise("difference").alias("difference"),
                pl.when(own).then(0.01).otherwise("p_adjusted").alias("p_adjusted"),
            )

        return change

    before = changed_table(whole, tmp_path / "before", "comparisons", led(sign))
    after = changed_table(other, tmp_path / "after", "comparisons", led(-sign))
    assert compare_runs(before, after, of_click).highest["significant"].to_list() == [True]
    assert compare_runs(before, other, of_click).highest["significant"].to_list() == [False]
    assert compare_runs(whole, other, replace(of_click, metrics=("AP",))).highest.is_empty()


def entries_after(whole, tmp_path, change):
    diff = compare_runs(whole, changed_info(whole, tmp_path / "other", change), ONE)
    return {(entry.kind, entry.name): entry for entry in diff.entries if entry.status != "same"}, diff


def test_an_input_is_the_same_by_its_content_and_not_by_its_name(whole, tmp_path):
    def change(info):
        info["inputs"]["searches"] = fingerprint(1, 1000, "renamed.parquet")
        info["inputs"]["judgments"]["digest"] = "sha256:" + "f" * 64
        info["inputs"]["queries"] = fingerprint(3, 7) | {"names": ["part.parquet"] * 3}

    found, diff = entries_after(whole, tmp_path, change)
    assert {(name, entry.status) for (_, name), entry in found.items()} == {
        ("judgments", "changed"),
        ("queries", "only in B"),
    }
    assert found["input", "judgments"].b.endswith("sha256 ffffffffffff")
    assert found["input", "queries"].b == "part.parquet: 3 files, 7 bytes, sha256 000000000000"
    numbers = f"all {diff.numbers.height} numbers are the same."
    assert " ".join(sentences(diff)) == f"Nothing but the inputs judgments and queries changed; {numbers}"


def test_settings_versions_and_records_have_both_values_and_the_command_is_not_compared(whole, tmp_path):
    def change(info):
        info["settings"]["persistence"] = 0.9
        del info["settings"]["folds"]
        info["versions"]["polars"] = "99"
        info["notes"] = ["<odd>"]
        info["command"] = "another"

    found, diff = entries_after(whole, tmp_path, change)
    told = {key: (entry.status, entry.a, entry.b) for key, entry in found.items()}
    assert told.pop(("version", "polars"))[2] == '"99"'
    assert told == {
        ("setting", "persistence"): ("changed", "0.8", "0.9"),
        ("setting", "folds"): ("only in A", "8", None),
        ("record", "notes"): ("changed", "[]", '["<odd>"]'),
    }
    assert " ".join(sentences(diff)).startswith(
        "Nothing but the settings folds and persistence, versions and the record notes changed; all "
    )


def test_sizes_stand_beside_each_other(whole, halves):
    sizes = compare_runs(whole, halves[0], ONE).sizes
    stated = [
        pl.read_parquet(run / "statistics.parquet").filter(market="north").row(0, named=True)
        for run in (whole, halves[0])
    ]
    for row in sizes.iter_rows(named=True):
        before, after = (run[row["quantity"]] for run in stated)
        assert (row["a"], row["b"], row["change"]) == (before, after, after - before)
    assert sizes["quantity"].to_list() == [
        *("n_queries", "n_configurations", "n_sessions", "n_all_sessions", "coverage")
    ]


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_decision_is_told_in_words(whole, kind):
    diff = between(whole, whole)
    after = {"decision": kind, "subject": "ERR"}
    told = decision_sentence(replace(diff, decisions=(None, after)))
    if kind == "cannot_decide":
        assert told == "The decision is the same: the log cannot decide."
    else:
        assert told.startswith("The decision changed: the log cannot decide \u2192 ")
    assert "{" not in told
    subjects = {"switch": "switch to ERR", "keep": "keep ERR", "use": "ERR predicts best"}
    assert subjects.get(kind, "") in told


def test_a_decision_of_no_known_kind_is_a_broken_file(whole, tmp_path):
    def unknown(rows):
        return rows.with_columns(decision=pl.lit("sing"))

    other = changed_table(whole, tmp_path / "other", "verdict", unknown)
    with pytest.raises(ReportError, match=r"verdict\.parquet is broken \(decision sing is unkn"):
        compare_runs(whole, other)
