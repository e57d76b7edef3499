"""`clickassay audit` on runs and on one list: values, what cannot be computed, what changes a conclusion."""

import csv
import io
import json
import re

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
from clickassay.core.records import SampleChoice
from clickassay.correlation.conventions import change, mean_gaps
from clickassay.studies.audit import NEEDS_POOL, NEEDS_UNJUDGED, audit_run
from support.logs import tiny
from support.one_correlation import weighted_correlation
from support.runs.given_runs import judgments as sample_judgments
from support.runs.given_runs import made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    cut = ("nDCG(dcg='log2')@5", "nDCG(dcg='log2',ideal='uncut')@5")
    return made(tmp_path_factory.mktemp("audit") / "run", metric=cut)


@pytest.fixture(scope="module")
def judgments(run):
    return str(run / "judged.parquet")


@pytest.fixture(scope="module")
def audited(run, judgments):
    return audit_run(run, judgments=judgments)


@pytest.fixture(scope="module")
def zero(tmp_path_factory):
    some = sample_judgments().sort("query", "url").filter(pl.int_range(pl.len()) % 7 != 3)
    return made(tmp_path_factory.mktemp("audit") / "zero", some, unjudged="zero")


def plain_values(run, judgments):
    """Return grades, sessions and some conventions of the run's configurations, list by list."""
    rows = (
        pl.read_parquet(run / "configurations.parquet")
        .filter(market="north")
        .sort("query", "configuration_id")
    )
    own = judgments.group_by("query").agg(pl.col("grade"))
    pools = dict(own.iter_rows())
    found = {"AP(rel=1)@5": [], "nDCG(dcg='log2',ideal='uncut')@5": [], "RBP(p=0.8)@5 of grades": []}
    for query, grades in rows.select("query", "grades").iter_rows():
        hits = np.array(grades) >= 1
        precision = np.cumsum(hits) / np.arange(1, 6)
        found["AP(rel=1)@5"].append((precision * hits).sum() / max(1, sum(g >= 1 for g in pools[query])))
        discounts = np.log2(np.arange(2, 2 + len(pools[query])))
        ideal = (np.array(sorted(pools[query], reverse=True)) / discounts).sum()
        found["nDCG(dcg='log2',ideal='uncut')@5"].append(
            (np.array(grades) / discounts[:5]).sum() / max(ideal, 1e-9)
        )
        found["RBP(p=0.8)@5 of grades"].append(0.2 * (np.array(grades) * 0.8 ** np.arange(5)).sum())
    return rows, found


OWN = {"AP": "AP(rel=3)@5", "nDCG": "nDCG(dcg='exp-log2')@5", "RBP": "RBP(p=0.8,max_rel=4)@5"}


def test_means_and_correlations_are_those_of_a_plain_loop_over_the_lists(run, judgments, audited):
    rows, found = plain_values(run, pl.read_parquet(judgments))
    sessions, clicks = rows["n_sessions"].to_numpy(), rows["MeanRR"].to_numpy()
    told = {
        row["convention"]: row for row in audited.audited.filter(click_metric="MeanRR").iter_rows(named=True)
    }
    for name, values in found.items():
        assert told[name]["mean"] == pytest.approx(np.average(values, weights=sessions), abs=1e-12)
        expected, _ = weighted_correlation(np.array(values), clicks, sessions)
        assert told[name]["correlation"] == pytest.approx(expected, abs=1e-12)
        own = told[OWN[name.partition("(")[0]]]
        assert told[name]["gap"] == pytest.approx(told[name]["correlation"] - own["correlation"], abs=1e-12)
        assert told[name]["mean_gap"] == pytest.approx(told[name]["mean"] - own["mean"], abs=1e-12)
        assert told[name]["gap_low"] < told[name]["gap"] < told[name]["gap_high"]


def test_the_runs_own_conventions_have_the_correlations_and_intervals_of_the_run(run, audited):
    overall = pl.read_parquet(run / "correlations.parquet").filter(split="all", depth=5, market="north")
    own = audited.audited.filter("own")
    for row in own.filter(pl.col("quantity") != "P").iter_rows(named=True):
        name = row["quantity"].upper()
        (same,) = overall.filter(click_metric=row["click_metric"], editorial_metric=name).to_dicts()
        for name in ("correlation", "ci_low", "ci_high"):
            assert row[name] == pytest.approx(same[name], abs=1e-9), row
    assert own.filter(quantity="NDCG").is_empty()
    assert own.height == 7 * 7


def test_the_gap_between_two_metrics_of_the_run_is_that_of_its_comparisons(run, audited):
    found = audited.audited.filter(click_metric="UCTR")
    compared = pl.read_parquet(run / "comparisons.parquet").filter(click_metric="UCTR", market="north")
    for name in ("nDCG(dcg='log2')@5", "nDCG(dcg='log2',ideal='uncut')@5"):
        (ours,) = found.filter(convention=name).iter_rows(named=True)
        (theirs,) = compared.filter(metric_a="NDCG", metric_b=name).iter_rows(named=True)
        assert ours["gap"] == pytest.approx(-theirs["difference"], abs=1e-9)
        assert ours["gap_low"] == pytest.approx(-theirs["ci_high"], abs=1e-9)
        assert ours["gap_high"] == pytest.approx(-theirs["ci_low"], abs=1e-9)


def test_the_gap_of_means_has_the_error_of_leaving_out_one_query_at_a_time(audited):
    sample, other = audited.sample, 3
    number = len(sample.editorial_names)
    found = mean_gaps(sample, np.full(number, other))
    values = sample.editorial_values - sample.editorial_values[:, [other]]
    without = [
        np.average(values[kept], axis=0, weights=sample.sessions[kept])
        for kept in (sample.query_index != query for query in range(len(sample.queries)))
    ]
    q = len(sample.queries)
    error = np.sqrt((q - 1) / q * ((without - np.mean(without, axis=0)) ** 2).sum(axis=0))
    varies = error > 1e-9
    reach = (found.high - found.low)[varies] / 2 / error[varies]
    assert np.allclose(found.value, np.average(values, axis=0, weights=sample.sessions))
    assert varies.sum() > 20
    assert (reach > 1.95).all()
    assert (reach < 4.4).all()
    assert np.allclose((found.high - found.low)[~varies], 0, atol=1e-6)


def test_rows_name_the_first_convention_with_the_same_values(audited):
    same = dict(audited.audited.filter(click_metric="UCTR").select("convention", "same_as").iter_rows())
    assert same["ERR(max_rel=4,judged_only=True)@5"] == "ERR(max_rel=4)@5"
    assert same["nDCG(dcg='exp-log2')@5 to the hits"] == "nDCG(dcg='exp-log2')@5"
    assert same["nDCG(dcg='log2')@5"] is None
    assert audited.n_unjudged == 0


def test_without_judgments_what_needs_them_is_left_out_and_the_rest_is_the_same(run, audited):
    alone = audit_run(run)
    both = alone.audited.join(audited.audited, on=["click_metric", "convention"], suffix="_with")
    kept = both.filter(pl.col("mean").is_not_null())
    assert both.height == audited.audited.height
    assert kept.select((pl.col("mean") - pl.col("mean_with")).abs().max()).item() < 1e-12
    left = both.filter(pl.col("mean").is_null())
    assert set(left["reason"]) == {NEEDS_POOL}
    assert {"nDCG(dcg='log2')@5", "AP(rel=1)@5"} <= set(left["convention"])
    assert left["correlation"].null_count() == left.height
    assert "nDCG(dcg='exp-log2')@5" in kept["convention"]


def test_judgments_of_another_run_are_refused_and_other_names_are_a_finding_with_one_of_each_side(
    run, zero, tmp_path
):
    every = sample_judgments()
    others = every.with_columns(pl.col("url") + "/more", grade=pl.lit(4, every["grade"].dtype))
    for frame in (every.with_columns(grade=4 - pl.col("grade")), pl.concat([every, others])):
        frame.write_parquet(tmp_path / "given.parquet")
        line = tiny.refusal("audit", run, "--judgments", tmp_path / "given.parquet", "--quiet")
        assert "not those that" in line
    fewer = tiny.refusal("audit", run, "--judgments", zero / "judged.parquet", "--quiet")
    assert "not those that" in fewer
    for column in ("url", "query"):
        file = tmp_path / f"{column}.parquet"
        every.with_columns(pl.col(column) + "~odd").write_parquet(file)
        ended = tiny.inside("audit", str(run), "--judgments", str(file), "--quiet")
        assert (ended.code, ended.out) == (1, ""), ended
        assert re.search(r"no result of .* has a grade: judgments have '.*~odd', the run has '", ended.err)


def test_conventions_differ_on_results_without_a_judgment_where_the_run_filled_them(zero):
    blind, seeing = audit_run(zero), audit_run(zero, judgments=str(zero / "judged.parquet"))
    name = "ERR(max_rel=4,judged_only=True)@5"
    (row,) = blind.audited.filter(convention=name, click_metric="UCTR").iter_rows(named=True)
    assert (row["mean"], row["reason"], blind.n_unjudged) == (None, NEEDS_UNJUDGED, None)
    assert seeing.n_unjudged > 0
    means = dict(seeing.audited.filter(click_metric="UCTR").select("convention", "mean").iter_rows())
    assert means[name] > means["ERR(max_rel=4)@5"] + 1e-4
    assert means["ERR(max_rel=4,unjudged=2)@5"] > means["ERR(max_rel=4)@5"] + 1e-4
    assert means["nDCG(dcg='log2',judged_only=True)@5"] > means["nDCG(dcg='log2')@5"] + 1e-4


def test_grades_drawn_from_clicks_are_refused(run, tmp_path):
    told = json.loads((run / "settings.json").read_text())
    told["settings"]["unjudged"] = "model"
    (tmp_path / "settings.json").write_text(json.dumps(told))
    assert "drawn from clicks" in tiny.refusal("audit", tmp_path, "--quiet")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((0.1, 0.05, 0.15), (-0.1, -0.15, -0.05), "reversed"),
        ((0.1, 0.05, 0.15), (0.02, -0.03, 0.07), "no longer beyond noise"),
        ((0.1, 0.05, 0.15), (-0.02, -0.07, 0.03), "no longer beyond noise"),
        ((0.02, -0.03, 0.07), (0.1, 0.05, 0.15), "beyond noise now"),
        ((0.02, -0.03, 0.07), (-0.02, -0.07, 0.03), "reversed, within noise"),
        ((0.1, 0.05, 0.15), (0.2, 0.1, 0.3), None),
        ((0.02, -0.03, 0.07), (0.01, -0.04, 0.06), None),
        ((0.1, np.nan, np.nan), (0.2, 0.1, 0.3), "beyond noise now"),
    ],
)
def test_a_change_of_a_difference_is_named_by_sign_and_significance(before, after, expected):
    assert change(before, after) == expected


def test_each_change_has_the_correlations_of_the_two_conventions(audited):
    rows = {(r["click_metric"], r["convention"]): r for r in audited.audited.iter_rows(named=True)}
    own = {(r["click_metric"], r["quantity"]): r for r in rows.values() if r["own"]}
    assert audited.changed.height > 20
    for row in audited.changed.iter_rows(named=True):
        click, other = row["click_metric"], own[row["click_metric"], row["other"]]["correlation"]
        assert row["after"] == pytest.approx(rows[click, row["convention"]]["correlation"] - other, abs=1e-9)
        assert row["before"] == pytest.approx(own[click, row["quantity"]]["correlation"] - other, abs=1e-9)
        assert row["other"] != row["quantity"]


@pytest.mark.parametrize("kind", ["run", "zero"])
def test_the_table_of_a_run_is_what_the_audit_finds_with_its_judgments(kind, request):
    folder = request.getfixturevalue(kind)
    given = folder / "judged.parquet"
    table = pl.read_parquet(folder / "conventions.parquet")
    assert table.equals(CONVENTIONS.canonical(table))
    markets = [
        audit_run(folder, judgments=str(given), wanted=SampleChoice(name)).audited
        for name in ("north", "south")
    ]
    found = pl.concat(markets).filter(click_metric="MeanRR")
    numbers = [column.name for column in CONVENTIONS.columns if column.dtype == pl.Float64]
    assert table.drop(numbers).equals(found.drop(numbers))
    for name in numbers:
        assert np.allclose(table[name].to_numpy(), found[name].to_numpy(), atol=1e-9, equal_nan=True), name


def said(*arguments):
    return tiny.said_by("audit", *arguments, "--quiet")


def names_of(text):
    return [row["convention"] for row in csv.DictReader(io.StringIO(text))]


def test_a_run_is_shown_line_by_line_with_what_cannot_be_computed(run, judgments):
    out = said(run, "--judgments", judgments, "--click-metric", "UCTR")
    assert "this run cannot show what conventions do" in out
    assert "Not computed" not in out
    alone = said(run)
    assert f"Not computed, since it {NEEDS_POOL}: " in alone


def test_tables_are_written_whole_and_are_what_csv_prints(run, judgments, tmp_path):
    out = tmp_path / "audit"
    said(run, "--judgments", judgments, "--out", out)
    conventions, changed = (
        pl.read_parquet(out / f"{table.name}.parquet") for table in (CONVENTIONS, CHANGED)
    )
    assert conventions.equals(CONVENTIONS.canonical(conventions))
    assert changed.equals(CHANGED.canonical(changed))
    printed = names_of(said(run, "--judgments", judgments, "--csv", "--click-metric", "PLC"))
    assert printed == conventions.filter(click_metric="PLC")["convention"].to_list()
    assert tiny.inside("audit", run, "--out", out, "--quiet").code == 2


def test_one_list_shows_which_conventions_give_a_number():
    out = said("--grades", "3,-,4,0,1", "--others", "4,3,2,2,1,0", "--value", "0.75", "--csv")
    assert names_of(out) == ["nDCG(dcg='exp-log2',ideal='shown')@5"]
    cut = said("--grades", "3,-,4,0,1", "--others", "4,3,2,2,1,0", "--value", "0.5339", "--json")
    assert [row["convention"] for row in json.loads(cut)] == ["nDCG(dcg='log2')@5"]
    assert said("--grades", "3", "--value", "77").startswith("No convention gives 77.\n")
    assert "RBP(p=0.5" in said("--grades", "3 0 1", "--persistence", "0.5", "--relevant-grade", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a run folder, or the grades"),
        (("x", "--grades", "1"), "give a run folder, or the grades"),
        (("--grades", "1", "--csv", "--json"), "--csv or --json"),
        (("--grades", "1", "--out", "x"), "--out needs a run"),
        (("--grades", "1", "--value", "half"), "expected a number as a tool printed it"),
        (("--grades", "1", "--value", "nan"), "expected a number as a tool printed it"),
        (("--grades", "1", "--persistence", "1"), "expected a number, above 0, below 1"),
        (("--grades", "1", "--max-grade", "2"), "relevant_grade 3 is above max_grade 2"),
        (("--grades", "9"), "off the scale"),
        (("x", "--click-metric", "CTR"), "unknown click metric 'CTR'"),
        (("no-such-run",), "no settings.json in no-such-run"),
    ],
)
def test_what_cannot_be_audited_is_one_line(arguments, message):
    assert message in tiny.refusal("audit", *arguments, "--quiet")


def test_a_value_that_most_conventions_give_is_said_to_tell_nothing():
    out = " ".join(said("--grades", "4,3,2", "--value", "1").split())
    assert "36 of 45 conventions (9 metrics) give this value: they do not tell which" in out
    assert out.startswith("36 conventions give 1: ")
    only = said("--grades", "3,-,4,0,1", "--others", "4,3,2,2,1,0", "--value", "0.5339")
    assert "conventions give this value" not in only
