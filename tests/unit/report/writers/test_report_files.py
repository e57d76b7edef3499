"""The files next to the page: Markdown, CSV and LaTeX, each valid in its format."""

import csv
import re

import pytest
from markdown_it import MarkdownIt

from support.reports.report_runs import RUNS
from support.reports.report_tables import BASELINES, NAMED_TEXT, run_tables


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", RUNS)
def test_markdown_makes_no_html_and_no_links(reports, name):
    text = (reports[name][0] / "report.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "fence", "code_block"})
    heading = next(token.content for token in tokens if token.type == "inline")
    assert heading == text.splitlines()[0].removeprefix("# ")


def test_the_run_folder_holds_a_csv_and_a_latex_table_of_everything(reports):
    folder = reports["full"][0] / "tables"
    names, papers = ({path.stem for path in folder.glob(f"*.{kind}")} for kind in ("csv", "tex"))
    assert len(papers) > 20
    assert papers < names
    assert names - papers == {"definitions", "settings", "inputs", "versions", "table6_draws", "levels"}


def test_csv_holds_the_full_table_in_full_precision(reports):
    overall = run_tables()["correlations"].filter(split="all")
    expected = sorted(overall.to_dicts(), key=lambda row: row["editorial_metric"] in BASELINES)
    rows = rows_of(reports["full"][0] / "tables" / "table2_correlations.csv")
    assert [float(row["correlation"]) for row in rows] == [row["correlation"] for row in expected]
    assert [row["editorial_metric"] for row in rows] == [row["editorial_metric"] for row in expected]


def test_papers_get_the_correlation_within_queries_and_baselines_beside_metrics(reports):
    folder = reports["full"][0] / "tables"
    assert "ERR & " in (folder / "within.tex").read_text(encoding="utf-8")
    for name in ("table2_correlations", "table2_noise_corrected"):
        lines = (folder / f"{name}.tex").read_text(encoding="utf-8").splitlines()
        heads = next(line for line in lines if line.startswith("Click metric & ")).removesuffix(r" \\")
        assert set(BASELINES) < set(heads.split(" & "))
        width = len(heads.split(" & "))
        rows = [line for line in lines if line.startswith("MeanRR & ")]
        assert rows
        assert all(row.count(" & ") == width - 1 and "--" not in row for row in rows)


def test_no_csv_cell_of_text_starts_a_formula(reports):
    for path in (reports["hostile"][0] / "tables").glob("*.csv"):
        for row in rows_of(path):
            assert row.get("judge", "all").startswith(("'=cmd", "all")), path.name
            for text in (*row, *row.values()):
                assert not text.startswith(("=", "+", "@", "\t", "\r")), path.name
                assert not text.startswith("-") or float(text) < 0, path.name


def test_a_hostile_query_that_is_named_is_text_in_a_csv_file(reports):
    rows = rows_of(reports["hostile"][0] / "tables" / "figure2_cascade_effects.csv")
    named = [row["query"] for row in rows if NAMED_TEXT in row["query"]]
    assert len(named) == 3
    assert all(query.startswith("'=1+1 ") for query in named)


@pytest.mark.parametrize("name", RUNS)
def test_latex_files_hold_whole_tables(reports, name):
    for path in (reports[name][0] / "tables").glob("*.tex"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("%")]
        text = "\n".join(lines)
        assert text.count("\\begin{tabular*}") == text.count("\\end{tabular*}") == 1
        assert "end{tabular}" not in text
        captions = [line for line in lines if line.startswith("\\caption{")]
        assert len(captions) == 1
        assert re.match(r"\\caption\{(Table|Figure) \d", captions[0]) is None
        assert lines[lines.index(captions[0]) + 1] == f"\\label{{tab:{path.stem}}}"
        assert "\u202e" not in text
