"""A reader of pictures: every mark with its place in the picture, all transforms applied."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
STILL = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
NEEDED = {"M": 2, "L": 2, "C": 6, "A": 7, "Z": 0, "h": 1, "v": 1}


@dataclass(frozen=True)
class Mark:
    """One element: its name, what it is part of, the points that it is drawn through, its text."""

    element: ET.Element
    name: str
    group: str
    points: tuple[tuple[float, float], ...]
    hidden: bool
    seen: bool

    @property
    def tip(self):
        return self.element.get("aria-label")

    @property
    def text(self):
        return "".join(self.element.itertext())

    @property
    def box(self):
        """Left, top, right, bottom."""
        xs, ys = zip(*self.points, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def centre(self):
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


class Picture:
    """A picture as its marks."""

    def __init__(self, svg):
        self.root = ET.fromstring(svg)  # noqa: S314 - our own
        _, _, self.width, self.height = map(float, self.root.get("viewBox").split())
        self.marks = list(walk(self.root, STILL, "", hidden=False, seen=True))

    def layer(self, number):
        """The marks of one layer of the specification."""
        return self.of(f"layer_{number}_marks")

    def of(self, group):
        """The drawn marks of groups of this class, as role-axis-label."""
        return [mark for mark in self.marks if group in mark.group.split() and mark.points]

    @property
    def with_tip(self):
        return [mark for mark in self.of("role-mark") if mark.tip is not None]


def walk(element, matrix, group, *, hidden, seen):
    matrix = moved(matrix, element.get("transform") or "")
    name = element.tag.rpartition("}")[2]
    group = element.get("class") if name == "g" and element.get("class") else group
    hidden = hidden or element.get("aria-hidden") == "true"
    seen = seen and element.get("opacity") != "0" and element.get("display") != "none"
    points = tuple(at(matrix, *point) for point in points_of(name, element))
    yield Mark(element, name, group, points, hidden, seen)
    for child in element:
        yield from walk(child, matrix, group, hidden=hidden, seen=seen)


def moved(matrix, transform):
    for kind, words in re.findall(r"(\w+)\(([^)]*)\)", transform):
        numbers = [float(number) for number in words.split(",")]
        if kind == "translate":
            step = (1.0, 0.0, 0.0, 1.0, *numbers)
        elif kind == "rotate" and len(numbers) == 1:
            turn = math.radians(numbers[0])
            step = (math.cos(turn), math.sin(turn), -math.sin(turn), math.cos(turn), 0.0, 0.0)
        else:
            raise AssertionError(f"a transform that this reader does not know: {transform}")
        a, b, c, d, e, f = matrix
        u, v, w, x, y, z = step
        matrix = (
            a * u + c * v, b * u + d * v, a * w + c * x, b * w + d * x, a * y + c * z + e, b * y + d * z + f,
        )  # fmt: skip
    return matrix


def at(matrix, x, y):
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def points_of(name, element):
    if name == "path":
        return path_points(element.get("d"))
    if name == "line":
        ends = [[float(element.get(f"{axis}{end}") or 0) for axis in "xy"] for end in (1, 2)]
        return [tuple(end) for end in ends]
    if name == "text":
        return [(float(element.get("x") or 0), float(element.get("y") or 0))]
    assert name in ("svg", "g", "tspan"), f"an element that this reader does not know: {name}"
    return []


def path_points(path):
    """The points that a path goes through or bends towards; of arcs only the ends."""
    points, x, y = [], 0.0, 0.0
    for command, words in re.findall(r"([A-Za-z])([^A-DF-Za-df-z]*)", path):
        numbers = [float(number) for number in re.findall(NUMBER, words)]
        need = NEEDED[command]
        for place in range(0, len(numbers), need or 1):
            part = numbers[place : place + need]
            if command in "hv":
                x, y = (x + part[0], y) if command == "h" else (x, y + part[0])
                points.append((x, y))
            elif command == "A":
                x, y = part[5:]
                points.append((x, y))
            else:
                points += zip(part[::2], part[1::2], strict=True)
                x, y = points[-1]
    return points
