"""Drawing with Vega-Lite while the report is written: the page needs no script to show its pictures.

A specification is plain data; text of a log appears in its values only, which Vega draws as they are.
All sizes are given, so the same numbers give the same picture with any fonts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from clickassay.core.errors import ReportError
from clickassay.report.charts.artist import artist
from clickassay.report.model import Drawing

VERSION = "6.4"
"""Version of Vega-Lite; the package has several."""

UNDRAWN = Markup("<p>This picture could not be drawn where the page was made.</p>")
"""Stands in the place of a picture."""

INK = "#1c2127"
MUTED = "#5b6571"
RULE = "#dde2e7"
QUIET = "#a9b3bd"
PAGE = "#fbfbfa"
ACCENT = "#1f6fb2"
TINT = "#5aa2dc"
WARM = "#d9631e"
WARM_TINT = "#eb8f53"

TIP = "tip"
"""Column of the text that is shown when a mark is pointed at; it is the mark's accessible name."""

LETTER = 7.2
"""Width of an average character at 12 pixels, rather too large: there is no font to measure."""

_WIDE_LETTERS, _WIDE_LETTER = frozenset("MWGOQDRNH@%mw"), 1.35
"""Letters that take so many times the room of an average one."""

TITLE_LETTER = 11.4
"""The same of a title."""

_TITLE_LINE, _SUBTITLE_LINE = 24, 18
"""Heights of the lines above a picture."""

_FRAME = 14
"""Pixels left white around a picture that stands alone."""

Spec = dict[str, Any]
Values = list[dict[str, Any]]
Sides = tuple[float, float, float, float]
"""Pixels around the plot: left, top, right, bottom."""

_AXIS = {
    "domain": False, "ticks": False, "labelColor": MUTED, "labelFontSize": 12, "labelPadding": 7,
    "gridColor": RULE, "title": None, "labelLimit": 0, "labelOverlap": False, "labelFlush": False,
}  # fmt: skip
_CONFIG = {"view": {"stroke": None}, "axis": _AXIS, "text": {"fontSize": 12, "color": INK}, "aria": True}

TITLE: Spec = {"titleColor": MUTED, "titleFontSize": 12, "titleFontWeight": "normal"}
"""Style of the title of an axis."""

ZERO: Spec = {"condition": {"test": "datum.value === 0", "value": MUTED}, "value": RULE}
"""Colour of grid lines: the one at 0 is darker."""


def picture(
    layers: Sequence[Spec],
    values: Values,
    titles: Mapping[str, str],
    *,
    size: tuple[float, float],
    sides: Sides,
) -> Drawing:
    """Draw layers of marks of Vega-Lite over the same values, a record for each datum, and scales.

    titles: heads of the columns shown when a mark is pointed at: the column ``tip`` has them.
    size, sides: width and height of the plot and the space around it, in pixels.
    """
    spec = specification(layers, values, titles, size=size, sides=sides)
    try:
        svg = artist().draw("svg", spec, VERSION).decode()
    except ReportError:
        return Drawing(UNDRAWN, titles, values)
    return Drawing(Markup(svg), titles, values)  # noqa: S704 - Vega escapes what it draws


def specification(
    layers: Sequence[Spec],
    values: Values,
    titles: Mapping[str, str],
    *,
    size: tuple[float, float],
    sides: Sides,
) -> Spec:
    """Return what `picture` draws, as Vega-Lite has it."""
    left, top, right, bottom = sides
    return {
        "data": {"values": [{**value, TIP: tip_text(value, titles)} for value in values]},
        "width": size[0],
        "height": size[1],
        "padding": {"left": left, "top": top, "right": right, "bottom": bottom},
        "autosize": {"type": "none"},
        "background": None,
        "config": _CONFIG,
        "layer": list(layers),
    }


def image(spec: Spec, title: Sequence[str], subtitle: Sequence[str]) -> bytes:
    """Draw a `specification` as PNG on white under lines of a title; ReportError if it cannot be drawn."""
    head = {
        "text": list(title), "subtitle": list(subtitle), "anchor": "start", "frame": "bounds",
        "fontSize": 19, "color": INK, "subtitleColor": MUTED, "subtitleFontSize": 13, "offset": 16,
        "subtitlePadding": 6, "lineHeight": _TITLE_LINE, "subtitleLineHeight": _SUBTITLE_LINE,
    }  # fmt: skip
    lift = _TITLE_LINE * len(title) + _SUBTITLE_LINE * len(subtitle) + 22
    sides = spec["padding"]
    around = {"top": lift, "left": _FRAME, "right": _FRAME, "bottom": _FRAME}
    padding = {side: sides[side] + more for side, more in around.items()}
    own = {**spec, "title": head, "padding": padding, "background": "white"}
    return artist().draw("png", own, VERSION, scale=2)


def tip_text(value: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Return the lines of a datum, ``head: value`` each; empty values are left out."""
    cells = ((title, value.get(column)) for column, title in titles.items())
    lines = [(title, str(cell).strip()) for title, cell in cells if cell is not None]
    return "\n".join(f"{title}: {text}" for title, text in lines if text)


def layer(mark: Spec, encoding: Spec, *, only: str | None = None, tip: bool = False) -> Spec:
    """Return one layer of marks: a mark with its properties, and its channels.

    only: column that is true for the values to draw; None draws all.
    tip: whether the marks show their datum when pointed at; the others are hidden from screen readers.
    """
    own: Spec = {"mark": {**mark, "aria": tip}, "encoding": dict(encoding)}
    if tip:
        own["encoding"]["description"] = {"field": TIP, "type": "nominal"}
    if only is not None:
        own["transform"] = [{"filter": {"field": only, "equal": True}}]
    return own


def number_axis(field: str, domain: tuple[float, float], *, ticks: int, **axis: str | float | Spec) -> Spec:
    """Return a channel of numbers with a grid."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": list(domain), "nice": False, "zero": False, "clamp": True},
        "axis": {"grid": True, "tickCount": ticks, **axis},
    }


def names_axis(field: str, **axis: str | float | Spec) -> Spec:
    """Return a channel of names in the order of the values."""
    return {"field": field, "type": "ordinal", "sort": None, "axis": {"grid": False, **axis}}


def shorten(text: str, width: float) -> str:
    """Cut `text` to about `width` pixels."""
    longest = max(2, int(width / LETTER))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Replace the ends of labels that several names share by numbers, so that no two names look the same."""
    distinct = {}
    for name, label in labels.items():
        shared = [one for one in labels if labels[one] == label]
        number = str(shared.index(name) + 1)
        distinct[name] = label if len(shared) == 1 else f"{label[: -1 - len(number)]}…{number}"
    return distinct


def label_width(names: Sequence[str], *, limit: float = 150) -> float:
    """Return the pixels that the longest of `names` takes next to a picture, at most `limit` and a gap."""
    widths = [
        sum(LETTER * (_WIDE_LETTER if letter in _WIDE_LETTERS else 1) for letter in name) for name in names
    ]
    return min(limit, max(widths, default=0)) + 7
