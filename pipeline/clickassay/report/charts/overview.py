"""The picture of the first screen: how far each metric is ahead of the metric in use, or of a baseline."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap

from clickassay.core.text.words import signed, span
from clickassay.findings.estimates import Estimate
from clickassay.report.charts import vega
from clickassay.report.charts.marks import common_domain
from clickassay.report.model import Drawing


@dataclass(frozen=True)
class _Form:
    """Pixels of the plot, a row, labels and values beside it (0 = above the line); lines below the axis."""

    plot: float
    step: float
    label: float
    side: float
    captions: int


_WIDE = _Form(plot=400, step=27, label=268, side=64, captions=2)
_NARROW = _Form(plot=314, step=46, label=0, side=0, captions=3)
"""For a phone: labels above the lines."""

_NARROW_COLUMN = 60
"""Least width of a column of values above the lines."""

_SMALL = _Form(plot=140, step=24, label=256, side=52, captions=1)
"""For a picture beside another one."""


class Status(StrEnum):
    """What tests and bounds say of a row."""

    BETTER = "significantly better"
    OPEN = "could be meaningfully better"
    SAME = "no meaningful gain"
    WORSE = "significantly worse"
    REFERENCE = "reference"


_COLOURS = {
    Status.BETTER: "Blue", Status.OPEN: "Hollow", Status.SAME: "Grey", Status.WORSE: "Orange",
    Status.REFERENCE: "Black",
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A row of the picture."""

    label: str  # The metric as readers call it.
    # How much it is ahead of the reference, with a simultaneous interval.
    difference: Estimate
    status: Status  # What tests and bounds say of it.
    texts: tuple[str, ...]  # What stands beside it, one for each column.
    is_baseline: bool = False
    is_current: bool = False


@dataclass(frozen=True)
class Overview:
    """What the picture shows: its rows, what they are compared with, its margin, the heads of its columns."""

    bars: Sequence[Bar]
    reference: str
    margin: float
    heads: tuple[str, ...]

    @property
    def colours(self) -> str:
        """What the colours that are drawn mean."""
        drawn = {bar.status for bar in self.bars}
        return " ".join(f"{_COLOURS[one]}: {one}." for one in Status if one in drawn)

    def draw(self) -> Drawing:
        """Return the picture."""
        return self._drawn(_WIDE)

    def draw_small(self) -> Drawing:
        """Return the picture to stand beside another one."""
        return self._drawn(_SMALL)

    def draw_narrow(self) -> Drawing:
        """Return the picture for a phone."""
        return self._drawn(_NARROW)

    def _drawn(self, form: _Form) -> Drawing:
        return vega.picture(*self._parts(form), size=self._size(form), sides=self._sides(form))

    def image(self, title: str, reasons: Iterable[str]) -> bytes:
        """Return the picture as PNG under a title and a line a reason, for where no page can be shown."""
        parts = self._parts(_WIDE)
        spec = vega.specification(*parts, size=self._size(_WIDE), sides=self._sides(_WIDE))
        width = _WIDE.plot + sum(self._sides(_WIDE)[::2])
        lines = [line for text in reasons for line in wrap(text, int(width / vega.LETTER))]
        return vega.image(spec, wrap(title, int(width / vega.TITLE_LETTER)), [*lines, self.colours])

    def _columns(self, form: _Form) -> list[float]:
        """Return the widths of the columns of values: room for a value, or for a longer head."""
        return [max(form.side or _NARROW_COLUMN, vega.LETTER * len(head) + 6) for head in self.heads]

    def _size(self, form: _Form) -> tuple[float, float]:
        return form.plot, form.step * max(1, len(self.bars))

    def _sides(self, form: _Form) -> vega.Sides:
        bottom = 32 + 14 * form.captions
        if not form.label:
            return 16, 44, 16, bottom  # half a label of the axis, such as -0.15
        labels = [vega.shorten(bar.label, form.label) for bar in self.bars]
        return vega.label_width(labels, limit=form.label), 24, sum(self._columns(form)), bottom

    def _parts(self, form: _Form) -> tuple[Sequence[vega.Spec], vega.Values, dict[str, str]]:
        heads = vega.apart(
            {bar.label: vega.shorten(bar.label, form.label or form.plot - 60) for bar in self.bars}
        )
        values: vega.Values = []
        for bar in self.bars:
            ahead = bar.difference
            values.append({
                "name": bar.label, "head": heads[bar.label], "value": ahead.value, "low": ahead.low,
                "high": ahead.high, "bounded": ahead.has_interval,
                **{f"text{at}": text for at, text in enumerate(bar.texts)},
                "italic": bar.is_baseline, "bold": bar.is_current,
                "ahead": signed(ahead.value or 0.0), "interval": span(ahead.low, ahead.high),
                "status": bar.status.value, "below": -self.margin, "above": self.margin,
                **{one.name.lower(): bar.status is one for one in Status},
            })  # fmt: skip
        values[0]["first"] = True
        titles = {
            "name": "Metric", **{f"text{at}": head for at, head in enumerate(self.heads)},
            "ahead": "Difference in correlation", "interval": "Simultaneous 95% CI", "status": "Test",
        }  # fmt: skip
        return self._layers(form, list(heads.values())), values, titles

    def _layers(self, form: _Form, heads: Sequence[str]) -> Sequence[vega.Spec]:
        """Return the band of differences that nobody would act on, lines, dots and texts."""
        italic, bold = (
            [head for head, bar in zip(heads, self.bars, strict=True) if getattr(bar, name)]
            for name in ("is_baseline", "is_current")
        )
        row = vega.names_axis(
            "head", labelColor=vega.INK, labelFontSize=13, labelFontStyle=_styled(italic, "italic"),
            labelFontWeight=_styled(bold, "bold"),
        ) | {"scale": {"domain": heads}}  # fmt: skip
        if not form.label:
            row["axis"] = None
        domain = common_domain([bar.difference for bar in self.bars], [-self.margin, self.margin])
        x = vega.number_axis(
            "value", domain, ticks=3 if form is _SMALL else 6, gridColor=vega.ZERO, titleY=32, **vega.TITLE
        )
        what, lines = f"difference in correlation from {self.reference}", "Lines: simultaneous 95% CIs"
        x["axis"]["title"] = [f"\u2190 worse \u00b7 {what} \u00b7 better \u2192", lines]
        if form is not _WIDE:
            x["axis"]["title"] = ["\u2190 worse \u00b7 better \u2192", what, lines][: form.captions]
        coloured = [
            {"test": "datum.better || datum.open", "value": vega.ACCENT},
            {"test": "datum.worse", "value": vega.WARM},
        ]
        ink = {"test": "datum.reference", "value": vega.INK}
        filled = [{"test": "datum.open", "value": vega.PAGE}, ink, *coloured]
        dot: vega.Spec = {"type": "point", "shape": "circle", "size": 78, "opacity": 1, "strokeWidth": 2}
        colour, outline = (
            {"condition": tests, "value": vega.QUIET} for tests in (coloured, [ink, *coloured])
        )
        line: vega.Spec = {"y": row, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour}
        fill = {"condition": filled, "value": vega.QUIET}
        low, high = {**x, "field": "below", "aggregate": "min"}, {"field": "above", "aggregate": "max"}
        return [
            vega.layer({"type": "rect", "color": vega.RULE, "opacity": 0.55}, {"x": low, "x2": high}),
            vega.layer({"type": "rule", "strokeWidth": 2}, line, only="bounded"),
            vega.layer(dot, {"y": row, "x": x, "fill": fill, "stroke": outline}, tip=True),
            *self._texts(form, row),
        ]

    def _texts(self, form: _Form, row: vega.Spec) -> Sequence[vega.Spec]:
        """Return the values beside the plot; or, where labels have no room, both above the lines."""
        text: vega.Spec = {"type": "text", "align": "right", "fontSize": 13}
        widths = self._columns(form)
        beyond = sum(widths) - 4 if form.label else 0.0  # of the plot
        right = [form.plot + beyond - sum(widths[at + 1 :]) for at in range(len(widths))]
        head: vega.Spec = {
            "type": "text",
            "align": "right",
            "color": vega.MUTED,
            "dy": -12 if form.label else -32,
        }
        columns = [
            vega.layer(head | {"text": title}, {"x": {"value": x}, "y": {"value": 0}}, only="first")
            for x, title in zip(right, self.heads, strict=True)
        ]
        values = [{"y": row, "x": {"value": x}, "text": {"field": f"text{at}"}} for at, x in enumerate(right)]
        if form.label:
            return [*(vega.layer(text, place) for place in values), *columns]
        above = text | {"dy": -15}
        left = {"y": row, "x": {"value": 0}, "text": {"field": "head"}}
        style = {
            "fontStyle": {"expr": "datum.italic ? 'italic' : 'normal'"},
            "fontWeight": {"expr": "datum.bold ? 'bold' : 'normal'"},
        }
        halo = {"stroke": vega.PAGE, "strokeWidth": 4}  # keeps grid lines off the letters
        marks = [(above, place) for place in values] + [(above | {"align": "left"} | style, left)]
        return [*(vega.layer(mark | more, place) for more in (halo, {}) for mark, place in marks), *columns]


def _styled(heads: Sequence[str], style: str) -> vega.Spec:
    """Return a property of labels that these have; they may be names of a user, so they are quoted."""
    test = f"indexof({json.dumps(heads)}, datum.value) >= 0"
    return {"condition": {"test": test, "value": style}, "value": "normal"}
