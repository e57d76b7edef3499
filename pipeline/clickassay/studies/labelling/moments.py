"""Mean and variance of a ranking's performance before a label is known (Sawade et al. 2012, Theorem 3)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats, Integers
from clickassay.studies.labelling.pool import Pool, RankedDocuments

BATCH_SIZE = 1 << 16
"""Array elements of a batch, queries x ranks in the second list: small enough to stay in the CPU's cache."""


@dataclass(frozen=True)
class Moments:
    """Mean and variance by a model of grades: of gains l of documents, or of performance L of queries."""

    mean: Floats  # (D,) E l, or (m,) E[L|x].
    variance: Floats  # (D,) Var l, or (m,) Var[L|x].

    @property
    def second(self) -> Floats:
        """(m,) E[L^2|x]."""
        return self.around(0.0)

    def around(self, value: float) -> Floats:
        """Return (m,) E[(L - value)^2|x], without the cancellation of E[L^2] - 2 R E[L] + R^2."""
        return np.asarray(self.variance + (self.mean - value) ** 2)


def shared_tops(one: RankedDocuments, other: RankedDocuments) -> Integers:
    """Return (m,) at how many ranks from the first on two rankings have the same documents."""
    queries, ranks = one.queries, one.ranks
    place = np.where(ranks <= other.lengths[queries], other.offsets[queries] + ranks - 1, -1)
    differs = np.append(other.documents, -1)[place] != one.documents
    same = one.lengths.copy()
    np.minimum.at(same, queries[differs], ranks[differs] - 1)
    return same


def mean_product(one: RankedDocuments, other: RankedDocuments, gains: Moments) -> Floats:
    """Return (m,) E[L1 L2] of ERR; O(|r1| |r2|) for each query, and memory for a batch of them.

    Of `gains`, the last document has gain 0: it pads lists, and may be in both at many ranks.

    The sum over ranks i of the first list and j of the second of t(i, j) / (i j), where S(i, j) is the
    product over documents before i or before j of E[(1 - l)^2] if before both, else E[1 - l], and
    t = S E[l^2] if both ranks hold the same document, else S times a factor for each of the two: E l, or
    E[l (1 - l)] / E[1 - l] if it stands before the other's rank in the other list. Gains are below 1.
    """
    places = np.full(len(gains.mean), -1)
    places[other.documents] = other.ranks - 1
    places[-1] = -1
    products = np.zeros(len(one.offsets) - 1)
    for queries in _batches(one.lengths, other.lengths):
        first, second = (_padded(ranking, queries, len(places) - 1) for ranking in (one, other))
        position = places[first]
        position = np.where(position < 0, second.shape[1], position)
        products[queries] = _products(first.T.copy(), second, position.T.copy(), gains)
    return products


def _products(first: Integers, second: Integers, position: Integers, gains: Moments) -> Floats:
    """Return E[L1 L2] of some queries, one rank of the first list after the other.

    Lists are padded, rank x query for the first ranking, query x rank for the second; padding has gain 0, and
    is in no other list. `position` is the rank from 0 that the second ranking gives the documents of the
    first, or its width where it lacks them.

    `row` is S(i, j) / j times the factor of the second list's document, for all j. From i to i + 1 it can
    only fall, as 1 - l <= 1: what is too small for a float was of no account, so no logarithms are needed.
    With m, v the mean and variance of l of the document a at i, which has the rank p in the second list:

        E[l^2] / m = m + v / m,                      for j = p: then row holds m itself;
        E[l (1 - l)] / E[1 - l] = m - v / (1 - m),   for j > p;
        E[(1 - l)^2] / E[1 - l] = (1 - m) + v / (1 - m).
    """
    total, gain = np.zeros(len(second)), gains.mean[second]
    before = np.ones_like(gain)  # the product of E[1 - l] before each rank j
    np.cumprod(1 - gain[:, :-1], axis=1, out=before[:, 1:])
    width = gain.shape[1]
    row = before * gain / np.arange(1, width + 1)
    columns, lines = np.arange(width), np.arange(len(row))
    for rank, (document, place) in enumerate(zip(first, position, strict=True), start=1):
        mean, variance = gains.mean[document], gains.variance[document]
        after = row * (columns > place[:, None])
        at = np.minimum(place, width - 1)
        share = np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0)
        same = row[lines, at] * np.where(place < width, share, 0)
        later = variance / (1 - mean)
        total += (mean * row.sum(axis=1) + same - later * after.sum(axis=1)) / rank
        row *= (1 - mean)[:, None]
        row += after * later[:, None]
        row[lines, at] -= same
    return total


def _batches(one: Integers, other: Integers) -> Iterator[Integers]:
    both = np.flatnonzero((one > 0) & (other > 0))
    order = both[np.lexsort((one[both], other[both]))]
    at = 0
    while at < len(order):
        fitting = max(1, BATCH_SIZE // int(other[order[at]]))
        wide = int(other[order[min(at + fitting, len(order)) - 1]])
        end = at + max(1, min(fitting, BATCH_SIZE // wide))
        yield order[at:end]
        at = end


def _padded(ranking: RankedDocuments, queries: Integers, nothing: int) -> Integers:
    """Return (queries, longest) documents of lists, `nothing` behind their ends."""
    starts, lengths = ranking.offsets[queries], ranking.lengths[queries]
    steps = np.arange(lengths.max())
    inside = steps < lengths[:, None]
    return np.where(inside, ranking.documents[np.where(inside, starts[:, None] + steps, 0)], nothing)


MEASURES = ("ERR", "DCG")

ROUNDING = 1e-13
"""Relative size below which a difference of second moments counts as 0: it is rounding."""


def measure_moments(pool: Pool, measure: str) -> Moments:
    """Return the moments of the target of a pool: performance of one ranking, or the difference of two."""
    if len(pool.rankings) == 1:
        return performance_moments(pool, pool.rankings[0], measure)
    return difference_moments(pool, measure)


def performance_moments(pool: Pool, ranking: RankedDocuments, measure: str) -> Moments:
    """Return a ranking's moments by query, 0 if empty, in O(G documents); ActiveError for other measures."""
    return _moments(ranking, _gain_moments(pool, measure), measure)


def difference_moments(pool: Pool, measure: str) -> Moments:
    """Return the moments of the performance of the first ranking minus the second's, for each query.

    O(G documents) for DCG, O(|r1| |r2|) for ERR. Raises ActiveError for an unknown measure, or one ranking.
    """
    if len(pool.rankings) != 2:
        raise ActiveError("a difference needs two rankings: give a second one")
    gains = _gain_moments(pool, measure)
    if measure == "ERR":
        return _err_difference(pool, gains)
    # the moments of sum_z l_z (d1(z) - d2(z)), with a discount of 0 where z is not listed
    discounts = np.zeros(len(pool.probabilities))
    for ranking, sign in zip(pool.rankings, (1, -1), strict=True):
        discounts[ranking.documents] += sign * _discounts(ranking)
    queries = np.repeat(np.arange(len(pool.queries)), np.diff(pool.offsets))
    return _discounted(np.arange(len(discounts)), discounts, queries, gains, len(pool.queries))


def performance(pool: Pool, ranking: RankedDocuments, grades: Integers, measure: str) -> Floats:
    """Return (m,) performance from labels: (D,) grades, -1 where there is none.

    NaN for a query whose list holds a document without a label. Raises ActiveError for an unknown measure
    or a grade above the scale of the pool.
    """
    highest = pool.probabilities.shape[1] - 1
    if len(grades) and not (grades.min() >= -1 and grades.max() <= highest):
        raise ActiveError(f"a grade is off the scale 0..{highest}: give -1 to what has no label")
    gain = np.append(_gains(pool, measure), np.nan)[grades]  # -1 takes the last: NaN spreads to its query
    return _moments(ranking, Moments(gain, np.zeros_like(gain)), measure).mean


def _gains(pool: Pool, measure: str) -> Floats:
    """Return (G,) l(y): (2^y - 1) / 2^y_max for ERR (2), 2^y - 1 for DCG (1)."""
    if measure not in MEASURES:
        raise ActiveError(f"measure {measure!r} is unknown: give one of {', '.join(MEASURES)}")
    gains = np.ldexp(1.0, np.arange(pool.probabilities.shape[1])) - 1
    return np.asarray(gains / (gains[-1] + 1) if measure == "ERR" else gains)


def _gain_moments(pool: Pool, measure: str) -> Moments:
    gains = _gains(pool, measure)
    mean = pool.probabilities @ gains
    variance = np.zeros_like(mean)
    for gain, probability in zip(gains, pool.probabilities.T, strict=True):
        variance += probability * (gain - mean) ** 2
    return Moments(mean, variance)


def _moments(ranking: RankedDocuments, gains: Moments, measure: str) -> Moments:
    if measure == "ERR":
        return _err_moments(ranking, gains)
    lists = len(ranking.offsets) - 1
    return _discounted(ranking.documents, _discounts(ranking), ranking.queries, gains, lists)


def _err_moments(ranking: RankedDocuments, gains: Moments) -> Moments:
    """Return the moments of ERR from the last rank up, each rank of all lists that reach it at once.

    V_i = l_i / i + (1 - l_i) V_i+1 = V_i+1 + l_i (1/i - V_i+1), with l_i independent of V_i+1. So
    E V_i = E V_i+1 + E l_i (1/i - E V_i+1), and
    Var V_i = Var l_i (1/i - E V_i+1)^2 + E[(1 - l_i)^2] Var V_i+1.
    """
    longest_first = np.argsort(-ranking.lengths, kind="stable")
    starts, lengths = ranking.offsets[longest_first], ranking.lengths[longest_first]
    mean, variance = np.zeros(len(lengths)), np.zeros(len(lengths))
    unsatisfied = (1 - gains.mean) ** 2 + gains.variance  # (D,) E[(1 - l)^2]
    for rank in range(int(lengths.max(initial=0)), 0, -1):
        reached = slice(np.searchsorted(-lengths, -rank, side="right"))
        at = ranking.documents[starts[reached] + rank - 1]
        rest = 1 / rank - mean[reached]
        variance[reached] = gains.variance[at] * rest**2 + unsatisfied[at] * variance[reached]
        mean[reached] += gains.mean[at] * rest
    there = np.argsort(longest_first)
    return Moments(mean[there], variance[there])


def _discounts(ranking: RankedDocuments) -> Floats:
    return np.asarray(1 / np.log2(ranking.ranks + 1))


def _discounted(documents: Integers, discounts: Floats, queries: Integers, gains: Moments, m: int) -> Moments:
    """Return the moments of sums of discounted gains, which are independent."""
    mean = np.bincount(queries, gains.mean[documents] * discounts, m)
    variance = np.bincount(queries, gains.variance[documents] * discounts**2, m)
    return Moments(mean.astype(np.float64), variance.astype(np.float64))


def _err_difference(pool: Pool, gains: Moments) -> Moments:
    """Return the moments of the difference in ERR of two rankings, from where their lists begin to differ.

    With P the product of 1 - l over the top that both share, which is independent of the rest, the
    difference is P times that of the rest, and its variance E[P^2] Var rest + Var P (E rest)^2. That of the
    rest is Var L1 + Var L2 - 2 Cov(L1, L2).
    """
    same = shared_tops(*pool.rankings)
    padded = Moments(np.append(gains.mean, 0.0), np.append(gains.variance, 0.0))
    one, other = (
        RankedDocuments(
            np.where(ranking.ranks <= same[ranking.queries], len(pool.probabilities), ranking.documents),
            ranking.offsets,
        )
        for ranking in pool.rankings
    )
    first, second = _err_moments(one, padded), _err_moments(other, padded)
    shared = mean_product(one, other, padded) - first.mean * second.mean
    variance = first.variance + second.variance - 2 * shared
    known = variance > ROUNDING * (first.second + second.second)
    rest = Moments(first.mean - second.mean, np.where(known, variance, 0.0))
    top = pool.rankings[0].cut_each(same)  # which may be long or empty
    unsatisfied, m = 1 - gains.mean[top.documents], len(top.offsets) - 1
    logarithm = np.bincount(top.queries, np.log(unsatisfied), m)
    # E[(1 - l)^2] / (E[1 - l])^2, whose product may be too large for a float where E P^2 is not
    more = np.bincount(top.queries, np.log1p(gains.variance[top.documents] / unsatisfied**2), m)
    mean, spread = np.exp(logarithm), np.exp(2 * logarithm + more) * -np.expm1(-more)
    return Moments(mean * rest.mean, (mean**2 + spread) * rest.variance + spread * rest.mean**2)
