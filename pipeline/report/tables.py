"""A `Table` as HTML, LaTeX, Markdown rows and CSV.

great-tables builds HTML and LaTeX from the same strings and escapes cells, headings and stubs;
two of its gaps are closed here (see `_head` and `_plain_latex`).
"""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from great_tables import GT
from markupsafe import Markup

from pipeline.report.escape import csv_cell, markdown
from pipeline.report.model import Cell, Estimate, Share, Table
from pipeline.report.words import MINUS, count, number, percent, span, visible


@dataclass(frozen=True)
class Style:
    """How numbers are spelled in one language: the minus sign, the per cent sign, the interval."""

    minus: str
    interval: Callable[[Estimate], str]


def _second_line(found: Estimate) -> str:
    # the style sheet keeps the line end and sets what follows smaller
    return "\n" + span(found.low, found.high).replace(" to ", "…")


def _in_brackets(found: Estimate) -> str:
    return f" ({span(found.low, found.high)})"


HTML = Style(MINUS, _second_line)
MARKDOWN = Style(MINUS, _in_brackets)
LATEX = Style(MINUS, lambda _found: "")
LATEX_NEEDS = "% needs \\usepackage{booktabs}; names beyond Latin letters need XeLaTeX or LuaLaTeX"


def cell_text(cell: Cell, style: Style) -> str:
    """Return a cell as text: 3 decimals for estimates, whole numbers with thousands, shares in per cent."""
    if isinstance(cell, Estimate):
        has_interval = cell.value is not None and cell.low is not None
        return number(cell.value, minus=style.minus) + (style.interval(cell) if has_interval else "")
    if isinstance(cell, Share):
        return percent(cell.value)
    if isinstance(cell, int):
        return count(cell)
    return "" if cell is None else visible(cell, limit=2_000)


def html_table(table: Table) -> Markup:
    """Return the ``<table>`` element, escaped by great-tables, without the style sheet it brings."""
    text = _built(table, HTML, f"t-{table.name}").as_raw_html()
    return Markup(text[text.index("<table") : text.rindex("</table>") + len("</table>")])  # noqa: S704


def latex_table(table: Table) -> str:
    """Return a complete LaTeX table; the document needs the package booktabs."""
    built = _built(table, LATEX, f"t-{table.name}").as_latex()
    return f"% {table.title}\n{LATEX_NEEDS}\n{_plain_latex(built).strip()}\n"


def markdown_rows(table: Table) -> list[list[str]]:
    """Return head, rule and rows of a pipe table, every cell escaped; group headings are bold rows."""
    lines = [[table.name_head, *_full_heads(table)]]
    body: list[list[str]] = []
    group = ""
    for row in table.shown:
        if row.group != group:
            group = row.group
            body.append([f"**{markdown(group)}**", *[""] * len(table.heads)])
        body.append(
            [markdown(text) for text in (row.name, *(cell_text(cell, MARKDOWN) for cell in row.cells))]
        )
    rule = [":--", *["--:" if _is_number(table, place) else ":--" for place in range(len(table.heads))]]
    return [[markdown(head) for head in lines[0]], rule, *body]


def csv_text(frame: pl.DataFrame) -> str:
    """Return `frame` as CSV in full precision that a spreadsheet cannot take for formulas."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows([csv_cell(value) for value in row] for row in frame.iter_rows())
    return stream.getvalue()


def _built(table: Table, style: Style, identity: str) -> GT:
    grouped = any(row.group for row in table.shown)
    columns = [f"c{place}" for place in range(len(table.heads))]
    rows = [
        (
            visible(row.group, limit=400),
            visible(row.name, limit=400),
            *(cell_text(cell, style) for cell in row.cells),
        )
        for row in table.shown
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["group", "name", *columns], pl.String), orient="row")
    # an id of our own: great-tables would draw a random one
    built = GT(
        frame if grouped else frame.drop("group"),
        rowname_col="name",
        groupname_col="group" if grouped else None,
        id=identity,
    )
    built = built.tab_stubhead(_head(table.name_head)).cols_label(
        {column: _head(head) for column, head in zip(columns, table.heads, strict=True)}
    )
    for place, column in enumerate(columns):
        built = built.cols_align("right" if _is_number(table, place) else "left", [column])
    for words, start, width in table.spanners:
        built = built.tab_spanner(_head(words), columns[start : start + width], id=f"s{start}")
    return built


def _head(text: str) -> str:
    # great-tables reads {{...}} in a heading as units of measurement and then escapes nothing of it
    return visible(text, limit=2_000).replace("{{", "{ {")


def _plain_latex(text: str) -> str:
    # booktabs knows no vertical rules, and the size is for the document to choose
    text = text.replace("\\fontsize{12.0pt}{14.4pt}\\selectfont\n", "").replace("}}l|", "}}l")
    # LaTeX takes a "[" or "*" at the start of a row for an argument of the line break before it
    for start in ("[", "*"):
        text = text.replace(f"]\n{start}", f"]\n{{}}{start}").replace(f"\\\\\n{start}", f"\\\\\n{{}}{start}")
    return re.sub(r"\n{2,}", "\n", text).replace(MINUS, "$-$")


def _is_number(table: Table, place: int) -> bool:
    return not any(isinstance(row.cells[place], str) for row in table.shown)


def _full_heads(table: Table) -> list[str]:
    above = {start + offset: words for words, start, width in table.spanners for offset in range(width)}
    return [f"{above[place]}, {head}" if place in above else head for place, head in enumerate(table.heads)]
