"""Values of measures on ranked lists, and their bounds over the possible grades of unjudged results."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.studies.evaluation.lists import NO_GRADE, Block, Lists

_OF_JUDGED_RESULTS = ("Judged", "Bpref", "infAP")
"""Measures that are defined for results without a grade: no grade is put in their place."""


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


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value that a measure can have over the grades of unjudged results."""

    low: Floats
    high: Floats


def measure_bounds(measure: Measure, lists: Lists, settings: Settings) -> Bounds:
    """Return the (Q,) worst and best values over grades of the results in the list that have none.

    The grades tried are 0 for some and the top of the scale for the others, placed best and placed
    worst, for every number of others; results that are given a grade join the judged ones of the query.
    This reaches the bounds of every measure with two grades, and of DCG, ERR without utilities, RBP and
    CG with more; the upper bound of nDCG and NCG with more than two grades may be beaten a little by
    grades between.
    """
    if measure.metric.name in _OF_JUDGED_RESULTS or dict(measure.rules):
        values = measure_values(measure, lists, settings)
        return Bounds(values, values)
    given: dict[str, Any] = given_arguments(measure, settings)
    top = max(lists.max_grade, given.get("max_rel") or settings.max_grade)
    if given.get("gains") is not None:
        top = len(given["gains"]) - 1
    places = _unjudged_places(lists, measure.depth)
    base = measure_values(measure, _graded(lists, places, np.zeros(0, dtype=np.int64), top), settings)
    low, high = base.copy(), base.copy()
    most = int(np.bincount(places[0], minlength=1).max(initial=0))
    # utilities that rise make it worth while to stop later: a better grade may then lower ERR
    alike = measure.metric.name in _BY_EXTREMES and given.get("utilities") is None
    for number in [most] if alike else range(1, most + 1):
        for order in (places[1] < number, places[2] < number):
            values = measure_values(measure, _graded(lists, places, np.flatnonzero(order), top), settings)
            np.minimum(low, values, out=low)
            np.maximum(high, values, out=high)
    return Bounds(low, high)


_BY_EXTREMES = {"DCG", "CG", "P", "R", "F", "E", "RR", "ERR", "RBP", "Success", "MeanGrade", "RelativeRecall"}
"""Measures that a better grade never makes worse: their bounds lie where all unjudged results are alike."""

_Places = tuple[Any, Any, Any, Any]


def _unjudged_places(lists: Lists, cut: int | None) -> _Places:
    """Return the query, the number from the top, the number from the end and the row of unjudged results."""
    query = np.repeat(np.arange(len(lists.queries)), lists.returned)
    place = np.arange(len(query)) - lists.starts[query]
    rows = np.flatnonzero((lists.grades < 0) & (place < (len(query) if cut is None else cut)))
    of = query[rows]
    first = np.searchsorted(of, np.arange(len(lists.queries) + 1))
    from_top = np.arange(len(of)) - first[of]
    return of, from_top, first[of + 1] - first[of] - 1 - from_top, rows


def _graded(lists: Lists, places: _Places, raised: Any, top: int) -> Lists:  # noqa: ANN401 - an index array
    query, _, _, rows = places
    grades = lists.grades.copy()
    grades[rows] = 0
    grades[rows[raised]] = top
    pool = np.zeros((len(lists.queries), max(top, lists.max_grade) + 1), dtype=np.int64)
    pool[:, : lists.pool.shape[1]] = lists.pool
    np.add.at(pool, (query, 0), 1)
    np.add.at(pool, (query[raised], 0), -1)
    np.add.at(pool, (query[raised], top), 1)
    return replace(lists, grades=grades, pool=pool)
