"""The catalogue of measures as a table: name, definition, parameters, range, other names, source."""

import math

from clickassay.metrics.definition import Metric
from clickassay.metrics.names import MEASURES, RULES, other_names

HEADS = ("Name", "What it is", "Parameters", "Range", "Other names", "Source")


def listing() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows, one for each measure.

    A name of trec_eval takes a depth for K, a level of recall for L. Every measure also takes the parameters
    of `names.RULES` and, where it is not of the whole list by nature, a depth after ``@``.
    """
    return HEADS, [_row(metric) for metric in MEASURES]


def rules() -> list[tuple[str, str]]:
    """Return pairs (parameter, meaning) of the rules on results without a grade, which every name takes."""
    return [(rule.name, rule.meaning) for rule in RULES]


def _row(metric: Metric) -> tuple[str, ...]:
    parameters = ", ".join(parameter.name for parameter in metric.parameters)
    others = ", ".join(other_names(metric))
    return (
        metric.with_parameters or metric.name,
        metric.line,
        parameters,
        _range(metric),
        others,
        metric.source,
    )


def _range(metric: Metric) -> str:
    top = "" if math.isinf(metric.high) else f"{metric.high:g}"
    return f"{metric.low:g} to {top}" if top else f"from {metric.low:g}"
