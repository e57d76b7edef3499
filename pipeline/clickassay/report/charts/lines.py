"""Pictures of lines: curves of runs, differences query by query and run by run, examination and discounts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clickassay.core.text.words import number, signed, span, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.charts import vega
from clickassay.report.charts.marks import Span, common_domain, hover_rows
from clickassay.report.model import Drawing

PLOT = (300, 210)
"""Width and height of the plot in pixels."""

_STROKES = [
    (colour, dash) for dash in ([], [7, 3], [2, 3]) for colour in (vega.ACCENT, vega.WARM, vega.MUTED)
]

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
    """Draw at most `MOST_LINES` lines, at least one, and one quiet one, with their names above."""
    labels = vega.apart(
        {line.name: vega.shorten(visible(line.name), PLOT[0] - _STROKE_WIDTH) for line in lines}
    )
    x = vega.number_axis("x", domains[0], ticks=5, grid=False, title=heads[0], titleY=30.0, **vega.TITLE)
    y = vega.number_axis("y", domains[1], ticks=5, title=heads[1], titleX=-45.0, **vega.TITLE)
    layers: list[vega.Spec] = []
    values: vega.Values = []
    strokes, text = iter(_STROKES), {"type": "text", "align": "left", "baseline": "middle"}
    for place, line in enumerate(lines):
        colour, dash = (vega.QUIET, []) if line.quiet else next(strokes)
        stroke: vega.Spec = {"color": colour, "strokeWidth": 1.2 if line.quiet else 2, "strokeDash": dash}
        above: vega.Spec = {"y": {"value": -_NAME_HEIGHT * (len(lines) - place)}}
        sample: vega.Spec = {**above, "x": {"value": 0}, "x2": {"value": _STROKE_WIDTH - 6}}
        name: vega.Spec = {**above, "x": {"value": _STROKE_WIDTH}}
        layers += [
            vega.layer({"type": "line", **stroke}, {"x": x, "y": y}, only=f"line_{place}"),
            vega.layer({"type": "rule", **stroke}, sample, only="first"),
            vega.layer({**text, "text": labels[line.name]}, name, only="first"),
        ]
        values += [
            {
                "name": visible(line.name), "x": at, "y": value, "x_text": f"{at:g}",
                "y_text": number(value, 4),
                f"line_{place}": True, "first": not place and not point,
            }
            for point, (at, value) in enumerate(line.points)
        ]  # fmt: skip
    unseen: vega.Spec = {"type": "point", "filled": True, "size": 150, "opacity": 0}
    layers.append(vega.layer(unseen, {"x": x, "y": y}, tip=True))
    titles = {"name": name_head, "x_text": heads[0], "y_text": heads[1]}
    top = 8.0 + _NAME_HEIGHT * len(lines)
    return vega.picture(layers, values, titles, size=PLOT, sides=(52, top, 10, 44))


def difference_bars(differences: Sequence[tuple[str, float]], *, head: str) -> Drawing:
    """Draw a bar for each name and difference in -1..1, upwards above 0, from left to right."""
    values: vega.Values = [
        {
            "query": visible(name), "text": signed(value, 4), "left": place + 0.12, "right": place + 0.88,
            "value": value, "up": value > 0,
        }
        for place, (name, value) in enumerate(differences)
    ]  # fmt: skip
    scale = {"domain": [0, max(1, len(values))], "nice": False, "zero": False}
    x: vega.Spec = {"field": "left", "type": "quantitative", "axis": None, "scale": scale}
    across: Mapping[str, vega.Spec] = {"x": x, "x2": {"field": "right"}}
    top = max([0.1, *(math.ceil(abs(value) * 10) / 10 for _, value in differences)])
    axis = vega.number_axis(
        "value", (-top, top), ticks=5, title=head, titleX=-44.0, gridColor=vega.ZERO, **vega.TITLE
    )
    colour = {"condition": {"test": "datum.up", "value": vega.ACCENT}, "value": vega.WARM}
    bars = vega.layer({"type": "rect"}, {**across, "y": axis, "y2": {"datum": 0}, "color": colour})
    height: vega.Spec = {"y": {"value": 0}, "y2": {"value": PLOT[1]}}
    whole = vega.layer({"type": "rect", "opacity": 0}, {**across, **height}, tip=True)
    titles = {"query": "Query", "text": head}
    return vega.picture([bars, whole], values, titles, size=PLOT, sides=(58, 8, 10, 8))


# ---- examination, next to the discounts of DCG and RBP (Chapelle et al. 2009, Figure 1) -----------


DISCOUNTS = (330, 190)

LABEL_HEIGHT = 14
"""Pixels of a line of text."""


def discount_lines(
    examined: Mapping[str, Sequence[float]], discounts: Mapping[str, Sequence[float]], main: str
) -> Drawing:
    """Draw examination by position, one line for each model, and discounts as dashed lines.

    examined: share of sessions that examine each position, by model; 0..1; `main` is in colour, others grey.
    discounts: weight of each position relative to the first, by metric; 0..1.
    """
    deepest = max(len(line) for line in (*examined.values(), *discounts.values()))
    values: vega.Values = [
        {
            "name": name, "position": place, "position_text": str(place), "value": value,
            "text": number(value), "main": name == main and not dashed,
            "other": name != main and not dashed, "dashed": dashed,
            "first": dashed and name == next(iter(lines)),
            "labelled": place == len(line) and (dashed or name == main),
        }
        for lines, dashed in ((examined, False), (discounts, True))
        for name, line in lines.items()
        for place, value in enumerate(line, 1)
        if not math.isnan(value)  # where no result is shown
    ]  # fmt: skip
    x = vega.number_axis(
        "position", (1, max(deepest, 2)), ticks=min(deepest, 10), grid=False, format="d",
        title="Position", titleY=30.0, **vega.TITLE,
    )  # fmt: skip
    y = vega.number_axis("value", (0, 1), ticks=5, title="Relative to the first", titleX=-36.0, **vega.TITLE)
    place: vega.Spec = {"x": x, "y": y}
    dashes: vega.Spec = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.6}
    colour: vega.Spec = {"condition": {"test": "datum.first", "value": vega.WARM}, "value": vega.INK}
    by_name: vega.Spec = {"detail": {"field": "name"}}
    label: vega.Spec = {"type": "text", "align": "left", "dx": 7}
    dot: vega.Spec = {"type": "point", "filled": True}
    layers = [
        vega.layer(
            {"type": "line", "color": vega.QUIET, "strokeWidth": 1}, {**place, **by_name}, only="other"
        ),
        vega.layer({**dot, "color": vega.QUIET, "size": 14, "opacity": 1}, place, only="other"),
        vega.layer(dashes, {**place, **by_name, "stroke": colour}, only="dashed"),
        vega.layer({"type": "line", "color": vega.ACCENT, "strokeWidth": 2}, place, only="main"),
        vega.layer({**dot, "color": vega.ACCENT, "size": 36, "opacity": 1}, place, only="main"),
        vega.layer(
            label, {"x": x, "y": {**y, "field": "label_at"}, "text": {"field": "name"}}, only="labelled"
        ),
        vega.layer({**dot, "size": 200, "opacity": 0}, place, tip=True),
    ]
    height = 0.0  # labels at the ends of lines move up where they would overprint
    for value in sorted((one for one in values if one["labelled"]), key=lambda one: one["value"]):
        height = value["label_at"] = max(value["value"], height)
        height += LABEL_HEIGHT / DISCOUNTS[1]
    titles = {"name": "Line", "position_text": "Position", "text": "Relative to the first"}
    return vega.picture(layers, values, titles, size=DISCOUNTS, sides=(52, 8, 84, 42))


# ---- two runs side by side -----------------------------------------------------------------------


STEP = 26

_PLOT = 265
_LABEL = 150
_ROOM = 6  # between the names and the edge
LEGEND = (
    ("ring", "run A"),
    ("dot", "run B, significant change"),
    ("dot-quiet", "run B, not significant or not tested"),
    ("line-quiet", "95% CI of the change, drawn around B"),
)
"""Marks of the picture and their meanings: (style class, text)."""


@dataclass(frozen=True)
class ChangedNumber:
    """A row of the picture."""

    name: str  # What it is a number of.
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
    """Draw at least one number a row, on one scale: a ring at A, a dot at B, and the change's interval."""
    heads = vega.apart({row.name: vega.shorten(row.name, _LABEL) for row in rows})
    values = []
    for row in rows:
        low, high = row.reach or (None, None)
        values.append({
            "name": row.name, "head": heads[row.name], "before": row.before, "after": row.after, "low": low,
            "high": high, "bounded": row.reach is not None, "beyond": row.is_beyond_noise,
            "verdict": row.verdict, "before_text": number(row.before), "after_text": number(row.after),
            "change_text": signed(row.change.value or 0.0), "interval": span(row.change.low, row.change.high),
        })  # fmt: skip
    shown = [Estimate(row.before, *(row.reach or (None, None))) for row in rows]
    domain = common_domain(shown, [row.after for row in rows])
    left = vega.label_width(list(heads.values()), limit=_LABEL) + _ROOM
    names = vega.names_axis("head", labelColor=vega.INK) | {"scale": {"domain": list(heads.values())}}
    x = vega.number_axis(
        "before", domain, ticks=5, gridColor=vega.ZERO, title=axis, titleY=30.0, **vega.TITLE
    )
    colour: vega.Spec = {"condition": {"test": "datum.beyond", "value": vega.ACCENT}, "value": vega.QUIET}
    dot: vega.Spec = {"type": "point", "shape": "circle", "size": 56, "opacity": 1, "strokeWidth": 2}
    layers = [
        vega.layer(
            {"type": "rule", "strokeWidth": 2},
            {"y": names, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
            only="bounded",
        ),
        vega.layer(dot, {"y": names, "x": x, "fill": {"value": vega.PAGE}, "stroke": colour}),
        vega.layer(dot, {"y": names, "x": {**x, "field": "after"}, "fill": colour, "stroke": colour}),
        hover_rows(names, STEP, left=left),
    ]
    titles = {
        "name": head, "before_text": "Run A", "after_text": "Run B", "change_text": "Change",
        "interval": "95% CI of the change", "verdict": "Test",
    }  # fmt: skip
    return vega.picture(layers, values, titles, size=(_PLOT, STEP * len(rows)), sides=(left, 6, 14, 44))
