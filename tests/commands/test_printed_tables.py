"""The one helper that prints tables: no number is cut, whatever the width; hostile texts are spelled out."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.cli.console import show_frame, show_table

NUMBERS = ("1,234,567,890", "0.3661 (0.3042 to 0.4243)", "−0.0001")  # noqa: RUF001 - the minus of reports


@pytest.mark.parametrize(("columns", "copies"), list(product((20, 40, 80, 200), (1, 4))))
def test_a_narrow_terminal_cuts_and_folds_no_number(capsys, monkeypatch, columns, copies):
    monkeypatch.setenv("COLUMNS", str(columns))
    numbers = [f"number {place}" for place in range(copies * len(NUMBERS))]
    row = ("a text that is much too long to fit " * 5, *NUMBERS * copies)
    show_table(("text", *numbers), [row], numbers=numbers)
    shown = capsys.readouterr().out
    assert "…" not in shown
    first = next(line for line in shown.splitlines() if NUMBERS[0] in line)
    assert all(first.count(number) == copies for number in NUMBERS)
    assert all(head in shown for head in numbers)


@given(st.text(max_size=300))
def test_a_text_is_folded_but_never_loses_a_letter(text):
    printed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clickassay.cli.console.Speaker.print", lambda _, table, **more: printed.append(table))
        show_table(("text",), [(text,)])
    (cell,) = printed[0].columns[0].cells
    from clickassay.core.text.escape import terminal

    assert cell.plain == terminal(text)
    assert printed[0].columns[0].overflow == "fold"


def test_empty_tables_and_empty_cells_are_printed(capsys):
    show_table(("text", "number"), [], numbers=("number",))
    show_table(("", "number"), [(None, 3)], numbers=("number",), title="A title\x1b[31m")
    shown = capsys.readouterr().out
    assert "A title\\x1b[31m" in shown
    assert "None" not in shown
    head = "query\x1b]0;a title\x07\u202e"
    show_table((head, "n\x1b[31m"), [("a", 1)], numbers=("n\x1b[31m",))
    shown = capsys.readouterr().out
    assert r"query\x1b]0;a title\x07\u202e" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_a_head_of_two_lines_is_printed_in_two_and_a_column_of_a_question_never_is(capsys):
    show_table(("Run", "95% CI\nlow"), [("a", "0.25")], numbers=("95% CI\nlow",))
    first, second, *_ = (line.split() for line in capsys.readouterr().out.strip().splitlines())
    assert (first, second) == (["95%", "CI"], ["Run", "low"])
    show_frame(pl.DataFrame({"a\nb": [1]}), most_rows=5)
    assert r"a\x0ab" in capsys.readouterr().out
