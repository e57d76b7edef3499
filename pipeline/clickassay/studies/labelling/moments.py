"""Mean and variance of a ranking's performance before a label is known (Sawade et al. 2012, Theorem 3)."""

from dataclasses import dataclass

import numpy as np

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats, Integers
from clickassay.studies.labelling.joint_moments import GainMoments, mean_product, shared_tops
from clickassay.studies.labelling.pool import Pool, RankedDocuments

MEASURES = ("ERR", "DCG")

ROUNDING = 1e-13
"""Relative size below which a difference of second moments counts as 0: it is rounding."""


@dataclass(frozen=True)
class Moments:
    """Moments of performance, or of a difference in performance, by a model of grades."""

    mean: Floats  # (m,) E[L|x].
    variance: Floats  # (m,) Var[L|x].

    @property
    def second(self) -> Floats:
        """(m,) E[L^2|x]."""
        return self.around(0.0)

    def around(self, value: float) -> Floats:
        """Return (m,) E[(L - value)^2|x], without the cancellation of E[L^2] - 2 R E[L] + R^2."""
        return np.asarray(self.variance + (self.mean - value) ** 2)


def measure_moments(pool: Pool, measure: str) -> Moments:
    """Return the moments of the target of a pool: performance of one ranking, or the difference of two."""
    if len(pool.rankings) == 1:
        return performance_moments(pool, pool.rankings[0], measure)
    return difference_moments(pool, measure)


def performance_moments(pool: Pool, ranking: RankedDocuments, measure: str) -> Moments:
    """Return the moments of the performance of a ranking for each query; 0 for an empty list.

    O(G documents). Raises ActiveError for a measure that is not in `MEASURES`.
    """
    return _moments(ranking, _gain_moments(pool, measure), measure)


def difference_moments(pool: Pool, measure: str) -> Moments:
    """Return the moments of the performance of the first ranking minus the second's, for each query.

    O(G documents) for DCG, O(|r1| |r2|) for ERR. Raises ActiveError for an unknown measure, or one ranking.
    """
    if len(pool.rankings) != 2:
        raise ActiveError("a difference needs two rankings: give a second one")
    difference = _err_difference if measure == "ERR" else _dcg_difference
    return difference(pool, _gain_moments(pool, measure))


def performance(pool: Pool, ranking: RankedDocuments, grades: Integers, measure: str) -> Floats:
    """Return (m,) performance from labels: (D,) grades, -1 where there is none.

    NaN for a query whose list holds a document without a label. Raises ActiveError for an unknown measure
    or a grade above the scale of the pool.
    """
    highest = pool.probabilities.shape[1] - 1
    if len(grades) and not (grades.min() >= -1 and grades.max() <= highest):
        raise ActiveError(f"a grade is off the scale 0..{highest}: give -1 to what has no label")
    gain = np.append(_gains(pool, measure), np.nan)[grades]  # -1 takes the last: NaN spreads to its query
    return _moments(ranking, GainMoments(gain, np.zeros_like(gain)), measure).mean


def _gains(pool: Pool, measure: str) -> Floats:
    """Return (G,) l(y): (2^y - 1) / 2^y_max for ERR (2), 2^y - 1 for DCG (1)."""
    if measure not in MEASURES:
        raise ActiveError(f"measure {measure!r} is unknown: give one of {', '.join(MEASURES)}")
    gains = np.ldexp(1.0, np.arange(pool.probabilities.shape[1])) - 1
    return np.asarray(gains / (gains[-1] + 1) if measure == "ERR" else gains)


def _gain_moments(pool: Pool, measure: str) -> GainMoments:
    gains = _gains(pool, measure)
    mean = pool.probabilities @ gains
    variance = np.zeros_like(mean)
    for gain, probability in zip(gains, pool.probabilities.T, strict=True):
        variance += probability * (gain - mean) ** 2
    return GainMoments(mean, variance)


def _moments(ranking: RankedDocuments, gains: GainMoments, measure: str) -> Moments:
    return _err_moments(ranking, gains) if measure == "ERR" else _dcg_moments(ranking, gains)


def _err_moments(ranking: RankedDocuments, gains: GainMoments) -> Moments:
    """Return the moments of ERR from the last rank up, each rank of all lists that reach it at once.

    V_i = l_i / i + (1 - l_i) V_i+1 = V_i+1 + l_i (1/i - V_i+1), with l_i independent of V_i+1. So
    E V_i = E V_i+1 + E l_i (1/i - E V_i+1), and
    Var V_i = Var l_i (1/i - E V_i+1)^2 + E[(1 - l_i)^2] Var V_i+1.
    """
    longest_first = np.argsort(-ranking.lengths, kind="stable")
    starts, lengths = ranking.offsets[longest_first], ranking.lengths[longest_first]
    mean, variance = np.zeros(len(lengths)), np.zeros(len(lengths))
    unsatisfied = gains.unsatisfied_squared
    for rank in range(int(lengths.max(initial=0)), 0, -1):
        reached = slice(np.searchsorted(-lengths, -rank, side="right"))
        at = ranking.documents[starts[reached] + rank - 1]
        rest = 1 / rank - mean[reached]
        variance[reached] = gains.variance[at] * rest**2 + unsatisfied[at] * variance[reached]
        mean[reached] += gains.mean[at] * rest
    there = np.argsort(longest_first)
    return Moments(mean[there], variance[there])


def _dcg_moments(ranking: RankedDocuments, gains: GainMoments) -> Moments:
    return _discounted(
        ranking.documents, _discounts(ranking), ranking.queries, gains, len(ranking.offsets) - 1
    )


def _discounts(ranking: RankedDocuments) -> Floats:
    return np.asarray(1 / np.log2(ranking.ranks + 1))


def _discounted(
    documents: Integers, discounts: Floats, queries: Integers, gains: GainMoments, m: int
) -> Moments:
    """Return the moments of sums of discounted gains, which are independent."""
    mean = np.bincount(queries, gains.mean[documents] * discounts, m)
    variance = np.bincount(queries, gains.variance[documents] * discounts**2, m)
    return Moments(mean.astype(np.float64), variance.astype(np.float64))


def _dcg_difference(pool: Pool, gains: GainMoments) -> Moments:
    """Return the moments of sum_z l_z (d1(z) - d2(z)), with a discount of 0 where z is not listed."""
    discounts = np.zeros(len(pool.probabilities))
    for ranking, sign in zip(pool.rankings, (1, -1), strict=True):
        discounts[ranking.documents] += sign * _discounts(ranking)
    queries = np.repeat(np.arange(len(pool.queries)), np.diff(pool.offsets))
    return _discounted(np.arange(len(discounts)), discounts, queries, gains, len(pool.queries))


def _err_difference(pool: Pool, gains: GainMoments) -> Moments:
    """Return the moments of the difference in ERR of two rankings, from where their lists begin to differ.

    With P the product of 1 - l over the top that both share, which is independent of the rest, the
    difference is P times that of the rest, and its variance E[P^2] Var rest + Var P (E rest)^2.
    """
    one, other = pool.rankings
    same = shared_tops(one, other)
    first, second = (_below(ranking, same, len(pool.probabilities)) for ranking in pool.rankings)
    rest = _rest_difference(first, second, gains.with_padding)
    mean, variance = _unsatisfied_after(one.cut_each(same), gains)
    return Moments(mean * rest.mean, (mean**2 + variance) * rest.variance + variance * rest.mean**2)


def _unsatisfied_after(top: RankedDocuments, gains: GainMoments) -> tuple[Floats, Floats]:
    """Return (m,) mean and variance of the product of 1 - l over a list, which may be long or empty."""
    unsatisfied, m = 1 - gains.mean[top.documents], len(top.offsets) - 1
    mean = np.bincount(top.queries, np.log(unsatisfied), m)
    # E[(1 - l)^2] / (E[1 - l])^2, whose product may be too large for a float where E P^2 is not
    more = np.bincount(top.queries, np.log1p(gains.variance[top.documents] / unsatisfied**2), m)
    return np.exp(mean), np.asarray(np.exp(2 * mean + more) * -np.expm1(-more))


def _below(ranking: RankedDocuments, same: Integers, nothing: int) -> RankedDocuments:
    """Return a ranking with `nothing` in the ranks of a shared top."""
    shared = ranking.ranks <= same[ranking.queries]
    return RankedDocuments(np.where(shared, nothing, ranking.documents), ranking.offsets)


def _rest_difference(one: RankedDocuments, other: RankedDocuments, gains: GainMoments) -> Moments:
    """Return the moments by Var[L1 - L2] = Var L1 + Var L2 - 2 Cov(L1, L2)."""
    first, second = _err_moments(one, gains), _err_moments(other, gains)
    shared = mean_product(one, other, gains) - first.mean * second.mean
    variance = first.variance + second.variance - 2 * shared
    known = variance > ROUNDING * (first.second + second.second)
    return Moments(first.mean - second.mean, np.where(known, variance, 0.0))
