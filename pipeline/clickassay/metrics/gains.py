"""Gains and discounts of DCG in its three forms, for lists and for the best lists of a pool."""

import math
from functools import lru_cache

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
    scale = np.arange(top + 1, dtype=np.float64)
    return np.exp2(scale) - 1 if form == "exp-log2" else scale


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


def ideal_total(pool: Grades, depth: int | None, form: str, gains: Values | None = None) -> Floats:
    """Return the (N,) sums of gain / discount of the best `depth` results of each pool, None = of all."""
    of_grade = grade_gains(form, pool.shape[1] - 1, gains)
    cut = int(pool.sum(axis=1).max(initial=0)) if depth is None else depth
    up_to = _summed(form, cut)
    total, above = np.zeros(len(pool)), np.zeros(len(pool), dtype=np.int64)
    for grade in range(pool.shape[1] - 1, -1, -1):
        below = np.minimum(above + pool[:, grade], cut)
        total += of_grade[grade] * (up_to[below] - up_to[above])
        above = below
    return total


@lru_cache(maxsize=64)
def _summed(form: str, depth: int) -> NDArray[np.float64]:
    """Return the (depth + 1,) sums of 1 / discount of the first 0, 1, ... ranks."""
    one_by_one = [1 / discount(form, rank) for rank in range(1, depth + 1)]
    return np.concatenate([[0.0], np.cumsum(one_by_one)])
