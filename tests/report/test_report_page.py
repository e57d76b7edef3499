"""The files of a report: self-contained, safe, the same every time."""

import base64
import csv
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from report.report_tables import (
    empty_tables,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
    small_tables,
)
from report.report_world import BASELINES, HOSTILE, QUERY_TEXT

from pipeline.errors import ReportError
from pipeline.report import write_report

TESTS = Path(__file__).parents[1]
VOID = {"meta", "line", "path", "rect", "br"}
CSV_NAMES = {
    "table1_statistics",
    "funnel",
    "table2_correlations",
    "table3_good",
    "table4_length",
    "table5_navigational",
    "figure4_frequency",
    "table6_differences",
    "comparisons",
    "baselines",
    "ss_null",
}


def hostile_info():
    info = run_info(
        command=HOSTILE,
        seed=0,
        notes=[HOSTILE],
        skipped_attributes=[HOSTILE],
        versions={HOSTILE: HOSTILE},
        inputs={HOSTILE: {"path": f"{HOSTILE}\udcff", "files": 1, "bytes": 1, "sha256": HOSTILE}},
        has_navigational=False,
    )
    info["settings"]["scale"] = ["bad", "fair", f"{{{{x}}}} {HOSTILE}", "excellent", "perfect"]
    return info


def hostile_tables():
    return run_tables((HOSTILE,), (5,), (f"=cmd|' /C calc'!A0 {HOSTILE}",), n_queries=12, attribute="none")


RUNS = {
    "full": (run_tables, run_info),
    "small": (small_tables, run_info),
    "hostile": (hostile_tables, hostile_info),
    "nothing kept": (nothing_kept_tables, run_info),
    "one configuration": (one_configuration_tables, lambda: run_info(has_navigational=False)),
    "empty": (empty_tables, dict),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Each run's folder and findings; written once."""
    made = {}
    for name, (tables, info) in RUNS.items():
        folder = tmp_path_factory.mktemp("run")
        made[name] = (folder, write_report(tables(), info(), folder))
    return made


class Page(HTMLParser):
    """Elements, attributes, ids and scripts of a page, and whether every element is closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.tags, self.attributes, self.scripts = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)


def page_of(reports, name):
    return Page((reports[name][0] / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_well_formed_with_unique_ids(reports, name):
    page = page_of(reports, name)
    assert (page.open, page.wrong) == ([], [])
    ids = [value for _, key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", RUNS)
def test_the_page_has_only_our_own_script_and_picture_data(reports, name):
    page = page_of(reports, name)
    code = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    data = [json.loads(text) for attrs, text in page.scripts if attrs.get("type") == "application/json"]
    assert len(code) == 1
    assert len(data) == page.tags.count("figure") == page.tags.count("svg")
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]
    assert set(page.tags).isdisjoint(
        {"iframe", "object", "embed", "link", "img", "base", "form", "image", "b", "i"}
    )


@pytest.mark.parametrize("name", RUNS)
def test_the_page_points_nowhere_but_into_itself(reports, name):
    page = page_of(reports, name)
    ids = {value for _, key, value in page.attributes if key == "id"}
    targets = [
        value for _, key, value in page.attributes if key in ("href", "src", "xlink:href", "data", "action")
    ]
    assert all(target.startswith("#") and target[1:] in ids for target in targets)
    assert len(targets) == page.tags.count("h2") - 1  # every section but the caveats, which stand above


def test_the_security_policy_forbids_the_network_and_admits_just_our_script_and_style(reports):
    text = (reports["full"][0] / "report.html").read_text(encoding="utf-8")
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
        for part in (script, style)
    ]
    assert rules == {
        "default-src": "'none'",
        "script-src": hashes[0],
        "style-src": hashes[1],
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert "\r" not in text
    assert " style=" not in text.replace(script, "")


def test_pictures_show_without_script_and_have_words_for_those_who_cannot_see(reports):
    page = page_of(reports, "full")
    charts = page.tags.count("figure")
    labels = [value for tag, key, value in page.attributes if (tag, key) == ("div", "aria-label")]
    assert charts >= 20
    assert len([label for label in labels if len(label) > 20]) >= charts


@pytest.mark.parametrize("name", RUNS)
def test_the_page_stays_under_three_megabytes(reports, name):
    assert (reports[name][0] / "report.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("name", RUNS)
def test_three_findings_are_returned_and_stand_in_both_documents(reports, name):
    folder, findings = reports[name]
    assert len(findings) == 3
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    for finding in findings:
        assert finding in page
        assert finding.endswith(".")
        assert not re.search(r"[\x00-\x1f\u2028\u202e]", finding)


@pytest.mark.parametrize("name", ["full", "hostile"])
def test_no_query_and_no_result_of_the_log_appears(reports, name):
    for path in sorted(reports[name][0].rglob("*.*")):
        text = path.read_text(encoding="utf-8")
        assert QUERY_TEXT not in text
        assert "http://x/" not in text


@pytest.mark.parametrize("name", RUNS)
def test_markdown_makes_no_html_and_no_links(reports, name):
    text = (reports[name][0] / "report.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "fence", "code_block"})
    heading = next(token.content for token in tokens if token.type == "inline")
    assert heading == text.splitlines()[0].removeprefix("# ")


def test_markdown_tables_are_read_as_tables(reports):
    text = (reports["full"][0] / "report.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    tables = [token for token in tokens if token.type == "table_open"]
    assert len(tables) == len([line for line in text.splitlines() if line.startswith("| :--")])
    assert len(tables) >= 15


def test_the_run_folder_holds_a_csv_and_a_latex_table_of_everything(reports):
    names = {path.stem for path in (reports["full"][0] / "tables").glob("*.csv")}
    assert names > CSV_NAMES
    assert names <= {path.stem for path in (reports["full"][0] / "tables").glob("*.tex")}


def test_csv_holds_the_full_table_in_full_precision(reports):
    overall = run_tables()["correlations"].filter(split="all")
    expected = [row for row in overall.to_dicts() if row["editorial_metric"] not in BASELINES]
    with (reports["full"][0] / "tables" / "table2_correlations.csv").open(
        encoding="utf-8", newline=""
    ) as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["correlation"]) for row in rows] == [row["correlation"] for row in expected]
    assert [row["editorial_metric"] for row in rows] == [row["editorial_metric"] for row in expected]


def test_no_csv_cell_of_text_starts_a_formula(reports):
    for path in (reports["hostile"][0] / "tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                assert row.get("judge", "").startswith(("'=cmd", "all")), path.name
                assert not row.get("class", "").startswith("=")


@pytest.mark.parametrize("name", RUNS)
def test_latex_files_hold_whole_tables(reports, name):
    for path in (reports[name][0] / "tables").glob("*.tex"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("%")]
        text = "\n".join(lines)
        assert text.count("\\begin{tabular*}") == text.count("\\end{tabular*}") == 1
        assert "end{tabular}" not in text


def test_the_same_input_gives_the_same_bytes_in_another_process(reports, tmp_path):
    code = (
        "import sys; from pathlib import Path; from report.report_tables import *; "
        "from pipeline.report import write_report; "
        "write_report(small_tables(), run_info(), Path(sys.argv[1]))"
    )
    paths = [str(TESTS), str(TESTS.parent)]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "77",
        "PYTHONPATH": os.pathsep.join(paths),
        "TZ": "Asia/Tokyo",
    }
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True)
    first = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    folder = reports["small"][0]
    assert first == {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_the_order_of_rows_in_the_tables_does_not_matter(reports, tmp_path):
    shuffled = {name: frame.reverse() for name, frame in small_tables().items()}
    write_report(shuffled, run_info(), tmp_path)
    folder = reports["small"][0]
    for path in folder.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path.name


def test_a_folder_that_is_not_there_is_a_report_error(tmp_path):
    with pytest.raises(ReportError, match=r"no folder .*missing to write the report to"):
        write_report(empty_tables(), {}, tmp_path / "missing")


def test_a_folder_that_cannot_be_written_is_a_report_error(tmp_path):
    (tmp_path / "tables").write_text("in the way", encoding="utf-8")
    with pytest.raises(ReportError, match="cannot write the report to"):
        write_report(empty_tables(), {}, tmp_path)
