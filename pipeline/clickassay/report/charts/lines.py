"""Pictures of lines: curves of runs, two runs query by query, examination next to discounts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clickassay.core.text.words import number, signed, visible
from clickassay.report.charts.marks import Span
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    MUTED,
    QUIET,
    TITLE,
    WARM,
    ZERO,
    Spec,
    Values,
    apart,
    layer,
    number_axis,
    picture,
    shorten,
)
from clickassay.report.model import Drawing

PLOT = (300, 210)
"""Width and height of the plot in pixels."""

_STROKES = [(colour, dash) for dash in ([], [7, 3], [2, 3]) for colour in (ACCENT, WARM, MUTED)]

MOST_LINES = len(_STROKES)
"""Largest number of lines that can be distinguished."""

_NAME_HEIGHT = 17  # height of a line of the legend
_STROKE_WIDTH = 26  # width of the stroke that it shows


@dataclass(frozen=True)
class Line:
    """One line: its name, its points, and whether it is only there for comparison."""

    name: str
    points: Sequence[tuple[float, float]]
    quiet: bool = False


def curves(
    lines: Sequence[Line], *, domains: tuple[Span, Span], heads: tuple[str, str], name_head: str = "Run"
) -> Drawing:
    """Draw at most `MOST_LINES` lines and one quiet one, with their names above.

    lines: at least one.
    domains: ranges of both axes.
    heads: titles of the axes.
    """
    labels = apart({line.name: shorten(visible(line.name), PLOT[0] - _STROKE_WIDTH) for line in lines})
    x = number_axis("x", domains[0], ticks=5, grid=False, title=heads[0], titleY=30.0, **TITLE)
    y = number_axis("y", domains[1], ticks=5, title=heads[1], titleX=-38.0, **TITLE)
    layers: list[Spec] = []
    for place, (line, (colour, dash)) in enumerate(zip(lines, _strokes(lines), strict=True)):
        stroke: Spec = {"color": colour, "strokeWidth": 1.2 if line.quiet else 2, "strokeDash": dash}
        layers.append(layer({"type": "line", **stroke}, {"x": x, "y": y}, only=f"line_{place}"))
        layers += _legend(labels[line.name], stroke, above=_NAME_HEIGHT * (len(lines) - place))
    unseen: Spec = {"type": "point", "filled": True, "size": 150, "opacity": 0}
    layers.append(layer(unseen, {"x": x, "y": y}, tip=True))
    titles = {"name": name_head, "x_text": heads[0], "y_text": heads[1]}
    top = 8.0 + _NAME_HEIGHT * len(lines)
    return picture(layers, _points(lines), titles, size=PLOT, sides=(52, top, 10, 44))


def _strokes(lines: Sequence[Line]) -> list[tuple[str, list[int]]]:
    strokes = iter(_STROKES)
    return [(QUIET, []) if line.quiet else next(strokes) for line in lines]


def _legend(name: str, stroke: Spec, *, above: float) -> list[Spec]:
    at: Spec = {"y": {"value": -above}}
    sample = layer(
        {"type": "rule", **stroke},
        {**at, "x": {"value": 0}, "x2": {"value": _STROKE_WIDTH - 6}},
        only="first",
    )
    text: Spec = {"type": "text", "align": "left", "baseline": "middle", "text": name}
    return [sample, layer(text, {**at, "x": {"value": _STROKE_WIDTH}}, only="first")]


def _points(lines: Sequence[Line]) -> Values:
    values = [
        {"name": visible(line.name), "x": x, "y": y, "x_text": f"{x:g}", "y_text": number(y, 4)}
        | {f"line_{place}": True}
        for place, line in enumerate(lines)
        for x, y in line.points
    ]
    return [value | {"first": not place} for place, value in enumerate(values)]


def difference_bars(differences: Sequence[tuple[str, float]], *, head: str) -> Drawing:
    """Draw a bar for each query, upwards where the difference is above 0.

    differences: names and differences in -1..1, from left to right.
    head: title of the axis.
    """
    values: Values = [
        {
            "query": visible(name), "text": signed(value, 4), "left": place + 0.12, "right": place + 0.88,
            "value": value, "up": value > 0,
        }
        for place, (name, value) in enumerate(differences)
    ]  # fmt: skip
    across: Mapping[str, Spec] = {
        "x": {
            "field": "left",
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": [0, max(1, len(values))], "nice": False, "zero": False},
        },
        "x2": {"field": "right"},
    }
    top = max([0.1, *(math.ceil(abs(value) * 10) / 10 for _, value in differences)])
    axis = number_axis("value", (-top, top), ticks=5, title=head, titleX=-44.0, gridColor=ZERO, **TITLE)
    colour = {"condition": {"test": "datum.up", "value": ACCENT}, "value": WARM}
    bars = layer({"type": "rect"}, {**across, "y": axis, "y2": {"datum": 0}, "color": colour})
    whole = layer(
        {"type": "rect", "opacity": 0},
        {**across, "y": {"value": 0}, "y2": {"value": PLOT[1]}},
        tip=True,
    )
    titles = {"query": "Query", "text": head}
    return picture([bars, whole], values, titles, size=PLOT, sides=(58, 8, 10, 8))


# ---- examination, next to the discounts of DCG and RBP (Chapelle et al. 2009, Figure 1) -----------


DISCOUNTS = (330, 190)
"""Width and height of the plot of discounts."""

LABEL_HEIGHT = 14
"""Pixels of a line of text."""


def discount_lines(
    examined: Mapping[str, Sequence[float]], discounts: Mapping[str, Sequence[float]], main: str
) -> Drawing:
    """Draw examination by position, one line for each model, and discounts as dashed lines.

    examined: share of sessions that examine each position, from the first on, by model; 0..1.
    discounts: weight of each position relative to the first, by metric; 0..1.
    main: the model that is drawn in colour; the others are grey.
    """
    deepest = max(len(line) for line in (*examined.values(), *discounts.values()))
    values = [
        *_discount_points(examined, main=main, dashed=False),
        *_discount_points(discounts, main=main, dashed=True),
    ]
    x = number_axis(
        "position", (1, max(deepest, 2)), ticks=min(deepest, 10), grid=False, format="d",
        title="Position", titleY=30.0, **TITLE,
    )  # fmt: skip
    y = number_axis("value", (0, 1), ticks=5, title="Relative to the first", titleX=-36.0, **TITLE)
    place: Spec = {"x": x, "y": y}
    dashes: Spec = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.6}
    colour: Spec = {"condition": {"test": "datum.first", "value": WARM}, "value": INK}
    by_name: Spec = {"detail": {"field": "name"}}
    label: Spec = {"type": "text", "align": "left", "dx": 7}
    layers = [
        layer({"type": "line", "color": QUIET, "strokeWidth": 1}, {**place, **by_name}, only="other"),
        layer(
            {"type": "point", "filled": True, "color": QUIET, "size": 14, "opacity": 1}, place, only="other"
        ),
        layer(dashes, {**place, **by_name, "stroke": colour}, only="dashed"),
        layer({"type": "line", "color": ACCENT, "strokeWidth": 2}, place, only="main"),
        layer(
            {"type": "point", "filled": True, "color": ACCENT, "size": 36, "opacity": 1}, place, only="main"
        ),
        layer(label, {"x": x, "y": {**y, "field": "label_at"}, "text": {"field": "name"}}, only="labelled"),
        layer({"type": "point", "filled": True, "size": 200, "opacity": 0}, place, tip=True),
    ]
    height = 0.0  # labels at the ends of lines move up where they would overprint
    for value in sorted((one for one in values if one["labelled"]), key=lambda one: one["value"]):
        height = value["label_at"] = max(value["value"], height)
        height += LABEL_HEIGHT / DISCOUNTS[1]
    titles = {"name": "Line", "position_text": "Position", "text": "Relative to the first"}
    return picture(layers, values, titles, size=DISCOUNTS, sides=(52, 8, 84, 42))


def _discount_points(lines: Mapping[str, Sequence[float]], *, main: str, dashed: bool) -> Values:
    return [
        {
            "name": name,
            "position": place,
            "position_text": str(place),
            "value": value,
            "text": number(value),
            "main": name == main and not dashed,
            "other": name != main and not dashed,
            "dashed": dashed,
            "first": dashed and name == next(iter(lines)),
            "labelled": place == len(line) and (dashed or name == main),
        }
        for name, line in lines.items()
        for place, value in enumerate(line, 1)
        if not math.isnan(value)  # where no result is shown
    ]
