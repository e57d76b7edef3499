"""The tables `ranking`, `claims` and `verdict`, computed again from the tables of tests."""

import polars as pl
import pytest

from clickassay.core.contracts.findings import CLAIMS, RANKING, VERDICT
from clickassay.core.records import SAMPLE_COLUMNS
from clickassay.findings.draw import with_findings
from support.reports.report_runs import RUNS, drawn
from support.reports.report_tables import run_info, small_tables
from support.reports.verdict_world import correlations, found_in, pairs, run_of

BASELINES = {"MeanGrade", "MeanGrade@1", "P@1"}
VALUES = ("correlations", "differences", "within")
TESTS = ("comparisons", "difference_comparisons", "within_comparisons")
QUANTITIES = ("correlation", "correlation of differences", "correlation within queries")


@pytest.fixture(scope="module")
def whole():
    run, findings = drawn(small_tables(), run_info())
    return run, findings, with_findings(run, findings)


def rows_of(tables, quantity):
    """The overall values and the tests of a quantity, as rows."""
    at = QUANTITIES.index(quantity)
    values = tables[VALUES[at]]
    values = values.rename({"exact": "correlation"}) if at == 1 else values.filter(split="all")
    return values.to_dicts(), tables[TESTS[at]].to_dicts()


def of_key(rows, key):
    return [row for row in rows if all(row[name] == value for name, value in key.items())]


def is_clear(p):
    return p is not None and p < 0.05


def ahead(tests, first, second):
    """Whether the first is significantly better than the second, its lead and p-value."""
    for row in tests:
        if {row["metric_a"], row["metric_b"]} == {first, second}:
            lead = row["difference"] if row["metric_a"] == first else -row["difference"]
            return is_clear(row["p_adjusted"]) and lead > 0, lead, row["p_adjusted"]
    raise KeyError(first, second)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_ranking_is_that_of_values_and_tests(whole, quantity):
    _, _, run = whole
    table = run.tables["ranking"].filter(quantity=quantity)
    values, tests = rows_of(run.tables, quantity)
    keys = table.select(*SAMPLE_COLUMNS, "click_metric").unique().to_dicts()
    assert len(keys) == len(run.samples) * (len(run.clicks) - 1)  # all but SS
    for key in keys:
        own, pairs_of_key = of_key(values, key), of_key(tests, key)
        value = {row["editorial_metric"]: row for row in own}
        rows = sorted(of_key(table.to_dicts(), key), key=lambda row: row["place"])
        names = [row["editorial_metric"] for row in rows]
        assert [row["place"] for row in rows] == list(range(1, len(value) + 1))
        assert [row["value"] for row in rows] == sorted((row["correlation"] for row in own), reverse=True)
        for row in rows:
            name = row["editorial_metric"]
            null = value[name].get("null_correlation") or 0
            above = is_clear(value[name]["p_adjusted"]) and row["value"] > null
            assert (row["is_baseline"], row["above_null"]) == (name in BASELINES, above)
            if name != names[0]:
                is_below, lead, p = ahead(pairs_of_key, names[0], name)
                assert (row["lead"], row["lead_p_adjusted"]) == (pytest.approx(lead), p)
                assert row["among_best"] == (not is_below and any(one["above_null"] for one in rows))
            beats = [ahead(pairs_of_key, name, other)[0] for other in BASELINES if name not in BASELINES]
            assert row["beats_baselines"] == (above and name not in BASELINES and all(beats))


def test_a_claim_names_its_subject_and_the_highest_possible_value(whole):
    _, findings, run = whole
    headline = findings.correlation
    key = {**run.headline.columns, "quantity": "correlation", "click_metric": run.click}
    (row,) = run.tables["claims"].filter(**key).to_dicts()
    assert (row["kind"], row["subject"], row["reason"]) == (headline.kind, headline.subject, None)
    rows = run.correlations(run.headline).filter(click_metric=run.click).drop_nulls("noise_corrected_low")
    assert row["ceiling"] == pytest.approx((rows["correlation"] / rows["noise_corrected"]).to_list()[0])


def test_the_verdict_of_place_1_is_that_of_the_report(whole):
    _, findings, run = whole
    table = run.tables["verdict"].sort("place")
    assert table["place"].to_list() == list(range(1, len(run.samples) + 1))
    first = table.row(0, named=True)
    assert {name: first[name] for name in SAMPLE_COLUMNS} == run.headline.columns
    assert (first["kind"], first["decision"]) == (findings.verdict.kind, findings.decision.kind)
    assert first["subject"] == findings.decision.subject


@pytest.mark.parametrize(("current", "kind"), [("DCG", "switch"), ("ERR", "keep"), (None, "use")])
def test_the_verdict_is_turned_towards_the_metric_in_use(current, kind):
    values = {"ERR": 0.4, "DCG": 0.3, "MeanGrade": 0.1}
    tests = pairs(values, [{"ERR", "DCG"}, {"ERR", "MeanGrade"}, {"DCG", "MeanGrade"}])
    run = run_of(correlations=correlations(values), comparisons=tests, settings={"current": current})
    (row,) = with_findings(run, found_in(run)).tables["verdict"].to_dicts()
    assert (row["decision"], row["subject"], row["current"]) == (kind, "ERR", current)


@pytest.mark.parametrize("name", [name for name in RUNS if name != "full"])
def test_every_run_has_the_tables_in_their_form(name):
    tables, info = RUNS[name]
    run, findings = drawn(tables(), info())
    found = with_findings(run, findings).tables
    for contract in (RANKING, CLAIMS, VERDICT):
        assert found[contract.name].equals(contract.canonical(found[contract.name]))
    assert found["verdict"].height == len(run.samples)
    assert found["ranking"]["value"].null_count() == 0
    assert set(found["ranking"].select(pl.col("quantity")).to_series()) <= set(QUANTITIES)
