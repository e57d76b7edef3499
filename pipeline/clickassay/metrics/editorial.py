"""Offline metrics (method 6): batched functions of grades; gains, discounts and ideal lists of DCG."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import JudgmentError
from clickassay.core.records import Floats
from clickassay.metrics.definition import Metric, Parameter, numbers, word

# ---- gains, discounts and ideal lists --------------------------------------------------------------


Grades = NDArray[np.integer]
Values = tuple[float, ...]

FORMS = ("log2", "exp-log2", "jk-log2")
"""Gain g or 2^g - 1 over log2(i + 1), or g over max(1, log2(i)) (Jarvelin & Kekalainen 2000)."""


def grade_gains(form: str, top: int, gains: Values | None = None) -> Floats:
    """Return the gains of the grades 0..top: `gains`, else 2^g - 1 for ``exp-log2``, else g."""
    if gains is not None:
        return np.array(gains, dtype=np.float64)
    scale = np.arange(top + 1)
    # ldexp is exact on every processor, exp2 is not
    return np.ldexp(1.0, scale) - 1 if form == "exp-log2" else scale.astype(np.float64)


def discount(form: str, rank: int) -> float:
    """Return what the gain at a rank, from 1, is divided by; 1 for the form ``none``."""
    if form == "none":
        return 1.0
    return max(1.0, math.log2(rank)) if form == "jk-log2" else math.log2(rank + 1)


def discounted(grades: Grades, form: str, gains: Values | None = None) -> Floats:
    """Return the (N,) sums of gain / discount of (N, k) grades."""
    total = np.zeros(len(grades))
    of_grade = grade_gains(form, int(grades.max(initial=0)), gains)
    for rank, column in enumerate(grades.T, start=1):
        total += of_grade[column] / discount(form, rank)
    return total


def ideal_grades(pool: Grades, depth: int) -> Grades:
    """Return the (N, depth) grades of the best results of each pool, in falling order, 0 where it ends."""
    at_least = np.cumsum(pool[:, ::-1], axis=1)[:, ::-1]  # results with grade >= g
    ideal = np.zeros((len(pool), depth), dtype=np.int8)
    for grade in range(1, pool.shape[1]):
        ideal[np.arange(depth) < at_least[:, grade, None]] = grade
    return ideal


def relative_to_ideal(
    grades: Grades, pool: Grades, deepest: int | None, form: str, gains: Values | None = None
) -> Floats:
    """Return the sums of gain / discount of (N, k) grades over the sums of the best `deepest` results.

    None = of all results of the pool. The value is 0 where the best are worth nothing. Both sums add up from
    the first rank down, so that the ideal list itself has exactly 1.
    """
    most = int(pool.sum(axis=1).max(initial=0))
    depth = most if deepest is None else min(deepest, most)
    there = np.arange(depth) < pool.sum(axis=1)[:, None]  # a grade of 0 may have a gain, a missing result not
    best = np.where(there, grade_gains(form, pool.shape[1] - 1, gains)[ideal_grades(pool, depth)], 0.0)
    ideal = np.zeros(len(pool))
    for rank, column in enumerate(best.T, start=1):
        ideal += column / discount(form, rank)
    return np.divide(discounted(grades, form, gains), ideal, out=np.zeros(len(grades)), where=ideal > 0)


def ndcg(
    grades: Grades,
    pool: Grades,
    deepest: int | None,
    *,
    dcg: str = "exp-log2",
    gains: Values | None = None,
    ideal: str = "judged",
) -> Floats:
    """NDCG = DCG / DCG of the best results, 0 when that is 0; 0..1.

    A list has each result once, as the pool has (method 3, rule 5): nothing is clipped. `gains`, one number
    for each grade from 0 up, replace the form's gains.

    grades: (N, k) grades 0 or above, best position first.
    pool: (N, g_max + 1) number of judged results of the query by grade.
    deepest: the cut of the ideal list; None = all of the pool.
    ideal: the best results: the ``judged`` ones to the cut, all of them (``uncut``), or those of the list
      (``shown``).
    """
    if ideal == "shown":
        pool = np.stack([np.count_nonzero(grades == g, axis=1) for g in range(pool.shape[1])], axis=1)
    return relative_to_ideal(grades, pool, None if ideal == "uncut" else deepest, dcg, gains)


LARGEST = 1e12
"""Largest gain or utility that a name may give: sums and squares of values stay finite."""


def dcg(grades: Grades, *, dcg: str = "exp-log2", gains: Values | None = None) -> Floats:
    """DCG = sum of (2^gi - 1) / log2(i + 1); 0 without a bound.

    Another form is ``log2`` (gain g) or ``jk-log2`` (gain g, discounted by log2(i) from the second place on).
    `gains`, one number for each grade from 0 up, replace 2^g - 1.
    """
    return discounted(grades, dcg, gains)


def ap(
    grades: Grades, pool: Grades, size: int | NDArray[np.int64] = 0, *, rel: int, over: str = "judged"
) -> Floats:
    """AP = (sum of the precision at each relevant rank) / R, R = relevant results of the pool; 0..1.

    R = 0 gives 0. Others divide by the relevant results ``retrieved``, or by R but at most the ``cut``, which
    is `size`.
    """
    relevant = grades >= rel
    precision = np.cumsum(relevant, axis=1) / np.arange(1, grades.shape[1] + 1)
    total = np.where(relevant, precision, 0).sum(axis=1)
    whole = relevant.sum(axis=1) if over == "retrieved" else pool[:, rel:].sum(axis=1)
    value: Floats = total / np.maximum(np.minimum(whole, size) if over == "cut" else whole, 1)
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

    `gains`, one chance for each grade from 0 up, replace R(g). With `gamma`, the chance to continue when not
    satisfied, it is the extended cascade metric (Chapelle et al. 2009, 7.2): gamma^(r - 1) replaces 1/r.
    `utilities` replace 1/r by the r-th of them; the value is then at most the largest of them.
    """
    satisfied = satisfaction(grades, max_rel, gains)
    if utilities is not None:
        return expected_utility(satisfied, utilities)
    return expected_reciprocal_rank(satisfied) if gamma is None else expected_success(satisfied, gamma)


def expected_reciprocal_rank(satisfied: Floats) -> Floats:
    """Return the mean of 1/r, r = the rank where the user stops, from the (N, k) chances to be satisfied."""
    total, continues = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for rank, satisfies in enumerate(satisfied.T, start=1):
        total += continues * satisfies / rank
        # 1 - R(g) is exact, and a product of positive factors keeps its relative precision
        continues *= 1 - satisfies
    return total


def expected_success(satisfied: Floats, gamma: float) -> Floats:
    """Return the chance to be satisfied, of a user who continues with chance `gamma` when not satisfied."""
    total, continues = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for satisfies in satisfied.T:
        total += continues * satisfies
        continues *= gamma * (1 - satisfies)
    return total


def expected_utility(satisfied: Floats, utilities: Values) -> Floats:
    """Return the mean utility of the rank where the user stops (definition 1 of the paper)."""
    total, continues = np.zeros(len(satisfied)), np.ones(len(satisfied))
    for utility, satisfies in zip(utilities, satisfied.T, strict=False):
        total += utility * continues * satisfies
        continues *= 1 - satisfies
    return total


def rbp(
    grades: Grades, *, p: float, max_rel: int, gains: Values | None = None, rel: int | None = None
) -> Floats:
    """RBP(p) = (1 - p) sum over ranks i of R(gi) p^(i - 1); 0..1. `gains` as for `err`.

    With `rel` a result is worth 1 from that grade on, and 0 below it.
    """
    worth = satisfaction(grades, max_rel, gains) if rel is None else (grades >= rel).astype(np.float64)
    total = np.zeros(len(grades))
    for gain in worth.T[::-1]:
        total = gain + p * total
    return (1 - p) * total


def satisfaction(grades: Grades, max_rel: int, gains: Values | None = None) -> Floats:
    """R(g): the chance that a result of grade g satisfies; `gains`, or (2^g - 1) / 2^max_rel, exactly.

    Raises JudgmentError if there are no `gains` and a grade is above `max_rel`, which would give a chance
    above 1.
    """
    if gains is not None:
        return np.array(gains)[grades]
    if grades.size and grades.max() > max_rel:
        raise JudgmentError(
            f"grade {grades.max()} is above max_rel {max_rel}: set max_rel to the top grade of the scale"
        )
    chance: Floats = np.ldexp(np.ldexp(1.0, grades) - 1, -max_rel)
    return chance


def mean_grade(grades: Grades) -> Floats:
    """Return the (N,) means of (N, k) grades."""
    means: Floats = grades.mean(axis=1, dtype=np.float64)
    return means


def _within(values: Values, high: float) -> bool:
    return bool(values) and all(0 <= value <= high for value in values)


def _rising(values: Values, high: float) -> bool:
    return _within(values, high) and list(values) == sorted(values)


REL = Parameter(
    "rel", int, "lowest grade that counts as relevant",
    "a grade of 1..30", lambda grade: 1 <= grade <= 30, "relevant_grade",
)  # fmt: skip
_FROM_GRADE = replace(REL, meaning="lowest grade with gain 1; lower grades have gain 0", setting=None)
_OVER = Parameter(
    "over", word, "the denominator: relevant results judged, retrieved, or judged but at most the cut",
    "'judged', 'retrieved' or 'cut'", lambda over: over in ("judged", "retrieved", "cut"), None,
    default="judged",
)  # fmt: skip
MAX_REL = replace(REL, name="max_rel", meaning="top grade of the scale", setting="max_grade")
GAMMA = Parameter(
    "gamma", float, "chance to continue when not satisfied; gamma^(r - 1) then replaces 1/r",
    "a number above 0, at most 1", lambda gamma: 0 < gamma <= 1, None,
)  # fmt: skip
PERSISTENCE = Parameter(
    "p", float, "persistence: the chance to look at the next result",
    "a number between 0 and 1", lambda p: 0 < p < 1, "persistence",
)  # fmt: skip
CHANCES = Parameter(
    "gains", numbers, "chance that a result satisfies, for each grade from 0 up; replaces R(g)",
    "non-decreasing numbers of 0..1, separated by blanks, one for each grade from 0 up",
    lambda chances: _rising(chances, 1), None,
)  # fmt: skip
GAINS = replace(
    CHANCES,
    meaning="gain of each grade from 0 up; replaces 2^g - 1",
    expected="non-decreasing numbers of 0..1e12, separated by blanks, one for each grade from 0 up",
    admits=lambda gains: _rising(gains, LARGEST),
)
DCG_FORM = Parameter(
    "dcg", word, "gains and discounts",
    f"one of {', '.join(map(repr, FORMS))}", lambda form: form in FORMS, None, default="exp-log2",
)  # fmt: skip
_IDEAL = replace(
    DCG_FORM,
    name="ideal",
    meaning="the ideal ranking: judged results to the cut, all judged results, or the results shown",
    expected="'judged', 'uncut' or 'shown'",
    admits=lambda ideal: ideal in ("judged", "uncut", "shown"),
    default="judged",
)
UTILITIES = replace(
    CHANCES,
    name="utilities",
    meaning="value of stopping at each position from 1 down; replaces 1/r",
    expected="numbers of 0..1e12, the first above 0, separated by blanks, one for each position from 1",
    admits=lambda utilities: _within(utilities, LARGEST) and utilities[0] > 0,
)
_FROM = "Chapelle et al. 2009, section "
_GRADES, _POOLED = ("grades",), ("grades", "pool")

EDITORIAL = (
    Metric(
        "DCG", "gain of the results, discounted by rank", 0, math.inf, _FROM + "2", dcg, _GRADES,
        (DCG_FORM, GAINS), (("dcg", "gains"),),
    ),
    Metric(
        "NDCG", "DCG relative to the ideal ranking", 0, 1, _FROM + "2", ndcg, (*_POOLED, "deepest"),
        (DCG_FORM, GAINS, _IDEAL), (("dcg", "gains"),), with_parameters="nDCG",
    ),
    Metric(
        "AP", "mean precision at the relevant results", 0, 1, _FROM + "6.2", ap, (*_POOLED, "size"),
        (REL, _OVER),
    ),
    Metric("RR", "reciprocal rank of the first relevant result", 0, 1, _FROM + "6.2", rr, _GRADES, (REL,)),
    Metric(
        "ERR", "expected 1/rank where the user stops", 0, 1, _FROM + "4", err, _GRADES,
        (MAX_REL, CHANCES, GAMMA, UTILITIES), (("gains", "max_rel"), ("utilities", "gamma")),
    ),
    Metric(
        "RBP", "expected rate of gain of a patient user", 0, 1, _FROM + "2", rbp, _GRADES,
        (PERSISTENCE, _FROM_GRADE, MAX_REL, CHANCES),
        (("gains", "max_rel"), ("rel", "max_rel"), ("rel", "gains")),
    ),
)  # fmt: skip
"""The offline metrics in the order of reports (method 6); variants such as ``AP(rel=2)`` follow them.

Bare names mean method 6 in every command, and take what they leave open (rel, max_rel, p) from its settings.
In ir_measures ``AP`` is ``AP(rel=1)`` and ``nDCG`` has linear gains. ``DCG`` and ``max_rel`` are ours.
"""

EDITORIAL_METRICS = tuple(metric.name for metric in EDITORIAL)

PLAIN = (Metric("MeanGrade", "mean grade in any order", 0, 30, "ours", mean_grade, _GRADES),)
"""Metrics that know no order: a baseline."""
