"""Editorial metrics (contract 6): batched functions of the grades of ranked results.

`grades` is (N, k): grades g1..gk of the results of N configurations, best position first.
`pool` is (N, g_max + 1): how many judged results of the query have each grade.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pipeline.contracts import BASELINES
from pipeline.errors import JudgmentError, SettingsError
from pipeline.metrics.base import Measure, Metric, Parameter, parse
from pipeline.metrics.of_click_models import CLICK_MODELS, MODEL_METRICS, Expectation
from pipeline.sample import Floats
from pipeline.settings import Settings

Grades = NDArray[np.integer]


def dcg(grades: Grades) -> Floats:
    """DCG = sum of (2^gi - 1) / log2(i + 1); 0 without a bound."""
    total = np.zeros(len(grades))
    for rank, grade in enumerate(grades.T, start=1):
        total += gains(grade) / math.log2(rank + 1)
    return total


def gains(grades: Grades) -> Floats:
    """Return 2^g - 1, exactly."""
    gain: Floats = np.ldexp(1.0, grades) - 1
    return gain


def ndcg(grades: Grades, pool: Grades) -> Floats:
    """NDCG = DCG / DCG of the best k results of the pool, 0 when that is 0; 0..1."""
    ideal = dcg(ideal_grades(pool, grades.shape[1]))
    return np.divide(dcg(grades), ideal, out=np.zeros(len(grades)), where=ideal > 0)


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


def err(grades: Grades, *, max_rel: int, gamma: float | None = None) -> Floats:
    """ERR = sum over ranks r of (1/r) R(gr) prod_{i<r} (1 - R(gi)); 0..1.

    With `gamma`, the chance to go on when not satisfied, the extended cascade metric (section 7.2):
    gamma^(r - 1) takes the place of 1/r.
    """
    satisfied = satisfaction(grades, max_rel)
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


def rbp(grades: Grades, *, p: float, max_rel: int) -> Floats:
    """RBP(p) = (1 - p) sum over ranks i of R(gi) p^(i - 1); 0..1."""
    total = np.zeros(len(grades))
    for gain in satisfaction(grades, max_rel).T[::-1]:
        total = gain + p * total
    value: Floats = (1 - p) * total
    return value


def satisfaction(grades: Grades, max_rel: int) -> Floats:
    """R(g) = (2^g - 1) / 2^max_rel, exactly: the chance that a result of grade g satisfies.

    Raises
    ------
    JudgmentError
        If a grade is above `max_rel`, which would give a chance above 1.
    """
    if grades.size and grades.max() > max_rel:
        raise JudgmentError(
            f"grade {grades.max()} is above max_rel {max_rel}: give the top grade of the scale"
        )
    chance: Floats = np.ldexp(gains(grades), -max_rel)
    return chance


def mean_grade(grades: Grades) -> Floats:
    """Return the (N,) means of (N, k) grades."""
    means: Floats = grades.mean(axis=1, dtype=np.float64)
    return means


def precision(grades: Grades, *, rel: int) -> Floats:
    """Return the (N,) shares of the results whose grade is `rel` or more, 0..1."""
    shares: Floats = (grades >= rel).mean(axis=1, dtype=np.float64)
    return shares


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
_FROM = "Chapelle et al. 2009, section "
_GRADES, _POOLED = ("grades",), ("grades", "pool")
_EXPONENTIAL = ("nDCG(dcg='exp-log2')", "NDCG(dcg='exp-log2')")

EDITORIAL = (
    Metric("DCG", "gain of the results, discounted by rank", 0, math.inf, _FROM + "2", dcg, _GRADES),
    Metric("NDCG", "DCG relative to the ideal list", 0, 1, _FROM + "2", ndcg, _POOLED, (), _EXPONENTIAL),
    Metric("AP", "mean precision at the relevant results", 0, 1, _FROM + "6.2", ap, _POOLED, (_REL,)),
    Metric("RR", "reciprocal rank of the first relevant result", 0, 1, _FROM + "6.2", rr, _GRADES, (_REL,)),
    Metric(
        "ERR", "expected 1/rank where the user stops", 0, 1, _FROM + "4", err, _GRADES, (_MAX_REL, _GAMMA)
    ),
    Metric("RBP", "expected rate of gain of a patient user", 0, 1, _FROM + "2", rbp, _GRADES, (_P, _MAX_REL)),
)
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
        If the setting names what is no metric, or one that is cut deeper than a depth of the run.
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
    if dict(measure.arguments).get("rel", 1) > settings.max_grade:
        raise SettingsError(f"metric {measure}: no grade of the scale 0..{settings.max_grade} is relevant")
    cut = grades[:, :depth]
    judged = settings.pool == "judged" and pool is not None
    known = pool if judged else shown_pool(cut, settings.max_grade)
    return measure.compute({"grades": cut, "pool": known, CLICK_MODELS: click_models}, settings)


def shown_pool(grades: Grades, max_grade: int) -> NDArray[np.int64]:
    """Count the results shown by grade: (N, max_grade + 1)."""
    return np.stack([(grades == grade).sum(axis=1) for grade in range(max_grade + 1)], axis=1)
