"""What of a section is in view, and what is folded."""

from collections import Counter
from dataclasses import replace

from clickassay.findings.estimates import Estimate
from clickassay.report.cells import caution_reason
from clickassay.report.model import Section

MORE = "More on this: all sentences, pictures and tables"
"""Line behind which the rest of a section is folded."""

MOST_ROWS, MOST_FIGURES = 6, 3
"""Rows of a table and pictures in view: three pictures fit beside each other."""


def briefly(section: Section) -> Section:
    """Keep the main sentence and the first pictures of a section in view, or its first table."""
    kept = () if section.figures else tuple(replace(one, most=MOST_ROWS) for one in section.tables[:1])
    rest = section.tables[len(kept) :]
    return replace(
        section, reading=section.reading[:1], folded_reading=section.reading[1:],
        figures=section.figures[:MOST_FIGURES], folded_figures=section.figures[MOST_FIGURES:],
        tables=kept, folded=(*rest, *section.folded), fold_words=MORE,
    )  # fmt: skip


def folded_if_unreliable(section: Section) -> Section:
    """Fold a section to one line where no interval of its tables can be relied on, and say why."""
    return replace(section, unreliable=_why_unreliable(section))


def _why_unreliable(section: Section) -> str | None:
    known = [
        cell
        for table in section.every_table
        for row in table.rows
        for cell in row.cells
        if isinstance(cell, Estimate) and cell.value is not None
    ]
    if not known:
        return "there is nothing to show"
    if any(cell.has_interval and cell.caution is None for cell in known):
        return None
    reasons = Counter(caution_reason(cell.caution) for cell in known if cell.caution)
    if not reasons:
        return "no value has an interval"
    ((most, _),) = reasons.most_common(1)
    return f"no interval can be relied on ({most})"
