"""The page of a report: whole, self-contained, inert, the same every time."""

import base64
import csv
import gzip
import hashlib
import html
import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from clickassay.core.errors import ReportError
from clickassay.core.text.escape import markdown
from clickassay.report.build import write_report
from clickassay.report.writers.page import MAX_PACKED, MAX_PACKED_FULL, script
from support.places import ROOT
from support.reports.report_runs import RUNS, drawn
from support.reports.report_tables import (
    BASELINES,
    NAMED_TEXT,
    empty_tables,
    run_info,
    run_tables,
    small_tables,
)


@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_well_formed_with_unique_ids_one_script_one_set_of_files_and_no_handlers(pages, name):
    assert (pages[name].open, pages[name].wrong) == ([], [])
    assert len(pages[name].ids) == len(set(pages[name].ids))
    page = pages[name]
    assert [attrs for attrs, _ in page.scripts] == [
        {"type": "application/json", "id": "files"},
        {"type": "module"},
    ]
    assert not [key for _, key, _ in page.attributes if key.startswith("on") or key == "style"]
    assert set(page.tags).isdisjoint(
        {"iframe", "object", "embed", "link", "img", "base", "form", "image", "use", "foreignobject"}
    )


def test_the_script_is_the_library_that_the_package_brings_and_our_own_lines(pages):
    text = pages["full"].scripts[1][1]
    own = Path(write_report.__code__.co_filename).parent / "templates" / "live.js"
    assert text.endswith(own.read_text(encoding="utf-8"))
    assert "SortableTable=" in text
    assert not re.search(r"\bexport\s*\{", text)
    assert not re.search(r"^\s*import\b", text, re.MULTILINE)


def test_the_script_ends_where_its_element_ends(reports):
    page = (reports["empty"] / "report.html").read_text(encoding="utf-8").lower()
    assert page.count("</script") == 2
    assert "<!--" not in page  # after it, "<script" in a text would swallow the end


@pytest.mark.parametrize("name", RUNS)
def test_the_page_points_nowhere_but_into_itself(pages, name):
    page = pages[name]
    targets = [
        value for _, key, value in page.attributes if key in ("href", "src", "xlink:href", "data", "action")
    ]
    assert all(target.startswith("#") and target[1:] in page.ids for target in targets)
    parts = [attrs["href"] for parent, attrs in page.links if parent == "li" and "class" not in attrs]
    assert len(parts) == len(set(parts)) == page.tags.count("h2")
    assert parts[-2:] == ["#caveats", "#record"]


def test_ids_of_other_elements_cannot_be_taken_for_those_of_sections_tables_and_terms(pages):
    page = pages["full"]
    known = {value for tag, key, value in page.attributes if tag == "section" and key == "id"}
    rest = [value for value in page.ids if value not in known and value != "files"]
    assert all(value.startswith(("t-", "term-")) for value in rest)


@pytest.mark.parametrize("name", RUNS)
def test_the_security_policy_forbids_the_network_and_admits_just_our_script_and_style(reports, pages, name):
    text = (reports[name] / "report.html").read_text(encoding="utf-8")
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
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


@pytest.mark.parametrize("name", RUNS)
def test_decision_scale_facts_and_findings_stand_in_both_documents(made, reports, name):
    """And what is folded is in Markdown too: a phrase in backticks is code there and on the page."""
    report, folder = made[name], reports[name]
    decided = bool(report.overview)
    findings = [text for one in report.findings for text in one.sentences] if decided else []
    facts = [text for pair in report.facts for text in pair]
    texts = [
        report.title, report.scope, *report.reasons, report.next_step, *report.scale, *facts, *findings,
        *report.caveats,
    ]  # fmt: skip
    readings = [text for section in report.sections for text in section.every_reading]
    documents = {
        "report.html": plain_page((folder / "report.html").read_text("utf-8")),
        "report.md": (folder / "report.md").read_text("utf-8"),
    }
    assert len(report.findings) == 3
    for text in filter(None, [*texts, *readings]):
        assert text.replace("`", "") in documents["report.html"], text
        assert markdown(text) in documents["report.md"], text
        assert not re.search(r"[\x00-\x1f\u2028\u202e]", text)


def plain_page(text):
    """The words of a page: without links, code and hard spaces."""
    page = re.sub(r'<a class="term"[^>]*>([^<]*)</a>', r"\1", text)
    page = re.sub(r"</?code>", "", page).replace("`", "")
    return html.unescape(page).replace("\u00a0", " ")


@pytest.mark.slow
def test_a_page_holds_the_decision_first_and_the_record_folded(pages, full_page):
    page = pages["full"]
    assert page.tags.index("h1") < page.tags.index("figure") < page.tags.index("nav")
    folded = [names for tag, names in page.elements if tag == "details"]
    assert folded
    assert not [names for names in folded if "open" in names]
    unfolded = [names for tag, names in full_page.elements if tag == "details"]
    assert len(unfolded) >= len(folded) - 2
    assert all("open" in names for names in unfolded)


def test_a_page_whose_texts_are_hostile_holds_the_elements_of_a_page_whose_texts_are_not(pages):
    tame = set(pages["full"].tags)
    assert set(pages["hostile"].tags) <= tame
    keys = {(tag, key) for tag, key, _ in pages["full"].attributes}
    assert {(tag, key) for tag, key, _ in pages["hostile"].attributes} <= keys


def test_no_control_or_direction_mark_of_the_log_reaches_a_document(reports):
    for name in ("report.html", "report.md"):
        text = (reports["hostile"] / name).read_text(encoding="utf-8")
        if name.endswith("html"):
            text = text[: text.index('<script type="module">')]  # the library may hold any letter
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]", text)
        assert "\\u202e" in text


def packed_size(path):
    return len(base64.b64encode(gzip.compress(path.read_bytes())))


def test_every_button_has_a_file_to_give_and_every_table_of_numbers_a_button(reports, full_page):
    """But for files that are too large for any page: the script hides their buttons."""
    offered = [value for _, key, value in full_page.attributes if key == "data-file"]
    assert len(offered) == len(set(offered)) >= 12
    assert set(full_page.files) <= set(offered)
    sizes = {name: packed_size(reports["full"] / "tables" / f"{name}.csv") for name in offered}
    assert min(sizes[name] for name in set(offered) - set(full_page.files)) > 0.9 * MAX_PACKED_FULL
    assert {f"t-{name}" for name in offered} <= set(full_page.ids)


@pytest.mark.parametrize("name", RUNS)
def test_the_files_of_the_page_are_byte_for_byte_those_of_the_folder(reports, pages, name):
    written = {path.stem: path.read_bytes() for path in (reports[name] / "tables").glob("*.csv")}
    shown = {stem for stem in written if f"t-{stem}" in pages[name].ids}
    assert shown
    files = pages[name].files
    assert files == {stem: written[stem] for stem in files}
    assert set(files) <= shown
    for stem in shown - set(files):
        assert packed_size(reports[name] / "tables" / f"{stem}.csv") > 0.9 * MAX_PACKED


def test_large_files_are_packed_only_into_a_full_page(pages, full_page):
    large = {name for name, text in full_page.packed.items() if len(text) > MAX_PACKED}
    assert "table2_correlations" in large
    assert set(pages["full"].files) == set(full_page.files) - large
    assert len(json.dumps(pages["full"].packed)) < 0.5 * len(json.dumps(full_page.packed))


def test_the_order_of_rows_in_the_tables_does_not_matter(reports, tmp_path):
    shuffled = {name: frame.reverse() for name, frame in small_tables().items()}
    write_report(*drawn(shuffled, run_info()), tmp_path)
    folder = reports["small"]
    for path in folder.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path.name


def test_a_folder_that_is_not_there_is_a_report_error(tmp_path):
    with pytest.raises(ReportError, match=r"no folder .*missing to write the report to"):
        write_report(*drawn(empty_tables(), {}), tmp_path / "missing")


def test_a_folder_that_cannot_be_written_is_a_report_error(tmp_path):
    (tmp_path / "tables").write_text("in the way", encoding="utf-8")
    with pytest.raises(ReportError, match="cannot write the report to"):
        write_report(*drawn(empty_tables(), {}), tmp_path)


def test_itables_is_pinned_and_its_bundle_is_cut_into_one_script_with_one_name():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert f"itables=={version('itables')}" in needed
    assert len(re.findall(r"const SortableTable=[\w$]+;", script())) == 1
    assert re.search(r"\bexport\s*\{", script()) is None


# ---- the files next to the page -----------------------------------------------------------------
def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", RUNS)
def test_markdown_makes_no_html_and_no_links(reports, name):
    text = (reports[name] / "report.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "fence", "code_block"})
    tables = sum(token.type == "table_open" for token in tokens)
    assert tables == len(re.findall(r"^\| :--", text, re.MULTILINE))
    heading = next(token.content for token in tokens if token.type == "inline")
    assert heading == text.splitlines()[0].removeprefix("# ")


def test_the_run_folder_holds_a_csv_and_a_latex_table_of_everything(reports):
    folder = reports["full"] / "tables"
    names, papers = ({path.stem for path in folder.glob(f"*.{kind}")} for kind in ("csv", "tex"))
    assert len(papers) > 20
    assert papers < names
    assert names - papers == {"definitions", "settings", "inputs", "versions", "table6_draws", "levels"}


def test_csv_holds_the_full_table_in_full_precision(reports):
    overall = run_tables()["correlations"].filter(split="all")
    expected = sorted(overall.to_dicts(), key=lambda row: row["editorial_metric"] in BASELINES)
    rows = rows_of(reports["full"] / "tables" / "table2_correlations.csv")
    assert [float(row["correlation"]) for row in rows] == [row["correlation"] for row in expected]
    assert [row["editorial_metric"] for row in rows] == [row["editorial_metric"] for row in expected]


def test_papers_get_the_correlation_within_queries_and_baselines_beside_metrics(reports):
    folder = reports["full"] / "tables"
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
    for path in (reports["hostile"] / "tables").glob("*.csv"):
        for row in rows_of(path):
            assert row.get("judge", "all").startswith(("'=cmd", "all")), path.name
            for text in (*row, *row.values()):
                assert not text.startswith(("=", "+", "@", "\t", "\r")), path.name
                assert not text.startswith("-") or float(text) < 0, path.name


def test_a_hostile_query_that_is_named_is_text_in_a_csv_file(reports):
    rows = rows_of(reports["hostile"] / "tables" / "figure2_cascade_effects.csv")
    named = [row["query"] for row in rows if NAMED_TEXT in row["query"]]
    assert len(named) == 3
    assert all(query.startswith("'=1+1 ") for query in named)


@pytest.mark.parametrize("name", RUNS)
def test_latex_files_hold_whole_tables(reports, name):
    for path in (reports[name] / "tables").glob("*.tex"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("%")]
        text = "\n".join(lines)
        assert text.count("\\begin{tabular*}") == text.count("\\end{tabular*}") == 1
        assert "end{tabular}" not in text
        captions = [line for line in lines if line.startswith("\\caption{")]
        assert len(captions) == 1
        assert re.match(r"\\caption\{(Table|Figure) \d", captions[0]) is None
        assert lines[lines.index(captions[0]) + 1] == f"\\label{{tab:{path.stem}}}"
        assert "\u202e" not in text
