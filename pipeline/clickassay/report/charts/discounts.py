"""Examination by position next to the discounts of DCG and RBP (Chapelle et al. 2009, Figure 1)."""

import math
from collections.abc import Mapping, Sequence

from clickassay.core.text.words import number
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    QUIET,
    TITLE,
    WARM,
    Spec,
    Values,
    layer,
    number_axis,
    picture,
)
from clickassay.report.model import Drawing

SIZE = (330, 190)
"""Width and height of the plot."""

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
        *_points(examined, main=main, dashed=False),
        *_points(discounts, main=main, dashed=True),
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
    _part_labels(values)
    titles = {"name": "Line", "position_text": "Position", "text": "Relative to the first"}
    return picture(layers, values, titles, size=SIZE, sides=(52, 8, 84, 42))


def _part_labels(values: Values) -> None:
    """Give the labels at the ends of lines their heights, moved up where they would overprint."""
    height = 0.0
    for value in sorted((one for one in values if one["labelled"]), key=lambda one: one["value"]):
        height = value["label_at"] = max(value["value"], height)
        height += LABEL_HEIGHT / SIZE[1]


def _points(lines: Mapping[str, Sequence[float]], *, main: str, dashed: bool) -> Values:
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
