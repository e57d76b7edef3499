"""Conventions of one quantity compared on judged configurations: means, correlations, conclusions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Sample
from clickassay.correlation.comparisons import difference_spread
from clickassay.correlation.jackknife import Deviations, difference_interval, left_out, no_rounding
from clickassay.correlation.weighted import correlation_matrix, without_rounding

SAME = 1e-12
"""Values that differ by less, relative to the largest, are the same: a sum in another order."""


@dataclass(frozen=True)
class Gap:
    """Differences and the ends of their 95 % intervals; NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats


def weighted_means(sample: Sample) -> Floats:
    """Return the (E,) means over configurations, weighted by sessions."""
    # added up row by row: a product of matrices rounds in another way on another processor
    means: Floats = (sample.sessions[:, None] * sample.editorial_values).sum(axis=0) / sample.sessions.sum()
    return means


def mean_gaps(sample: Sample, of: NDArray[np.intp]) -> Gap:
    """Return how far weighted means lie from others, by leaving out one query at a time.

    Parameters
    ----------
    sample
        Its E editorial metrics are conventions; weights are sessions, as in correlations.
    of
        (E,) the convention that each is held against.

    Returns
    -------
    (E,) mean of the convention - mean of the other.
    """
    values = sample.editorial_values
    apart = without_rounding(values - values[:, of], np.abs(values).max(axis=0, initial=0))
    weighted = apart * sample.sessions[:, None]
    rows = np.concatenate([sample.sessions[:, None].astype(np.float64), weighted], axis=1)
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    sums = np.add.reduceat(rows, starts, axis=0)
    found = _mean(sums.sum(axis=0))
    gathered = Deviations()
    for means in left_out(sums, _mean):
        gathered.add(means - found)
    return Gap(found, *difference_interval(found, gathered.spread()))


def _mean(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):  # a sample of one query has nothing left
        mean: Floats = sums[..., 1:] / sums[..., :1]
    return mean


def correlation_gaps(sample: Sample, moments: Floats, of: NDArray[np.intp]) -> Gap:
    """Return how far the correlation of each convention lies from those of others.

    Parameters
    ----------
    sample
        With C click metrics; its E editorial metrics are conventions.
    moments
        Its `sample_moments`.
    of
        (O,) conventions that all are held against.

    Returns
    -------
    (C, E, O) correlation of the convention - correlation of the other.
    """
    number = len(sample.editorial_names)
    a, b = np.repeat(np.arange(number), len(of)), np.tile(of, number)
    found = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    difference = no_rounding(found[:, a] - found[:, b])
    spread = difference_spread(moments, difference, (a, b), n_editorial=number)
    low, high = difference_interval(difference, spread)
    shape = (len(found), number, len(of))
    return Gap(difference.reshape(shape), low.reshape(shape), high.reshape(shape))


def same_values(values: Floats, one: int, other: int) -> bool:
    """Tell whether two columns of (N, E) values are one but for rounding."""
    pair = values[:, [one, other]]
    return bool(np.abs(pair[:, 0] - pair[:, 1]).max(initial=0) <= SAME * np.abs(pair).max(initial=1))


def change(before: tuple[float, float, float], after: tuple[float, float, float]) -> str | None:
    """Say what becomes of a difference (value, low, high) when a convention changes; None for nothing."""
    sure = [low > 0 or high < 0 for _, low, high in (before, after)]
    if before[0] * after[0] < 0:
        return "reversed" if all(sure) else "reversed, within noise" if not any(sure) else _changed(sure)
    return _changed(sure)


def _changed(sure: list[bool]) -> str | None:
    if sure[0] == sure[1]:
        return None
    return "no longer beyond noise" if sure[0] else "beyond noise now"
