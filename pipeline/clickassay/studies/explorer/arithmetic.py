"""The arithmetic of a metric's value, step by step, for one configuration: by the metric's own function.

An offline metric is computed for lists that differ from the one shown by what lies at some ranks, a click
metric for each click pattern by itself.
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.records import Integers
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, MODEL_METRICS, editorial_values, shown_pool
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.definition import Metric
from clickassay.metrics.names import parse

ROUNDING = 1e-9
"""Relative difference below which two values are the same number."""

_OF_GRADES = {"grades", "pool", "size", "deepest"}
"""What metrics with steps need: others count results without a judgment, which lists of zeros do not have."""

Totals = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Arithmetic:
    """The computation of a metric's value for one configuration."""

    metric: str  # Its name as in the run.
    formula: str  # Its definition, in one line.
    steps: pl.DataFrame  # One row per rank (offline metrics) or per click pattern (click metrics).
    totals: Totals  # From the steps to the value: pairs (text, number); the last one is the value.
    note: str = ""  # A sentence on limits of these numbers; '' if there are none.

    @property
    def value(self) -> float:
        """The value that the steps give."""
        return self.totals[-1][1]


def editorial_arithmetic(
    name: str, grades: Integers, seen: Integers, stored: float, settings: Settings
) -> Arithmetic:
    """Return the computation of the offline metric `name`, rank by rank.

    A rank adds what the list is worth when the results below it have grade 0, less what it was worth without
    the rank. Beside it stands what the result is worth where all others have grade 0: at the first rank, and
    at its own. For ERR these are R(g) and R(g) / rank, and the rank adds the latter times the chance to reach
    it.

    grades: (k,) grades, best position first.
    seen: (g_max + 1,) number of distinct results of the query by grade, among the results that the run shows.
    stored: the value in the run.
    """
    try:
        measure = parse(name, METRICS)
    except SettingsError:  # a score that users brought
        return _stored(name, "a score that was given with the log", grades, stored)
    if measure.metric in MODEL_METRICS:
        formula = "MeanRR expected from the click model: over all click patterns, by their probabilities"
        note = "A run does not keep the model that was fitted for it, so the value is the run's."
        return _stored(name, formula, grades[: measure.depth], stored, note)
    if not _OF_GRADES.issuperset(measure.metric.needs):
        note = f"There are no steps for this measure ({measure.metric.source}); the value is the run's."
        return _stored(name, measure.metric.line, grades[: measure.depth], stored, note)
    depth = len(grades[: measure.depth])
    ranks = np.arange(depth)
    above = np.tril(np.ones((depth, len(grades)), dtype=np.int64)) * grades
    first, own = np.zeros_like(above), np.zeros_like(above)
    first[ranks, 0] = own[ranks, ranks] = grades[:depth]
    lists = np.concatenate([np.zeros_like(above[:1]), above, first, own])
    pool = shown_pool(grades[None, :depth], settings.max_grade)[0] if settings.pool == "shown" else seen
    judged = settings.model_copy(update={"pool": "judged"})  # the same results for all of these lists
    values = editorial_values(lists, np.tile(pool, (len(lists), 1)), judged, (measure,))[1][:, 0]
    nothing, so_far, at_first, alone = np.split(values, [1, 1 + depth, 1 + 2 * depth])
    note, share = "", 1.0
    if "pool" in measure.metric.needs and so_far[-1] and not is_same(so_far[-1], stored):
        share = stored / so_far[-1]
        note = (
            f"{measure.metric.name} depends on every judged result of the query, and a run keeps only those "
            f"that it shows. By these it would be {so_far[-1]:.6g}: all steps are {share:.6g} times theirs."
        )
    adds = share * np.diff(so_far, prepend=nothing)
    steps = pl.DataFrame(
        {
            "rank": ranks + 1,
            "grade": grades[:depth],
            "alone at rank 1": share * at_first,
            "alone at its rank": share * alone,
            "adds below those above": adds,
            "so far": share * so_far,
        }
    )
    base = (("all results of grade 0", share * float(nothing[0])),) if nothing[0] else ()
    value = math.fsum([*adds, *(number for _, number in base)])
    return Arithmetic(name, _formula(measure.metric), steps, (*base, (f"{name} = sum", value)), note)


def _stored(name: str, formula: str, grades: Integers, stored: float, note: str = "") -> Arithmetic:
    steps = pl.DataFrame({"rank": np.arange(1, len(grades) + 1), "grade": grades})
    return Arithmetic(name, formula, steps, ((name, stored),), note)


def _formula(metric: Metric) -> str:
    """Return the equation that begins the docstring of a metric's function, or else the metric's line."""
    first = (metric.function.__doc__ or "").partition("\n")[0]
    return first.partition(" = ")[2].partition(";")[0].rstrip(".") or metric.line


def click_arithmetic(name: str, masks: Integers, sessions: Integers, good: int) -> Arithmetic:
    """Return the computation of the click metric `name`: the mean over the sessions.

    masks, sessions: (M,) distinct click masks of the configuration, and their sessions.
    good: mask of the positions whose grade is at least the success grade; only SS uses it.
    """
    metric = next(metric for metric in CLICKS if metric.name == name)
    arrays = {"masks": masks, "good": np.full(len(masks), good, dtype=np.int64)}
    values = metric.function(*(arrays[need] for need in metric.needs))
    steps = pl.DataFrame(
        {
            "clicked": [", ".join(map(str, positions(int(mask)))) or "nothing" for mask in masks],
            "sessions": sessions,
            name: values,
            "sessions · value": sessions * values,
        }
    ).sort("sessions", descending=True, maintain_order=True)
    total, number = math.fsum(steps["sessions · value"]), float(sessions.sum())
    totals = (("sum", total), ("sessions", number), (f"{name} = sum / sessions", total / number))
    return Arithmetic(name, f"mean over sessions of {_formula(metric)}", steps, totals)


def positions(mask: int) -> list[int]:
    """Return the clicked positions of a mask, ascending; 1 = first."""
    return [place + 1 for place in range(mask.bit_length()) if mask >> place & 1]


def is_same(one: float, other: float) -> bool:
    """Return whether two values are the same number."""
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)
