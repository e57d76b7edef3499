"""A `ReportTable` in each form: plain rows, CSV, HTML, Markdown, LaTeX."""

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from clickassay.core.text.escape import html, latex, markdown, terminal
from clickassay.core.text.words import MINUS, capital, count, number, percent, span, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.glossary import linked, linked_name
from clickassay.report.tables import Cell, ReportTable, Row, Share, Spelled


def _ends(cell: Estimate | Share) -> str:
    if isinstance(cell, Share):
        return f"{percent(cell.low)} to {percent(cell.high)}"
    return span(cell.low, cell.high)


def second_line(cell: Estimate | Share) -> str:
    """Return an interval on a second line, which the style sheet keeps and makes smaller."""
    return "\n" + _ends(cell).replace(" to ", "…")


def in_brackets(cell: Estimate | Share) -> str:
    """Return an interval in brackets."""
    return f" ({_ends(cell)})"


def cell_text(cell: Cell, interval: Callable[[Estimate | Share], str] | None = None) -> str:
    """Return a cell as text: estimates in 3 decimals, with `interval` in its format; shares in per cent."""
    if isinstance(cell, Estimate | Share):
        has_interval = cell.value is not None and cell.low is not None
        text = percent(cell.value) if isinstance(cell, Share) else number(cell.value)
        return text + (interval(cell) if interval and has_interval else "")
    if isinstance(cell, Spelled):
        return cell.text
    if isinstance(cell, int):
        return count(cell)
    return "" if cell is None else visible(cell, limit=2_000)


def plain_rows(table: ReportTable) -> list[list[str]]:
    """Return heads and rows as text with plain minus signs; groups and heads of several columns first."""
    rows = [
        [row.group, row.name, *(cell_text(cell, in_brackets) for cell in row.cells)] for row in table.shown
    ]
    above = {start: text for text, start, _ in table.spanners}
    shown = [visible(head, limit=2_000) for head in table.heads]
    heads = [f"{above.get(place, '')}\n{head}" if above else head for place, head in enumerate(shown)]
    plain = [[visible(text, limit=2_000).replace(MINUS, "-") for text in row] for row in rows]
    start = 0 if table.grouped else 1
    return [row[start:] for row in ([table.group_head, table.name_head, *heads], *plain)]


def html_table(table: ReportTable) -> Markup:
    """Return the ``<table>`` element; ids begin with the table's name.

    Groups are a column, not rows, so that the table can be sorted; ``data-order`` has the sort key of a cell.
    Under heads over several columns, cells point to their headings; else the scopes of these say enough.
    """
    kind = ' class="sortable"' if len(table.shown) > 1 else ""
    sides = ["right" if is_number else "left" for is_number in table.numeric]
    lines = [f'<table id="t-{table.name}"{kind}>', "<thead>", *_html_heads(table, sides)]
    lines += ["</thead>", "<tbody>"]
    for place, row in enumerate(table.shown, start=1):
        lines += _html_row(table, row, f"row-{place}", sides)
    return Markup("\n".join([*lines, "</tbody>", "</table>"]))  # noqa: S704 - every text is escaped


def _html_heads(table: ReportTable, sides: Sequence[str]) -> Iterator[str]:
    def shown(text: str) -> Markup:
        return (linked if table.explained else html)(visible(text, limit=2_000))

    deep = ' rowspan="2"' if table.spanners else ""
    names = {**({"group": table.group_head} if table.grouped else {}), "name": table.name_head}
    first = "".join(
        f'<th{_id(table, name)} scope="col"{deep} class="left">{shown(text)}</th>'
        for name, text in names.items()
    )
    rest = "".join(
        f'<th{_id(table, f"c{place}")} scope="col" class="{sides[place]}">{shown(head)}</th>'
        for place, head in enumerate(table.heads)
    )
    if not table.spanners:
        yield f"<tr>{first}{rest}</tr>"
        return
    above = "".join(
        f'<th id="t-{table.name}-s{start}" scope="colgroup" colspan="{width}" class="over">{shown(text)}</th>'
        if text
        else f'<td colspan="{width}"></td>'
        for text, start, width in table.spans
    )
    yield f"<tr>{first}{above}</tr>"
    yield f"<tr>{rest}</tr>"


def _id(table: ReportTable, name: str) -> str:
    """Return the attribute that cells point to, where they do."""
    return f' id="t-{table.name}-{name}"' if table.spanners else ""


def _html_row(table: ReportTable, row: Row, name: str, sides: Sequence[str]) -> Iterator[str]:
    text = html(visible(row.group, limit=2_000))
    above, grouped = table.above, table.grouped
    group = f'<th{_id(table, f"{name}-group")} scope="row" class="left">{text}</th>' if grouped else ""
    own = (linked_name if table.explained else html)(visible(row.name, limit=400))
    yield f'<tr>{group}<th{_id(table, name)} scope="row" class="left">{own}</th>'
    for place, cell in enumerate(row.cells):
        over = (f"s{above[place][1]}",) if place in above else ()
        names = (*((f"{name}-group",) if grouped else ()), name, *over, f"c{place}")
        heads = f' headers="{" ".join(f"t-{table.name}-{one}" for one in names)}"' if above else ""
        shown = "\n".join(map(html, cell_text(cell, second_line).split("\n")))
        order = ""  # by which a number is sorted; missing values come first
        if not isinstance(cell, str):
            value = cell if isinstance(cell, int) or cell is None else cell.value
            order = f' data-order="{"" if value is None else repr(value)}"'
        yield f'<td{heads} class="{sides[place]}"{order}>{shown}</td>'
    yield "</tr>"


def markdown_rows(table: ReportTable) -> list[list[str]]:
    """Return head, rule and rows of a pipe table, every cell escaped; group headings are bold rows."""
    body: list[list[str]] = []
    for group, rows in table.groups:
        if group:
            body.append([f"**{markdown(group)}**", *[""] * len(table.heads)])
        for row in rows:
            texts = (row.name, *(cell_text(cell, in_brackets) for cell in row.cells))
            body.append([markdown(text) for text in texts])
    rule = [":--", *["--:" if is_number else ":--" for is_number in table.numeric]]
    return [[markdown(head) for head in (table.name_head, *table.full_heads)], rule, *body]


def markdown_table(table: ReportTable) -> str:
    """Return the pipe table, every cell escaped."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in markdown_rows(table))


RULE = r"\midrule\addlinespace[2.5pt]"


_NUMBERED = re.compile(r"(?:Table|Figure) \d+(?: in numbers)?[.:] ")
"""How titles begin that name a table or figure of the paper: LaTeX numbers captions itself."""


def latex_table(table: ReportTable) -> str:
    """Return a complete LaTeX table with its label ``tab:NAME``; the document needs the package booktabs."""
    caption = capital(_NUMBERED.sub("", table.title, count=1))
    columns = "l" + "".join("r" if is_number else "l" for is_number in table.numeric)
    lines = [
        f"% {terminal(table.title)}",
        "% needs \\usepackage{booktabs}; names beyond Latin letters need XeLaTeX or LuaLaTeX",
        r"\begin{table}[!t]",
        rf"\caption{{{latex(visible(caption, limit=2_000))}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular*}}{{\linewidth}}{{@{{\extracolsep{{\fill}}}}{columns}}}",
        r"\toprule",
    ]
    if table.spanners:
        spans = [(latex(visible(text, limit=2_000)), start, width) for text, start, width in table.spans]
        cells = [rf"\multicolumn{{{width}}}{{c}}{{{text}}}" for text, _, width in spans]
        rules = [rf"\cmidrule(lr){{{start + 2}-{start + width + 1}}}" for text, start, width in spans if text]
        lines += [f" & {' & '.join(cells)} \\\\", " ".join(rules)]
    lines += [_latex_row([visible(head, limit=2_000) for head in (table.name_head, *table.heads)]), RULE]
    for place, (group, rows) in enumerate(table.groups):
        if group:
            heading = latex(visible(group, limit=400))
            wide = rf"\multicolumn{{{1 + len(table.heads)}}}{{l}}{{{heading}}} \\[2.5pt]"
            lines += [*([RULE] if place else []), wide, RULE]
        for row in rows:
            lines.append(_latex_row([visible(row.name, limit=400), *map(cell_text, row.cells)]))
            ends = [
                _ends(cell)
                if isinstance(cell, Estimate | Share) and cell.value is not None and cell.low is not None
                else ""
                for cell in row.cells
            ]
            if any(ends):  # intervals in small print
                small = [
                    rf"{{\scriptsize {latex(text)}}}".replace(MINUS, "$-$") if text else "" for text in ends
                ]
                lines.append(" & ".join(["", *small]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular*}", r"\end{table}", ""])


def _latex_row(texts: Sequence[str]) -> str:
    row = " & ".join(latex(text).replace(MINUS, "$-$") for text in texts)
    # LaTeX takes a "[" or "*" at the start of a row for an argument of the line break before it
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"
