"""What a metric is: a declared record; and the printable names by which metrics are asked for."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SettingsError
from pipeline.settings import MAX_DEPTH, Settings

Value = int | float | tuple[float, ...]

NAME = re.compile(r"(?P<name>[A-Za-z]\w*)\s*(?:\((?P<arguments>[^()]*)\))?(?:@(?P<depth>\d{1,4}))?")
"""The grammar of ir_measures: ``Name``, ``Name(parameter=value,...)``, either followed by ``@depth``."""


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers with blanks between them, as ``'0 0.1 0.4'``, in quotes or without.

    Raises
    ------
    ValueError
        If one of them is no number.
    """
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    pieces = (text[1:-1] if quoted else text).split()
    return tuple(float(piece) + 0.0 for piece in pieces)  # + 0.0: -0 is printed as 0


@dataclass(frozen=True)
class Parameter:
    """One parameter of a metric.

    Attributes
    ----------
    name, kind
        Its name in the ir_measures grammar, and how its value is read from text; ValueError where it is none.
    meaning
        What it does, in one line.
    expected
        The values it admits, in words, for error messages.
    admits
        Whether a value is one of them.
    setting
        The setting (pipeline.settings) that gives the value when the metric's name does not; None = the
        metric is then the one without this parameter.
    """

    name: str
    kind: Callable[[str], Value]
    meaning: str
    expected: str
    admits: Callable[[Any], bool]
    setting: str | None


@dataclass(frozen=True)
class Metric:
    """A declared metric: everything that is said and printed about it derives from this record.

    Attributes
    ----------
    name
        Canonical printable name.
    line
        One-line description.
    low, high
        Smallest and largest possible value of the bare name; `high` is infinite where it grows with depth or
        scale.
    source
        Paper and section it comes from.
    function
        Takes the arrays named in `needs`, in that order, then its parameters by keyword;
        returns one float64 value per row.
    needs
        Names of the arrays that `function` takes.
    parameters
        Its parameters, in the order in which they are printed.
    aliases
        Other whole spellings that mean exactly this metric, without white space.
    exclusive
        Pairs of parameters of which a name may spell out only one.
    """

    name: str
    line: str
    low: float
    high: float
    source: str
    function: Callable[..., NDArray[np.float64]]
    needs: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    exclusive: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Measure:
    """A metric with the parameters and the depth that its name spells out: ``AP(rel=2)@5``.

    Attributes
    ----------
    metric
        The declared metric.
    arguments
        Pairs (parameter, value) that the name spells out, in the order of the declaration; the
        settings give the others.
    depth
        The cut after ``@``; None = as deep as the data.
    """

    metric: Metric
    arguments: tuple[tuple[str, Value], ...] = ()
    depth: int | None = None

    def __str__(self) -> str:
        """Return the canonical name, which `parse` reads back as an equal measure."""
        spelled = ",".join(f"{name}={_spelled(value)}" for name, value in self.arguments)
        cut = "" if self.depth is None else f"@{self.depth}"
        return f"{self.metric.name}{f'({spelled})' if spelled else ''}{cut}"

    def compute(self, arrays: Mapping[str, Any], settings: Settings) -> NDArray[np.float64]:
        """Compute one value per row from `arrays`, with parameters from the name or the `settings`."""
        given = given_arguments(self, settings)
        return self.metric.function(*(arrays[name] for name in self.metric.needs), **given)


def _spelled(value: Value) -> str:
    if isinstance(value, tuple):
        return f"'{' '.join(repr(one).removesuffix('.0') for one in value)}'"
    return repr(value)


def given_arguments(measure: Measure, settings: Settings) -> dict[str, Value]:
    """Return the values of a measure's parameters: from its name, else from the settings."""
    by_default = {
        item.name: getattr(settings, item.setting)
        for item in measure.metric.parameters
        if item.setting is not None
    }
    return {**by_default, **dict(measure.arguments)}


def parse(text: str, metrics: tuple[Metric, ...]) -> Measure:
    """Read a metric's name, e.g. ``AP(rel=2)@5`` or ``nDCG(dcg='exp-log2')@10``.

    Parameters
    ----------
    text
        A name in the grammar of ir_measures. ``@k`` must lie in 1..62.
    metrics
        The declared metrics to choose from.

    Raises
    ------
    SettingsError
        If the name is not of this grammar, names a metric, parameter or value that is not known, or two
        parameters that exclude each other.
    """
    spelled = text.strip()
    match = NAME.fullmatch(spelled)
    if match is None:
        raise SettingsError(f"metric {text!r}: expected a name like ERR, AP(rel=2) or AP(rel=2)@5")
    depth = None if match["depth"] is None else int(match["depth"])
    if depth is not None and not 1 <= depth <= MAX_DEPTH:
        raise SettingsError(f"metric {text!r}: the depth after @ must lie in 1..{MAX_DEPTH}")
    whole = re.sub(r"\s", "", spelled.partition("@")[0]).replace('"', "'")
    alias = next((metric for metric in metrics if whole in metric.aliases), None)
    if alias is not None:
        return Measure(alias, (), depth)
    metric = _find(match["name"], metrics)
    return Measure(metric, _arguments(metric, match["arguments"] or ""), depth)


def _find(name: str, metrics: tuple[Metric, ...]) -> Metric:
    for metric in metrics:
        if metric.name == name:
            return metric
    known = [spelling for metric in metrics for spelling in (metric.name, *metric.aliases)]
    raise SettingsError(f"unknown metric {name}; known are {', '.join(known)}")


def _arguments(metric: Metric, text: str) -> tuple[tuple[str, Value], ...]:
    pieces = [piece.strip() for piece in text.split(",")] if text.strip() else []
    given = {name.strip(): value.strip() for name, _, value in (piece.partition("=") for piece in pieces)}
    known = [parameter.name for parameter in metric.parameters]
    if len(given) < len(pieces) or not set(given) <= set(known):
        expected = ", ".join(map(_form, metric.parameters)) or "none"
        raise SettingsError(
            f"metric {metric.name}({text}): its parameters, each once at most, are: {expected}"
        )
    for one, other in metric.exclusive:
        if one in given and other in given:
            raise SettingsError(
                f"metric {metric.name}: {one} and {other} exclude each other; give one of them"
            )
    spelled = [parameter for parameter in metric.parameters if parameter.name in given]
    return tuple((parameter.name, _value(metric, parameter, given[parameter.name])) for parameter in spelled)


def _form(parameter: Parameter) -> str:
    return f"{parameter.name}='value value …'" if parameter.kind is numbers else f"{parameter.name}=value"


def _value(metric: Metric, parameter: Parameter, text: str) -> Value:
    try:
        value = parameter.kind(text)
    except ValueError:
        value = None
    if value is None or not parameter.admits(value):
        message = f"metric {metric.name}: {parameter.name} is {text!r}, expected {parameter.expected}"
        raise SettingsError(message)
    return value
