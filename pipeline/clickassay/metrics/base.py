"""What a metric is: a declared record; and the printable names by which metrics are asked for."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.errors import SettingsError
from clickassay.settings import MAX_DEPTH, Settings

LARGEST_GRADE = 30

Value = int | float | str | bool | tuple[float, ...] | None

NAME = re.compile(r"(?P<name>[A-Za-z]\w*)\s*(?:\((?P<arguments>[^()]*)\))?(?:@(?P<at>\d[\d.]{0,8}))?")
"""The grammar of ir_measures: ``Name``, ``Name(parameter=value,...)``, either followed by ``@depth``."""

_BETWEEN_ARGUMENTS = re.compile(r",(?![^{]*\})")


def word(text: str) -> str:
    """Read a word in quotes or without."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def flag(text: str) -> bool:
    """Read True or False; ValueError for anything else."""
    if text not in ("True", "False"):
        raise ValueError("neither True nor False")
    return text == "True"


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers with blanks between them, as ``'0 0.1 0.4'``, in quotes or without.

    A map as ir_measures has it, ``{1:1,2:3}``, gives the same: grades that it leaves out keep themselves.

    Raises
    ------
    ValueError
        If one of them is no number.
    """
    if text.startswith("{") and text.endswith("}"):
        return _mapped(dict(piece.split(":") for piece in text[1:-1].split(",")))
    return tuple(float(piece) + 0.0 for piece in word(text).split())  # + 0.0: -0 is printed as 0


def _mapped(texts: dict[str, str]) -> tuple[float, ...]:
    gains = {int(grade): float(gain) + 0.0 for grade, gain in texts.items()}
    if min(gains) < 0 or max(gains) > LARGEST_GRADE:
        raise ValueError(f"grades lie in 0..{LARGEST_GRADE}")
    return tuple(gains.get(grade, float(grade)) for grade in range(max(gains) + 1))


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
        The setting (clickassay.settings) that gives the value when the metric's name does not; None = it is
        then the default.
    default
        The value without a setting; None = the metric is then the one without this parameter.
    """

    name: str
    kind: Callable[[str], Value]
    meaning: str
    expected: str
    admits: Callable[[Any], bool]
    setting: str | None
    default: Value = None


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
    at
        The parameter that is written after ``@``; None = there is the depth.
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
    at: str | None = None


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
    rules
        Pairs (rule, value) on results without a grade, which only lists that have some need (`parse`).
    """

    metric: Metric
    arguments: tuple[tuple[str, Value], ...] = ()
    depth: int | None = None
    rules: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        """Return the canonical name, which `parse` reads back as an equal measure."""
        after = dict(self.arguments).get(self.metric.at or "", self.depth)
        inside = [item for item in self.arguments if item[0] != self.metric.at]
        spelled = ",".join(f"{name}={_spelled(value)}" for name, value in (*inside, *self.rules))
        cut = "" if after is None else f"@{after}"
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
        item.name: item.default if item.setting is None else getattr(settings, item.setting)
        for item in measure.metric.parameters
    }
    return {**by_default, **dict(measure.arguments)}


def parse(
    text: str,
    metrics: tuple[Metric, ...],
    *,
    deepest: int = MAX_DEPTH,
    rules: tuple[Parameter, ...] = (),
) -> Measure:
    """Read a metric's name, e.g. ``AP(rel=2)@5`` or ``nDCG(dcg='exp-log2')@10``.

    Parameters
    ----------
    text
        A name in the grammar of ir_measures. ``@k`` must lie in 1..`deepest`.
    metrics
        The declared metrics to choose from.
    rules
        Parameters that every metric has beside its own.

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
    whole = re.sub(r"\s", "", spelled.partition("@")[0]).replace('"', "'")
    alias = next((metric for metric in metrics if whole in metric.aliases), None)
    if alias is not None:
        return Measure(alias, (), _depth(text, match["at"], deepest))
    metric = _find(match["name"], metrics)
    arguments = match["arguments"] or ""
    if metric.at is not None and match["at"] is not None:
        arguments, depth = f"{arguments},{metric.at}={match['at']}".strip(","), None
    else:
        depth = _depth(text, match["at"], deepest)
    given = _arguments(metric, arguments, rules)
    own = {item.name for item in metric.parameters}
    return Measure(
        metric,
        tuple(item for item in given if item[0] in own),
        depth,
        tuple(item for item in given if item[0] not in own),
    )


def _depth(text: str, after: str | None, deepest: int) -> int | None:
    if after is None:
        return None
    if not (after.isdecimal() and 1 <= int(after) <= deepest):
        raise SettingsError(f"metric {text!r}: the depth after @ must lie in 1..{deepest}")
    return int(after)


def _find(name: str, metrics: tuple[Metric, ...]) -> Metric:
    for metric in metrics:
        if metric.name == name:
            return metric
    known = [spelling for metric in metrics for spelling in (metric.name, *metric.aliases)]
    raise SettingsError(f"unknown metric {name}; known are {', '.join(known)}")


def _arguments(metric: Metric, text: str, rules: tuple[Parameter, ...]) -> tuple[tuple[str, Value], ...]:
    pieces = [piece.strip() for piece in _BETWEEN_ARGUMENTS.split(text)] if text.strip() else []
    given = {name.strip(): value.strip() for name, _, value in (piece.partition("=") for piece in pieces)}
    parameters = (*metric.parameters, *rules)
    known = [parameter.name for parameter in parameters]
    if len(given) < len(pieces) or not set(given) <= set(known):
        expected = ", ".join(map(_form, parameters)) or "none"
        raise SettingsError(
            f"metric {metric.name}({text}): its parameters, each once at most, are: {expected}"
        )
    for one, other in metric.exclusive:
        if one in given and other in given:
            raise SettingsError(
                f"metric {metric.name}: {one} and {other} exclude each other; give one of them"
            )
    spelled = [parameter for parameter in parameters if parameter.name in given]
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
