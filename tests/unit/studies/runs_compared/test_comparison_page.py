"""The page of two runs compared: its words and numbers are those of the comparison, and all text is text."""

import csv
import io
import re

import polars as pl
import pytest

from clickassay.core.errors import OutputError
from clickassay.core.text.words import number
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.numbers import DiffOptions
from clickassay.studies.runs_compared.report import (
    build_comparison,
    check_comparison_place,
    comparison_html,
    comparison_markdown,
    is_share,
    write_comparison,
)
from clickassay.studies.runs_compared.words import decision_sentence, sentences
from support.reports.harmful import HARMS
from support.reports.report_runs import Page
from support.runs.given_runs import ONE, between, changed_info, changed_table
from support.runs.sample_run import copied_run, table


@pytest.fixture(scope="module")
def found(whole, turned):
    return between(whole, turned)


@pytest.fixture(scope="module")
def report(found):
    return build_comparison(found, "clickassay diff a b --out c")


@pytest.fixture(scope="module")
def page(report):
    return Page(comparison_html(report))


SAME_DECISION = "The decision is the same: inconclusive."


def sections(report):
    return {section.name: section for section in report.sections}


@pytest.mark.slow
def test_the_title_says_what_changed_beyond_noise_and_the_lead_what_did_not(found, report):
    beyond = found.numbers.filter(status="beyond noise")
    sides = {
        word: beyond.filter(pl.col("family") == "means of editorial metrics", sign).height
        for word, sign in (("rose", pl.col("change") > 0), ("fell", pl.col("change") < 0))
    }
    said = " and ".join(word for word, height in sides.items() if height)
    assert said
    assert report.lead.startswith(f"Significant changes: metrics {said}, SS fell, correlations fell.")
    assert f"{report.title}." == decision_sentence(found)
    assert report.title.startswith("The decision changed: ")
    assert " ".join(report.sentences) == " ".join(sentences(found))


@pytest.mark.slow
def test_the_lead_says_what_did_not_change_beyond_noise(whole, tmp_path):
    def lowered(rows):
        return rows.with_columns(pl.col("correlation", "ci_low", "ci_high") - 0.25)

    other = changed_table(whole, tmp_path / "other", "correlations", lowered)
    found = build_comparison(compare_runs(whole, other), "")
    assert found.title == "Significant changes: correlations fell"
    assert found.lead == f"{SAME_DECISION} Metrics and clicks did not change significantly."
    one = compare_runs(whole, other, ONE)
    assert build_comparison(one, "").title == "Significant changes: correlations of ERR fell"


@pytest.mark.slow
def test_only_sizes_that_changed_are_shown(whole, halves):
    few = DiffOptions(("ERR",), ("MeanRR",))
    same, others = (
        sections(build_comparison(between(whole, run, few), ""))["asked"] for run in (whole, halves[0])
    )
    told = "Queries, configurations, sessions and coverage are the same."
    assert (same.tables[1].rows, told in same.reading) == ((), True)
    shown = {(row.group, row.name) for row in others.tables[1].rows}
    names = ("queries", "configurations", "sessions", "coverage")  # of all sessions, none is gone
    assert shown == {(f"market {market}, top 5", name) for market in ("north", "south") for name in names}
    assert told not in others.reading


def test_nothing_beyond_noise_is_the_title_of_runs_that_are_the_same(whole):
    same = build_comparison(between(whole, whole), "")
    assert (same.title, same.lead) == ("Nothing changed significantly", SAME_DECISION)
    assert "Inputs, settings and versions are the same." in sections(same)["asked"].reading


def test_settings_and_inputs_that_differ_stand_in_a_table(whole, tmp_path):
    def change(info):
        info["settings"]["persistence"] = 0.9
        info["inputs"]["judgments"]["digest"] = "sha256:" + "f" * 64

    other = changed_info(whole, tmp_path / "other", change)
    asked = sections(build_comparison(compare_runs(whole, other, ONE), ""))["asked"]
    assert asked.reading[0] == "The input judgments and the setting persistence changed."
    assert "Inputs that are the same: searches." in asked.reading
    rows = {row.name: row for row in asked.tables[0].rows}
    assert (rows["persistence"].group, rows["persistence"].cells) == ("setting", ("changed", "0.8", "0.9"))


def test_tables_have_every_number_of_the_comparison(found, report):
    tables = {table.name: table for section in report.sections for table in section.every_table}
    families = {
        "means": "means of editorial metrics", "click-means": "means of click metrics",
        "correlations": "weighted correlations", "closed_forms": "closed forms",
    }  # fmt: skip
    said = {"beyond noise": "significant", "within noise": "not significant"}
    for name, family in families.items():
        rows = found.numbers.filter(family=family)
        assert tables[name].data.equals(rows)
        for shown, row in zip(tables[name].rows, rows.iter_rows(named=True), strict=True):
            before, after, change, _, verdict = shown.cells
            assert (before.text, after.text) == (number(row["a"], 4), number(row["b"], 4))
            assert (change.value, change.low, change.high) == (row["change"], row["ci_low"], row["ci_high"])
            assert verdict == said.get(row["status"], row["status"])
        beyond = rows.filter(status="beyond noise").height
        in_view = [table for table in tables if table == f"{name}_beyond"]
        assert (len(tables[f"{name}_beyond"].rows) if in_view else 0) == beyond


def test_pictures_show_the_headline_sample_on_one_scale_each(found, report):
    figures = {figure.name: figure for section in report.sections for figure in section.figures}
    assert set(figures) == {"means", "click-means", "within", "correlations"}
    north = found.numbers.filter(market="north", family="means of editorial metrics")
    names = {row["name"] for row in figures["means"].drawing.rows}
    assert names == {name for name in north["editorial_metric"] if is_share(name)}
    assert names.isdisjoint({"DCG", "MeanGrade", "MeanGrade@1"})
    assert figures["within"].title == "Within queries, with MeanRR, top 5"
    assert figures["correlations"].title == "Correlation with MeanRR, market north, top 5"
    for figure in figures.values():
        assert re.search(r", in run A and in run B: .*\.$", figure.alt)
    assert {"DCG", "QCTR"} <= set(re.findall(r"\w+", " ".join(sections(report)["means"].reading)))


def test_changed_orders_of_metrics_are_listed(found, report):
    highest, flips = sections(report)["order"].tables
    assert [len(table.rows) for table in (highest, flips)] == [found.highest.height, found.flips.height]
    assert found.flips.height > 0


def test_the_page_is_well_formed_self_contained_and_links_to_its_own_parts(page, report):
    assert (page.open, page.wrong) == ([], [])
    assert len(page.ids) == len(set(page.ids))
    assert {attrs["href"][1:] for _, attrs in page.links} <= set(page.ids)
    addresses = [found for found in page.attributes if found[1] in {"src", "srcset", "data", "action"}]
    assert addresses == []
    assert [page.tags.count(tag) for tag in ("img", "link", "script")] == [0, 0, 2]
    charts = [found for found in page.attributes if found == ("div", "role", "img")]
    assert len(charts) == 4
    assert ("meta", "content", "clickassay diff") in page.attributes
    for text in (report.title, *report.sentences):
        assert text in "".join(page.seen).replace("\xa0", " ")


def test_the_page_packs_the_tables_as_csv(page, found):
    packed = [float(row["a"]) for row in csv.DictReader(io.StringIO(page.files["correlations"].decode()))]
    assert packed == found.numbers.filter(family="weighted correlations")["a"].to_list()


def test_markdown_has_the_same_words_and_tables(report, found):
    text = comparison_markdown(report)
    assert text.startswith(f"# {report.title}\n")
    for title in ("Comparisons that flipped", "Weighted correlations"):
        assert f"### {title}\n" in text
    assert len(list(sentences(found))) == len(re.findall(r"^- (?!Run [AB])", text, flags=re.MULTILINE))


@pytest.mark.slow
def test_texts_of_runs_are_text_on_the_page(tmp_path):
    market = pl.lit(HARMS[0]).alias("market")
    own = {
        name: table(name).filter(market="north", depth=5).with_columns(market)
        for name in ("configurations", "statistics", "correlations", "differences", "comparisons")
    }
    a = copied_run(tmp_path / "a", **own)

    def change(info):
        for place, harm in enumerate(HARMS):
            info["settings"][f"{place} {harm}"] = harm
            info["inputs"][f"{place} {harm}"] = {"names": [harm], "files": 1, "bytes": 1, "digest": harm}

    lower = changed_table(a, tmp_path / "lower", "correlations", lambda rows: rows.with_columns(
        pl.col("correlation", "ci_low", "ci_high") - 0.3
    ))  # fmt: skip
    b = changed_info(lower, tmp_path / f"b {HARMS[1].replace('/', '')}", change)
    report = build_comparison(compare_runs(a, b), f"clickassay diff {HARMS[0]}")
    html, plain = comparison_html(report), comparison_markdown(report)
    page = Page(html)
    assert (page.open, page.wrong) == ([], [])
    assert [page.tags.count(tag) for tag in ("img", "script", "link", "iframe")] == [0, 2, 0, 0]
    assert [found for found in page.attributes if found[1].startswith("on")] == []
    assert HARMS[0] in "".join(page.seen)
    without_script = re.sub('<script type="module">.*?</script>', "", html, flags=re.DOTALL)
    for text in (without_script, plain):
        hidden = {sign for sign in text if not sign.isprintable()} - set("\n\t\u200c\u200d\xa0\u2009\u202f")
        assert hidden == set()
    assert re.findall(r"(?i)<\s*(script|img|svg|style|iframe|b)\b", plain) == []


def test_one_file_is_the_same_page(report, tmp_path):
    file = write_comparison(report, tmp_path / "deep" / "page.HTML", force=False)
    assert file.read_text(encoding="utf-8") == comparison_html(report)
    assert [path.name for path in file.parent.iterdir()] == ["page.HTML"]
    write_comparison(report, file, force=True)
    with pytest.raises(OutputError, match="exists already"):
        write_comparison(report, file, force=False)


def test_a_place_is_checked_before_anything_is_computed(whole, turned, tmp_path):
    runs = (whole, turned)
    (tmp_path / "taken.html").write_text("mine")
    for out, force, words in (
        (whole / "page.html", False, "is inside"),
        (tmp_path / "taken.html", False, "exists already"),
        (tmp_path / "taken.html", True, "was not made by clickassay"),
        (tmp_path, False, "exists already"),
    ):
        with pytest.raises(OutputError, match=words):
            check_comparison_place(out, runs, force=force)
