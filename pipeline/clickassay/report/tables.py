"""A `Table` as HTML, LaTeX, Markdown rows and CSV, every text escaped for its language."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl
from markupsafe import Markup, escape

from clickassay.report.cells import Cell, Estimate, Row, Share, Spelled
from clickassay.report.escape import csv_cell, latex, markdown
from clickassay.report.glossary import linked, linked_name
from clickassay.report.model import Table
from clickassay.report.words import MINUS, count, number, percent, span, visible


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
    """Return the ``<table>`` element; cells point to their headings, ids begin with the table's name.

    Groups are a column, not rows, so that a reader can sort; ``data-order`` holds what a cell is sorted by.
    """
    grouped = any(row.group for row in table.shown)
    kind = ' class="sortable"' if len(table.shown) > 1 else ""
    lines = [
        f'<table id="t-{table.name}"{kind}>',
        "<thead>",
        *_html_heads(table, grouped=grouped),
        "</thead>",
    ]
    lines.append("<tbody>")
    for place, row in enumerate(table.shown, start=1):
        lines += _html_row(table, row, f"t-{table.name}-row-{place}", grouped=grouped)
    return Markup("\n".join([*lines, "</tbody>", "</table>"]))  # noqa: S704 - `_shown` escapes


def _html_heads(table: Table, *, grouped: bool) -> Iterator[str]:
    deep = ' rowspan="2"' if table.spanners else ""
    own = {"group": table.group_head} if grouped else {}
    first = "".join(
        f'<th id="t-{table.name}-{name}" scope="col"{deep} class="left">{_words(table, words)}</th>'
        for name, words in {**own, "name": table.name_head}.items()
    )
    columns = [f'id="t-{table.name}-c{place}" scope="col"' for place in range(len(table.heads))]
    rest = "".join(
        f'<th {column} class="{_side(table, place)}">{_words(table, table.heads[place])}</th>'
        for place, column in enumerate(columns)
    )
    if not table.spanners:
        yield f"<tr>{first}{rest}</tr>"
        return
    above = "".join(_html_spanner(table, *span) for span in _spans(table))
    yield f"<tr>{first}{above}</tr>"
    yield f"<tr>{rest}</tr>"


def _words(table: Table, text: str) -> Markup:
    shown = visible(text, limit=2_000)
    return linked(shown) if table.explained else escape(shown)


def _html_spanner(table: Table, words: str, start: int, width: int) -> str:
    if not words:
        return f'<td colspan="{width}"></td>'
    name = f'id="t-{table.name}-s{start}" scope="colgroup" colspan="{width}" class="over"'
    return f"<th {name}>{_words(table, words)}</th>"


def _html_row(table: Table, row: Row, name: str, *, grouped: bool) -> Iterator[str]:
    group = f'<th id="{name}-group" scope="row" class="left">{_shown(row.group)}</th>' if grouped else ""
    own = (linked_name if table.explained else escape)(visible(row.name, limit=400))
    yield f'<tr>{group}<th id="{name}" scope="row" class="left">{own}</th>'
    over = {
        start + more: f"t-{table.name}-s{start} "
        for _, start, width in table.spanners
        for more in range(width)
    }
    beside = f"{name}-group " if grouped else ""
    for place, cell in enumerate(row.cells):
        heads = f"{beside}{name} {over.get(place, '')}t-{table.name}-c{place}"
        words = escape(cell_text(cell, HTML))
        yield f'<td headers="{heads}" class="{_side(table, place)}"{_order(cell)}>{words}</td>'
    yield "</tr>"


def _order(cell: Cell) -> str:
    """Return the attribute by which a number is sorted; what has no value comes before all others."""
    if isinstance(cell, str):
        return ""
    value = cell if isinstance(cell, int) or cell is None else cell.value
    return f' data-order="{"" if value is None else repr(value)}"'


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
    lines = [
        f"% {table.title}",
        LATEX_NEEDS,
        r"\begin{table}[!t]",
        rf"\caption{{{latex(visible(table.title, limit=2_000))}}}",
    ]
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
            lines += _latex_intervals(row)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular*}", r"\end{table}", ""])


def _latex_intervals(row: Row) -> list[str]:
    """Return a row of small print with the intervals of the row above, if it has any."""
    ends = [
        span(cell.low, cell.high)
        if isinstance(cell, Estimate) and cell.value is not None and cell.has_interval
        else ""
        for cell in row.cells
    ]
    if not any(ends):
        return []
    small = [rf"{{\scriptsize {latex(words)}}}".replace(MINUS, "$-$") if words else "" for words in ends]
    return [" & ".join(["", *small]) + r" \\"]


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


def markdown_table(table: Table) -> str:
    """Return the pipe table, every cell escaped."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in markdown_rows(table))


def plain_rows(table: Table) -> list[list[str]]:
    """Return heads and rows as plain text with plain minus signs, a column of groups first if there are any.

    A head over several columns stands on a line of its own above the first of them.
    """
    grouped = any(row.group for row in table.shown)
    rows = [
        [*([row.group] if grouped else []), row.name, *(cell_text(cell, MARKDOWN) for cell in row.cells)]
        for row in table.shown
    ]
    above = {start: words for words, start, _ in table.spanners}
    names = [*([table.group_head] if grouped else []), table.name_head]
    shown = [visible(head, limit=2_000) for head in table.heads]
    heads = [f"{above.get(place, '')}\n{head}" if above else head for place, head in enumerate(shown)]
    plain = [[visible(text, limit=2_000).replace(MINUS, "-") for text in row] for row in rows]
    return [[*names, *heads], *plain]


def csv_text(table: Table) -> str:
    """Return the table as CSV in full precision that a spreadsheet cannot take for formulas.

    It has the rows of `Table.data`, or where there is no such frame those of the table itself.
    """
    frame = _own_frame(table) if table.data is None else table.data
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([csv_cell(head) for head in frame.columns])
    writer.writerows([csv_cell(value) for value in row] for row in frame.iter_rows())
    return stream.getvalue()


def _own_frame(table: Table) -> pl.DataFrame:
    columns: dict[str, list[object]] = {}
    if any(row.group for row in table.rows):
        columns[table.group_head] = [row.group for row in table.rows]
    columns[table.name_head] = [row.name for row in table.rows]
    for place, head in enumerate(_full_heads(table)):
        if head in columns:
            raise ValueError(f"table {table.name} has two columns {head!r}: give it a frame of its own")
        cells = [row.cells[place] for row in table.rows]
        columns[head] = [
            cell if isinstance(cell, (str, int)) or cell is None else cell.value for cell in cells
        ]
        ends = [(cell.low, cell.high) if isinstance(cell, Estimate) else (None, None) for cell in cells]
        if any(low is not None for low, _ in ends):
            columns |= {f"{head}, low": [low for low, _ in ends], f"{head}, high": [high for _, high in ends]}
    return pl.DataFrame(columns, strict=False)


def _is_number(table: Table, place: int) -> bool:
    return not any(isinstance(row.cells[place], str) for row in table.shown)


def _full_heads(table: Table) -> list[str]:
    above = _above(table)
    return [f"{above[place]}, {head}" if place in above else head for place, head in enumerate(table.heads)]


def _above(table: Table) -> dict[int, str]:
    return {start + offset: words for words, start, width in table.spanners for offset in range(width)}
