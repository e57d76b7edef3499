"""Measures of ranked lists from trec_eval, ir_measures and textbooks, besides method 6.

N lists of k places. `grades` is (N, k): grade of the result at each place, 0 where it is unjudged or the
list has ended. `judged` is (N, k): whether it has a grade. `pooled` is (N, k): whether it was to be judged,
but was not (a grade below 0 in qrels). `pool` is (N, g_max + 1): how many judged results of the query have
each grade. `returned` is (N,): results in the list, to the cut. `size` is the cut, or (N,) `returned`
without one. `deepest` is the cut, or None without one.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.metrics.definition import Metric, Parameter
from clickassay.metrics.editorial import GAINS, REL, Grades, Values, discounted, relative_to_ideal

Flags = NDArray[np.bool_]
Sizes = NDArray[np.int64]

RECALLS = tuple(tenth / 10 for tenth in range(11))
"""The 11 standard levels of recall."""

_EPSILON = 1e-5
"""What infAP adds to counts of judged results, so that none gives a finite share (trec_eval)."""


def share(part: NDArray[Any], whole: NDArray[Any] | int) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    below = np.broadcast_to(np.asarray(whole, dtype=np.float64), np.shape(part))
    value: Floats = np.divide(part, below, out=np.zeros(np.shape(part)), where=below > 0)
    return value


def relevant_retrieved(grades: Grades, rel: int) -> Sizes:
    """Return the (N,) numbers of relevant results in the lists."""
    counts: Sizes = np.count_nonzero(grades >= rel, axis=1)
    return counts


def relevant_judged(pool: Grades, rel: int) -> Sizes:
    """Return the (N,) numbers of relevant results that the queries have."""
    counts: Sizes = pool[:, rel:].sum(axis=1)
    return counts


def precision(grades: Grades, size: Sizes | int, *, rel: int) -> Floats:
    """P = relevant results / the cut (also where the list ends before it; without one, all results); 0..1."""
    return share(relevant_retrieved(grades, rel), size)


def recall(grades: Grades, pool: Grades, *, rel: int) -> Floats:
    """R = relevant results of the list / relevant results of the query; 0..1."""
    return share(relevant_retrieved(grades, rel), relevant_judged(pool, rel))


def f_measure(grades: Grades, pool: Grades, size: Sizes | int, *, rel: int, beta: float) -> Floats:
    """F = (1 + beta^2) P R / (beta^2 P + R), 0 when P and R are 0; 0..1 (van Rijsbergen 1979)."""
    of_list, of_query = precision(grades, size, rel=rel), recall(grades, pool, rel=rel)
    return share((1 + beta**2) * of_list * of_query, beta**2 * of_list + of_query)


def e_measure(grades: Grades, pool: Grades, size: Sizes | int, *, rel: int, beta: float) -> Floats:
    """E = 1 - F; 0..1, and less is better (van Rijsbergen 1979)."""
    return -f_measure(grades, pool, size, rel=rel, beta=beta) + 1.0


def success(grades: Grades, *, rel: int) -> Floats:
    """Return 1 where a relevant result is in the list, else 0."""
    return np.where((grades >= rel).any(axis=1), 1.0, 0.0)


def r_precision(grades: Grades, pool: Grades, *, rel: int) -> Floats:
    """Rprec = relevant results among the first R / R, R = relevant results of the query; 0..1."""
    wanted = relevant_judged(pool, rel)
    first = np.arange(grades.shape[1]) < wanted[:, None]
    return share(np.count_nonzero((grades >= rel) & first, axis=1), wanted)


def bpref(grades: Grades, judged: Flags, pool: Grades, *, rel: int) -> Floats:
    """Bpref = mean over R of 1 - (judged irrelevant results above, at most R) / min(R, N); 0..1.

    N = judged irrelevant results of the query. Results without a grade are ignored (Buckley and Voorhees
    2004).
    """
    hits = grades >= rel
    wanted, irrelevant = relevant_judged(pool, rel)[:, None], pool[:, :rel].sum(axis=1)[:, None]
    above = np.cumsum(judged & ~hits, axis=1)
    bound = np.maximum(np.minimum(wanted, irrelevant), 1)
    worth = np.where(hits, 1 - np.minimum(above, wanted) / bound, 0)
    total: Floats = worth.sum(axis=1)
    return share(total, wanted[:, 0])


def inferred_ap(grades: Grades, judged: Flags, pooled: Flags, pool: Grades, *, rel: int) -> Floats:
    """InfAP = AP expected from a sample of the pool (Yilmaz & Aslam 2006); 0..1, AP when all is judged."""
    hits = grades >= rel
    rank = np.arange(1, grades.shape[1] + 1)
    good: Sizes = np.cumsum(hits, axis=1) - hits
    bad: Sizes = np.cumsum(judged & ~hits, axis=1)
    unjudged: Sizes = np.cumsum(pooled, axis=1)
    rate = (good + _EPSILON) / (good + bad + 2 * _EPSILON)
    expected = 1 / rank + (good + bad + unjudged) / rank * rate
    return share(np.where(hits, expected, 0).sum(axis=1), relevant_judged(pool, rel))


def judged_share(judged: Flags, returned: Sizes) -> Floats:
    """Judged = results with a grade / results of the list; 0..1, 0 for an empty list."""
    return share(np.count_nonzero(judged, axis=1), returned)


def interpolated_precision(grades: Grades, pool: Grades, *, rel: int, recall: float | None) -> Floats:
    """IPrec = largest precision at this recall or above; without @, the mean at the 11 levels; 0..1."""
    levels = RECALLS if recall is None else (recall,)
    curve = precision_at_recalls(grades, pool, rel=rel, recalls=levels)
    mean: Floats = curve.mean(axis=1)
    return mean


def precision_at_recalls(
    grades: Grades, pool: Grades, *, rel: int, recalls: tuple[float, ...] = RECALLS
) -> Floats:
    """Return the (N, levels) interpolated precision: the largest at any rank of that recall or above."""
    hits, wanted = grades >= rel, relevant_judged(pool, rel)
    seen: Sizes = np.cumsum(hits, axis=1)
    at_rank = np.where(hits, seen / np.arange(1, grades.shape[1] + 1), 0.0)
    best = np.maximum.accumulate(at_rank[:, ::-1], axis=1)[:, ::-1]
    # as trec_eval 10 rounds it; trec_eval 9 adds 0.9
    needed = [np.floor(level * wanted + 0.5).astype(np.int64) for level in recalls]
    columns = np.zeros((len(best), len(recalls)))
    for column, need in enumerate(needed if best.shape[1] else ()):
        enough = (seen >= need[:, None]) & (wanted > 0)[:, None]
        first = np.take_along_axis(best, enough.argmax(axis=1)[:, None], axis=1)[:, 0]
        columns[:, column] = np.where(enough.any(axis=1), first, 0.0)
    return columns


def cumulated_gain(grades: Grades, *, gains: Values | None = None) -> Floats:
    """CG = sum of the grades, or of their `gains`; 0 without a bound (Jarvelin & Kekalainen 2000)."""
    return discounted(grades, "none", gains)


def normalised_gain(grades: Grades, pool: Grades, deepest: int | None, *, gains: Values | None) -> Floats:
    """NCG = CG / CG of the best results of the query; 0..1."""
    return relative_to_ideal(grades, pool, deepest, "none", gains)


def inversions(grades: Grades, returned: Sizes) -> Floats:
    """Return the numbers of pairs of results of which the lower one has the better grade; 0 or more."""
    there = np.arange(grades.shape[1]) < returned[:, None]
    total = np.zeros(len(grades), dtype=np.int64)
    for grade in np.unique(grades[grades > 0]):
        worse_above = np.cumsum(there & (grades < grade), axis=1)
        total += np.where(grades == grade, worse_above, 0).sum(axis=1)
    return total.astype(np.float64)


def tau_distance(grades: Grades, returned: Sizes) -> Floats:
    """Return inversions / pairs of results of different grades, 0 without such a pair; 0..1 (Kendall)."""
    there = np.arange(grades.shape[1]) < returned[:, None]
    pairs = returned * (returned - 1) // 2
    for grade in np.unique(grades):
        same = np.count_nonzero(there & (grades == grade), axis=1)
        pairs = pairs - same * (same - 1) // 2
    return share(inversions(grades, returned), pairs)


def coverage(grades: Grades, known: Flags, known_relevant: Sizes, *, rel: int) -> Floats:
    """Return the share of the relevant results known to the user that the list has; 0..1 (Korfhage 1997)."""
    return share(np.count_nonzero((grades >= rel) & known, axis=1), known_relevant)


def novelty(grades: Grades, known: Flags, *, rel: int) -> Floats:
    """Return the share of the list's relevant results that the user did not know; 0..1."""
    return share(np.count_nonzero((grades >= rel) & ~known, axis=1), relevant_retrieved(grades, rel))


def relative_recall(grades: Grades, expected: Sizes, *, rel: int) -> Floats:
    """Return relevant results of the list / relevant results that the user expects to find; 0 or more."""
    return share(relevant_retrieved(grades, rel), expected)


def recall_effort(returned: Sizes, expected: Sizes) -> Floats:
    """Return relevant results that the user expects to find / results of the list; 0 or more."""
    return share(expected, returned)


_BETA = Parameter(
    "beta", float, "weight of recall against precision: above 1 recall counts more",
    "a number above 0", lambda beta: 0 < beta < 1e6, None, default=1.0,
)  # fmt: skip
_RECALL = Parameter(
    "recall", float, "level of recall, written after @; without @, the mean at the 11 levels 0, 0.1, ... 1",
    "a number of 0..1", lambda level: 0 <= level <= 1, None,
)  # fmt: skip
_LINEAR = replace(GAINS, meaning="gain of each grade from 0 up; replaces the grade")

_G, _GP, _TREC = ("grades",), ("grades", "pool"), "trec_eval"
_JK, _RIJSBERGEN, _KORFHAGE = "Jarvelin & Kekalainen 2000", "van Rijsbergen 1979", "Korfhage 1997"

P = Metric("P", "share of the results that are relevant", 0, 1, _TREC, precision, ("grades", "size"), (REL,))

RANKED = (
    P,
    Metric("R", "share of the relevant results that are shown", 0, 1, _TREC, recall, _GP, (REL,)),
    Metric("F", "harmonic mean of precision and recall", 0, 1, _RIJSBERGEN, f_measure, (*_GP, "size"),
           (REL, _BETA)),
    Metric("E", "1 - F: less is better", 0, 1, _RIJSBERGEN, e_measure, (*_GP, "size"), (REL, _BETA),
           less_is_better=True),
    Metric("Success", "1 with a relevant result, else 0", 0, 1, _TREC, success, _G, (REL,)),
    Metric("Rprec", "precision at the number of relevant results", 0, 1, _TREC, r_precision, _GP, (REL,)),
    Metric("IPrec", "interpolated precision", 0, 1, _TREC, interpolated_precision, _GP, (REL, _RECALL),
           at="recall"),
    Metric("Bpref", "relevant before judged irrelevant results", 0, 1, "Buckley & Voorhees 2004", bpref,
           ("grades", "judged", "pool"), (REL,)),
    Metric("infAP", "AP expected from a sample of judgments", 0, 1, "Yilmaz & Aslam 2006", inferred_ap,
           ("grades", "judged", "pooled", "pool"), (REL,)),
    Metric("CG", "sum of the gains", 0, np.inf, _JK, cumulated_gain, _G, (_LINEAR,)),
    Metric("NCG", "CG relative to the best results", 0, 1, _JK, normalised_gain, (*_GP, "deepest"),
           (_LINEAR,)),
    Metric("Inversions", "pairs in the wrong order: less is better", 0, np.inf, "Kendall 1938", inversions,
           ("grades", "returned"), less_is_better=True),
    Metric("TauDistance", "share of pairs in the wrong order: less is better", 0, 1, "Kendall 1938",
           tau_distance, ("grades", "returned"), less_is_better=True),
)  # fmt: skip
"""Measures that a run and `evaluate` both have."""

JUDGED = Metric(
    "Judged",
    "share of the results that have a grade",
    0,
    1,
    "ir_measures",
    judged_share,
    ("judged", "returned"),
)

OF_USERS = (
    Metric("Coverage", "share of the known relevant results found", 0, 1, _KORFHAGE, coverage,
           ("grades", "known", "known_relevant"), (REL,)),
    Metric("Novelty", "share of the relevant results that were not known", 0, 1, _KORFHAGE, novelty,
           ("grades", "known"), (REL,)),
    Metric("RelativeRecall", "relevant results found / expected", 0, np.inf, _KORFHAGE, relative_recall,
           ("grades", "expected"), (REL,)),
    Metric("RecallEffort", "relevant results expected / results shown: less is better", 0, np.inf, _KORFHAGE,
           recall_effort, ("returned", "expected"), less_is_better=True),
)  # fmt: skip
"""Measures that need what users know or expect as an input."""
