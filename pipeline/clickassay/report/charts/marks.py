"""Pictures of a report, in the grammar of Vega-Lite: same numbers in, same bytes out.

Colours are named by their use. The style sheet maps these values to the colours of the light or dark
page, so one picture serves both; the palette (blue, vermilion, greys) is safe for
colour-blind readers, and every colour is doubled by a number, a shape or a position.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from clickassay.core.text.words import number, percent, span
from clickassay.findings.estimates import Estimate, not_computed
from clickassay.report.charts.vega import (
    ACCENT,
    INK,
    LETTER,
    MUTED,
    PAGE,
    QUIET,
    RULE,
    TINT,
    TITLE,
    WARM,
    WARM_TINT,
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
)
from clickassay.report.model import Drawing, Figure

Span = tuple[float, float]

CELL = (47, 30)

HEAD = 51
"""Width of a line over a column of cells; neighbours meet where it is more."""

BAR = 42
"""Height of a bar with its label."""

STEP = 25

PLOT = (262, 150)
"""Width and height of the lines by decile."""

SQUARE = 300
"""Width and height of the histogram of draws."""

DECILES = "Decile of query frequency, 1 = rarest"
"""Title of their axis."""

WIDE = 330

_SHARE: Spec = {
    "type": "quantitative", "axis": None, "stack": None, "scale": {"domain": [0, 1], "clamp": True},
}  # fmt: skip
_ROW: Spec = {"field": "place", "type": "ordinal", "sort": None, "axis": None}
_REACH: Spec = {"type": "rule", "color": ACCENT, "strokeWidth": 2}
_DOT: Spec = {
    "type": "point", "shape": "circle", "size": 56, "opacity": 1, "stroke": ACCENT, "strokeWidth": 2,
}  # fmt: skip
_DIAMOND: Spec = {
    "type": "point", "shape": "diamond", "size": 70, "opacity": 1, "filled": False,
    "stroke": WARM, "strokeWidth": 1.8,
}  # fmt: skip
_ON_TRACK: Spec = {"height": 7, "cornerRadius": 3, "yOffset": 10}


def _estimate_columns(cell: Estimate) -> dict[str, Any]:
    return {
        "value": cell.value, "low": cell.low, "high": cell.high, "text": number(cell.value),
        "interval": span(cell.low, cell.high),
    }  # fmt: skip


def heat_map(
    estimates: Mapping[tuple[str, str], Estimate], clicks: Sequence[str], editorial: Sequence[str]
) -> Drawing:
    """Draw correlations as cells, click metric by offline metric; the highest of a row is bold."""
    # "AP(rel=2)" on two lines keeps the columns narrow enough for a phone; dots are wider than a letter
    split = {name: name.replace("(", "\n(", 1).split("\n") for name in editorial}
    short = {
        name: [line if len(line) * LETTER <= HEAD else shorten(line, HEAD - LETTER) for line in lines]
        for name, lines in split.items()
    }
    heads = apart({name: "\n".join(lines) for name, lines in short.items()})
    values = []
    for click in clicks:
        cells = {name: estimates.get((click, name), not_computed()) for name in editorial}
        highest = max((one.value for one in cells.values() if one.value is not None), default=None)
        values += [
            {
                "click": click, "click_head": shorten(click, 150), "editorial": name, "head": heads[name],
                **_estimate_columns(one), "strength": abs(one.value or 0.0), "reason": one.reason,
                "best": one.value is not None and one.value == highest,
            }
            for name, one in cells.items()
        ]  # fmt: skip
    lines = max((head.count("\n") + 1 for head in heads.values()), default=1)
    top: Spec = {"orient": "top", "labelAngle": 0, "labelPadding": 14 * lines - 7}
    x = names_axis("head", **top, labelExpr=r"split(datum.label, '\n')")
    place: Spec = {"x": x, "y": names_axis("click_head")}
    colour = {"condition": {"test": "datum.value < 0", "value": WARM_TINT}, "value": TINT}
    strength = {
        "field": "strength", "type": "quantitative", "legend": None,
        "scale": {"domain": [0, 1], "range": [0.04, 1], "clamp": True},
    }  # fmt: skip
    cell: Spec = {"type": "rect", "width": {"band": 0.96}, "height": {"band": 0.94}, "cornerRadius": 3}
    bold: Spec = {"type": "text", "fontWeight": {"expr": "datum.best ? 'bold' : 'normal'"}}
    layers = [
        layer(cell, {**place, "color": colour, "fillOpacity": strength}, tip=True),
        layer(bold, {**place, "text": {"field": "text"}}),
    ]
    titles = {
        "click": "Click metric", "editorial": "Offline metric", "text": "Correlation",
        "interval": "95% CI", "reason": "No value",
    }  # fmt: skip
    size = (CELL[0] * len(editorial), CELL[1] * len(clicks))
    return picture(layers, values, titles, size=size, sides=(label_width(clicks), 6 + 14 * lines, 1, 1))


def bars(rows: Sequence[tuple[str, int, float | None, bool]]) -> Drawing:
    """Draw counts as bars on a common track: (label, rows, share 0..1, whether the rows are kept)."""
    values: Values = []
    for place, (label, amount, share, goes_on) in enumerate(rows):
        text = f"{amount:,}" + (f"  ({percent(share)})" if share is not None else "")
        shown = shorten(label, WIDE - label_width([text], limit=WIDE))
        values.append({
            "place": place, "label": label, "shown": shown, "share": share or 0.0, "goes_on": goes_on,
            "text": text,
        })  # fmt: skip
    colour = {"condition": {"test": "datum.goes_on", "value": ACCENT}, "value": QUIET}
    return _shares(values, colour, {"label": "Step", "text": "Rows"})


def _shares(values: Values, colour: Spec, titles: Mapping[str, str], *more: Spec) -> Drawing:
    """Draw the column `share` as bars on tracks, the texts `shown` and `text` above each."""
    tracks = layer(_ON_TRACK | {"type": "bar", "color": RULE}, {"y": _ROW, "x": {"datum": 1, **_SHARE}})
    parts = layer(
        _ON_TRACK | {"type": "bar"}, {"y": _ROW, "x": {"field": "share", **_SHARE}, "color": colour}
    )
    left: Spec = {"type": "text", "align": "left", "dy": -4}
    right: Spec = {"type": "text", "align": "right", "dy": -4, "color": MUTED}
    layers = [
        tracks,
        parts,
        *more,
        layer(left, {"y": _ROW, "x": {"value": 0}, "text": {"field": "shown"}}),
        layer(right, {"y": _ROW, "x": {"value": WIDE}, "text": {"field": "text"}}),
        hover_rows(_ROW, BAR),
    ]
    return picture(layers, values, titles, size=(WIDE, BAR * len(values)), sides=(0, 0, 0, 0))


def hover_rows(row: Spec, height: float, *, left: float = 0) -> Spec:
    """Return invisible bars over whole rows: pointing anywhere in a row shows its numbers."""
    unseen: Spec = {"type": "bar", "height": height, "opacity": 0}
    return layer(unseen, {"y": row, "x": {"value": -left}, "x2": {"value": "width"}}, tip=True)


@dataclass(frozen=True)
class IntervalHeads:
    """Texts of a picture of intervals: of the axis, the names, the lines, the diamonds."""

    axis: str
    name: str = "Metric"
    reach: str = "95% CI"
    diamond: str = "Random iterations"


def intervals(
    names: Sequence[str],
    estimates: Mapping[str, Estimate],
    texts: IntervalHeads,
    *,
    domain: Span,
    diamonds: Mapping[str, float | None] | None = None,
    hollow: Sequence[str] = (),
    marked: float = 0.0,
) -> Drawing:
    """Draw one row per name: a dot with its interval, and a second value as a diamond, where there is one.

    Dots of `hollow` names are not filled; the grid line at `marked` is darker.
    """
    second, heads = diamonds or {}, apart({name: shorten(name, 150) for name in names})
    values = [
        {
            "name": name, "head": heads[name], **_estimate_columns(estimates[name]),
            "bounded": estimates[name].has_interval, "run": second.get(name),
            "run_text": number(second.get(name)), "ran": second.get(name) is not None,
            "hollow": name in hollow,
        }
        for name in names
        if estimates[name].value is not None
    ]  # fmt: skip
    # the first layer lacks rows without an interval, so the order of all rows is given
    order: Spec = {"scale": {"domain": [value["head"] for value in values]}}
    row = names_axis("head", labelColor=INK) | order
    left = label_width([value["head"] for value in values])
    at_mark: Spec = {"condition": {"test": f"datum.value === {marked}", "value": MUTED}, "value": RULE}
    x = number_axis("value", domain, ticks=5, gridColor=at_mark, title=texts.axis, titleY=30.0, **TITLE)
    fill = {"condition": {"test": "datum.hollow", "value": PAGE}, "value": ACCENT}
    layers = [
        layer(_REACH, {"y": row, "x": {**x, "field": "low"}, "x2": {"field": "high"}}, only="bounded"),
        layer(_DOT, {"y": row, "x": x, "fill": fill}),
        layer(_DIAMOND, {"y": row, "x": {**x, "field": "run"}}, only="ran"),
        hover_rows(row, STEP, left=left),
    ]
    titles = {"name": texts.name, "text": "Value", "interval": texts.reach}
    if second:
        titles["run_text"] = texts.diamond
    return picture(layers, values, titles, size=(265, STEP * max(1, len(values))), sides=(left, 6, 12, 42))


def interval_figure(
    name: str,
    title: str,
    estimates: Mapping[str, Estimate],
    texts: IntervalHeads,
    table: str,
    marked: float = 0.0,
) -> tuple[Figure, ...]:
    """Return a picture of the estimates that have a value, as `intervals` draws it; () if there are none."""
    known = {key: one for key, one in estimates.items() if one.value is not None}
    if not known:
        return ()
    domain = common_domain(tuple(known.values()), [marked])
    drawing = intervals(tuple(known), known, texts, domain=domain, marked=marked)
    values = "; ".join(f"{key} {one.value:.3f}" for key, one in known.items())
    return (Figure(name, title, f"{title}, with 95% CIs: {values}.", drawing, table),)


def decile_lines(
    lines: Mapping[str, Mapping[int, Estimate]],
    main: str,
    *,
    domain: Span,
    corrected: Mapping[int, float] | None = None,
) -> Drawing:
    """Draw the correlation of one metric by frequency decile with its band, the others in grey.

    `corrected` are its noise-corrected values by decile, drawn as diamonds.
    """
    second = corrected or {}
    values = [
        {
            "decile": at, "decile_text": str(at), "metric": name, "main": name == main, "other": name != main,
            "banded": name == main and cell.has_interval, **_estimate_columns(cell),
            "corrected": second.get(at) if name == main else None,
            "corrected_text": number(second.get(at)) if name == main else "",
            "has_corrected": name == main and at in second,
        }
        for name, line in lines.items()
        for at, cell in line.items()
        if cell.value is not None
    ]  # fmt: skip
    x = number_axis("decile", (1, 10), ticks=10, grid=False, title=DECILES, titleY=31.0, **TITLE)
    y = number_axis("value", domain, ticks=4, title="Correlation", titleX=-40.0, **TITLE)
    quiet: Spec = {"type": "line", "color": QUIET, "strokeWidth": 1, "strokeOpacity": 0.7}
    band: Spec = {"type": "area", "color": TINT, "fillOpacity": 0.28}
    dots: Spec = {"type": "point", "filled": True}
    layers = [
        layer(quiet, {"x": x, "y": y, "detail": {"field": "metric"}}, only="other"),
        layer(band, {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, only="banded"),
        layer({"type": "line", "color": ACCENT, "strokeWidth": 2}, {"x": x, "y": y}, only="main"),
        layer(dots | {"color": ACCENT, "size": 36, "opacity": 1}, {"x": x, "y": y}, only="main"),
        layer(_DIAMOND, {"x": x, "y": {**y, "field": "corrected"}}, only="has_corrected"),
        layer(dots | {"size": 420, "opacity": 0}, {"x": x, "y": y}, only="main", tip=True),
    ]
    titles = {"metric": "Metric", "decile_text": "Decile", "text": "Correlation", "interval": "95% CI"}
    if second:
        titles["corrected_text"] = "Noise-corrected"
    return picture(layers, values, titles, size=PLOT, sides=(54, 8, 8, 44))


def histogram_2d(
    values: Values, *, domains: tuple[Span, Span], heads: tuple[str, str], titles: Mapping[str, str]
) -> Drawing:
    """Draw the bins of a 2D histogram, the darker the more draws lie in them; `domains` contain 0.

    values: bins that are not empty: left, right, low, high, draws, and the columns of `titles`.
    """
    across, up = _square_axes(("left", "low"), domains, heads)
    strength = {
        "field": "draws", "type": "quantitative", "legend": None,
        "scale": {"type": "sqrt", "range": [0.15, 1], "zero": True},
    }  # fmt: skip
    place = {"x": across, "x2": {"field": "right"}, "y": up, "y2": {"field": "high"}}
    bins = layer({"type": "rect", "color": ACCENT}, {**place, "fillOpacity": strength}, tip=True)
    return picture([bins], values, titles, size=(SQUARE, SQUARE), sides=(68, 8, 12, 46))


@dataclass(frozen=True)
class Point:
    """A test of `quadrants`."""

    name: str
    across: float
    up: float
    half: float  # Half the length of its error bar.
    filled: bool


def quadrants(points: Sequence[Point], heads: tuple[str, str], counts: Sequence[int]) -> Drawing:
    """Draw points with error bars around 0, and numbers in the upper left and right, lower left and right."""
    values: Values = [
        {
            "name": one.name, "across": one.across, "up": one.up, "low": one.up - one.half,
            "high": one.up + one.half, "filled": one.filled, "across_text": f"{one.across:.3g}",
            "up_text": f"{one.up:.3g}", "interval": f"{one.up - one.half:.3g} to {one.up + one.half:.3g}",
        }
        for one in points
    ]  # fmt: skip
    values[0]["first"] = True
    reach = [1.1 * max(abs(value[name]) for value in values for name in some) or 1.0
             for some in (("across",), ("low", "high"))]  # fmt: skip
    across, up = _square_axes(("across", "up"), [(-size, size) for size in reach], heads)
    place: Spec = {"x": across, "y": up}
    fill = {"condition": {"test": "datum.filled", "value": ACCENT}, "value": PAGE}
    places = product((14, SQUARE - 12), (("left", 6), ("right", SQUARE - 6)))
    corner: Spec = {"type": "text", "color": MUTED, "fontSize": 15}
    corners = [
        layer(
            corner | {"align": side, "text": str(count)}, {"x": {"value": x}, "y": {"value": y}}, only="first"
        )
        for count, (y, (side, x)) in zip(counts, places, strict=True)
    ]
    bars = layer(
        {"type": "rule", "color": QUIET}, {"x": across, "y": {**up, "field": "low"}, "y2": {"field": "high"}}
    )
    dots = layer(_DOT, {**place, "fill": fill}, tip=True)
    shown = {"name": "Test", "across_text": heads[0], "up_text": heads[1], "interval": "95% CI"}
    return picture([bars, *corners, dots], values, shown, size=(SQUARE, SQUARE), sides=(68, 8, 12, 46))


def _square_axes(names: Sequence[str], domains: Sequence[Span], heads: Sequence[str]) -> tuple[Spec, Spec]:
    style: Spec = {"ticks": 5, "gridColor": ZERO, "format": ".3~g", **TITLE}
    titles = [shorten(head, SQUARE) for head in heads]
    across = number_axis(names[0], domains[0], title=titles[0], titleY=31.0, **style)
    return across, number_axis(names[1], domains[1], title=titles[1], titleX=-52.0, **style)


def click_rates(values: Values, titles: Mapping[str, str]) -> Drawing:
    """Draw shares (0..1) of labels as bars, with a tick at the average; alone: no better result is above."""
    drawn = [
        {
            **value,
            "place": place,
            "shown": shorten(value["label"], WIDE - 60),
            "text": percent(value["share"]),
        }
        for place, value in enumerate(values)
    ]
    colour = {"condition": {"test": "datum.alone", "value": ACCENT}, "value": WARM}
    tick: Spec = {"type": "tick", "color": INK, "thickness": 2, "height": 15, "yOffset": 10}
    averages = layer(tick, {"y": _ROW, "x": {"field": "average", **_SHARE}})
    return _shares(drawn, colour, titles, averages)


def common_domain(estimates: Sequence[Estimate], more: Sequence[float | None] = ()) -> tuple[float, float]:
    """Return the range of all values and intervals, widened to the next multiple of 0.05."""
    ends = [end for one in estimates if one.value is not None for end in (one.value, one.low, one.high)]
    known = [end for end in [*ends, *more] if end is not None]
    if not known:
        return (-1.0, 1.0)
    low, high = min(known), max(known)
    gap = max(0.02 * (high - low), 0.005)
    return round((low - gap) // 0.05 * 0.05, 2), round(-(-(high + gap) // 0.05) * 0.05, 2)
