"""Values of measures on ranked lists."""

from collections.abc import Callable
from typing import Any

import numpy as np

from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.studies.evaluation.lists import NO_GRADE, Block, Lists


def measure_values(measure: Measure, lists: Lists, settings: Settings) -> Floats:
    """Return the (Q,) values of a measure, one for each query of the lists.

    Parameters
    ----------
    measure
        With its rule on results without a grade: count as grade 0, left out, or count as another grade.
    settings
        relevant_grade, max_grade and persistence, where the measure's name does not give them.

    Raises
    ------
    SettingsError
        If the measure needs an input that was not given, or its gains do not cover the grades.
    JudgmentError
        If a grade is above the scale of the measure.
    """
    rules = dict(measure.rules)
    _check(measure, lists, settings)
    if rules.get("judged_only"):
        lists = lists.judged_only()
    if "unjudged" in rules:
        lists = lists.with_unjudged(int(str(rules["unjudged"])))
    given = given_arguments(measure, settings)
    values = np.zeros(len(lists.queries))
    exact = measure.metric.name == "MeanGrade" or _has_gain_of_grade_0(given)
    for block in lists.blocks(measure.depth, exact=exact):
        needed = (_array(name, block, lists, given) for name in measure.metric.needs)
        values[block.rows] = measure.metric.function(*needed, **given)
    return values


def _has_gain_of_grade_0(given: dict[str, Any]) -> bool:
    """Return whether grade 0 has a gain: positions after the end of a list must then not be counted."""
    gains = given.get("gains")
    return gains is not None and gains[0] != 0


_OF_BLOCK: dict[str, Callable[[Block], Any]] = {
    "grades": lambda block: np.maximum(block.grades, 0),
    "judged": lambda block: block.grades >= 0,
    "pooled": lambda block: (block.grades < 0) & (block.grades > NO_GRADE),
    "returned": lambda block: block.returned,
    "size": lambda block: block.returned if block.cut is None else block.cut,
    "deepest": lambda block: block.cut,
    "known": lambda block: block.known,
}
"""Arrays that a measure can take as arguments, by name (`clickassay.metrics.ranked`)."""


def _array(name: str, block: Block, lists: Lists, given: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the array that a measure takes under this name."""
    if name in _OF_BLOCK:
        return _OF_BLOCK[name](block)
    if name == "known_relevant":
        return (lists.known_relevant or {})[given["rel"]][block.rows]
    return getattr(lists, name)[block.rows]


def _check(measure: Measure, lists: Lists, settings: Settings) -> None:
    given: dict[str, Any] = given_arguments(measure, settings)
    top = max(lists.max_grade, int(str(dict(measure.rules).get("unjudged", 0))))
    for need, option in (("known", "--known"), ("expected", "--expected")):
        if need in measure.metric.needs and getattr(lists, need) is None:
            raise SettingsError(f"measure {measure} needs {option}: what users {_VERBS[need]} of each query")
    gains, max_rel = given.get("gains"), given.get("max_rel")
    if gains is not None and len(gains) < top + 1:
        raise SettingsError(
            f"measure {measure}: gains has {len(gains)} values, and grades go up to {top}; give "
            f"{top + 1}, one for each grade from 0"
        )
    if max_rel is not None and gains is None and given.get("rel") is None and top > max_rel:
        raise JudgmentError(
            f"measure {measure}: results have grade {top}, above max_rel {max_rel}; "
            f"give the top of the scale by --max-grade {top} or {measure.metric.name}(max_rel={top})"
        )


_VERBS = {"known": "know", "expected": "expect"}
