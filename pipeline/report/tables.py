"""A `Table` as HTML, LaTeX, Markdown rows and CSV, every text escaped for its language."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl
from markupsafe import Markup, escape

from pipeline.report.cells import Cell, Estimate, Row, Share, Spelled
from pipeline.report.escape import csv_cell, latex, markdown
from pipeline.report.model import Table
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
    if isinstance(cell, Spelled):
        return cell.text
    if isinstance(cell, int):
        return count(cell)
    return "" if cell is None else visible(cell, limit=2_000)


def html_table(table: Table) -> Markup:
    """Return the ``<table>`` element; cells point to their headings, ids begin with the table's name."""
    lines = ["<table>", "<thead>", *_html_heads(table), "</thead>", "<tbody>"]
    number = 0
    for place, (group, rows) in enumerate(_groups(table)):
        own = f"t-{table.name}-group-{place}" if group else ""
        if group:
            wide = f'colspan="{1 + len(table.heads)}" scope="colgroup" class="group"'
            lines.append(f'<tr><th id="{own}" {wide}>{_shown(group)}</th></tr>')
        for row in rows:
            number += 1
            lines += _html_row(table, row, f"t-{table.name}-row-{number}", own)
    return Markup("\n".join([*lines, "</tbody>", "</table>"]))  # noqa: S704 - `_shown` escapes


def _html_heads(table: Table) -> Iterator[str]:
    rest = "".join(
        f'<th id="t-{table.name}-c{place}" scope="col" class="{_side(table, place)}">{_shown(head)}</th>'
        for place, head in enumerate(table.heads)
    )
    deep = ' rowspan="2"' if table.spanners else ""
    first = f'<th id="t-{table.name}-name" scope="col"{deep} class="left">{_shown(table.name_head)}</th>'
    if not table.spanners:
        yield f"<tr>{first}{rest}</tr>"
        return
    above = "".join(_html_spanner(table, *span) for span in _spans(table))
    yield f"<tr>{first}{above}</tr>"
    yield f"<tr>{rest}</tr>"


def _html_spanner(table: Table, words: str, start: int, width: int) -> str:
    if not words:
        return f'<td colspan="{width}"></td>'
    name = f'id="t-{table.name}-s{start}" scope="colgroup" colspan="{width}" class="over"'
    return f"<th {name}>{_shown(words)}</th>"


def _html_row(table: Table, row: Row, name: str, group: str) -> Iterator[str]:
    yield f'<tr><th id="{name}" scope="row" class="left">{_shown(row.name, limit=400)}</th>'
    over = {
        start + more: f"t-{table.name}-s{start} "
        for _, start, width in table.spanners
        for more in range(width)
    }
    for place, cell in enumerate(row.cells):
        heads = f"{group} {name} {over.get(place, '')}t-{table.name}-c{place}".strip()
        words = escape(cell_text(cell, HTML))
        yield f'<td headers="{heads}" class="{_side(table, place)}">{words}</td>'
    yield "</tr>"


def _shown(text: str, *, limit: int = 2_000) -> Markup:
    return escape(visible(text, limit=limit))


def _side(table: Table, place: int) -> str:
    return "right" if _is_number(table, place) else "left"


def _groups(table: Table) -> list[tuple[str, list[Row]]]:
    return [(group, list(rows)) for group, rows in groupby(table.shown, key=lambda row: row.group)]


def _spans(table: Table) -> Iterator[tuple[str, int, int]]:
    """Yield the heads over columns from left to right, with '' over columns that have none."""
    column = 0
    for words, start, width in sorted(table.spanners, key=lambda spanner: spanner[1]):
        if start > column:
            yield "", column, start - column
        yield words, start, width
        column = start + width
    if column < len(table.heads):
        yield "", column, len(table.heads) - column


RULE = r"\midrule\addlinespace[2.5pt]"


def latex_table(table: Table) -> str:
    """Return a complete LaTeX table; the document needs the package booktabs."""
    columns = "l" + "".join(_side(table, place)[0] for place in range(len(table.heads)))
    lines = [f"% {table.title}", LATEX_NEEDS, r"\begin{table}[!t]"]
    lines += [rf"\begin{{tabular*}}{{\linewidth}}{{@{{\extracolsep{{\fill}}}}{columns}}}", r"\toprule"]
    lines += _latex_spanners(table)
    lines += [_latex_row([visible(head, limit=2_000) for head in (table.name_head, *table.heads)]), RULE]
    for place, (group, rows) in enumerate(_groups(table)):
        if group:
            words = latex(visible(group, limit=400))
            wide = rf"\multicolumn{{{1 + len(table.heads)}}}{{l}}{{{words}}} \\[2.5pt]"
            lines += [*([RULE] if place else []), wide, RULE]
        for row in rows:
            cells = [cell_text(cell, LATEX) for cell in row.cells]
            lines.append(_latex_row([visible(row.name, limit=400), *cells]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular*}", r"\end{table}", ""])


def _latex_spanners(table: Table) -> list[str]:
    if not table.spanners:
        return []
    spans = [(latex(visible(words, limit=2_000)), start, width) for words, start, width in _spans(table)]
    cells = [rf"\multicolumn{{{width}}}{{c}}{{{words}}}" for words, _, width in spans]
    rules = [rf"\cmidrule(lr){{{start + 2}-{start + width + 1}}}" for words, start, width in spans if words]
    return [f" & {' & '.join(cells)} \\\\", " ".join(rules)]


def _latex_row(texts: Sequence[str]) -> str:
    row = " & ".join(latex(text).replace(MINUS, "$-$") for text in texts)
    # LaTeX takes a "[" or "*" at the start of a row for an argument of the line break before it
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


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


def _is_number(table: Table, place: int) -> bool:
    return not any(isinstance(row.cells[place], str) for row in table.shown)


def _full_heads(table: Table) -> list[str]:
    above = {start + offset: words for words, start, width in table.spanners for offset in range(width)}
    return [f"{above[place]}, {head}" if place in above else head for place, head in enumerate(table.heads)]
