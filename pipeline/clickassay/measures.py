"""Measures by their names, for `clickassay.evaluate`.

    from clickassay import evaluate, measures
    from clickassay.measures import nDCG, AP

    evaluate("qrels.txt", "run.txt", [nDCG @ 10, AP(rel=2), "ERR@10"])

The module has every name of the catalogue, and the other names of ir_measures and trec_eval for them:
``measures.names()`` lists all. A name means what it means in text, in every command: nDCG has the gain
2^g - 1, whereas the one of ir_measures has the gain g, which is ``nDCG(dcg="log2")`` here.
"""

from dataclasses import dataclass
from typing import Any

from clickassay.core.errors import SettingsError
from clickassay.metrics.definition import Measure
from clickassay.metrics.names import MEASURES, OTHER_NAMES, RULES, parse_measure, parse_measures, spell_gains

__all__ = ["Name", "describe", "names", "parse"]


@dataclass(frozen=True)
class Name:
    """A measure by its name: ``nDCG @ 10``, ``AP(rel=2) @ 5``; its string is the canonical name."""

    text: str  # The name with the parameters and the cut so far; it can be parsed.

    def __call__(self, **parameters: object) -> "Name":
        """Return the measure with these parameters.

        Raises SettingsError if the measure has no such parameter, or a value is not allowed.
        """
        spelled = ",".join(f"{name}={_spelled(value)}" for name, value in parameters.items())
        return _named(f"{self.text}({spelled})")

    def __matmul__(self, after: float) -> "Name":
        """Return the measure cut at a depth (IPrec: at a recall)."""
        return _named(f"{self.text}@{after}")

    def __str__(self) -> str:
        """Return the name with the form of its gains, which parses back: ``nDCG(dcg='exp-log2')@10``."""
        return _named(self.text).text


def _named(text: str) -> Name:
    return Name(str(spell_gains(parse_measure(text))))


def _spelled(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{grade}:{gain}" for grade, gain in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"'{' '.join(map(repr, value))}'"
    return repr(value)


def names() -> tuple[str, ...]:
    """Return the names of all measures: first the catalogue, then the names of other tools."""
    ours = [name for metric in MEASURES for name in (metric.name, metric.with_parameters) if name]
    return (*ours, *OTHER_NAMES)


def parse(text: str) -> tuple[Measure, ...]:
    """Read names with blanks or commas between them, each once.

    Raises SettingsError if one is unknown or spelled wrongly.
    """
    return parse_measures(text)


def describe(name: str) -> str:
    """Return what a measure is and what its parameters mean, one line each."""
    metric = parse_measure(str(name)).metric
    parameters = (f"  {item.name}: {item.meaning}; {item.expected}" for item in (*metric.parameters, *RULES))
    return "\n".join([f"{metric.name}: {metric.line} ({metric.source})", *parameters])


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes
    if name.startswith("__"):  # what Python asks a module for
        raise AttributeError(name)
    try:
        parse_measure(name)
    except SettingsError as error:
        raise AttributeError(f"no measure {name}; measures.names() lists them: {error}") from None
    return Name(name)


def __dir__() -> list[str]:
    return [*__all__, *names()]
