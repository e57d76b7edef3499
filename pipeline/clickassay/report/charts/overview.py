"""The picture of the first screen: every metric and baseline by how well it predicts clicks."""

from collections.abc import Sequence
from dataclasses import dataclass

from clickassay.core.text import number, span
from clickassay.report.cells import Estimate
from clickassay.report.charts.marks import common_domain
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    MUTED,
    PAGE,
    QUIET,
    TITLE,
    ZERO,
    Spec,
    Values,
    apart,
    label_width,
    layer,
    names_axis,
    number_axis,
    picture,
    shorten,
    specification,
)
from clickassay.report.model import Drawing

STEP = 27
"""Height of a row."""
_PLOT = 400
_LABEL = 268
_SIDE = 64
"""Width of the values beside the plot."""


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
        What the tests say of it, in words.
    is_above_nothing, is_among_best
        Whether it is significantly above noise; whether the highest is not significantly above it.
    """

    label: str
    found: Estimate
    status: str
    is_above_nothing: bool
    is_among_best: bool


@dataclass(frozen=True)
class Overview:
    """What the picture shows: its rows, the title of its axis, and the most that can be reached, if known."""

    bars: Sequence[Bar]
    axis: str
    ceiling: float | None = None

    def draw(self) -> Drawing:
        """Return the picture."""
        return picture(*self._parts(), size=self._size, sides=self._sides)

    def specify(self) -> Spec:
        """Return what is drawn."""
        return specification(*self._parts(), size=self._size, sides=self._sides)

    @property
    def _size(self) -> tuple[float, float]:
        return _PLOT, STEP * max(1, len(self.bars))

    @property
    def _sides(self) -> tuple[float, float, float, float]:
        labels = [shorten(bar.label, _LABEL) for bar in self.bars]
        return label_width(labels, limit=_LABEL), 24, _SIDE, 46

    def _parts(self) -> tuple[Sequence[Spec], Values, dict[str, str]]:
        heads = apart({bar.label: shorten(bar.label, _LABEL) for bar in self.bars})
        values = [_values(bar, heads[bar.label], self.ceiling) for bar in self.bars]
        titles = {
            "name": "Metric", "text": "Correlation", "interval": "Interval for all at once",
            "status": "Test",
        }  # fmt: skip
        return self._layers(heads), values, titles

    def _layers(self, heads: dict[str, str]) -> Sequence[Spec]:
        row = names_axis("head", labelColor=INK, labelFontSize=13) | {
            "scale": {"domain": list(heads.values())}
        }
        ends = [self.ceiling, 0.0]
        domain = common_domain([bar.found for bar in self.bars], ends)
        x = number_axis("value", domain, ticks=6, gridColor=ZERO, title=self.axis, titleY=32, **TITLE)
        colour = {"condition": {"test": "datum.best", "value": ACCENT}, "value": QUIET}
        fill = {"condition": [{"test": "!datum.above", "value": PAGE}, colour["condition"]], "value": QUIET}
        dot: Spec = {"type": "point", "shape": "circle", "size": 78, "opacity": 1, "strokeWidth": 2}
        beside: Spec = {"type": "text", "align": "right", "fontSize": 13}
        layers = [
            layer({"type": "rule", "strokeWidth": 2}, {
                "y": row, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour,
            }, only="bounded"),
            layer(dot, {"y": row, "x": x, "fill": fill, "stroke": colour}, tip=True),
            layer(beside, {
                "y": row, "x": {"value": _PLOT + _SIDE - 4}, "text": {"field": "text"},
            }),
        ]  # fmt: skip
        return [*_ceiling_line(x, self.ceiling), *layers]


def _ceiling_line(x: Spec, ceiling: float | None) -> Sequence[Spec]:
    if ceiling is None:
        return ()
    rule: Spec = {"type": "rule", "color": MUTED, "strokeDash": [4, 4], "strokeWidth": 1.2}
    text: Spec = {
        "type": "text", "align": "right", "color": MUTED, "dy": -10, "dx": 4,
        "text": f"most possible {number(ceiling, 2)}",
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
        "status": bar.status,
        "above": bar.is_above_nothing,
        "best": bar.is_among_best,
        "ceiling": ceiling,
    }
