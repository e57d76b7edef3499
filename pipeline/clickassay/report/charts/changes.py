"""The picture of two runs: every number in both, and the interval of its change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clickassay.core.text.words import number, signed, span
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.marks import common_domain, hover_rows
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    PAGE,
    QUIET,
    TITLE,
    ZERO,
    Spec,
    apart,
    label_width,
    layer,
    names_axis,
    number_axis,
    picture,
    shorten,
)
from clickassay.report.model import Drawing

STEP = 26
"""Height of a row."""

_PLOT = 265
_LABEL = 150
_ROOM = 6  # between the names and the edge
LEGEND = (
    ("ring", "run A"),
    ("dot", "run B, changed beyond noise"),
    ("dot-quiet", "run B, within noise or not tested"),
    ("line-quiet", "95 % interval of the change, drawn around B"),
)
"""Marks of the picture and their meanings: (style class, text)."""


@dataclass(frozen=True)
class ChangedNumber:
    """A row of the picture."""

    name: str  # What it is a number of.
    # before, after: Its values in run A and in run B.
    before: float
    after: float
    change: Estimate  # B - A with its interval.
    is_beyond_noise: bool  # Whether the change is significant.
    verdict: str  # What the test says, in words.

    @property
    def reach(self) -> tuple[float, float] | None:
        """The values of B that the interval of the change gives, were A exact; None where there is none."""
        low, high = self.change.low, self.change.high
        return None if low is None or high is None else (self.before + low, self.before + high)


def changed_numbers(rows: Sequence[ChangedNumber], *, head: str, axis: str) -> Drawing:
    """Draw one row per number: a ring at A, a dot at B, and the interval of the change around it.

    rows: the numbers, at least one; all on one scale.
    head: head of the names.
    axis: title of the axis.
    """
    heads = apart({row.name: shorten(row.name, _LABEL) for row in rows})
    values = [_values(row, heads[row.name]) for row in rows]
    left = label_width(list(heads.values()), limit=_LABEL) + _ROOM
    names = names_axis("head", labelColor=INK) | {"scale": {"domain": list(heads.values())}}
    x = number_axis("before", _domain(rows), ticks=5, gridColor=ZERO, title=axis, titleY=30.0, **TITLE)
    colour: Spec = {"condition": {"test": "datum.beyond", "value": ACCENT}, "value": QUIET}
    dot: Spec = {"type": "point", "shape": "circle", "size": 56, "opacity": 1, "strokeWidth": 2}
    layers = [
        layer(
            {"type": "rule", "strokeWidth": 2},
            {"y": names, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
            only="bounded",
        ),
        layer(dot, {"y": names, "x": x, "fill": {"value": PAGE}, "stroke": colour}),
        layer(dot, {"y": names, "x": {**x, "field": "after"}, "fill": colour, "stroke": colour}),
        hover_rows(names, STEP, left=left),
    ]
    titles = {
        "name": head, "before_text": "Run A", "after_text": "Run B", "change_text": "Change",
        "interval": "95 % interval of the change", "verdict": "Test",
    }  # fmt: skip
    return picture(layers, values, titles, size=(_PLOT, STEP * len(rows)), sides=(left, 6, 14, 44))


def _domain(rows: Sequence[ChangedNumber]) -> tuple[float, float]:
    shown = [Estimate(row.before, *(row.reach or (None, None))) for row in rows]
    return common_domain(shown, [row.after for row in rows])


def _values(row: ChangedNumber, head: str) -> dict[str, Any]:
    low, high = row.reach or (None, None)
    return {
        "name": row.name, "head": head, "before": row.before, "after": row.after, "low": low, "high": high,
        "bounded": row.reach is not None, "beyond": row.is_beyond_noise, "verdict": row.verdict,
        "before_text": number(row.before), "after_text": number(row.after),
        "change_text": signed(row.change.value or 0.0), "interval": span(row.change.low, row.change.high),
    }  # fmt: skip
