"""What of a section is in view: nothing is lost, and what cannot be relied on is one line."""

import pytest

from clickassay.findings.estimates import Estimate
from clickassay.report.build import html_report
from clickassay.report.charts.vega import Drawing
from clickassay.report.model import (
    MORE,
    MOST_FIGURES,
    MOST_ROWS,
    Figure,
    Section,
    briefly,
    folded_if_unreliable,
)
from clickassay.report.tables import ReportTable, Row
from support.reports.report_runs import Page, report_of, settings_with
from support.reports.report_tables import run_info, run_tables

DRAWING = Drawing("<svg></svg>", {}, ())


def figures(number):
    return tuple(Figure(f"f{place}", "F", "F.", DRAWING, "t0") for place in range(number))


def table(name, *cells):
    return ReportTable(
        name, "T", "N", ("V",), tuple(Row("", f"r{place}", (cell,)) for place, cell in enumerate(cells))
    )


def section(n_figures=0, n_tables=2, n_sentences=3, rows=10):
    tables = tuple(table(f"t{place}", *range(rows)) for place in range(n_tables))
    reading = tuple(f"Sentence {place}." for place in range(n_sentences))
    return Section("s", "S", reading, figures(n_figures), tables, folded=(table("t9", 1),))


@pytest.mark.parametrize("n_figures", [0, 1, 3, 8])
@pytest.mark.parametrize("n_tables", [0, 1, 3])
def test_all_that_a_section_has_is_in_view_or_folded(n_figures, n_tables):
    before = section(n_figures, n_tables)
    after = briefly(before)
    assert after.every_reading == before.reading
    assert after.every_figure == before.figures
    assert [one.name for one in after.every_table] == [one.name for one in before.every_table]
    assert [one.rows for one in after.every_table] == [one.rows for one in before.every_table]
    assert after.has_more


@pytest.mark.parametrize("n_figures", [1, 3, 8])
def test_pictures_are_in_view_without_tables(n_figures):
    after = briefly(section(n_figures))
    assert after.reading == ("Sentence 0.",)
    assert len(after.figures) == min(n_figures, MOST_FIGURES)
    assert after.tables == ()
    assert after.fold_words == MORE


@pytest.mark.parametrize(("rows", "shown"), [(3, 3), (6, 6), (60, MOST_ROWS)])
def test_without_a_picture_the_first_table_is_in_view_and_cut(rows, shown):
    after = briefly(section(rows=rows))
    (first,) = after.tables
    assert (first.name, len(first.shown)) == ("t0", shown)
    cut = f"The first 6 of {rows} rows; all are in the CSV file."
    assert (cut in first.remarks) == (rows > MOST_ROWS)
    assert [one.name for one in after.folded] == ["t1", "t9"]


def test_a_section_of_one_sentence_has_no_more():
    assert not briefly(Section("s", "S", ("All of it.",))).has_more


FEW, HEAVY = "fewer than 50 queries", "heavy tails"


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ((), "nothing can be shown"),
        (("text", 7), "nothing can be shown"),
        ((Estimate(None, reason="no variance"),), "nothing can be shown"),
        ((Estimate(0.5),), "no value has an interval"),
        ((Estimate(0.5, 0.4, 0.6),), None),
        ((Estimate(0.5, 0.4, 0.6, caution=FEW),), f"all intervals are unreliable ({FEW})"),
        ((Estimate(0.5, 0.4, 0.6, caution=FEW), Estimate(0.5, 0.4, 0.6)), None),
        (
            (*[Estimate(0.5, 0.4, 0.6, caution=HEAVY)] * 2, Estimate(0.5, 0.4, 0.6, caution=FEW)),
            f"all intervals are unreliable ({HEAVY})",
        ),
        (
            (Estimate(0.5, caution="no interval: too few queries vary"), Estimate(0.1)),
            "all intervals are unreliable (too few queries vary)",
        ),
    ],
)
def test_a_section_without_an_interval_to_rely_on_says_why(cells, why):
    found = folded_if_unreliable(Section("s", "S", ("A.",), tables=(table("t", *cells),)))
    assert found.unreliable == why


def test_folded_tables_count_too():
    sure = table("t1", Estimate(0.5, 0.4, 0.6))
    unsure = table("t0", Estimate(0.5, 0.4, 0.6, caution=FEW))
    assert folded_if_unreliable(Section("s", "S", (), tables=(unsure,), folded=(sure,))).unreliable is None


@pytest.mark.slow
def test_such_a_section_is_a_folded_line_of_the_page_and_all_there_in_a_full_one():
    for info, is_open in ((run_info(), False), (settings_with(full=True), True)):
        report = report_of(run_tables(), info)
        folded = [one.name for one in report.main if one.unreliable]
        assert folded == ["classes", "frequency"]
        page = html_report(report)
        elements = [one for one in Page(page).elements if one[1].get("class") == "unreliable"]
        assert len(elements) == len(folded)
        assert all(("open" in names) == is_open for _, names in elements)
        assert page.count("all intervals are unreliable (fewer than 50 queries)") == len(folded)
