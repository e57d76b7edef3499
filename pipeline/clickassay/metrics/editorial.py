"""Editorial metrics (method 6): batched functions of the grades of ranked results."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import JudgmentError
from clickassay.core.records import Floats
from clickassay.metrics.definition import Metric, Parameter, numbers, word
from clickassay.metrics.gains import FORMS, Grades, Values, discounted, ndcg

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
    value: Floats = (1 - p) * total
    return value


def satisfaction(grades: Grades, max_rel: int, gains: Values | None = None) -> Floats:
    """R(g): the chance that a result of grade g satisfies; `gains`, or (2^g - 1) / 2^max_rel, exactly.

    Raises JudgmentError if there are no `gains` and a grade is above `max_rel`, which would give a chance
    above 1.
    """
    if gains is not None:
        return np.array(gains)[grades]
    if grades.size and grades.max() > max_rel:
        raise JudgmentError(
            f"grade {grades.max()} is above max_rel {max_rel}: give the top grade of the scale"
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
    name="rel",
    kind=int,
    meaning="lowest grade that counts as relevant",
    expected="a grade of 1..30",
    admits=lambda grade: 1 <= grade <= 30,
    setting="relevant_grade",
)
_FROM_GRADE = replace(REL, meaning="lowest grade that is worth 1; the others are worth 0", setting=None)
_OVER = Parameter(
    name="over",
    kind=word,
    meaning="the denominator: relevant results judged, retrieved, or judged but at most the cut",
    expected="'judged', 'retrieved' or 'cut'",
    admits=lambda over: over in ("judged", "retrieved", "cut"),
    setting=None,
    default="judged",
)
MAX_REL = replace(REL, name="max_rel", meaning="top grade of the scale", setting="max_grade")
GAMMA = Parameter(
    name="gamma",
    kind=float,
    meaning="chance to go on when not satisfied; gamma^(r - 1) then takes the place of 1/r",
    expected="a number above 0, at most 1",
    admits=lambda gamma: 0 < gamma <= 1,
    setting=None,
)
PERSISTENCE = Parameter(
    name="p",
    kind=float,
    meaning="persistence: the chance to look at the next result",
    expected="a number between 0 and 1",
    admits=lambda p: 0 < p < 1,
    setting="persistence",
)
CHANCES = Parameter(
    name="gains",
    kind=numbers,
    meaning="chance that a result satisfies, for each grade from 0 up; takes the place of R(g)",
    expected="numbers of 0..1 that do not fall, with blanks between them, one for each grade from 0 up",
    admits=lambda chances: _rising(chances, 1),
    setting=None,
)
GAINS = replace(
    CHANCES,
    meaning="gain of each grade from 0 up; takes the place of 2^g - 1",
    expected="numbers of 0..1e12 that do not fall, with blanks between them, one for each grade from 0 up",
    admits=lambda gains: _rising(gains, LARGEST),
)
DCG_FORM = Parameter(
    name="dcg",
    kind=word,
    meaning="gains and discounts",
    expected=f"one of {', '.join(map(repr, FORMS))}",
    admits=lambda form: form in FORMS,
    setting=None,
    default="exp-log2",
)
_IDEAL = replace(
    DCG_FORM,
    name="ideal",
    meaning="the ideal list: the judged results to the cut, all of them uncut, or those of the list",
    expected="'judged', 'uncut' or 'shown'",
    admits=lambda ideal: ideal in ("judged", "uncut", "shown"),
    default="judged",
)
UTILITIES = replace(
    CHANCES,
    name="utilities",
    meaning="what it is worth to stop at each position from 1 down; takes the place of 1/r",
    expected="numbers of 0..1e12, the first above 0, with blanks between them, one for each position from 1",
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
        "NDCG", "DCG relative to the ideal list", 0, 1, _FROM + "2", ndcg, (*_POOLED, "deepest"),
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
"""The editorial metrics in the order of reports (method 6); variants such as ``AP(rel=2)`` follow them.

Bare names mean method 6 in every command, and take what they leave open (rel, max_rel, p) from its settings.
In ir_measures ``AP`` is ``AP(rel=1)`` and ``nDCG`` has linear gains. ``DCG`` and ``max_rel`` are ours.
"""

EDITORIAL_METRICS = tuple(metric.name for metric in EDITORIAL)

PLAIN = (Metric("MeanGrade", "mean grade in any order", 0, 30, "ours", mean_grade, _GRADES),)
"""Metrics that know no order: a baseline."""
