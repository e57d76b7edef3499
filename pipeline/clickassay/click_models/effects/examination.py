"""Examination: how far down users look, and the discounts of metrics (Chapelle et al. 2009, Figure 1)."""

import numpy as np
from numpy.typing import NDArray

from clickassay.click_models.click_log import ClickLog, Floats
from clickassay.click_models.model import ClickModel


def examination(model: ClickModel, log: ClickLog) -> Floats:
    """Return (K,) the share of sessions in which a position is examined, of the sessions with a result there.

    NaN where no session has one. It is the average of the model's chance over the log.
    """
    sessions, _ = log.by_list()
    weights = np.where(log.shown, sessions[:, None], 0).astype(np.float64)
    total = weights.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * model.examined(log.lists)).sum(axis=0) / total)


def dcg_discount(depth: int) -> Floats:
    """Return (K,) 1 / log2(r + 1)."""
    return np.asarray(1 / np.log2(np.arange(2, depth + 2)))


def rbp_discount(persistence: float, depth: int) -> Floats:
    """Return (K,) p^(r - 1)."""
    return np.asarray(persistence ** np.arange(depth))


def best_persistence(examined: Floats) -> float | None:
    """Return the p of RBP whose discount comes nearest to examination relative to the first position.

    examined: (K,) chances of examination; NaN where unknown.

    Returns the p in 0..1 that minimises the sum over positions of (p^(r-1) - examined[r] / examined[1])^2;
    None where fewer than two positions are known, or the first is never examined.
    """
    known = ~np.isnan(examined)
    if not known[0] or known.sum() < 2 or examined[0] <= 0:
        return None
    relative = examined / examined[0]

    # the sum may have more than one dip: the whole range first, then finer around the lowest value
    near = 0.5
    for width in (0.5, 1e-2, 2e-4):
        grid = np.linspace(max(near - width, 0.0), min(near + width, 1.0), 101)
        tried = np.append(near, grid)
        near = float(tried[_distances(tried, relative, known).argmin()])
    return _where_flat(relative, known, near, 4e-6)


def _distances(persistence: Floats, relative: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return for each p the sum of squares that `best_persistence` minimises."""
    discounts = persistence[:, None] ** np.arange(len(relative))
    return np.asarray(((discounts - relative)[:, known] ** 2).sum(axis=1))


def _where_flat(relative: Floats, known: NDArray[np.bool_], near: float, width: float) -> float:
    """Return where the slope of the sum is 0, around its lowest known place; that place if it is at an end.

    Around a minimum a sum hardly changes, so comparing sums finds only half of the digits of the place.
    """
    ranks = np.arange(len(relative))

    def slope(persistence: float) -> float:
        apart = (persistence**ranks - relative)[known]
        return float(np.sum(apart * (ranks * persistence ** np.maximum(ranks - 1, 0))[known]))

    low, high = max(near - width, 0.0), min(near + width, 1.0)
    if not slope(low) < 0 < slope(high):
        return near
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high
