"""Formulas of other tools that the grammar of measures refuses, as they are not the measure of that name.

`lists` are Q ranked lists (metrics.lists). Each function returns (Q,) values.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.metrics.editorial import expected_reciprocal_rank
from clickassay.metrics.gains import discount, discounted, ndcg
from clickassay.metrics.lists import Lists
from clickassay.metrics.ranked import precision

Grades = NDArray[np.int64]


@dataclass(frozen=True)
class AuditScale:
    """The cut, the scale and the thresholds that all conventions of an audit share."""

    depth: int  # The cut k.
    max_grade: int  # Top grade of the scale.
    relevant_grade: int  # Lowest grade that counts as relevant.
    persistence: float  # p of RBP.


def shown_grades(lists: Lists, depth: int) -> Grades:
    """Return the (Q, depth) grades of the first results, 0 where there is no grade or no result."""
    grades = np.zeros((len(lists.queries), depth), dtype=np.int64)
    for block in lists.blocks(depth, exact=False):
        grades[block.rows, : block.grades.shape[1]] = np.maximum(block.grades, 0)
    return grades


def err_of_larger_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on a scale with one grade more than the judges used; 0..1."""
    return _err(shown_grades(lists, scale.depth), scale.max_grade + 1)


def err_of_smaller_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on a scale that lacks the top grade, which then satisfies with probability > 1; may leave 0..1."""
    return _err(shown_grades(lists, scale.depth), scale.max_grade - 1)


def err_of_seen_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on the scale that ends at the best grade among the judgments of the query; 0..1."""
    return _err(shown_grades(lists, scale.depth), _best_judged(lists)[:, None])


def _best_judged(lists: Lists) -> Grades:
    """Return the (Q,) best grades among the judgments of the queries, 0 without a judgment."""
    there = lists.pool > 0
    return np.where(there.any(axis=1), lists.max_grade - there[:, ::-1].argmax(axis=1), 0)


def _err(grades: Grades, top: int | Grades) -> Floats:
    return expected_reciprocal_rank((np.exp2(grades) - 1) / np.exp2(top))


def rbp_of_raw_grades(lists: Lists, scale: AuditScale) -> Floats:
    """RBP with grades for gains, (1 - p) sum of g p^(i - 1); 0..top grade."""
    return _rbp(shown_grades(lists, scale.depth), scale)


def rbp_of_relevant_grades(lists: Lists, scale: AuditScale) -> Floats:
    """Return `rbp_of_raw_grades` with gain 0 for grades below the relevant ones; 0..top grade."""
    grades = shown_grades(lists, scale.depth)
    return _rbp(np.where(grades >= scale.relevant_grade, grades, 0), scale)


def rbp_of_best_judged(lists: Lists, scale: AuditScale) -> Floats:
    """RBP with p 0.9 and gain g / best grade among the judgments of the query; 0..1, 0 where that is 0.

    m_rbp.c of trec_eval 10 subtracts the least gain first, which is 0 if any result has grade 0; it starts
    both searches from variables that are not set.
    """
    best = np.maximum(_best_judged(lists), 1)[:, None]
    return _rbp(shown_grades(lists, scale.depth) / best, replace(scale, persistence=0.9))


def _rbp(gains: Grades | Floats, scale: AuditScale) -> Floats:
    total = np.zeros(len(gains))
    for column in gains.T[::-1]:
        total = column + scale.persistence * total
    value: Floats = (1 - scale.persistence) * total
    return value


def scaled_dcg(lists: Lists, scale: AuditScale) -> Floats:
    """SDCG = DCG of g / top grade, over the DCG of k results of the top grade; 0..1."""
    discounts = sum(1 / discount("log2", rank) for rank in range(1, scale.depth + 1))
    value: Floats = discounted(shown_grades(lists, scale.depth), "log2") / (scale.max_grade * discounts)
    return value


def natural_dcg(lists: Lists, scale: AuditScale) -> Floats:
    """DCG with gains 2^g - 1 and discounts ln(i + 1): DCG / ln 2."""
    value: Floats = discounted(shown_grades(lists, scale.depth), "exp-log2") / np.log(2)
    return value


def two_decimals(lists: Lists, scale: AuditScale) -> Floats:
    """Return nDCG with gains 2^g - 1, each query's value rounded to two decimals, halves up; 0..1."""
    exact = ndcg(shown_grades(lists, scale.depth), lists.pool, scale.depth, dcg="exp-log2")
    rounded: Floats = np.floor(100 * exact + 0.5) / 100
    return rounded


def ndcg_to_the_hits(lists: Lists, scale: AuditScale) -> Floats:
    """Return nDCG with gains 2^g - 1, the ideal list cut where the list ends, at k at most; 0..1."""
    grades, hits = shown_grades(lists, scale.depth), np.minimum(lists.returned, scale.depth)
    values = np.zeros(len(hits))
    for number in np.unique(hits):
        rows = hits == number
        values[rows] = ndcg(grades[rows, :number], lists.pool[rows], int(number), dcg="exp-log2")
    return values


def precision_of_hits(lists: Lists, scale: AuditScale) -> Floats:
    """P = relevant results / results of the list to the cut, 0 for an empty list; 0..1."""
    hits = np.minimum(lists.returned, scale.depth)
    return precision(shown_grades(lists, scale.depth), hits, rel=scale.relevant_grade)
