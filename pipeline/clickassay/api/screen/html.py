"""Parts of a result as HTML for a notebook: no script, nothing from outside, colours as the notebook's."""

import re
from collections.abc import Iterable

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.core.text.escape import html, terminal
from clickassay.core.text.words import without_secrets

_CODE = re.compile("`([^`]*)`")


def html_of(parts: Iterable[Part]) -> str:
    """Return parts as one element."""
    shown = (_table(part) if isinstance(part, ShownTable) else paragraph(part) for part in parts)
    return f"<section>{''.join(shown)}</section>"


def paragraph(text: str) -> str:
    """Return a line as a paragraph, with what is in backquotes as code."""
    return _CODE.sub(r"<code>\1</code>", f"<p>{_shown(text)}</p>")


def _table(shown: ShownTable) -> str:
    right = [head in set(shown.numbers) for head in shown.heads]
    heads = "".join(_cell("th", head, right[place]) for place, head in enumerate(shown.heads))
    rows = "".join(
        f"<tr>{''.join(_cell('td', cell, right[place]) for place, cell in enumerate(row))}</tr>"
        for row in shown.rows
    )
    title = f"<caption style='text-align:left'>{_shown(shown.title)}</caption>" if shown.title else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(tag: str, cell: object, is_number: bool) -> str:
    side = "right;white-space:nowrap" if is_number else "left"
    return f'<{tag} style="text-align:{side}">{_shown("" if cell is None else str(cell))}</{tag}>'


def _shown(text: str) -> str:
    return str(html(terminal(without_secrets(text))))
