"""Pictures of a report: same numbers in, same bytes out.

Colours are named by their job. The style sheet maps these very values to the colours of the light
or dark page, so one picture serves both; the palette (blue, vermilion, greys) is safe for
colour-blind readers, and every colour is doubled by a number, a shape or a position.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from pipeline.report import svg
from pipeline.report.cells import Estimate
from pipeline.report.model import Drawing
from pipeline.report.words import number, percent, span

INK = "#1c2127"
MUTED = "#5b6571"
RULE = "#dde2e7"
QUIET = "#a9b3bd"
PAGE = "#fbfbfa"
ACCENT = "#1f6fb2"
TINT = "#5aa2dc"
WARM = "#d9631e"
WARM_TINT = "#eb8f53"

GAP = 7
"""Pixels between an axis and its labels."""

LONGEST_NAME = 150
"""Pixels of a label beside a picture."""

Values = list[dict[str, Any]]
Span = tuple[float, float]


def _said(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "text": number(found.value),
        "interval": span(found.low, found.high),
    }


def _name_width(names: Sequence[str]) -> float:
    return min(LONGEST_NAME, max((len(name) for name in names), default=0) * svg.LETTER) + GAP


def _name(name: str, left: float, y: float, *, fill: str) -> Markup:
    return svg.text(svg.fitted(name, LONGEST_NAME), left - GAP, y + 4, fill=fill, anchor="end")


def _place(value: float, domain: Span, pixels: Span) -> float:
    """Return the pixel of a value; values beyond the domain lie on its end."""
    part = (value - domain[0]) / (domain[1] - domain[0])
    return pixels[0] + min(1.0, max(0.0, part)) * (pixels[1] - pixels[0])


CELL = (47, 30)
"""Width and height of a cell of a heat map."""


def heat_map(
    estimates: Mapping[tuple[str, str], Estimate], clicks: Sequence[str], editorial: Sequence[str]
) -> Drawing:
    """Draw correlations as cells, click metric by editorial metric; the highest of a row is bold."""
    values = [cell for click in clicks for cell in _heat_row(estimates, click, editorial)]
    # "AP(rel=2)" on two lines keeps the columns narrow enough for a phone
    heads = [name.replace("(", "\n(", 1).split("\n") for name in editorial]
    left, top = _name_width(clicks), GAP + 14 * max((len(lines) for lines in heads), default=1)
    width, height = CELL
    marks = [
        _cell(row, value, left + row % len(editorial) * width, top + row // len(editorial) * height)
        for row, value in enumerate(values)
    ]
    names = [_name(name, left, top + (place + 0.5) * height, fill=MUTED) for place, name in enumerate(clicks)]
    names += [
        svg.text(
            svg.fitted(words, 58), left + (place + 0.5) * width, 12 + 14 * line, fill=MUTED, anchor="middle"
        )
        for place, lines in enumerate(heads)
        for line, words in enumerate(lines)
    ]
    picture = svg.picture(left + width * len(editorial), top + height * len(clicks), *names, *marks)
    titles = {
        "click": "Click metric",
        "editorial": "Editorial metric",
        "text": "Correlation",
        "interval": "95 % interval",
        "reason": "No value",
    }
    return Drawing(picture, titles, values)


def _cell(row: int, value: Mapping[str, Any], x: float, y: float) -> Markup:
    width, height = CELL
    colour = WARM_TINT if (value["value"] or 0.0) < 0 else TINT
    box = svg.element(
        "rect", x=x + 1, y=y + 1, width=width - 2, height=height - 2, rx=3, fill=colour,
        fill_opacity=0.04 + 0.96 * min(1.0, value["strength"]),
    )  # fmt: skip
    words = svg.text(
        value["text"], x + width / 2, y + height / 2 + 4, fill=INK, anchor="middle", bold=value["best"]
    )
    return svg.mark(row, box, words)


def _heat_row(estimates: Mapping[tuple[str, str], Estimate], click: str, editorial: Sequence[str]) -> Values:
    found = {name: estimates.get((click, name), Estimate(None, reason="not computed")) for name in editorial}
    highest = max((one.value for one in found.values() if one.value is not None), default=None)
    return [
        {
            "click": click,
            "editorial": name,
            **_said(one),
            "strength": abs(one.value or 0.0),
            "reason": one.reason,
            "best": one.value is not None and one.value == highest,
        }
        for name, one in found.items()
    ]


def bars(rows: Sequence[tuple[str, int, float | None, bool]]) -> Drawing:
    """Draw counts as bars on a common track: (label, rows, share 0..1, whether the rows go on)."""
    values = [
        {
            "label": label,
            "share": share or 0.0,
            "goes_on": goes_on,
            "text": f"{rows_there:,}" + (f"  ({percent(share)})" if share is not None else ""),
        }
        for label, rows_there, share, goes_on in rows
    ]
    marks = [_bar(row, value, 42 * row) for row, value in enumerate(values)]
    return Drawing(svg.picture(330, 42 * len(rows), *marks), {"label": "Step", "text": "Rows"}, values)


def _bar(row: int, value: Mapping[str, Any], y: float) -> Markup:
    def track(share: float, colour: str) -> Markup:
        return svg.element("rect", x=0, y=y + 27, width=330 * share, height=7, rx=3, fill=colour)

    left = 330 - len(value["text"]) * svg.LETTER - GAP
    return svg.mark(
        row,
        track(1, RULE),
        track(min(1.0, value["share"]), ACCENT if value["goes_on"] else QUIET),
        svg.text(svg.fitted(value["label"], left), 0, y + 20, fill=INK),
        svg.text(value["text"], 330, y + 20, fill=MUTED, anchor="end"),
    )


STEP = 25
"""Height of a row of intervals."""


def intervals(
    names: Sequence[str],
    estimates: Mapping[str, Estimate],
    *,
    domain: Span,
    random_runs: Mapping[str, float | None] | None = None,
    hollow: Sequence[str] = (),
) -> Drawing:
    """Draw one row per name: the value with its interval, and what a random run gave as a diamond.

    The dots of `hollow` names are not filled.
    """
    runs = random_runs or {}
    values = [
        {
            "name": name,
            **_said(estimates[name]),
            "run": runs.get(name),
            "run_text": number(runs.get(name)),
            "hollow": name in hollow,
        }
        for name in names
        if estimates[name].value is not None
    ]
    left = _name_width([value["name"] for value in values])
    pixels, height = (left, left + 265), STEP * max(1, len(values))
    grid = []
    for tick in svg.ticks(*domain, 5):
        x = _place(tick, domain, pixels)
        grid += [
            svg.line(x, 0, x, height, stroke=MUTED if tick == 0 else RULE),
            svg.text(svg.tick_text(tick), x, height + 17, fill=MUTED, anchor="middle"),
        ]
    drawn = [_interval_row(row, value, domain, pixels) for row, value in enumerate(values)]
    said = {"name": "Metric", "text": "Value", "interval": "95 % interval"}
    if runs:
        said["run_text"] = "Random iterations"
    return Drawing(svg.picture(pixels[1] + 12, height + 22, *grid, *drawn), said, values)


def _interval_row(row: int, value: Mapping[str, Any], domain: Span, pixels: Span) -> Markup:
    y = STEP * (row + 0.5)
    parts = [
        # the whole row answers to the pointer
        svg.element("rect", x=0, y=STEP * row, width=pixels[1], height=STEP, fill="transparent"),
        _name(value["name"], pixels[0], y, fill=INK),
    ]
    if value["low"] is not None and value["high"] is not None:
        low, high = (_place(value[end], domain, pixels) for end in ("low", "high"))
        parts.append(svg.line(low, y, high, y, stroke=ACCENT, width=2))
    x = _place(value["value"], domain, pixels)
    look = {"fill": PAGE, "stroke": ACCENT, "stroke_width": 2} if value["hollow"] else {"fill": ACCENT}
    parts.append(svg.element("circle", cx=x, cy=y, r=4.2, **look))
    if value["run"] is not None:
        x = _place(value["run"], domain, pixels)
        corners = [(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)]
        parts.append(svg.path(corners, closed=True, fill="none", stroke=WARM, stroke_width=1.8))
    return svg.mark(row, *parts)


PLOT = (262, 150)
"""Width and height of the lines by decile."""


def decile_lines(lines: Mapping[str, Mapping[int, Estimate]], main: str, *, domain: Span) -> Drawing:
    """Draw the correlation of one metric by frequency decile with its band, the others in grey."""
    values = [
        {"decile": at, "decile_text": str(at), "metric": name, "main": name == main, **_said(found)}
        for name, line in lines.items()
        for at, found in line.items()
        if found.value is not None
    ]
    marks = svg.ticks(*domain, 4)
    left = _name_width([svg.tick_text(tick) for tick in marks])
    width, height = PLOT

    def point(value: Mapping[str, Any], what: str = "value") -> Span:
        x = _place(value["decile"], (1, 10), (left, left + width))
        return x, 8 + _place(value[what], domain, (height, 0))

    axes = [part for tick in marks for part in _level(tick, 8 + _place(tick, domain, (height, 0)), left)]
    axes += [
        svg.text(str(at), left + (at - 1) / 9 * width, height + 26, fill=MUTED, anchor="middle")
        for at in range(1, 11)
    ]
    others = [
        svg.path(
            [point(value) for value in values if value["metric"] == name],
            fill="none", stroke=QUIET, stroke_opacity=0.7,
        )
        for name in dict.fromkeys(value["metric"] for value in values if not value["main"])
    ]  # fmt: skip
    own = [(row, value) for row, value in enumerate(values) if value["main"]]
    known = [value for _, value in own if value["low"] is not None and value["high"] is not None]
    band = [point(value, "low") for value in known] + [point(value, "high") for value in reversed(known)]
    drawn = [svg.path(band, closed=True, fill=TINT, fill_opacity=0.28)] if known else []
    if own:
        points = [point(value) for _, value in own]
        drawn.append(svg.path(points, fill="none", stroke=ACCENT, stroke_width=2))
    drawn += [_dot(row, *point(value)) for row, value in own]
    titles = {"metric": "Metric", "decile_text": "Decile", "text": "Correlation", "interval": "95 % interval"}
    return Drawing(svg.picture(left + width + 8, height + 32, *axes, *others, *drawn), titles, values)


def _level(tick: float, y: float, left: float) -> tuple[Markup, Markup]:
    words = _name(svg.tick_text(tick), left, y, fill=MUTED)
    return svg.line(left, y, left + PLOT[0], y, stroke=RULE), words


def _dot(row: int, x: float, y: float) -> Markup:
    reach = svg.element("circle", cx=x, cy=y, r=12, fill="transparent")
    return svg.mark(row, reach, svg.element("circle", cx=x, cy=y, r=3.3, fill=ACCENT))


def common_domain(estimates: Sequence[Estimate], more: Sequence[float | None] = ()) -> tuple[float, float]:
    """Return the range, widened to the next twentieth, that holds all values and intervals."""
    ends = [end for one in estimates if one.value is not None for end in (one.value, one.low, one.high)]
    known = [end for end in [*ends, *more] if end is not None]
    if not known:
        return (-1.0, 1.0)
    low, high = min(known), max(known)
    gap = max(0.02 * (high - low), 0.005)
    return round((low - gap) // 0.05 * 0.05, 2), round(-(-(high + gap) // 0.05) * 0.05, 2)
