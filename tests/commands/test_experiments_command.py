"""`clickassay experiments` and `ca.experiments` as their users meet them."""

import json

import polars as pl
import pytest

import clickassay as ca
from clickassay.core.errors import ReportError
from support.logs import tiny
from support.places import ROOT

SHEET = ROOT / "data_samples" / "past_tests.csv"
TRUTH = ROOT / "data_samples" / "past_tests_truth.csv"


def test_it_answers_first_and_says_what_was_read():
    lines = tiny.said_by("experiments", SHEET, "--current", "NDCG", "-q").splitlines()
    assert lines[0] == "NDCG tells better tests from worse."
    assert lines[1].startswith("Of two tests, NDCG prefers the one that did better in 77% of pairs")
    assert "Offline metrics: NDCG and ERR; errors from column error; ignored columns: users." in lines


def test_of_the_sample_one_named_as_moved_in_twenty_may_not_have():
    found = ca.experiments(SHEET).experiments.filter(kind="click", moved=True)
    truth = pl.read_csv(TRUTH)
    named = found.join(truth, on="experiment")
    assert (named.height, (named["true_difference"] == 0).sum()) == (14, 1)


def test_json_and_csv_have_the_tables_and_the_words():
    told = json.loads(tiny.said_by("experiments", SHEET, "-q", "--json"))
    assert told["answer"] == "NDCG tells better tests from worse"
    assert [row["editorial_metric"] for row in told["experiment_order"]] == ["ERR", "NDCG", "changed"]
    assert len(told["experiments"]) == 24
    assert tiny.said_by("experiments", SHEET, "-q", "--csv").startswith("editorial_metric,tests,groups,")


def test_a_folder_has_the_page_the_tables_and_pictures(tmp_path):
    said = tiny.said_by("experiments", SHEET, "--out", tmp_path / "out", "-q")
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in said
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('<div class="chart" role="img"') == 2
    assert "<h1>NDCG tells better tests from worse</h1>" in page
    written = pl.read_parquet(tmp_path / "out" / "experiment_order.parquet")
    assert written.equals(ca.experiments(SHEET).order)
    latex = (tmp_path / "out" / "tables" / "experiment_order.tex").read_text(encoding="utf-8")
    assert "63.5\\% to 90.6\\%" in latex


def test_a_result_is_equal_and_has_pictures(tmp_path):
    found = ca.experiments(pl.read_csv(SHEET), current="ERR")
    assert found != ca.experiments(SHEET)
    assert found == ca.experiments(SHEET, current="ERR")
    assert found.chart("order").svg.startswith("<svg")
    assert "called better and were better: 8" in found.chart().alt
    with pytest.raises(ReportError, match="no chart 'test'; did you mean tests"):
        found.chart("test")
    assert (found.save(tmp_path / "saved") / "report.md").is_file()


def test_a_project_names_the_sheet_its_columns_and_the_metric(tmp_path, monkeypatch):
    renamed = pl.read_csv(SHEET).rename({"difference": "purchases"})
    renamed.write_csv(tmp_path / "history.csv")
    columns = '[columns.past_tests]\ndifference = "purchases"\n'
    text = f'current = "ERR"\n[inputs]\npast_tests = "history.csv"\n{columns}'
    (tmp_path / "clickassay.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert tiny.said_by("experiments", "-q").startswith("ERR tells better tests from worse.")
    sql = "SELECT * FROM 'history.csv' WHERE \"group\" IS NULL"
    assert tiny.said_by("experiments", "--past-tests-sql", sql, "-q").startswith("ERR")


def test_nothing_given_a_wrong_metric_and_a_wrong_margin_are_one_line_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "past_tests are missing: name the file" in tiny.refusal("experiments")
    line = tiny.refusal("experiments", SHEET, "--current", "NDGC")
    assert "--current NDGC: no such metric; did you mean NDCG?" in line
    assert "--margin 200: expected points" in tiny.refusal("experiments", SHEET, "--margin", "200")
    assert "no.csv" in tiny.refusal("experiments", "no.csv")


def test_init_and_inspect_recognise_a_sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "tests.csv").write_bytes(SHEET.read_bytes())
    tiny.inside("init", "history")
    written = (tmp_path / "clickassay.toml").read_text(encoding="utf-8")
    assert 'past_tests = "history/tests.csv"  # for `clickassay experiments`' in written
    said = tiny.said_by("inspect", SHEET)
    assert said.splitlines()[0].endswith("a table of past A/B tests")
    assert f"clickassay experiments {SHEET}" in said
    file = tmp_path / "history.csv"
    file.write_text("test,delta,NDCG\na,1,2\n")
    said = tiny.inside("inspect", file).out
    options = "--column past_tests.experiment=test --column past_tests.difference=delta"
    assert f"clickassay experiments {file} {options}" in said
