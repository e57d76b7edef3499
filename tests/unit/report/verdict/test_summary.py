"""summary.json: its documented form, and that it says what the report says."""

import json
import math
import re
from typing import get_args

import pytest

from clickassay.findings.claims import DEPENDS_ON_CLICK, Kind
from clickassay.findings.decision import Kind as DecisionKind
from clickassay.report.build import summary_content, write_report
from clickassay.report.verdict.decision import advise_run
from clickassay.report.verdict.sentences import verdict_sentence, within_finding
from clickassay.report.verdict.summary import summary
from support.places import ROOT
from support.reports.report_runs import RUNS, checks, drawn
from support.reports.report_tables import run_info, run_tables
from support.reports.verdict_world import correlations, differences, found_in, pairs, run_of


def documented():
    """Keys by heading of the page on the summary, in its order."""
    page = (ROOT / "docs" / "reference" / "summary.md").read_text("utf-8")
    parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    tables = zip(parts[1::2], parts[2::2], strict=True)
    cells = {head: re.findall(r"^\| (`[^|]+) \|", text, flags=re.MULTILINE) for head, text in tables}
    return {head: re.findall(r"`(\w+)`", " ".join(found)) for head, found in cells.items()}


def content(run):
    """The summary of a run without means."""
    found = found_in(run)
    return summary(found, advise_run(run, found))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The summary of a run with several markets, depths and judges, and with a check of the log."""
    folder = tmp_path_factory.mktemp("run")
    report = write_report(*drawn({**run_tables(), "health": checks("finding")}, run_info()), folder)
    return report, json.loads((folder / "summary.json").read_text("utf-8"))


@pytest.mark.slow
def test_the_documented_keys_are_the_written_ones(written):
    _, found = written
    first, second, third, fourth = found["findings"]
    parts = {
        "Top level": [found],
        "decision": [found["decision"]],
        "means": found["means"],
        "verdict": [found["verdict"]],
        "by_click": found["verdict"]["by_click"],
        "Findings 1, 2 and 4": [first, second, fourth],
        "numbers": [one for claim in (first, second, fourth) for one in claim["numbers"]],
        "compared_with": [one for claim in (first, second, fourth) for one in claim["compared_with"]],
        "test": [one["test"] for one in found["findings"]],
        "Finding 3": [third],
        "varied": third["varied"],
        "choices": [choice for one in third["varied"] for choice in one["choices"]],
        "health": found["health"],
    }
    keys = documented()
    for head, entries in parts.items():
        assert entries, head
        assert {tuple(entry) for entry in entries} == {tuple(keys[head])}, head
    others = {"The summary of a run", "Kinds", "Kinds of decision", "experiments"}
    assert set(keys) - set(parts) == others


def test_the_documented_kinds_are_those_that_a_verdict_may_have():
    assert documented()["Kinds"] == [*get_args(Kind), DEPENDS_ON_CLICK]
    assert sorted(documented()["Kinds of decision"]) == sorted(get_args(DecisionKind))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_a_summary_with_the_sentences_of_its_report(name, tmp_path):
    tables, info = RUNS[name]
    report = write_report(*drawn(tables(), info()), tmp_path)
    found = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    decision = found["decision"]
    assert decision["sentence"] == report.title
    assert " ".join(filter(None, (decision["reason"], decision["caution"]))) == " ".join(report.reasons)
    assert found["verdict"]["sentence"] == verdict_sentence(report.claims.verdict)
    assert found == json.loads(json.dumps(summary_content(report)))
    written = [*report.findings, within_finding(report.claims.within)]
    assert [one["sentence"] for one in found["findings"]] == [one.text for one in written]
    assert (found["health"], found["log_status"]) == ([], None)


def test_the_means_are_those_of_their_section(written):
    report, found = written
    (levels,) = (table for table in report.tables if table.name == "levels")
    shown = {row.name: row.cells[0] for row in levels.rows}
    assert [one["metric"] for one in found["means"]] == list(shown)
    assert "NDCG" in shown
    assert "MeanRR" in shown
    for one in found["means"]:
        cell = shown[one["metric"]]
        assert (one["mean"], one["ci_low"], one["ci_high"], one["caution"]) == (
            *(cell.value, cell.low, cell.high),
            cell.caution,
        )


def test_the_numbers_are_those_of_the_tables(written):
    _, found = written
    first, second, *_ = found["findings"]
    tables = run_tables()
    for claim, table, column in ((first, "correlations", "correlation"), (second, "differences", "exact")):
        rows = tables[table].filter(**claim["sample"], click_metric="MeanRR")
        rows = rows.filter(split="all") if "split" in rows.columns else rows
        values = {row["editorial_metric"]: row for row in rows.to_dicts()}
        assert len(claim["numbers"]) == len(values) == 11
        for one in claim["numbers"]:
            row = values[one["metric"]]
            assert (one["value"], one["ci_low"], one["ci_high"], one["p_adjusted"]) == tuple(
                row[name] for name in (column, "ci_low", "ci_high", "p_adjusted")
            )
        assert [one["value"] for one in claim["numbers"]] == sorted(rows[column], reverse=True)


def test_comparisons_are_of_the_subject_with_each_other_metric_and_baseline():
    values = {"DCG": 0.36, "ERR": 0.40, "MeanGrade": 0.25}
    run = run_of(correlations=correlations(values), comparisons=pairs(values, [{"ERR", "DCG"}]))
    first = content(run)["findings"][0]
    assert first["subject"] == "ERR"
    names = ("metric", "is_baseline", "significant", "p_adjusted")
    found = [(round(one["difference"], 9), *map(one.get, names)) for one in first["compared_with"]]
    assert found == [(0.04, "DCG", False, True, 0.001), (0.15, "MeanGrade", True, False, 0.4)]
    assert first["among_best"] == ["ERR", "MeanGrade"]
    assert first["unbeaten_baselines"] == ["MeanGrade"]


def test_sign_agreement_is_that_of_each_metric():
    forms = {"DCG": (0.2, 0.55), "ERR": (0.3, 0.6)}
    run = run_of(correlations=correlations({"DCG": 0.1}), differences=differences(forms))
    found = content(run)
    shares = {one["metric"]: one["sign_agreement"] for one in found["findings"][1]["numbers"]}
    assert shares == {"ERR": 0.6, "DCG": 0.55}
    for one in found["findings"][1]["numbers"]:  # its interval is that of the correlation, as shares
        for end in ("low", "high"):
            share = 0.5 + math.asin(one[f"ci_{end}"]) / math.pi
            assert one[f"sign_agreement_{end}"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("severities", "status"),
    [((), None), (("caution",), "caution"), (("caution", "stop", "finding"), "stop")],
)
def test_the_status_of_the_log_is_its_worst_severity(severities, status):
    found = content(run_of(health=checks(*severities)))
    assert found["log_status"] == status
    assert sorted(one["severity"] for one in found["health"]) == sorted(severities)
