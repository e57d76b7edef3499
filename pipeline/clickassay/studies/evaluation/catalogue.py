"""The catalogue of measures as a table: name, definition, parameters, range, other names, source."""

import math

from clickassay.metrics.names import MEASURES, RULES, other_names

HEADS = ("Name", "What it is", "Parameters", "Range", "Other names", "Source")


def listing() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows, one for each measure.

    A name of trec_eval takes a depth for K, a level of recall for L. Every measure also takes the parameters
    of `names.RULES` and, where it is not of the whole list by nature, a depth after ``@``.
    """
    rows: list[tuple[str, ...]] = []
    for metric in MEASURES:
        span = f"from {metric.low:g}" if math.isinf(metric.high) else f"{metric.low:g} to {metric.high:g}"
        parameters = ", ".join(parameter.name for parameter in metric.parameters)
        named = metric.with_parameters or metric.name
        rows.append((named, metric.line, parameters, span, ", ".join(other_names(metric)), metric.source))
    return HEADS, rows


def rules() -> list[tuple[str, str]]:
    """Return pairs (parameter, meaning) of the rules on results without a grade, which every name takes."""
    return [(rule.name, rule.meaning) for rule in RULES]
