"""Editorial metrics (contract 6): batched functions of the grades of ranked results.

`grades` is (N, k): grades g1..gk of the results of N configurations, best position first.
`pool` is (N, g_max + 1): how many judged results of the query have each grade.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.contracts import BASELINES
from pipeline.errors import JudgmentError, SettingsError
from pipeline.metrics.base import Measure, Metric, Parameter, numbers, parse
from pipeline.metrics.of_click_models import CLICK_MODELS, MODEL_METRICS, Expectation
from pipeline.sample import Floats
from pipeline.settings import Settings

Grades = NDArray[np.integer]
Values = tuple[float, ...]

LARGEST = 1e12
"""Largest gain or utility that a name may give: sums and squares of values stay finite."""


def dcg(grades: Grades, *, gains: Values | None = None) -> Floats:
    """DCG = sum of (2^gi - 1) / log2(i + 1); 0 without a bound.

    With `gains`, one number for each grade from 0 up, theirs take the place of 2^g - 1.
    """
    return _discounted(gained(grades, gains))


def _discounted(gain: Floats) -> Floats:
    total = np.zeros(len(gain))
    for rank, column in enumerate(gain.T, start=1):
        total += column / math.log2(rank + 1)
    return total


def gained(grades: Grades, gains: Values | None = None) -> Floats:
    """Return `gains` of the grades, or 2^g - 1, exactly."""
    gain: Floats = np.ldexp(1.0, grades) - 1 if gains is None else np.array(gains)[grades]
    return gain


def ndcg(grades: Grades, pool: Grades, *, gains: Values | None = None) -> Floats:
    """NDCG = DCG / DCG of the best k results of the pool, 0 when that is 0; 0..1. `gains` as for `dcg`."""
    ideal = _discounted(ideal_gains(pool, grades.shape[1], gains))
    return np.divide(dcg(grades, gains=gains), ideal, out=np.zeros(len(grades)), where=ideal > 0)


def ideal_gains(pool: Grades, depth: int, gains: Values | None = None) -> Floats:
    """Return the (N, depth) gains of the best results of each pool, falling, 0 where it ends."""
    there = np.arange(depth) < pool.sum(axis=1)[:, None]  # a grade of 0 may have a gain, a missing result not
    return np.where(there, gained(ideal_grades(pool, depth), gains), 0.0)


def ideal_grades(pool: Grades, depth: int) -> Grades:
    """Return the (N, depth) grades of the best results of each pool, in falling order, 0 where it ends."""
    at_least = np.cumsum(pool[:, ::-1], axis=1)[:, ::-1]  # results with grade >= g
    ideal = np.zeros((len(pool), depth), dtype=np.int8)
    for grade in range(1, pool.shape[1]):
        ideal[np.arange(depth) < at_least[:, grade, None]] = grade
    return ideal


def ap(grades: Grades, pool: Grades, *, rel: int) -> Floats:
    """AP = (sum of the precision at each relevant rank) / R, R = relevant results of the pool; 0..1.

    R = 0 gives 0.
    """
    relevant = grades >= rel
    precision = np.cumsum(relevant, axis=1) / np.arange(1, grades.shape[1] + 1)
    total = np.where(relevant, precision, 0).sum(axis=1)
    value: Floats = total / np.maximum(pool[:, rel:].sum(axis=1), 1)
    return value


def rr(grades: Grades, *, rel: int) -> Floats:
    """RR = 1 / (rank of the first relevant result), 0 without one; 0..1."""
    relevant = grades >= rel
    return np.where(relevant.any(axis=1), 1 / (1 + relevant.argmax(axis=1)), 0)


def err(
    grades: Grades,
    *,
    max_rel: int,
    gains: Values | None = None,
    gamma: float | None = None,
    utilities: Values | None = None,
) -> Floats:
    """ERR = sum over ranks r of (1/r) R(gr) prod_{i<r} (1 - R(gi)); 0..1.

    With `gains`, one chance for each grade from 0 up, theirs take the place of R(g). With `gamma`, the chance
    to go on when not satisfied, the extended cascade metric (section 7.2): gamma^(r - 1) takes the place of
    1/r. With `utilities` it is the r-th of them, and the value is at most the largest.
    """
    satisfied = satisfaction(grades, max_rel, gains)
    if utilities is not None:
        return expected_utility(satisfied, utilities)
    return expected_reciprocal_rank(satisfied) if gamma is None else expected_success(satisfied, gamma)


def expected_reciprocal_rank(satisfied: Floats) -> Floats:
    """Return the mean of 1/r, r = the rank where the user stops, from the (N, k) chances to be satisfied."""
    total, goes_on = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for rank, stops in enumerate(satisfied.T, start=1):
        total += goes_on * stops / rank
        # 1 - R(g) is exact, and a product of positive factors keeps its relative precision
        goes_on *= 1 - stops
    return total


def expected_success(satisfied: Floats, gamma: float) -> Floats:
    """Return the chance to be satisfied, of a user who goes on with chance `gamma` when not satisfied."""
    total, goes_on = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for stops in satisfied.T:
        total += goes_on * stops
        goes_on *= gamma * (1 - stops)
    return total


def expected_utility(satisfied: Floats, utilities: Values) -> Floats:
    """Return the mean utility of the rank where the user stops (definition 1 of the paper)."""
    total, goes_on = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for utility, stops in zip(utilities, satisfied.T, strict=False):
        total += utility * goes_on * stops
        goes_on *= 1 - stops
    return total


def rbp(grades: Grades, *, p: float, max_rel: int, gains: Values | None = None) -> Floats:
    """RBP(p) = (1 - p) sum over ranks i of R(gi) p^(i - 1); 0..1. `gains` as for `err`."""
    total = np.zeros(len(grades))
    for gain in satisfaction(grades, max_rel, gains).T[::-1]:
        total = gain + p * total
    value: Floats = (1 - p) * total
    return value


def satisfaction(grades: Grades, max_rel: int, gains: Values | None = None) -> Floats:
    """R(g): the chance that a result of grade g satisfies; `gains`, or (2^g - 1) / 2^max_rel, exactly.

    Raises
    ------
    JudgmentError
        If there are no `gains` and a grade is above `max_rel`, which would give a chance above 1.
    """
    if gains is not None:
        return gained(grades, gains)
    if grades.size and grades.max() > max_rel:
        raise JudgmentError(
            f"grade {grades.max()} is above max_rel {max_rel}: give the top grade of the scale"
        )
    chance: Floats = np.ldexp(gained(grades), -max_rel)
    return chance


def mean_grade(grades: Grades) -> Floats:
    """Return the (N,) means of (N, k) grades."""
    means: Floats = grades.mean(axis=1, dtype=np.float64)
    return means


def precision(grades: Grades, *, rel: int) -> Floats:
    """Return the (N,) shares of the results whose grade is `rel` or more, 0..1."""
    shares: Floats = (grades >= rel).mean(axis=1, dtype=np.float64)
    return shares


def _within(values: Values, high: float) -> bool:
    return bool(values) and all(0 <= value <= high for value in values)


def _rising(values: Values, high: float) -> bool:
    return _within(values, high) and list(values) == sorted(values)


_REL = Parameter(
    name="rel",
    kind=int,
    meaning="lowest grade that counts as relevant",
    expected="a grade of 1..30",
    admits=lambda grade: 1 <= grade <= 30,
    setting="relevant_grade",
)
_MAX_REL = replace(_REL, name="max_rel", meaning="top grade of the scale", setting="max_grade")
_GAMMA = Parameter(
    name="gamma",
    kind=float,
    meaning="chance to go on when not satisfied; gamma^(r - 1) then takes the place of 1/r",
    expected="a number above 0, at most 1",
    admits=lambda gamma: 0 < gamma <= 1,
    setting=None,
)
_P = Parameter(
    name="p",
    kind=float,
    meaning="persistence: the chance to look at the next result",
    expected="a number between 0 and 1",
    admits=lambda p: 0 < p < 1,
    setting="persistence",
)
_CHANCES = Parameter(
    name="gains",
    kind=numbers,
    meaning="chance that a result satisfies, for each grade from 0 up; takes the place of R(g)",
    expected="numbers of 0..1 that do not fall, with blanks between them, one for each grade from 0 up",
    admits=lambda chances: _rising(chances, 1),
    setting=None,
)
_GAINS = replace(
    _CHANCES,
    meaning="gain of each grade from 0 up; takes the place of 2^g - 1",
    expected="numbers of 0..1e12 that do not fall, with blanks between them, one for each grade from 0 up",
    admits=lambda gains: _rising(gains, LARGEST),
)
_UTILITIES = replace(
    _CHANCES,
    name="utilities",
    meaning="what it is worth to stop at each position from 1 down; takes the place of 1/r",
    expected="numbers of 0..1e12, the first above 0, with blanks between them, one for each position from 1",
    admits=lambda utilities: _within(utilities, LARGEST) and utilities[0] > 0,
)
_FROM = "Chapelle et al. 2009, section "
_GRADES, _POOLED = ("grades",), ("grades", "pool")
_EXPONENTIAL = ("nDCG(dcg='exp-log2')", "NDCG(dcg='exp-log2')")

EDITORIAL = (
    Metric(
        "DCG", "gain of the results, discounted by rank", 0, math.inf, _FROM + "2", dcg, _GRADES, (_GAINS,)
    ),
    Metric(
        "NDCG", "DCG relative to the ideal list", 0, 1, _FROM + "2", ndcg, _POOLED, (_GAINS,), _EXPONENTIAL
    ),
    Metric("AP", "mean precision at the relevant results", 0, 1, _FROM + "6.2", ap, _POOLED, (_REL,)),
    Metric("RR", "reciprocal rank of the first relevant result", 0, 1, _FROM + "6.2", rr, _GRADES, (_REL,)),
    Metric(
        "ERR", "expected 1/rank where the user stops", 0, 1, _FROM + "4", err, _GRADES,
        (_MAX_REL, _CHANCES, _GAMMA, _UTILITIES), (), (("gains", "max_rel"), ("utilities", "gamma")),
    ),
    Metric(
        "RBP", "expected rate of gain of a patient user", 0, 1, _FROM + "2", rbp, _GRADES,
        (_P, _MAX_REL, _CHANCES), (), (("gains", "max_rel"),),
    ),
)  # fmt: skip
"""The editorial metrics in the order of contracts.EDITORIAL_METRICS.

Bare names mean contract 6 under the run's settings, which is not what ir_measures assumes for them
(there ``AP`` is ``AP(rel=1)`` and ``nDCG`` has linear gains). ``DCG`` and ``max_rel`` are ours.
"""

_PLAIN = (
    Metric("MeanGrade", "mean grade, whatever the order", 0, 30, "ours", mean_grade, _GRADES),
    Metric("P", "share of the results that are relevant", 0, 1, "trec_eval", precision, _GRADES, (_REL,)),
)
METRICS = EDITORIAL + _PLAIN + MODEL_METRICS
"""Every editorial metric that a name can ask for."""


def report_measures(settings: Settings) -> tuple[Measure, ...]:
    """Return the measures of reports.

    EDITORIAL, AP and RR with one more grade relevant, BASELINES, and those that the setting `metric` names.

    Raises
    ------
    SettingsError
        If the setting names what is no metric, or one that does not fit the scale or a depth of the run.
    """
    lower = settings.relevant_grade - 1
    variants = [Measure(metric, (("rel", lower),)) for metric in EDITORIAL if metric.parameters == (_REL,)]
    plain = [parse(name, METRICS) for name in BASELINES]
    own = (*(Measure(metric) for metric in EDITORIAL), *(variants if lower >= 1 else ()), *plain)
    asked = [parse(name, METRICS) for name in settings.metric]
    for measure in asked:
        if measure.depth is not None and measure.depth > min(settings.depth):
            raise SettingsError(
                f"metric {measure}: the run has depth {min(settings.depth)}; cut it at that or above"
            )
        _check_fits(measure, measure.depth or max(settings.depth), settings)
    return tuple(dict.fromkeys((*own, *asked)))


def editorial_values(
    grades: Grades,
    pool: Grades | None,
    settings: Settings,
    measures: tuple[Measure, ...] | None = None,
    click_models: Mapping[str, Expectation] = MappingProxyType({}),
) -> tuple[tuple[str, ...], Floats]:
    """Compute editorial metrics of N configurations.

    Parameters
    ----------
    grades
        (N, k) grades 0..g_max, best position first.
    pool
        (N, g_max + 1) number of judged results of the query by grade. Not used (may be None) when
        settings.pool is "shown": then the pool is the results shown. The pool has every result once, so
        a list that shows a relevant result twice can bring NDCG and AP above 1 (contract 6, taken literally).
    settings
        relevant_grade, max_grade, persistence and pool.
    measures
        What to compute, see `pipeline.metrics.base.parse`; None = `report_measures`.
    click_models
        By name: what a fitted click model expects of (N, k) grades; for the measures of that name.

    Returns
    -------
    The names of the E measures, and their (N, E) values.

    Raises
    ------
    JudgmentError
        If a grade is off the scale, or the pool does not fit the grades and the scale.
    SettingsError
        If a measure is to be cut deeper than k, or its relevant grade is above the scale.
    """
    measures = report_measures(settings) if measures is None else measures
    _check(grades, pool, settings)
    columns = [_column(measure, grades, pool, settings, click_models) for measure in measures]
    values = np.array(columns, dtype=np.float64).reshape(len(measures), len(grades))
    return tuple(str(measure) for measure in measures), np.ascontiguousarray(values.T)


def _check(grades: Grades, pool: Grades | None, settings: Settings) -> None:
    top = settings.max_grade
    if grades.size and not 0 <= grades.min() <= grades.max() <= top:
        raise JudgmentError(f"grades {grades.min()}..{grades.max()} are off the scale 0..{top}")
    if settings.pool == "judged" and (pool is None or pool.shape != (len(grades), top + 1)):
        found = "none" if pool is None else str(pool.shape)
        raise JudgmentError(f"counts of judged results: found {found}, expected {(len(grades), top + 1)}")


def _column(
    measure: Measure,
    grades: Grades,
    pool: Grades | None,
    settings: Settings,
    click_models: Mapping[str, Expectation],
) -> Floats:
    depth = grades.shape[1] if measure.depth is None else measure.depth
    if depth > grades.shape[1]:
        raise SettingsError(f"metric {measure}: the results are only {grades.shape[1]} deep")
    _check_fits(measure, depth, settings)
    cut = grades[:, :depth]
    judged = settings.pool == "judged" and pool is not None
    known = pool if judged else shown_pool(cut, settings.max_grade)
    return measure.compute({"grades": cut, "pool": known, CLICK_MODELS: click_models}, settings)


def _check_fits(measure: Measure, depth: int, settings: Settings) -> None:
    """Refuse parameters that the scale does not have, or that end above the depth of computation."""
    given, top = dict[str, Any](measure.arguments), settings.max_grade
    if given.get("rel", 1) > top:
        raise SettingsError(f"metric {measure}: no grade of the scale 0..{top} is relevant")
    if "gains" in given and len(given["gains"]) != top + 1:
        raise SettingsError(
            f"metric {measure}: gains has {len(given['gains'])} values, and the scale 0..{top} has {top + 1} "
            "grades; give one for each"
        )
    if "utilities" in given and len(given["utilities"]) < depth:
        raise SettingsError(
            f"metric {measure}: utilities ends at position {len(given['utilities'])}, and it is computed to "
            f"{depth}; give more, or cut the metric by @{len(given['utilities'])}"
        )


def shown_pool(grades: Grades, max_grade: int) -> NDArray[np.int64]:
    """Count the results shown by grade: (N, max_grade + 1)."""
    return np.stack([(grades == grade).sum(axis=1) for grade in range(max_grade + 1)], axis=1)
