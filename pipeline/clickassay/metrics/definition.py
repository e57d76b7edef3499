"""What a metric is: a declared record; and a measure, a metric with its parameters and its depth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import MetricError
from clickassay.core.settings import Settings

LARGEST_GRADE = 30
_ROUNDING = 1e-9
"""Sums of floating-point numbers may end so far beyond a range."""

Value = int | float | str | bool | tuple[float, ...] | None


def word(text: str) -> str:
    """Read a word in quotes or without."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def flag(text: str) -> bool:
    """Read True or False; ValueError for anything else."""
    if text not in ("True", "False"):
        raise ValueError("neither True nor False")
    return text == "True"


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers with blanks between them, as ``'0 0.1 0.4'``, or a map as in ir_measures, ``{1:1,2:3}``.

    A grade that it leaves out is its own gain. Raises ValueError if one of them is no number.
    """
    if text.startswith("{") and text.endswith("}"):
        pairs = dict(piece.split(":") for piece in text[1:-1].split(","))
        gains = {int(grade): float(gain) + 0.0 for grade, gain in pairs.items()}
        if min(gains) < 0 or max(gains) > LARGEST_GRADE:
            raise ValueError(f"grades lie in 0..{LARGEST_GRADE}")
        return tuple(gains.get(grade, float(grade)) for grade in range(max(gains) + 1))
    return tuple(float(piece) + 0.0 for piece in word(text).split())  # + 0.0: -0 is printed as 0


@dataclass(frozen=True)
class Parameter:
    """One parameter of a metric."""

    # name, kind: Its name in the ir_measures grammar, and how its value is read from text; ValueError where
    # it is none.
    name: str
    kind: Callable[[str], Value]
    meaning: str  # What it does, in one line.
    expected: str  # The values it admits, in words, for error messages.
    admits: Callable[[Any], bool]  # Whether a value is one of them.
    # The setting (clickassay.core.settings) that gives the value when the metric's name does not; None = it
    # is then the default.
    setting: str | None
    # The value without a setting; None = the metric is then the one without this parameter.
    default: Value = None


@dataclass(frozen=True)
class Metric:
    """A declared metric: everything that is printed about it derives from this record."""

    name: str  # Canonical printable name.
    line: str  # One-line description.
    # low, high: Smallest and largest possible value of the bare name; `high` is infinite where it grows with
    # depth or scale.
    low: float
    high: float
    source: str  # Paper and section it comes from.
    # Takes the arrays named in `needs`, in that order, then its parameters by keyword; returns one float64
    # value per row.
    function: Callable[..., NDArray[np.float64]]
    needs: tuple[str, ...]  # Names of the arrays that `function` takes.
    parameters: tuple[Parameter, ...] = ()  # Its parameters, in the order in which they are printed.
    exclusive: tuple[tuple[str, str], ...] = ()  # Pairs of parameters of which a name may spell out only one.
    at: str | None = None  # The parameter that is written after ``@``; None = there is the depth.
    # How the name is printed where parameters follow; None = as the bare name.
    with_parameters: str | None = None
    less_is_better: bool = False  # Whether the best value is the smallest.


@dataclass(frozen=True)
class Measure:
    """A metric with the parameters and the depth that its name spells out: ``AP(rel=2)@5``."""

    metric: Metric  # The declared metric.
    # Pairs (parameter, value) that the name spells out, in the order of the declaration; the settings give
    # the others.
    arguments: tuple[tuple[str, Value], ...] = ()
    depth: int | None = None  # The cut after ``@``; None = as deep as the data.
    rules: tuple[tuple[str, Value], ...] = ()  # Pairs (rule, value) for results without a grade (`parse`).

    def __str__(self) -> str:
        """Return the canonical name, which `parse` reads back as an equal measure."""
        after = dict(self.arguments).get(self.metric.at or "", self.depth)
        inside = [item for item in self.arguments if item[0] != self.metric.at]
        texts = {
            name: f"'{' '.join(repr(one).removesuffix('.0') for one in value)}'"
            if isinstance(value, tuple)
            else repr(value)
            for name, value in (*inside, *self.rules)
        }
        spelled = ",".join(f"{name}={text}" for name, text in texts.items())
        cut = "" if after is None else f"@{after}"
        if not spelled:
            return f"{self.metric.name}{cut}"
        return f"{self.metric.with_parameters or self.metric.name}({spelled}){cut}"

    def compute(self, arrays: Mapping[str, Any], settings: Settings) -> NDArray[np.float64]:
        """Compute one value per row, with parameters from the name or the `settings`.

        Raises MetricError beyond the declared range: then a value is wrong, as of a list with a result twice.
        """
        given = given_arguments(self, settings)
        values = self.metric.function(*(arrays[name] for name in self.metric.needs), **given)
        low, high, utilities = self.metric.low, self.metric.high, given.get("utilities")
        gains = given.get("gains")
        if isinstance(utilities, tuple):
            high = max(high, *utilities)
        if isinstance(gains, tuple) and gains[0] > 0:  # then results without a judgment are worth something
            high = np.inf
        wrong = values[(values < low - _ROUNDING) | (values > high + _ROUNDING)]  # NaN is neither
        if len(wrong):
            raise MetricError(
                f"{self}: {len(wrong):,} of {len(values):,} values lie outside {low:g} to {high:g}, such as "
                f"{wrong[0]:.4f}; nothing was written: check whether a ranking contains a result twice"
            )
        return values


def given_arguments(measure: Measure, settings: Settings) -> dict[str, Value]:
    """Return the values of a measure's parameters: from its name, else from the settings."""
    by_default = {
        item.name: item.default if item.setting is None else getattr(settings, item.setting)
        for item in measure.metric.parameters
    }
    return {**by_default, **dict(measure.arguments)}
