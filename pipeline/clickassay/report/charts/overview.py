"""The picture of the first screen: every metric and baseline by how well it predicts clicks."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap

from clickassay.core.text.words import number, span
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.marks import Span, common_domain
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    LETTER,
    MUTED,
    PAGE,
    QUIET,
    TITLE,
    TITLE_LETTER,
    WARM,
    ZERO,
    Sides,
    Spec,
    Values,
    apart,
    image,
    label_width,
    layer,
    names_axis,
    number_axis,
    picture,
    shorten,
    specification,
)
from clickassay.report.model import Drawing


@dataclass(frozen=True)
class _Form:
    """Sizes in pixels: the plot, a row, labels and values beside it; 0 = these are above the line."""

    plot: float
    step: float
    label: float
    side: float


_WIDE = _Form(plot=400, step=27, label=268, side=64)
_NARROW = _Form(plot=322, step=46, label=0, side=0)
"""For a phone: labels above the lines."""


_COLOURS = "Blue: among the best. Grey: significantly below the highest. Hollow: not different from noise."


class Status(StrEnum):
    """What the tests say of a row."""

    BEST = "among the best"
    BELOW = "significantly below the highest"
    NOISE = "not significantly different from noise"
    NEGATIVE = "significantly below noise"


@dataclass(frozen=True)
class Bar:
    """A row of the picture.

    Attributes
    ----------
    label
        The metric as readers call it.
    found
        Its value, with an interval that holds for all rows at once.
    status
        What the tests say of it.
    """

    label: str
    found: Estimate
    status: Status


@dataclass(frozen=True)
class Overview:
    """What the picture shows: its rows, the title of its axis, and the most that can be reached, if known."""

    bars: Sequence[Bar]
    axis: Sequence[str]
    ceiling: float | None = None

    def draw(self) -> Drawing:
        """Return the picture."""
        return picture(*self._parts(_WIDE), size=self._size(_WIDE), sides=self._sides(_WIDE))

    def draw_narrow(self) -> Drawing:
        """Return the picture for a phone."""
        return picture(*self._parts(_NARROW), size=self._size(_NARROW), sides=self._sides(_NARROW))

    def image(self, title: str, subtitle: str) -> bytes:
        """Return the picture as PNG under a title, for where no page can be shown."""
        parts = self._parts(_WIDE)
        spec = specification(*parts, size=self._size(_WIDE), sides=self._sides(_WIDE))
        width = _WIDE.plot + sum(self._sides(_WIDE)[::2])
        return image(
            spec, wrap(title, int(width / TITLE_LETTER)), [*wrap(subtitle, int(width / LETTER)), _COLOURS]
        )

    def _size(self, form: _Form) -> tuple[float, float]:
        return form.plot, form.step * max(1, len(self.bars))

    def _sides(self, form: _Form) -> Sides:
        if not form.label:
            return 12, 24, 12, 60
        labels = [shorten(bar.label, form.label) for bar in self.bars]
        return label_width(labels, limit=form.label), 24, form.side, 46

    def _parts(self, form: _Form) -> tuple[Sequence[Spec], Values, dict[str, str]]:
        heads = apart({bar.label: shorten(bar.label, form.label or form.plot - 60) for bar in self.bars})
        values = [_values(bar, heads[bar.label], self.ceiling) for bar in self.bars]
        titles = {
            "name": "Metric", "text": "Correlation", "interval": "Interval for all at once",
            "status": "Test",
        }  # fmt: skip
        return self._layers(form, list(heads.values())), values, titles

    def _layers(self, form: _Form, heads: Sequence[str]) -> Sequence[Spec]:
        row = names_axis("head", labelColor=INK, labelFontSize=13) | {"scale": {"domain": heads}}
        if not form.label:
            row["axis"] = None
        domain = common_domain([bar.found for bar in self.bars], [self.ceiling, 0.0])
        title = [" ".join(self.axis)] if form.label else list(self.axis)
        x = number_axis("value", domain, ticks=6, gridColor=ZERO, titleY=32, **TITLE)
        x["axis"]["title"] = title
        coloured = [{"test": "datum.best", "value": ACCENT}, {"test": "datum.negative", "value": WARM}]
        colour = {"condition": coloured, "value": QUIET}
        fill = {"condition": [{"test": "datum.noise", "value": PAGE}, *coloured], "value": QUIET}
        dot: Spec = {"type": "point", "shape": "circle", "size": 78, "opacity": 1, "strokeWidth": 2}
        line: Spec = {"y": row, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour}
        return [
            *_ceiling_line(x, self.ceiling, domain),
            layer({"type": "rule", "strokeWidth": 2}, line, only="bounded"),
            layer(dot, {"y": row, "x": x, "fill": fill, "stroke": colour}, tip=True),
            *_texts(form, row),
        ]


def _texts(form: _Form, row: Spec) -> Sequence[Spec]:
    """Return the values beside the plot; or, where labels have no room, both above the lines."""
    text: Spec = {"type": "text", "align": "right", "fontSize": 13}
    right = {"y": row, "x": {"value": form.plot + max(form.side - 4, 0)}, "text": {"field": "text"}}
    if form.label:
        return (layer(text, right),)
    above = text | {"dy": -15}
    left = {"y": row, "x": {"value": 0}, "text": {"field": "head"}}
    halo = {"stroke": PAGE, "strokeWidth": 4}  # keeps grid lines off the letters
    marks = ((above, right), (above | {"align": "left"}, left))
    return [layer(mark | more, place) for more in (halo, {}) for mark, place in marks]


def _ceiling_line(x: Spec, ceiling: float | None, domain: Span) -> Sequence[Spec]:
    if ceiling is None:
        return ()
    goes_left = ceiling > sum(domain) / 2  # the words go where there is more room
    rule: Spec = {"type": "rule", "color": MUTED, "strokeDash": [4, 4], "strokeWidth": 1.2}
    text: Spec = {
        "type": "text", "align": "right" if goes_left else "left", "color": MUTED, "dy": -10,
        "dx": 4 if goes_left else -4,
        "text": f"highest possible {number(ceiling, 2)}",
    }  # fmt: skip
    place = {**x, "field": "ceiling", "aggregate": "max"}
    return (
        layer(rule, {"x": place}),
        layer(text, {"x": place, "y": {"value": 0}}),
    )


def _values(bar: Bar, head: str, ceiling: float | None) -> dict[str, object]:
    return {
        "name": bar.label,
        "head": head,
        "value": bar.found.value,
        "low": bar.found.low,
        "high": bar.found.high,
        "bounded": bar.found.has_interval,
        "text": number(bar.found.value),
        "interval": span(bar.found.low, bar.found.high),
        "status": bar.status.value,
        **{one.name.lower(): bar.status is one for one in Status},
        "ceiling": ceiling,
    }
