"""Correlations and means with their intervals; correlations without the sampling noise of clicks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.records import Floats, Integers
from clickassay.core.special import stdtr, stdtrit
from clickassay.correlation.classes import unit_column
from clickassay.correlation.uncertainty import intervals

PERFECT = 1e-9
"""A correlation so near to -1 or 1 counts as perfect: where little is left, subtracting costs digits."""

Statistic = Callable[[Floats], tuple[Floats, Floats]]
"""Turns (..., K) sums over queries into (..., C, E) correlations and (..., C) reliabilities of clicks."""


@dataclass(frozen=True)
class Estimates:
    """Intervals of (C, E) correlations; all arrays are (C, E), NaN where there is none."""

    # low, high: 95% CI, within -1..1.
    low: Floats
    high: Floats
    # The correlations with infinitely many sessions: divided by the root of the reliability. May lie beyond
    # -1 or 1.
    corrected: Floats
    # corrected_low, corrected_high: Their 95% CI; NaN where noise leaves too little for a bound, or
    # `low` is NaN.
    corrected_low: Floats
    corrected_high: Floats
    # Two-sided p-values of the null values, 0..1; 0 for a correlation that is 1 without any of the queries.
    p: Floats
    # simultaneous_low, simultaneous_high: Intervals that cover all tested correlations of a row at once in 95
    # % of samples (Bonferroni); NaN for one that is not tested.
    simultaneous_low: Floats
    simultaneous_high: Floats


def estimates(
    values: Floats,
    contributions: Floats,
    statistic: Statistic,
    *,
    null: Floats,
    factor: float = 1.0,
    users: intervals.Spread | None = None,
) -> Estimates:
    """Compute the intervals of correlations by leaving out one query at a time.

    values: (C, E) correlations over all queries.
    contributions: (Q, K) additive contributions of the queries; Q >= 1.
    statistic: gives correlations and reliabilities from their sums.
    null: (C, E) correlations that are tested against, taken as known; NaN = no test.
    factor, users: what squared errors are multiplied by, and the further spread of the correlations between
      users.
    """
    root = np.sqrt(statistic(contributions.sum(axis=0))[1])[:, None]
    fisher, above, below, ratio = (intervals.Deviations() for _ in range(4))
    products = intervals.BlockSums()
    perfect = np.abs(values) >= 1 - PERFECT
    with np.errstate(divide="ignore", invalid="ignore"):
        z, corrected = _fisher(values), values / root
        for correlations, reliabilities in intervals.left_out(contributions, statistic):
            roots = np.sqrt(reliabilities)[..., None]
            rise, run = correlations - values, roots - root
            perfect &= (np.abs(rise) <= PERFECT).all(axis=0)
            fisher.add(_fisher(correlations) - z)
            above.add(rise)
            below.add(run)
            ratio.add(correlations / roots - corrected)
            products.add(rise * run)
    if users is not None:
        users = users.of_shape(values.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_fisher = users and replace(users, error=users.error / (1 - values**2))
        of_ratio = users and replace(users, error=users.error / root)
    spread = fisher.spread().widened(factor, of_fisher)
    # a correlation that is 1 whatever query is left out has no spread, and an artanh without bound
    low, high = (np.where(perfect, values, end) for end in intervals.fisher_interval(values, spread))
    q = max(above.queries, 1)
    covariance = factor * (q - 1) / q * (products.total - above.powers[0].total * below.powers[0].total / q)
    of_both = ratio.spread().widened(factor, of_ratio)
    # the ratio has no error where a query cannot be left out without losing it
    degrees = np.where(np.isnan(of_both.error), np.nan, of_both.degrees)
    spreads = above.spread().widened(factor, users), below.spread().widened(factor)
    ends = intervals.ratio_interval(values, root, spreads, covariance, degrees)
    bottom, top = (np.where(np.isnan(low), np.nan, end) for end in ends)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # below 0.05 where `low` and `high` leave out the null
        p = 2 * stdtr(spread.degrees, -np.abs(z - _fisher(null)) / spread.error)
    p = np.where(perfect & np.isfinite(null), 0.0, p)
    together = intervals.fisher_interval(values, spread, intervals.together_confidence(p))
    all_low, all_high = (np.where(np.isnan(p), np.nan, np.where(perfect, values, end)) for end in together)
    return Estimates(low, high, corrected, bottom, top, p, all_low, all_high)


def _fisher(correlations: Floats) -> Floats:
    """Return artanh r; NaN where r is -1 or 1 but for rounding, so that no interval depends on rounding."""
    return np.arctanh(np.where(np.abs(correlations) < 1 - PERFECT, correlations, np.nan))


@dataclass(frozen=True)
class Level:
    """The mean of a metric over sessions; NaN ends where a query cannot be left out."""

    # mean, low, high: The mean and its 95% CI, in units of the metric.
    mean: float
    low: float
    high: float
    caution: str | None  # Why the interval is not reliable; None when it is.


def levels(configurations: pl.DataFrame, names: Sequence[str]) -> dict[str, Level]:
    """Return the mean of metrics over the sessions of judged configurations (method 7).

    configurations: of one sample: query, n_sessions, a column for each metric; perhaps with `unit`.
    """
    if configurations.is_empty() or not names:
        return {}
    weighted = [(pl.col(name) * pl.col("n_sessions")).sum().alias(name) for name in names]
    unit = unit_column(configurations)
    by_unit = configurations.group_by(unit).agg(pl.col("n_sessions").sum(), *weighted).sort(unit)
    contributions = by_unit.select("n_sessions", *names).to_numpy().astype(np.float64)
    means = means_of_sums(contributions.sum(axis=0))
    deviations = intervals.Deviations()
    for without in intervals.left_out(contributions, means_of_sums):
        deviations.add(without - means)
    spread = deviations.spread()
    margin = stdtrit(spread.degrees, (1 + intervals.CONFIDENCE) / 2) * spread.error
    margin = np.where(spread.error == 0, 0.0, margin)
    heavy_tail = intervals.is_heavy(contributions[:, 0], intervals.DIFFERENCE_INDEX)
    why = intervals.cautions(means, means - margin, spread.queries, heavy_tail=heavy_tail)
    rows = zip(names, means, margin, why, strict=True)
    return {name: Level(mean, mean - half, mean + half, caution) for name, mean, half, caution in rows}


def means_of_sums(sums: Floats) -> Floats:
    """Turn (..., 1 + K) sums of sessions and of weighted values into (..., K) means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = sums[..., 1:] / sums[..., :1]
    return means


# ---- signals, across two halves of the users -------------------------------------------------------
#
# Signals of the same sessions share their noise, so no variance can be subtracted from their correlation.
# The means of one half of the users have no noise in common with the means of the other half: so S_ab /
# sqrt(S_aa S_bb), each product one of means of different halves, estimates the correlation that infinitely
# many sessions would show.


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
    """(S, S) correlations between metrics, and their 95% CIs; NaN where there is none.

    An interval is NaN too where noise leaves it without bound; values may lie beyond -1 or 1.
    """

    values: Floats
    low: Floats
    high: Floats


def across_halves(halves: Halves) -> AcrossHalves:
    """Correlate metrics across halves of the users, with intervals by Fieller's theorem (method 7.1)."""
    size = halves.first.shape[1]
    # (Q, 1 + 2 S + S S) sums of units: n | n a | n b | n a b, a and b of different halves
    n = halves.weights.astype(np.float64)
    first, second = (one - np.average(one, axis=0, weights=n) for one in (halves.first, halves.second))
    both = (n[:, None, None] * first[:, :, None] * second[:, None, :]).reshape(len(n), -1)
    rows = np.concatenate([n[:, None], n[:, None] * first, n[:, None] * second, both], axis=1)
    sums = np.zeros((int(halves.unit.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, halves.unit, rows)
    total = sums.sum(axis=0)
    above, below = _parts(total, size)
    if len(sums) < 2:
        return AcrossHalves(*np.full((3, size, size), np.nan))
    rises, runs, ratios = intervals.Deviations(), intervals.Deviations(), intervals.Deviations()
    products = intervals.BlockSums()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = above / below
        for without in intervals.left_out(sums, lambda some: np.stack(_parts(some, size), axis=1)):
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
        ends = intervals.ratio_interval(above, below, spreads, (q - 1) / q * centred, degrees)
        # signals that agree in every session have a value without spread
        low, high = (np.where(spread.error == 0, values, end) for end in ends)
    return AcrossHalves(np.where(np.isfinite(values), values, np.nan), low, high)


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
