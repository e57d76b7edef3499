"""Tables as HTML and LaTeX: escaped, addressable, complete."""

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest

from clickassay.core.text.words import visible
from clickassay.findings.estimates import Estimate
from clickassay.report.tables import ROWS_SHOWN, ReportTable, Row, Share, Spelled, p_cell
from clickassay.report.writers.tables import cell_text, html_table, latex_table, markdown_rows, second_line
from support.reports.report_runs import Page
from support.reports.report_tables import HOSTILE

ALLOWED = {"table", "thead", "tbody", "tr", "th", "td"}


def cells_of(text):
    """Attributes and texts of the cells of a table."""
    cells = [one for one in ET.fromstring(text).iter() if one.tag in ("td", "th")]  # noqa: S314 - our own
    return [(one.attrib, "".join(one.itertext())) for one in cells]


def table(rows, *, name_head="Name", heads=("A", "B"), **more):
    return ReportTable("t", "Title", name_head, heads, tuple(rows), **more)


def hostile_table():
    rows = [
        Row(HOSTILE, HOSTILE, (HOSTILE, Estimate(-0.1234, -0.2, 0.1))),
        Row("a b", "[news]", ("*", Estimate(None, reason=HOSTILE))),
        Row("a-b", "stub-1", ("[x]", Estimate(0.5))),
    ]
    return table(rows, heads=(f"good {HOSTILE}", "{{m^2}} <b>"), spanners=((f"{{{{x}}}}{HOSTILE}", 0, 2),))


def test_hostile_cells_heads_groups_and_names_make_no_elements_of_their_own():
    page = Page(html_table(hostile_table()))
    assert set(page.tags) <= ALLOWED
    kinds = {"class", "id", "headers", "scope", "colspan", "rowspan", "data-order"}
    assert {name for _, name, _ in page.attributes} <= kinds
    assert "".join(page.seen).count("<script>alert(1)</script>") == 5  # group, name, cell, head, spanner


def test_cells_are_spelled_by_their_kind():
    cells = (
        *(Estimate(-0.1234, -0.2, 0.1), Estimate(0.5), Estimate(None)),
        *(Share(0.0583), 12345, Spelled("< 1", 0.5), "x\ty", None),
    )
    assert [cell_text(cell, second_line) for cell in cells] == [
        "\N{MINUS SIGN}0.123\n\N{MINUS SIGN}0.200…0.100",
        "0.500",
        "\N{EN DASH}",
        "5.8%",
        "12,345",
        "< 1",
        "x\\x09y",
        "",
    ]
    assert cell_text(cells[0]) == "\N{MINUS SIGN}0.123"


PLACES = [Row("east", "x", (1, 2)), Row("east", "y", (3, 4)), Row("west", "x", (5, 6))]


def test_groups_are_a_leading_column_that_every_cell_points_to():
    html = html_table(table(PLACES, group_head="Place", spanners=(("Both", 0, 2),)))
    found = cells_of(html)
    heads = {attrs["id"]: text for attrs, text in found if "id" in attrs}
    assert list(heads.values())[:4] == ["Place", "Name", "Both", "A"]
    assert html.count("<tr>") == 2 + 3
    cells = [(attrs["headers"].split(), text) for attrs, text in found if "headers" in attrs]
    assert [([heads[head] for head in pointed], text) for pointed, text in cells] == [
        (["east", "x", "Both", "A"], "1"),
        (["east", "x", "Both", "B"], "2"),
        (["east", "y", "Both", "A"], "3"),
        (["east", "y", "Both", "B"], "4"),
        (["west", "x", "Both", "A"], "5"),
        (["west", "x", "Both", "B"], "6"),
    ]


def test_without_groups_there_is_no_column_for_them():
    html = html_table(table([Row("", "x", (1, 2)), Row("", "y", (3, 4))], group_head="Place"))
    assert html.count("<th ") == 3 + 2


def test_every_row_has_as_many_cells_as_the_heads():
    for one in (hostile_table(), table([Row("g", "x", (1, 2)), Row("", "y", (3, 4))])):
        rows = re.findall(r"<tr>(.*?)</tr>", html_table(one), re.DOTALL)
        sizes = {len(re.findall(r"<t[dh][ >]", row)) for row in rows[2 if one.spanners else 1 :]}
        assert sizes == {4}


def test_only_a_table_of_several_rows_is_sortable():
    rows = [Row("", str(n), (n, n)) for n in range(3)]
    assert 'class="sortable"' in html_table(table(rows))
    assert html_table(table(rows)).startswith('<table id="t-t"')
    for few in ([], rows[:1]):
        assert "sortable" not in html_table(table(few))


def test_cells_are_sorted_by_their_exact_number_and_missing_ones_by_nothing():
    cells = (
        *(Estimate(1 / 3, 0.1, 0.5), Estimate(-2e-17), Estimate(None, reason="none")),
        *(Share(0.05834567), Share(None), 12345, Spelled("< 0.001", 0.00012), "words", None),
    )
    found = cells_of(html_table(table([Row("", "x", cells)], heads=tuple("ABCDEFGHI"))))
    orders = [attrs.get("data-order") for attrs, _ in found if "scope" not in attrs]
    assert orders == ["0.3333333333333333", "-2e-17", "", "0.05834567", "", "12345", "0.00012", None, ""]


def test_terms_in_heads_and_names_lead_to_the_glossary_but_cells_do_not():
    shown = table([Row("DCG", "ERR", ("NDCG", 1))], name_head="Click metric", heads=("Coverage", "x"))
    links = re.findall(r'<a class="term" href="#([^"]*)">([^<]*)</a>', html_table(shown))
    assert dict(links) == {
        "term-click-metric": "Click metric",
        "term-coverage": "Coverage",
        "term-err": "ERR",
    }


def test_markdown_and_latex_keep_groups_as_rows():
    assert [row[0] for row in markdown_rows(table(PLACES))[2:]] == ["**east**", "x", "y", "**west**", "x"]
    lines = [line for line in latex_table(table(PLACES)).splitlines() if "multicolumn" in line]
    assert [re.search(r"\{l\}\{(\w+)\}", line)[1] for line in lines] == ["east", "west"]


def read_csv(shown):
    return list(csv.reader(io.StringIO("\n".join(shown.csv_lines), newline="")))


def test_a_table_without_a_frame_of_its_own_is_a_csv_of_its_cells_in_full_precision():
    rows = [
        Row("east", "ERR", (Estimate(1 / 3, 0.1, 0.7), Share(2 / 3), Spelled("< 0.001", 0.0002), "a", 12)),
        Row("west", "=DCG", (Estimate(-0.25), Share(None), Estimate(None, reason="why"), "", None)),
    ]
    shown = table(rows, heads=tuple("ABCDE"), group_head="Place", spanners=(("Both", 0, 2),))
    heads = ["Place", "Name", "Both, A", "Both, A, low", "Both, A, high", "Both, B", "C", "D", "E"]
    assert read_csv(shown) == [
        heads,
        ["east", "ERR", repr(1 / 3), "0.1", "0.7", repr(2 / 3), "0.0002", "a", "12"],
        ["west", "'=DCG", "-0.25", "", "", "", "", "", ""],
    ]


def test_a_csv_of_cells_holds_the_rows_that_the_page_leaves_out():
    rows = [Row("", str(n), (n, Share(n / 1000))) for n in range(ROWS_SHOWN + 5)]
    found = read_csv(table(rows))
    assert found[0] == ["Name", "A", "B"]
    assert [row[0] for row in found[1:]] == [str(n) for n in range(ROWS_SHOWN + 5)]


def test_unreliable_intervals_are_counted_once_per_caution():
    few = Estimate(0.2, 0.1, 0.3, caution="fewer than 50 queries")
    none = Estimate(0.2, caution="no interval: too few queries vary")
    rows = [
        Row("", "a", (few, Estimate(0.3, 0.2, 0.4), Estimate(0.5))),
        Row("", "b", (few, none, Estimate(None, reason="no variance"))),
        Row("", "c", (few, 7, "words")),
    ]
    assert table(rows, heads=("A", "B", "C")).remarks == (
        "Unreliable intervals: 3 of 5 values (fewer than 50 queries).",
        "No interval: 1 of 5 values (too few queries vary).",
        "Dash: no variance (1 of 9 cells).",
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00099, "< 0.001"), (0.0, "< 0.001"), (0.001, "0.001"), (0.0496, "0.050"), (1.0, "1.000")],
)
def test_small_p_values_are_shown_as_below_a_bound(p, text):
    assert cell_text(p_cell(p), second_line) == text
    assert p_cell(p).value == p


def test_a_column_of_spelled_numbers_stands_to_the_right_and_is_safe_in_every_language():
    shown = table([Row("", "x", (Spelled("< 0.001", 0.0002), "words"))])
    assert 'class="right" data-order="0.0002">&lt; 0.001</td>' in html_table(shown)
    assert "\\textless{} 0.001" in latex_table(shown)
    assert markdown_rows(shown)[1:] == [[":--", "--:", ":--"], ["x", "&lt; 0.001", "words"]]


def test_long_tables_are_cut_and_say_so():
    rows = [Row("", str(n), (n, n)) for n in range(ROWS_SHOWN + 5)]
    cut = table(rows)
    assert html_table(cut).count('scope="row"') == ROWS_SHOWN
    assert cut.remarks == (f"The first {ROWS_SHOWN} of {ROWS_SHOWN + 5} rows; all are in the CSV file.",)


def test_markdown_rows_have_as_many_cells_as_the_head_and_no_bare_pipe():
    rows = markdown_rows(hostile_table())
    assert {len(row) for row in rows} == {3}
    assert not [cell for row in rows for cell in row if re.search(r"(?<!\\)\|", cell) or "\n" in cell]


def test_latex_has_a_whole_tabular_with_three_decimals_and_no_interval():
    text = latex_table(table([Row("", "ERR", (Estimate(0.48012, 0.46, 0.5), Estimate(-0.5)))]))
    assert text.count("\\begin{tabular") == text.count("\\end{tabular") == 1
    assert "ERR & 0.480 & $-$0.500 \\\\" in text
    assert "|" not in text


def test_latex_rows_never_start_with_what_a_line_break_takes_for_its_argument():
    text = latex_table(hostile_table())
    assert "{}[news]" in text
    assert not re.search(r"(\\\\|\])\s*\n[\[*]", text)


def test_latex_comments_stay_on_their_line():
    text = latex_table(ReportTable("t", visible(f"By {HOSTILE}"), "N", ("A",), (Row("", "x", (1,)),)))
    assert text.splitlines()[0].startswith("% By ")
    assert text.splitlines()[1].startswith("% needs")


@pytest.mark.parametrize(
    ("title", "caption"),
    [
        ("Table 2. Weighted correlation, with 95% CI", "Weighted correlation, with 95\\% CI"),
        ("Figure 4 in numbers: correlation by decile", "Correlation by decile"),
        ("Table 12 of a log", "Table 12 of a log"),
    ],
)
def test_latex_numbers_a_caption_itself_and_a_label_follows_it(title, caption):
    lines = latex_table(ReportTable("deciles", title, "N", ("A",), (Row("", "x", (1,)),))).splitlines()
    assert lines[3:5] == [f"\\caption{{{caption}}}", "\\label{tab:deciles}"]
