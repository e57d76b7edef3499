"""Tables as HTML and LaTeX: escaped, addressable, complete."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from report.report_world import HOSTILE

from pipeline.report.cells import Estimate, Row, Share, Spelled, p_cell
from pipeline.report.model import ROWS_SHOWN, Table
from pipeline.report.tables import HTML, LATEX, cell_text, html_table, latex_table, markdown_rows
from pipeline.report.words import visible

ALLOWED = {"table", "thead", "tbody", "tr", "th", "td", "span"}


class Reader(HTMLParser):
    """Collects elements, ids and the text of body cells."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


def table(rows, *, name_head="Name", heads=("A", "B"), **more):
    return Table("t", "Title", name_head, heads, tuple(rows), **more)


def hostile_table():
    rows = [
        Row(HOSTILE, HOSTILE, (HOSTILE, Estimate(-0.1234, -0.2, 0.1))),
        Row("a b", "[news]", ("*", Estimate(None, reason=HOSTILE))),
        Row("a-b", "stub-1", ("[x]", Estimate(0.5))),
    ]
    return table(rows, heads=(f"good {HOSTILE}", "{{m^2}} <b>"), spanners=((f"{{{{x}}}}{HOSTILE}", 0, 2),))


def test_hostile_cells_heads_groups_and_names_make_no_elements_of_their_own():
    reader = read(html_table(hostile_table()))
    assert set(reader.tags) <= ALLOWED
    assert {name for name, _ in reader.attributes} <= {
        "class",
        "id",
        "headers",
        "scope",
        "colspan",
        "rowspan",
    }
    text = "".join(reader.text)
    assert text.count("<script>alert(1)</script>") == 5  # group, name, cell, head, spanner


def test_ids_of_a_table_are_unique_and_do_not_change_from_one_rendering_to_the_next():
    ids = [value for name, value in read(html_table(hostile_table())).attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert html_table(hostile_table()) == html_table(hostile_table())


def test_cells_point_to_headings_that_are_there():
    reader = read(html_table(hostile_table()))
    ids = {value for name, value in reader.attributes if name == "id"}
    pointed = {one for name, value in reader.attributes if name == "headers" for one in value.split()}
    assert pointed <= ids


def test_cells_are_spelled_by_their_kind():
    cells = (
        *(Estimate(-0.1234, -0.2, 0.1), Estimate(0.5), Estimate(None)),
        *(Share(0.0583), 12345, Spelled("< 1"), "x\ty", None),
    )
    assert [cell_text(cell, HTML) for cell in cells] == [
        "\N{MINUS SIGN}0.123\n\N{MINUS SIGN}0.200…0.100",
        "0.500",
        "\N{EN DASH}",
        "5.8 %",
        "12,345",
        "< 1",
        "x\\x09y",
        "",
    ]
    assert cell_text(cells[0], LATEX) == "\N{MINUS SIGN}0.123"


def test_missing_values_are_explained_once_per_reason():
    rows = [Row("", str(n), (Estimate(None, reason="no variance"), Estimate(0.1))) for n in range(3)]
    assert table(rows).remarks == ("Dash: no variance (3 of 6 cells).",)


def test_intervals_in_doubt_are_counted_once_per_caution():
    few = Estimate(0.2, 0.1, 0.3, caution="fewer than 50 queries")
    none = Estimate(0.2, caution="no interval: too few queries vary")
    rows = [
        Row("", "a", (few, Estimate(0.3, 0.2, 0.4), Estimate(0.5))),
        Row("", "b", (few, none, Estimate(None, reason="no variance"))),
        Row("", "c", (few, 7, "words")),
    ]
    assert table(rows, heads=("A", "B", "C")).remarks == (
        "Interval not to be relied on for 3 of 5 values: fewer than 50 queries.",
        "No interval for 1 of 5 values: too few queries vary.",
        "Dash: no variance (1 of 9 cells).",
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00099, "< 0.001"), (0.0, "< 0.001"), (0.001, "0.001"), (0.0496, "0.050"), (1.0, "1.000")],
)
def test_small_p_values_are_only_said_to_be_small(p, text):
    assert cell_text(p_cell(p), HTML) == text


def test_a_column_of_spelled_numbers_stands_to_the_right_and_is_safe_in_every_language():
    shown = table([Row("", "x", (Spelled("< 0.001"), "words"))])
    assert 'class="right">&lt; 0.001</td>' in html_table(shown)
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
    text = latex_table(Table("t", visible(f"By {HOSTILE}"), "N", ("A",), (Row("", "x", (1,)),)))
    assert text.splitlines()[0].startswith("% By ")
    assert text.splitlines()[1].startswith("% needs")


def has_latex():
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return bool(subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).stdout)


@pytest.mark.skipif(not has_latex(), reason="no LaTeX with booktabs here")
def test_latex_compiles_whatever_the_labels_are(tmp_path):
    empty = table([])
    body = "\n".join(latex_table(one) for one in (hostile_table(), empty))
    source = (
        f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}\\end{{document}}\n"
    )
    (tmp_path / "t.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
