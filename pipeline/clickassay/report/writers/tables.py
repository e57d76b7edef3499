"""A `ReportTable` as HTML, and the helpers that all formats share."""

from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup

from clickassay.core.text.escape import html
from clickassay.core.text.words import visible
from clickassay.report.cells import Cell, Row
from clickassay.report.glossary import linked, linked_name
from clickassay.report.model import ReportTable
from clickassay.report.writers.numbers import HTML, cell_text


def html_table(table: ReportTable) -> Markup:
    """Return the ``<table>`` element; ids begin with the table's name.

    Groups are a column, not rows, so that the table can be sorted; ``data-order`` has the sort key of a cell.
    Under heads over several columns, cells point to their headings; else the scopes of these say enough.
    """
    grouped = any(row.group for row in table.shown)
    kind = ' class="sortable"' if len(table.shown) > 1 else ""
    lines = [f'<table id="t-{table.name}"{kind}>', "<thead>", *_html_heads(table, grouped=grouped)]
    lines += ["</thead>", "<tbody>"]
    sides = [side(table, place) for place in range(len(table.heads))]
    for place, row in enumerate(table.shown, start=1):
        lines += _html_row(table, row, f"row-{place}", sides, grouped=grouped)
    return Markup("\n".join([*lines, "</tbody>", "</table>"]))  # noqa: S704 - every text is escaped


def _html_heads(table: ReportTable, *, grouped: bool) -> Iterator[str]:
    deep = ' rowspan="2"' if table.spanners else ""
    own = {"group": table.group_head} if grouped else {}
    first = "".join(
        f'<th{_id(table, name)} scope="col"{deep} class="left">{_html_text(table, text)}</th>'
        for name, text in {**own, "name": table.name_head}.items()
    )
    ids = (f'{_id(table, f"c{place}")} scope="col"' for place in range(len(table.heads)))
    rest = "".join(
        f'<th{own_id} class="{side(table, place)}">{_html_text(table, table.heads[place])}</th>'
        for place, own_id in enumerate(ids)
    )
    if not table.spanners:
        yield f"<tr>{first}{rest}</tr>"
        return
    above = "".join(_html_spanner(table, *span) for span in head_spans(table))
    yield f"<tr>{first}{above}</tr>"
    yield f"<tr>{rest}</tr>"


def _id(table: ReportTable, name: str) -> str:
    """Return the attribute that cells point to, where they do."""
    return f' id="t-{table.name}-{name}"' if table.spanners else ""


def _html_text(table: ReportTable, text: str) -> Markup:
    shown = visible(text, limit=2_000)
    return linked(shown) if table.explained else html(shown)


def _html_spanner(table: ReportTable, text: str, start: int, width: int) -> str:
    if not text:
        return f'<td colspan="{width}"></td>'
    name = f'id="t-{table.name}-s{start}" scope="colgroup" colspan="{width}" class="over"'
    return f"<th {name}>{_html_text(table, text)}</th>"


def _html_row(table: ReportTable, row: Row, name: str, sides: list[str], *, grouped: bool) -> Iterator[str]:
    text = html(visible(row.group, limit=2_000))
    group = f'<th{_id(table, f"{name}-group")} scope="row" class="left">{text}</th>' if grouped else ""
    own = (linked_name if table.explained else html)(visible(row.name, limit=400))
    yield f'<tr>{group}<th{_id(table, name)} scope="row" class="left">{own}</th>'
    for place, cell in enumerate(row.cells):
        heads = _pointed(table, name, place, grouped=grouped) if table.spanners else ""
        shown = "\n".join(map(html, cell_text(cell, HTML).split("\n")))
        yield f'<td{heads} class="{sides[place]}"{_order(cell)}>{shown}</td>'
    yield "</tr>"


def _pointed(table: ReportTable, row: str, place: int, *, grouped: bool) -> str:
    """Return the attribute by which a cell points to its headings."""
    above = _above(table)
    over = (f"s{above[place][1]}",) if place in above else ()
    names = (*((f"{row}-group",) if grouped else ()), row, *over, f"c{place}")
    return f' headers="{" ".join(f"t-{table.name}-{name}" for name in names)}"'


def _order(cell: Cell) -> str:
    """Return the attribute by which a number is sorted; missing values come first."""
    if isinstance(cell, str):
        return ""
    value = cell if isinstance(cell, int) or cell is None else cell.value
    return f' data-order="{"" if value is None else repr(value)}"'


def side(table: ReportTable, place: int) -> str:
    """Return the alignment of a column: numbers right, texts left."""
    return "right" if is_number(table, place) else "left"


def row_groups(table: ReportTable) -> list[tuple[str, list[Row]]]:
    """Return the shown rows by their group, in their order."""
    return [(group, list(rows)) for group, rows in groupby(table.shown, key=lambda row: row.group)]


def head_spans(table: ReportTable) -> Iterator[tuple[str, int, int]]:
    """Yield the heads over columns from left to right, with '' over columns that have none."""
    column = 0
    for text, start, width in sorted(table.spanners, key=lambda spanner: spanner[1]):
        if start > column:
            yield "", column, start - column
        yield text, start, width
        column = start + width
    if column < len(table.heads):
        yield "", column, len(table.heads) - column


def is_number(table: ReportTable, place: int) -> bool:
    """Return whether no shown cell of a column is a text."""
    return not any(isinstance(row.cells[place], str) for row in table.shown)


def full_heads(table: ReportTable) -> list[str]:
    """Return the heads of the columns, each with the head over it where there is one."""
    above = _above(table)
    return [
        f"{above[place][0]}, {head}" if place in above else head for place, head in enumerate(table.heads)
    ]


def _above(table: ReportTable) -> dict[int, tuple[str, int]]:
    """Return the head over each column that has one, and the first column under it."""
    return {start + offset: (text, start) for text, start, width in table.spanners for offset in range(width)}
