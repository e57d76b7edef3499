"""Altair pictures as Vega-Lite specifications: same numbers in, same bytes out.

Colours are named by their job. The style sheet maps these very values to the colours of the light
or dark page, so one specification serves both; the palette (blue, vermilion, greys) is safe for
colour-blind readers, and every colour is doubled by a number, a shape or a position.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pipeline.report.model import Estimate
from pipeline.report.words import number, percent, span

INK = "#1c2127"
MUTED = "#5b6571"
RULE = "#dde2e7"
QUIET = "#a9b3bd"
ACCENT = "#1f6fb2"
TINT = "#5aa2dc"
WARM = "#d9631e"
WARM_TINT = "#eb8f53"
FONT = "Liberation Sans, Arial, sans-serif"
"""First the font that vl-convert carries along, so that the layout does not depend on the machine."""

ROWS = "rows"
"""Name of the one dataset of a picture."""

Spec = Mapping[str, Any]
Values = list[dict[str, Any]]


def finished(layers: Sequence[Any], values: Values, *, width: Any, height: Any) -> Spec:  # noqa: ANN401
    """Return the specification of `layers` over `values`, with size (a number or a step) and house style."""
    styled = (
        alt.layer(*layers)
        .properties(width=width, height=height)
        .configure(font=FONT, background="transparent", padding=2, aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            domain=False,
            ticks=False,
            grid=False,
            labelColor=MUTED,
            titleColor=MUTED,
            gridColor=RULE,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelPadding=6,
            titlePadding=8,
            labelLimit=150,
        )
    )
    # The schema is checked by the tests; here it would take most of the time. The same goes for data
    # given to Altair: it is copied by every step.
    return {**styled.to_dict(validate=False), "datasets": {ROWS: values}}


def _said(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "text": number(found.value),
        "interval": span(found.low, found.high),
    }


def _tooltip(**titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(field=name, type="nominal", title=title) for name, title in titles.items()]


def heat_map(
    estimates: Mapping[tuple[str, str], Estimate], clicks: Sequence[str], editorial: Sequence[str]
) -> Spec:
    """Draw correlations as cells, click metric by editorial metric; the highest of a row is bold."""
    values = [cell for click in clicks for cell in _heat_row(estimates, click, editorial)]
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        x=alt.X(
            "editorial:N",
            sort=None,
            title=None,
            scale=alt.Scale(domain=list(editorial), paddingInner=0.05),
            axis=_two_line_axis(editorial),
        ),
        y=alt.Y("click:N", sort=None, title=None, scale=alt.Scale(domain=list(clicks), paddingInner=0.08)),
        tooltip=_tooltip(
            click="Click metric",
            editorial="Editorial metric",
            text="Correlation",
            interval="95 % interval",
            reason="No value",
        ),
    )
    cells = base.mark_rect(cornerRadius=3, stroke=None).encode(
        fill=alt.condition("datum.value < 0", alt.value(WARM_TINT), alt.value(TINT)),
        fillOpacity=alt.FillOpacity(
            "strength:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.04, 1])
        ),
    )
    plain = (
        base.transform_filter("!datum.best").mark_text(fontSize=12, color=INK).encode(text=alt.Text("text:N"))
    )
    bold = base.transform_filter("datum.best").mark_text(fontSize=12, color=INK, fontWeight="bold")
    return finished(
        [cells, plain, bold.encode(text=alt.Text("text:N"))], values, width=alt.Step(47), height=alt.Step(30)
    )


def _two_line_axis(names: Sequence[str]) -> alt.Axis:
    # "AP(rel=2)" on two lines keeps the columns narrow enough for a phone
    lines = 2 if any("(" in name for name in names) else 1
    split = r"split(replace(datum.label, '(', '\n('), '\n')"
    return alt.Axis(
        orient="top",
        labelAngle=0,
        labelAlign="center",
        labelExpr=split,
        labelLimit=58,
        labelPadding=6 + 14 * (lines - 1),
    )


def _heat_row(estimates: Mapping[tuple[str, str], Estimate], click: str, editorial: Sequence[str]) -> Values:
    found = {name: estimates.get((click, name), Estimate(None, reason="not computed")) for name in editorial}
    highest = max((one.value for one in found.values() if one.value is not None), default=None)
    return [
        {
            "click": click,
            "editorial": name,
            **_said(one),
            "strength": abs(one.value or 0.0),
            "reason": one.reason or MISSING_NOTHING,
            "best": one.value is not None and one.value == highest,
        }
        for name, one in found.items()
    ]


MISSING_NOTHING = " "
"""What the tooltip shows where no value is missing."""


def bars(rows: Sequence[tuple[str, int, float | None, bool]]) -> Spec:
    """Draw counts as bars on a common track: (label, rows, share 0..1, whether the rows go on)."""
    values = [
        {
            "place": place,
            "label": label,
            "none": 0,
            "whole": 1,
            "share": share or 0.0,
            "goes_on": goes_on,
            "text": f"{rows_there:,}" + (f"  ({percent(share)})" if share is not None else ""),
        }
        for place, (label, rows_there, share, goes_on) in enumerate(rows)
    ]
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        y=alt.Y("place:O", axis=None), tooltip=_tooltip(label="Step", text="Rows")
    )
    track = base.mark_bar(height=7, yOffset=10, cornerRadius=3, color=RULE).encode(
        x=_along("none"), x2=alt.X2("whole:Q")
    )
    bar = base.mark_bar(height=7, yOffset=10, cornerRadius=3).encode(
        x=_along("none"),
        x2=alt.X2("share:Q"),
        color=alt.condition("datum.goes_on", alt.value(ACCENT), alt.value(QUIET)),
    )
    left = base.mark_text(align="left", dy=-5, fontSize=12, color=INK, limit=210)
    right = base.mark_text(align="right", dy=-5, fontSize=12, color=MUTED)
    words = [
        left.encode(x=_along("none"), text=alt.Text("label:N")),
        right.encode(x=_along("whole"), text=alt.Text("text:N")),
    ]
    return finished([track, bar, *words], values, width=330, height=alt.Step(42))


def _along(column: str) -> alt.X:
    return alt.X(f"{column}:Q", axis=None, scale=alt.Scale(domain=[0, 1]))


def intervals(
    names: Sequence[str],
    estimates: Mapping[str, Estimate],
    *,
    domain: tuple[float, float],
    marks: Mapping[str, Mapping[str, float | None]] | None = None,
) -> Spec:
    """Draw one row per name: the value with its interval, and further values as marks.

    `marks` holds, by name, the values ``monte_carlo`` (a diamond) and ``corrected`` (a ring).
    """
    values = [
        {"name": name, "zero": 0, **_said(estimates[name]), **_marked((marks or {}).get(name, {}))}
        for name in names
        if estimates[name].value is not None
    ]
    said = {"name": "Metric", "text": "Value", "interval": "95 % interval"}
    if marks:
        said |= {"monte_carlo_text": "Random iterations", "corrected_text": "Noise taken out"}
    plain = alt.Chart(alt.NamedData(name=ROWS))
    base = plain.encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelColor=INK)), tooltip=_tooltip(**said)
    )
    x = alt.X(
        "value:Q",
        title=None,
        scale=alt.Scale(domain=list(domain), nice=False, clamp=True),
        axis=alt.Axis(grid=True, tickCount=5, format=".2~f"),
    )
    known = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    line = known.mark_rule(color=ACCENT, strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    dot = base.mark_point(shape="circle", filled=True, size=55, color=ACCENT, opacity=1).encode(x=x)
    zero = plain.mark_rule(color=MUTED).encode(x=alt.X("zero:Q"))
    layers = [zero] if domain[0] <= 0 <= domain[1] else []
    layers += [line, dot]
    if marks:
        layers += [_mark(base, "corrected", "circle", QUIET), _mark(base, "monte_carlo", "diamond", WARM)]
    return finished(layers, values, width=265, height=alt.Step(25))


def _marked(values: Mapping[str, float | None]) -> dict[str, Any]:
    return {**values, **{f"{name}_text": number(value) for name, value in values.items()}}


def _mark(base: alt.Chart, column: str, shape: str, colour: str) -> alt.Chart:
    there = base.transform_filter(f"isValid(datum.{column})")
    point = there.mark_point(shape=shape, filled=False, size=50, stroke=colour, strokeWidth=1.8, opacity=1)
    mark: alt.Chart = point.encode(x=alt.X(f"{column}:Q"))
    return mark


def decile_lines(
    lines: Mapping[str, Mapping[int, Estimate]], main: str, *, domain: tuple[float, float]
) -> Spec:
    """Draw the correlation of one metric by frequency decile with its band, the others in grey."""
    values = [
        {"decile": at, "decile_text": str(at), "metric": name, "main": name == main, **_said(found)}
        for name, line in lines.items()
        for at, found in line.items()
        if found.value is not None
    ]
    x = alt.X(
        "decile:Q",
        title=None,
        scale=alt.Scale(domain=[1, 10], nice=False),
        axis=alt.Axis(values=list(range(1, 11)), format="d", labelFlush=False),
    )
    y = alt.Y(
        "value:Q",
        title=None,
        scale=alt.Scale(domain=list(domain), nice=False),
        axis=alt.Axis(grid=True, tickCount=4, format=".2~f"),
    )
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(x=x)
    own, others = base.transform_filter("datum.main"), base.transform_filter("!datum.main")
    said = _tooltip(metric="Metric", decile_text="Decile", text="Correlation", interval="95 % interval")
    layers = [
        others.mark_line(color=QUIET, strokeWidth=1, opacity=0.7).encode(y=y, detail=alt.Detail("metric:N")),
        own.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(color=TINT, opacity=0.28)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        own.mark_line(color=ACCENT, strokeWidth=2).encode(y=y),
        own.mark_point(filled=True, size=34, color=ACCENT, opacity=1).encode(y=y, tooltip=said),
    ]
    return finished(layers, values, width=262, height=150)


def common_domain(estimates: Sequence[Estimate], more: Sequence[float | None] = ()) -> tuple[float, float]:
    """Return the range, widened to the next twentieth, that holds all values and intervals."""
    ends = [end for one in estimates if one.value is not None for end in (one.value, one.low, one.high)]
    known = [end for end in [*ends, *more] if end is not None]
    if not known:
        return (-1.0, 1.0)
    low, high = min(known), max(known)
    gap = max(0.02 * (high - low), 0.005)
    return round((low - gap) // 0.05 * 0.05, 2), round(-(-(high + gap) // 0.05) * 0.05, 2)
