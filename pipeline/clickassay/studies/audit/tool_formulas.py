"""Values that other tools report and that names of measures refuse, since they are no such measure.

`lists` are Q ranked lists (studies.evaluation.lists); `reading` has the cut and the scale. Each function
returns (Q,) values.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.metrics.editorial import expected_reciprocal_rank
from clickassay.metrics.gains import discount, discounted, ndcg
from clickassay.metrics.ranked import precision
from clickassay.studies.evaluation.lists import Lists

Grades = NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """What all conventions share: the same lists, cut alike, on the same scale.

    Attributes
    ----------
    depth
        The cut k.
    top
        Top grade of the scale.
    relevant
        Lowest grade that counts as relevant.
    persistence
        p of RBP.
    """

    depth: int
    top: int
    relevant: int
    persistence: float


def shown_grades(lists: Lists, depth: int) -> Grades:
    """Return the (Q, depth) grades of the first results, 0 where there is no grade or no result."""
    grades = np.zeros((len(lists.queries), depth), dtype=np.int64)
    for block in lists.blocks(depth, exact=False):
        grades[block.rows, : block.grades.shape[1]] = np.maximum(block.grades, 0)
    return grades


def err_of_larger_scale(lists: Lists, reading: Reading) -> Floats:
    """ERR on a scale with one grade more than the judges used; 0..1."""
    return _err(shown_grades(lists, reading.depth), reading.top + 1)


def err_of_smaller_scale(lists: Lists, reading: Reading) -> Floats:
    """ERR on a scale that lacks the top grade, whose chance to satisfy is then above 1; may pass 0 and 1."""
    return _err(shown_grades(lists, reading.depth), reading.top - 1)


def err_of_seen_scale(lists: Lists, reading: Reading) -> Floats:
    """ERR on the scale that ends at the best grade among the judgments of the query; 0..1."""
    there = lists.pool > 0
    best = np.where(there.any(axis=1), lists.max_grade - there[:, ::-1].argmax(axis=1), 0)
    return _err(shown_grades(lists, reading.depth), best[:, None])


def _err(grades: Grades, top: int | Grades) -> Floats:
    return expected_reciprocal_rank((np.exp2(grades) - 1) / np.exp2(top))


def rbp_of_raw_grades(lists: Lists, reading: Reading) -> Floats:
    """RBP with grades for gains, (1 - p) sum of g p^(i - 1); 0..top grade."""
    return _rbp(shown_grades(lists, reading.depth), reading)


def rbp_of_relevant_grades(lists: Lists, reading: Reading) -> Floats:
    """Return the same, grades below the relevant ones worth nothing; 0..top grade."""
    grades = shown_grades(lists, reading.depth)
    return _rbp(np.where(grades >= reading.relevant, grades, 0), reading)


def _rbp(grades: Grades, reading: Reading) -> Floats:
    total = np.zeros(len(grades))
    for column in grades.T[::-1]:
        total = column + reading.persistence * total
    value: Floats = (1 - reading.persistence) * total
    return value


def scaled_dcg(lists: Lists, reading: Reading) -> Floats:
    """SDCG = DCG of g / top grade, over that of k results of the top grade; 0..1."""
    most = sum(1 / discount("log2", rank) for rank in range(1, reading.depth + 1))
    value: Floats = discounted(shown_grades(lists, reading.depth), "log2") / (reading.top * most)
    return value


def natural_dcg(lists: Lists, reading: Reading) -> Floats:
    """DCG with gains 2^g - 1 and discounts ln(i + 1): DCG / ln 2."""
    value: Floats = discounted(shown_grades(lists, reading.depth), "exp-log2") / np.log(2)
    return value


def two_decimals(lists: Lists, reading: Reading) -> Floats:
    """Return nDCG with gains 2^g - 1, each query's value rounded to two decimals, halves up; 0..1."""
    exact = ndcg(shown_grades(lists, reading.depth), lists.pool, reading.depth, dcg="exp-log2")
    rounded: Floats = np.floor(100 * exact + 0.5) / 100
    return rounded


def ndcg_to_the_hits(lists: Lists, reading: Reading) -> Floats:
    """Return nDCG with gains 2^g - 1, the ideal list cut where the list ends, at k at most; 0..1."""
    grades, hits = shown_grades(lists, reading.depth), np.minimum(lists.returned, reading.depth)
    values = np.zeros(len(hits))
    for number in np.unique(hits):
        rows = hits == number
        values[rows] = ndcg(grades[rows, :number], lists.pool[rows], int(number), dcg="exp-log2")
    return values


def precision_of_hits(lists: Lists, reading: Reading) -> Floats:
    """P = relevant results / results of the list to the cut, 0 for an empty list; 0..1."""
    hits = np.minimum(lists.returned, reading.depth)
    return precision(shown_grades(lists, reading.depth), hits, rel=reading.relevant)
