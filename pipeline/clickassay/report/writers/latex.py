"""A `ReportTable` as LaTeX."""

from collections.abc import Sequence

from clickassay.core.text.escape import latex, terminal
from clickassay.core.text.words import MINUS, span, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.cells import Row
from clickassay.report.model import ReportTable
from clickassay.report.writers.numbers import cell_text
from clickassay.report.writers.tables import head_spans, row_groups, side

LATEX_NEEDS = "% needs \\usepackage{booktabs}; names beyond Latin letters need XeLaTeX or LuaLaTeX"


RULE = r"\midrule\addlinespace[2.5pt]"


def latex_table(table: ReportTable) -> str:
    """Return a complete LaTeX table; the document needs the package booktabs."""
    columns = "l" + "".join(side(table, place)[0] for place in range(len(table.heads)))
    lines = [
        f"% {terminal(table.title)}",
        LATEX_NEEDS,
        r"\begin{table}[!t]",
        rf"\caption{{{latex(visible(table.title, limit=2_000))}}}",
    ]
    lines += [rf"\begin{{tabular*}}{{\linewidth}}{{@{{\extracolsep{{\fill}}}}{columns}}}", r"\toprule"]
    lines += _latex_spanners(table)
    lines += [_latex_row([visible(head, limit=2_000) for head in (table.name_head, *table.heads)]), RULE]
    for place, (group, rows) in enumerate(row_groups(table)):
        if group:
            heading = latex(visible(group, limit=400))
            wide = rf"\multicolumn{{{1 + len(table.heads)}}}{{l}}{{{heading}}} \\[2.5pt]"
            lines += [*([RULE] if place else []), wide, RULE]
        for row in rows:
            lines.append(_latex_row([visible(row.name, limit=400), *map(cell_text, row.cells)]))
            lines += _latex_intervals(row)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular*}", r"\end{table}", ""])


def _latex_intervals(row: Row) -> list[str]:
    """Return the row of intervals of `row`, in small print, if it has any."""
    ends = [
        span(cell.low, cell.high)
        if isinstance(cell, Estimate) and cell.value is not None and cell.has_interval
        else ""
        for cell in row.cells
    ]
    if not any(ends):
        return []
    small = [rf"{{\scriptsize {latex(text)}}}".replace(MINUS, "$-$") if text else "" for text in ends]
    return [" & ".join(["", *small]) + r" \\"]


def _latex_spanners(table: ReportTable) -> list[str]:
    if not table.spanners:
        return []
    spans = [(latex(visible(text, limit=2_000)), start, width) for text, start, width in head_spans(table)]
    cells = [rf"\multicolumn{{{width}}}{{c}}{{{text}}}" for text, _, width in spans]
    rules = [rf"\cmidrule(lr){{{start + 2}-{start + width + 1}}}" for text, start, width in spans if text]
    return [f" & {' & '.join(cells)} \\\\", " ".join(rules)]


def _latex_row(texts: Sequence[str]) -> str:
    row = " & ".join(latex(text).replace(MINUS, "$-$") for text in texts)
    # LaTeX takes a "[" or "*" at the start of a row for an argument of the line break before it
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"
