"""Agreement of judges beyond Cohen's kappa: Krippendorff's alpha and Gwet's AC1, from sums over queries."""

import numpy as np

from clickassay.core.records import Floats


def coincidences(tables: Floats, size: int) -> Floats:
    """Return (..., size²) coincidences of two judges: each pair of grades in both orders.

    `tables`, (..., size²), count how often judge A gave the row's grade and judge B the column's.
    """
    counted = tables.reshape(*tables.shape[:-1], size, size)
    both: Floats = (counted + counted.swapaxes(-1, -2)).reshape(tables.shape)
    return both


def alphas(pairs: Floats, size: int) -> Floats:
    """Compute Krippendorff's alpha for nominal, ordinal and interval grades (Krippendorff 2011).

    pairs: (..., size²) coincidences: for a result with m grades, each ordered pair of them counts 1/(m - 1).
    size: number of grades.

    Returns (..., 3) 1 - observed / expected disagreement; NaN where all grades are the same.
    """
    found = pairs.reshape(*pairs.shape[:-1], size, size)
    totals = found.sum(axis=-1)
    number = totals.sum(axis=-1)[..., None]
    distances = np.stack([np.broadcast_to(one, found.shape) for one in _distances(totals, size)], axis=-3)
    observed = (found[..., None, :, :] * distances).sum(axis=(-1, -2))
    expected = (totals[..., :, None] * totals[..., None, :])[..., None, :, :] * distances
    by_chance = expected.sum(axis=(-1, -2)) / np.maximum(number - 1, 1)
    out = np.full(observed.shape, np.nan)
    values: Floats = 1 - np.divide(observed, by_chance, out=out, where=by_chance > 0)
    return values


def _distances(totals: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Return squared distances: 0 or 1; by how many grades given lie between; by their difference."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    up_to = np.cumsum(totals, axis=-1)
    middle = up_to - totals / 2
    between = middle[..., :, None] - middle[..., None, :]
    return np.minimum(apart, 1), between**2, apart**2


def ac1(tables: Floats, size: int) -> Floats:
    """Compute Gwet's AC1 (2008), which does not fall where nearly all grades are the same.

    tables: (..., size²) how often judge A gave the row's grade and judge B the column's.
    size: number of grades of the scale, 2 or more: a grade that nobody gave counts.

    Returns (...,) (observed - chance) / (1 - chance), with chance = Σ π (1 - π) / (size - 1).
    """
    counted = tables.reshape(*tables.shape[:-1], size, size)
    number = np.maximum(counted.sum(axis=(-1, -2)), 1)
    equal = np.trace(counted, axis1=-2, axis2=-1) / number
    share = (counted.sum(axis=-1) + counted.sum(axis=-2)) / (2 * number[..., None])
    chance = (share * (1 - share)).sum(axis=-1) / (size - 1)
    value: Floats = (equal - chance) / (1 - chance)
    return value
