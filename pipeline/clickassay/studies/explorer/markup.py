"""HTML of the page. Every text is escaped by `html`, so that no text of a log can act as HTML."""

from collections.abc import Sequence

import polars as pl

from clickassay.core.text.escape import html
from clickassay.studies.questions import cells

MOST_ROWS = 200
"""Rows of a table that are shown; downloads have all rows."""


def tab(name: str) -> str:
    """Return the label of a tab, dark enough to be read when it is not the chosen one."""
    return f'<span style="color: #334155">{html(name)}</span>'


def line(words: str, *, style: str = "") -> str:
    """Return a paragraph."""
    return f'<p class="ca-line {style}">{html(words)}</p>'


def heading(words: str, level: int = 2) -> str:
    """Return a heading."""
    return f'<h{level} class="ca-heading">{html(words)}</h{level}>'


def frame_table(frame: pl.DataFrame, caption: str, totals: Sequence[tuple[str, float]] = ()) -> str:
    """Return the first rows of `frame` as a table, numbers to four digits; `totals` follow as last lines."""
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    rows = [_row(row, numeric) for row in cells(frame.head(MOST_ROWS))]
    if frame.height > MOST_ROWS:
        rows.append(f'<tr><td colspan="{frame.width}">… {frame.height - MOST_ROWS:,} more rows</td></tr>')
    shown = cells(pl.DataFrame({"value": [value for _, value in totals]}, schema={"value": pl.Float64}))
    last = [_total(what, value, frame.width) for (what, _), (value,) in zip(totals, shown, strict=True)]
    return table(frame.columns, rows, last, caption, numeric)


def table(
    heads: Sequence[str], rows: Sequence[str], last: Sequence[str], caption: str, numeric: Sequence[bool]
) -> str:
    """Return a table of finished rows; a wide one scrolls by itself."""
    columns = "".join(
        f'<th scope="col"{_right(right)}>{html(head)}</th>'
        for head, right in zip(heads, numeric, strict=True)
    )
    foot = f"<tfoot>{''.join(last)}</tfoot>" if last else ""
    name = html(caption)
    return (
        f'<div class="ca-scroll" tabindex="0" role="region" aria-label="{name}"><table class="ca-table">'
        f"<caption>{name}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody>{foot}</table></div>"
    )


def _row(shown: Sequence[str], numeric: Sequence[bool]) -> str:
    return (
        "<tr>"
        + "".join(f"<td{_right(right)}>{html(cell)}</td>" for cell, right in zip(shown, numeric, strict=True))
        + "</tr>"
    )


def _total(what: str, value: str, width: int) -> str:
    before = f' colspan="{width - 1}"' if width > 2 else ""
    return f'<tr><th scope="row"{before}>{html(what)}</th><td class="ca-number">{html(value)}</td></tr>'


def _right(numeric: bool) -> str:
    return ' class="ca-number"' if numeric else ""


def bar(share: float) -> str:
    """Return a bar for a share of 0..1."""
    width = round(100 * min(1.0, max(0.0, share)))
    return f'<span class="ca-bar" aria-hidden="true"><span style="width:{width}%"></span></span>'
