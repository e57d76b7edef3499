"""Correlation of signals across two halves of the users: what they share besides the same sessions.

Signals of the same sessions share their noise, so no variance can be subtracted from their correlation. The
means of one half of the users have no noise in common with the means of the other half: so
S_ab / sqrt(S_aa S_bb), each product one of means of different halves, estimates the correlation that
infinitely many sessions would show.
"""

from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats, Integers
from clickassay.correlation.uncertainty.jackknife import BlockSums, Deviations, left_out, ratio_interval


@dataclass(frozen=True)
class Halves:
    """Means of S metrics over the sessions of two halves of the users, of N lists that both were shown."""

    # first, second: (N, S) means of each half.
    first: Floats
    second: Floats
    weights: Integers  # (N,) sessions of both halves.
    unit: Integers  # (N,) index 0..Q-1 of the unit that is left out together: the query of the list.


@dataclass(frozen=True)
class AcrossHalves:
    """(S, S) correlations between metrics, and their 95 % intervals; NaN where there is none.

    An interval is NaN too where noise leaves it without bound; values may lie beyond -1 or 1.
    """

    values: Floats
    low: Floats
    high: Floats


def across_halves(halves: Halves) -> AcrossHalves:
    """Correlate metrics across halves of the users, with intervals by Fieller's theorem (method 7.1)."""
    size = halves.first.shape[1]
    sums = _sums(halves)
    total = sums.sum(axis=0)
    above, below = _parts(total, size)
    if len(sums) < 2:
        return AcrossHalves(*np.full((3, size, size), np.nan))
    rises, runs, ratios = Deviations(), Deviations(), Deviations()
    products = BlockSums()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = above / below
        for without in left_out(sums, lambda some: np.stack(_parts(some, size), axis=1)):
            rise, run = without[:, 0] - above, without[:, 1] - below
            rises.add(rise)
            runs.add(run)
            ratios.add(without[:, 0] / without[:, 1] - values)
            products.add(rise * run)
        q = len(sums)
        centred = products.total - rises.powers[0].total * runs.powers[0].total / q
        spread = ratios.spread()
        degrees = np.where(np.isnan(spread.error), np.nan, spread.degrees)
        spreads = rises.spread(), runs.spread()
        ends = ratio_interval(above, below, spreads, (q - 1) / q * centred, degrees)
        # signals that agree in every session have a value without spread
        low, high = (np.where(spread.error == 0, values, end) for end in ends)
    return AcrossHalves(np.where(np.isfinite(values), values, np.nan), low, high)


def _sums(halves: Halves) -> Floats:
    """Return (Q, 1 + 2 S + S S) sums of units: n | n a | n b | n a b, a and b of different halves."""
    n = halves.weights.astype(np.float64)
    first, second = (one - np.average(one, axis=0, weights=n) for one in (halves.first, halves.second))
    products = (n[:, None, None] * first[:, :, None] * second[:, None, :]).reshape(len(n), -1)
    rows = np.concatenate([n[:, None], n[:, None] * first, n[:, None] * second, products], axis=1)
    sums = np.zeros((int(halves.unit.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, halves.unit, rows)
    return sums


def _parts(sums: Floats, size: int) -> tuple[Floats, Floats]:
    """Return S_ab and sqrt(S_aa S_bb) of (..., K) sums, over the weight; NaN where noise explains all."""
    n = sums[..., :1, None]
    first, second = sums[..., 1 : 1 + size], sums[..., 1 + size : 1 + 2 * size]
    products = sums[..., 1 + 2 * size :].reshape(*sums.shape[:-1], size, size) / n
    products = products - (first[..., :, None] / n) * (second[..., None, :] / n)
    shared = (products + np.swapaxes(products, -1, -2)) / 2
    own = np.diagonal(shared, axis1=-2, axis2=-1)
    root = np.sqrt(np.where(own > 0, own, np.nan))
    return shared, root[..., :, None] * root[..., None, :]
