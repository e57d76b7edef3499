"""Hostile text in every form: what terminals, browsers, spreadsheets, parsers and Markdown make of it."""

import csv
import io
import json
import unicodedata
from datetime import date, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clickassay.core.files.tables import as_csv, as_json
from clickassay.core.text import escape
from clickassay.core.text.escape import terminal
from support.reports.harmful import HARMS
from support.reports.report_tables import HOSTILE

KEPT = (
    "日本 café مرحبا", "नमस्\u200dते", "ゼロ\u200c幅", "👩\u200d🔬",
    "a\u3000b\xa0c\u2009d\u202fe", "e\u0301\ufe0f",
)  # fmt: skip
TEXTS = (
    *HARMS, HOSTILE, *KEPT, "", "\udcff", "\ue000\U000f0000", "\ufffe\u0378", "\U000e0041", "~^\\{}&", "%",
)  # fmt: skip
texts = pytest.mark.parametrize("text", TEXTS, ids=ascii)
any_text = given(st.one_of(st.text(), st.text(st.characters(categories=["C", "Z"])), st.sampled_from(TEXTS)))


def hidden(text):
    """What acts or has no form, by the categories of Unicode alone."""
    return [
        sign
        for sign in text
        if (unicodedata.category(sign)[0] == "C" and sign not in "\u200c\u200d") or sign in "\u2028\u2029"
    ]


@settings(max_examples=40)
@any_text
def test_nothing_hidden_is_left_but_in_csv_and_what_is_seen_stays(text):
    for form in (escape.terminal, escape.html, escape.latex, escape.markdown, escape.json):
        assert hidden(form(text)) == [], form
    assert terminal(terminal(text)) == terminal(text)
    if not hidden(text):
        assert terminal(text) == text


@any_text
def test_each_text_has_its_own_words_unless_it_holds_a_backslash(text):
    plain = text.replace("\\", "")
    assert terminal(plain).encode("ascii", "backslashreplace").decode("unicode_escape") == plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\r\tc\x00\x7f", r"a\x0ab\x0d\x09c\x00\x7f"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("\u2066a\u2069\u200e\ufeff\u200b\xad", r"\u2066a\u2069\u200e\ufeff\u200b\xad"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("\U000e0041\ue000\udcff", r"\U000e0041\ue000\udcff"),
        *((text, text) for text in KEPT),
    ],
)
def test_what_acts_is_spelled_out_and_the_rest_is_left(text, shown):
    assert terminal(text) == shown


class Seen(HTMLParser):
    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.attributes = [], "", {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data):
        self.text += data


@texts
def test_html_shows_the_text_in_an_element_and_in_either_kind_of_attribute(text):
    safe = escape.html(text)
    page = Seen(f"<p title=\"{safe}\" lang='{safe}'>{safe}</p>")
    assert page.tags == ["p"]
    assert page.text == page.attributes["title"] == page.attributes["lang"] == terminal(text)


@texts
def test_latex_has_no_command_but_those_of_marks_and_gives_back_the_text(text):
    safe = escape.latex(text)
    marks = {
        r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~",
        r"\textless{}": "<", r"\textgreater{}": ">", **{f"\\{mark}": mark for mark in "{}_%&#$"},
    }  # fmt: skip
    back, rest = "", safe
    while rest:
        found = next((name for name in marks if rest.startswith(name)), rest[0])
        assert found in marks or found not in "\\{}_^~%&#$<>"
        back, rest = back + marks.get(found, found), rest[len(found) :]
    assert back == terminal(text)


def rendered_text(source):
    """What a CommonMark reader with tables shows of `source`, and the kinds of elements it makes."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(source)
    inline = [child for token in tokens if token.type == "inline" for child in token.children]
    text = "".join("\n" if child.type.endswith("break") else child.content for child in inline)
    return text, {token.type for token in tokens} | {child.type for child in inline}


MARKDOWN = (
    "[a](http://b)", "![x](y)", "<b>&amp;", "`code`", "a*b*_c_", "1. x", "- x", "+ x", "# x", "=== x",
    "~~a~~", "$x$", "x" * 20_000,
)  # fmt: skip


@pytest.mark.parametrize("text", [*TEXTS, *MARKDOWN], ids=lambda text: ascii(text[:40]))
def test_markdown_shows_hostile_text_as_text(text):
    shown, kinds = rendered_text(escape.markdown(text))
    assert shown == terminal(text).strip(" ")
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


def test_markdown_leaves_numbers_as_they_are():
    for text in ("0.480", "+0.050", "\N{MINUS SIGN}0.013", "5.8%", "1.5", "AP(rel=2)", "-3"):
        assert escape.markdown(text) == text


def test_markdown_breaks_links_that_make_themselves():
    shown, kinds = rendered_text(escape.markdown("see http://evil.example and www.evil.example"))
    assert shown == "see http://evil.example and www.evil.example"
    assert "http:/" not in escape.markdown("http://evil.example")
    assert "link_open" not in kinds


@texts
def test_csv_gives_back_every_text_with_formulas_disarmed(text):
    ((cell, after),) = csv.reader(io.StringIO(f"{escape.csv(text)},x\n", newline=""))
    assert (cell, after) == (f"'{text}" if text.startswith(tuple("=+-@\t\r")) else text, "x")


def test_csv_keeps_numbers_exact_nulls_empty_and_lists_as_json():
    frame = pl.DataFrame(
        {
            "x": [0.1 + 0.2, -1e-300, None, float("inf")],
            "whole": [2**63 - 1, -5, None, 0],
            "sure": [True, False, None, True],
            "urls": [["=a", 'b"c'], [], None, ["d", None]],
        }
    )
    rows = list(csv.DictReader(io.StringIO(as_csv(frame), newline="")))
    assert [row["x"] for row in rows] == ["0.30000000000000004", "-1e-300", "", "inf"]
    assert [row["whole"] for row in rows] == ["9223372036854775807", "-5", "", "0"]
    assert [row["sure"] for row in rows] == ["true", "false", "", "true"]
    assert [json.loads(row["urls"]) for row in rows if row["urls"]] == [["=a", 'b"c'], [], ["d", None]]


@given(
    st.lists(st.one_of(st.none(), st.floats(), st.floats(-1, 1), st.sampled_from([1e-4, 1e16, -1e-5, 1e15])))
)
def test_csv_has_the_digits_that_python_writes(values):
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}).with_columns(after=pl.lit(0))
    lines = as_csv(frame).splitlines()
    assert lines == ["x,after", *(f"{'' if value is None else value},0" for value in values)]


def test_csv_distinguishes_null_from_an_empty_text_and_keeps_every_row():
    assert as_csv(pl.DataFrame({"a": ["", None, "x"], "b": [1, None, None]})) == 'a,b\n"",1\n,\nx,\n'
    rows = list(csv.reader(io.StringIO(as_csv(pl.DataFrame({"=a": [None, "x", None]})))))
    assert rows == [["'=a"], [""], ["x"], [""]]


@texts
def test_json_of_every_kind_gives_back_the_text(text):
    value = {"text": [text], text: 1}
    assert json.loads(escape.json(value)) == value
    assert json.loads(escape.json(value, indent=2, sort_keys=True).encode()) == value
    assert json.loads(escape.script_json(value)) == value
    assert not set(escape.script_json(value)) & set("<>&\n")


def test_json_is_an_array_of_records_with_null_for_what_is_no_number():
    frame = pl.DataFrame(
        {
            "text": ["é日本\n\x1b", None, '"'],
            "x": [float("nan"), float("-inf"), 0.1],
            "list": [[1.5, float("nan")], [], None],
            "big": [2**53 + 1, -1, None],
            "day": [date(2026, 11, 21), None, None],
            "pair": [{"a": 1, "b": "x"}, None, None],
            "exact": [Decimal("12"), Decimal("1.5"), None],
            "bytes": [b"\x00\xff", None, None],
        }
    )
    text = as_json(frame)
    assert json.loads(text) == [
        {
            **{"text": "é日本\n\x1b", "x": None, "list": [1.5, None], "big": 9007199254740993},
            **{"day": "2026-11-21", "pair": {"a": 1, "b": "x"}, "exact": 12, "bytes": "00ff"},
        },
        {
            **{"text": None, "x": None, "list": [], "big": -1},
            **{"day": None, "pair": None, "exact": 1.5, "bytes": None},
        },
        {
            **{"text": '"', "x": 0.1, "list": None, "big": None},
            **{"day": None, "pair": None, "exact": None, "bytes": None},
        },
    ]
    assert "é日本" in text
    assert json.loads(as_json(frame.clear())) == []


def test_what_no_form_knows_is_refused_and_not_made_text_of():
    with pytest.raises(TypeError, match="not JSON serializable"):
        escape.json({"value": object()})


def test_times_and_bytes_are_spelled_alike_in_csv_and_json():
    values = [date(2026, 11, 21), datetime(2026, 11, 21, 1, 2), timedelta(minutes=1), b"\x00\xff"]
    shown = ["2026-11-21", "2026-11-21T01:02:00", "60.0", "00ff"]
    assert [escape.csv(value) for value in values] == shown
    assert json.loads(escape.json(values)) == shown
