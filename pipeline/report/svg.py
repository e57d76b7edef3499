"""Elements of pictures: SVG texts, escaped, with presentation attributes only.

The page forbids inline styles; its style sheet maps the colours of `charts` to the light or dark page.
"""

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from pipeline.report.words import MINUS

LETTER = 6.7
"""Width of an average character at 12 pixels, rather too wide: there is no font to measure here."""


def element(name: str, *content: str, **attributes: str | float | None) -> Markup:
    """Return one element: ``element("text", "a", font_size=12)``; attributes of None are left out.

    `content` is escaped unless it is Markup; an underscore in the name of an attribute stands for a hyphen.
    """
    given = {name: value for name, value in attributes.items() if value is not None}
    # built by hand: pictures have thousands of elements, and `Markup.format` takes its time
    spelled = "".join(f' {key.replace("_", "-")}="{_value(value)}"' for key, value in given.items())
    inner = "".join(escape(part) for part in content)
    return Markup(f"<{name}{spelled}>{inner}</{name}>" if inner else f"<{name}{spelled}/>")  # noqa: S704


def _value(value: str | float) -> str:
    return str(escape(value)) if isinstance(value, str) else at(value)


def at(value: float) -> str:
    """Return a coordinate with two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def picture(width: float, height: float, *content: str) -> Markup:
    """Return a whole picture of this size in pixels."""
    return element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {at(width)} {at(height)}",
    )


def mark(row: int, *content: str) -> Markup:
    """Return what stands for one row of a picture's data; pointing at it shows the row."""
    return element("g", *content, data_row=row)


def text(words: str, x: float, y: float, *, fill: str, anchor: str = "start", bold: bool = False) -> Markup:
    """Return one line of text with its base line at `y`."""
    weight = "bold" if bold else None
    return element("text", words, x=x, y=y, fill=fill, font_size=12, text_anchor=anchor, font_weight=weight)


def line(x: float, y: float, x2: float, y2: float, *, stroke: str, width: float = 1) -> Markup:
    """Return a straight line."""
    return element("line", x1=x, y1=y, x2=x2, y2=y2, stroke=stroke, stroke_width=width)


def path(points: Sequence[tuple[float, float]], *, closed: bool = False, **attributes: str | float) -> Markup:
    """Return a line through the points, or the area inside them."""
    steps = "L".join(f"{at(x)},{at(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if closed else ''}", **attributes)


def fitted(words: str, width: float) -> str:
    """Cut `words` to about `width` pixels."""
    longest = max(2, int(width / LETTER))
    return words if len(words) <= longest else words[: longest - 1] + "…"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten within `low`..`high`: about `most` of them."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def tick_text(value: float) -> str:
    """Return a tick with two decimals at most and a true minus sign."""
    return at(value).replace("-", MINUS)
