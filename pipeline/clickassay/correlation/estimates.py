"""Correlations with their intervals, and what they would be without the sampling noise of clicks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.core.special import stdtr
from clickassay.correlation.jackknife import (
    BlockSums,
    Deviations,
    Spread,
    fisher_interval,
    left_out,
    ratio_interval,
)
from clickassay.correlation.multiplicity import together_confidence

PERFECT = 1e-9
"""A correlation so near to -1 or 1 counts as perfect: where little is left, subtracting costs digits."""

Statistic = Callable[[Floats], tuple[Floats, Floats]]
"""Turns (..., K) sums over queries into (..., C, E) correlations and (..., C) reliabilities of clicks."""


@dataclass(frozen=True)
class Estimates:
    """Intervals of (C, E) correlations; all arrays are (C, E), NaN where there is none.

    Attributes
    ----------
    low, high
        95 % interval, within -1..1.
    corrected
        The correlations with infinitely many sessions: divided by the root of the reliability. May lie
        beyond -1 or 1.
    corrected_low, corrected_high
        Their 95 % interval; NaN where noise leaves too little for a bound, or `low` is NaN.
    p
        Two-sided p-values of the null values, 0..1; 0 for a correlation that is 1 whatever query is left out.
    simultaneous_low, simultaneous_high
        Intervals that cover all tested correlations of a row at once in 95 % of samples (Bonferroni).
    """

    low: Floats
    high: Floats
    corrected: Floats
    corrected_low: Floats
    corrected_high: Floats
    p: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats


def estimates(values: Floats, contributions: Floats, statistic: Statistic, *, null: Floats) -> Estimates:
    """Compute the intervals of correlations by leaving out one query at a time.

    Parameters
    ----------
    values
        (C, E) correlations over all queries.
    contributions
        (Q, K) additive contributions of the queries; Q >= 1.
    statistic
        Gives correlations and reliabilities from their sums.
    null
        (C, E) correlations that are tested against, taken as known; NaN = no test.
    """
    root = np.sqrt(statistic(contributions.sum(axis=0))[1])[:, None]
    fisher, above, below, ratio = (Deviations() for _ in range(4))
    products = BlockSums()
    perfect = np.abs(values) >= 1 - PERFECT
    with np.errstate(divide="ignore", invalid="ignore"):
        z, corrected = _fisher(values), values / root
        for correlations, reliabilities in left_out(contributions, statistic):
            roots = np.sqrt(reliabilities)[..., None]
            rise, run = correlations - values, roots - root
            perfect &= (np.abs(rise) <= PERFECT).all(axis=0)
            fisher.add(_fisher(correlations) - z)
            above.add(rise)
            below.add(run)
            ratio.add(correlations / roots - corrected)
            products.add(rise * run)
    spread = fisher.spread()
    # a correlation that is 1 whatever query is left out has no spread, and an artanh without bound
    low, high = (np.where(perfect, values, end) for end in fisher_interval(values, spread))
    ends = _corrected_interval(values, root, (above, below), products.total, ratio.spread())
    bottom, top = (np.where(np.isnan(low), np.nan, end) for end in ends)
    p = _p_values(z, spread, perfect, null)
    together = fisher_interval(values, spread, together_confidence(p))
    all_low, all_high = (np.where(perfect, values, end) for end in together)
    return Estimates(low, high, corrected, bottom, top, p, all_low, all_high)


def _p_values(z: Floats, spread: Spread, perfect: NDArray[np.bool_], null: Floats) -> Floats:
    """Return p-values on Fisher's scale: below 0.05 where `fisher_interval` leaves out the null."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(spread.degrees, -np.abs(z - _fisher(null)) / spread.error)
    found: Floats = np.where(perfect & np.isfinite(null), 0.0, p)
    return found


def _fisher(correlations: Floats) -> Floats:
    """Return artanh r; NaN where r is -1 or 1 but for rounding, so that no interval depends on rounding."""
    transformed: Floats = np.arctanh(np.where(np.abs(correlations) < 1 - PERFECT, correlations, np.nan))
    return transformed


def _corrected_interval(
    values: Floats, root: Floats, parts: tuple[Deviations, Deviations], products: Floats, ratio: Spread
) -> tuple[Floats, Floats]:
    above, below = parts
    q = max(above.queries, 1)
    covariance = (q - 1) / q * (products - above.powers[0].total * below.powers[0].total / q)
    # the ratio has no error where a query cannot be left out without losing it
    degrees = np.where(np.isnan(ratio.error), np.nan, ratio.degrees)
    return ratio_interval(values, root, (above.spread(), below.spread()), covariance, degrees)
