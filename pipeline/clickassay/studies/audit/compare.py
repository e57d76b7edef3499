"""Conventions of one quantity compared on judged configurations: means, correlations, significance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Sample
from clickassay.correlation.comparisons import difference_spread
from clickassay.correlation.jackknife import Deviations, difference_interval, left_out, no_rounding
from clickassay.correlation.weighted import correlation_matrix, without_rounding

SAME = 1e-12
"""Relative difference below which values count as equal: sums in another order differ by rounding alone."""


@dataclass(frozen=True)
class Gap:
    """Differences from a reference convention with the ends of their 95 % intervals; NaN where undefined."""

    value: Floats
    low: Floats
    high: Floats


def weighted_means(sample: Sample) -> Floats:
    """Return the (E,) means over configurations, weighted by sessions."""
    # added up row by row: a product of matrices rounds in another way on another processor
    means: Floats = (sample.sessions[:, None] * sample.editorial_values).sum(axis=0) / sample.sessions.sum()
    return means


def mean_gaps(sample: Sample, reference: NDArray[np.intp]) -> Gap:
    """Return differences of weighted means, with intervals by the jackknife over queries.

    Parameters
    ----------
    sample
        Its E editorial metrics are conventions; weights are sessions, as in correlations.
    reference
        (E,) index of the convention that each is compared with.

    Returns
    -------
    (E,) mean of the convention - mean of its reference.
    """
    values = sample.editorial_values
    differences = without_rounding(values - values[:, reference], np.abs(values).max(axis=0, initial=0))
    weighted = differences * sample.sessions[:, None]
    rows = np.concatenate([sample.sessions[:, None].astype(np.float64), weighted], axis=1)
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    sums = np.add.reduceat(rows, starts, axis=0)
    gap = _mean(sums.sum(axis=0))
    deviations = Deviations()
    for means in left_out(sums, _mean):
        deviations.add(means - gap)
    return Gap(gap, *difference_interval(gap, deviations.spread()))


def _mean(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):  # a sample of one query has nothing left
        mean: Floats = sums[..., 1:] / sums[..., :1]
    return mean


def correlation_gaps(sample: Sample, moments: Floats, reference: NDArray[np.intp]) -> Gap:
    """Return differences between the correlations of conventions, with intervals by the jackknife.

    Parameters
    ----------
    sample
        With C click metrics; its E editorial metrics are conventions.
    moments
        Its `sample_moments`.
    reference
        (O,) indices of the conventions that all are compared with.

    Returns
    -------
    (C, E, O) correlation of the convention - correlation of the reference.
    """
    number = len(sample.editorial_names)
    a, b = np.repeat(np.arange(number), len(reference)), np.tile(reference, number)
    values = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    difference = no_rounding(values[:, a] - values[:, b])
    spread = difference_spread(moments, difference, (a, b), n_editorial=number)
    low, high = difference_interval(difference, spread)
    shape = (len(values), number, len(reference))
    return Gap(difference.reshape(shape), low.reshape(shape), high.reshape(shape))


def same_values(values: Floats, one: int, other: int) -> bool:
    """Return whether two columns of (N, E) values are equal but for rounding."""
    pair = values[:, [one, other]]
    return bool(np.abs(pair[:, 0] - pair[:, 1]).max(initial=0) <= SAME * np.abs(pair).max(initial=1))


def change(before: tuple[float, float, float], after: tuple[float, float, float]) -> str | None:
    """Return how sign or significance of a difference (value, low, high) changes; None where neither does.

    A difference is beyond noise where its interval does not hold 0.
    """
    was_significant, is_significant = (low > 0 or high < 0 for _, low, high in (before, after))
    if was_significant != is_significant:
        return "beyond noise now" if is_significant else "no longer beyond noise"
    if before[0] * after[0] < 0:
        return "reversed" if is_significant else "reversed, within noise"
    return None
