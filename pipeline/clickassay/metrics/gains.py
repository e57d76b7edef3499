"""Gains and discounts of DCG in its three forms, for lists and for the best lists of a pool; nDCG."""

import math

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats

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


def ideal_gains(pool: Grades, depth: int, form: str, gains: Values | None = None) -> Floats:
    """Return the (N, depth) gains of the best results of each pool, falling, 0 where it ends."""
    there = np.arange(depth) < pool.sum(axis=1)[:, None]  # a grade of 0 may have a gain, a missing result not
    return np.where(there, grade_gains(form, pool.shape[1] - 1, gains)[ideal_grades(pool, depth)], 0.0)


def relative_to_ideal(
    grades: Grades, pool: Grades, deepest: int | None, form: str, gains: Values | None = None
) -> Floats:
    """Return the sums of gain / discount of (N, k) grades over the sums of the best `deepest` results.

    None = of all results of the pool. The value is 0 where the best are worth nothing. Both sums add up from
    the first rank down, so that the ideal list itself has exactly 1.
    """
    most = int(pool.sum(axis=1).max(initial=0))
    best = ideal_gains(pool, most if deepest is None else min(deepest, most), form, gains)
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
    dcg: one of `FORMS`.
    ideal: the best results: the ``judged`` ones to the cut, all of them (``uncut``), or those of the list
      (``shown``).
    """
    if ideal == "shown":
        pool = np.stack([np.count_nonzero(grades == g, axis=1) for g in range(pool.shape[1])], axis=1)
    return relative_to_ideal(grades, pool, None if ideal == "uncut" else deepest, dcg, gains)
