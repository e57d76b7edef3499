"""Examination: how far down users look, and the discounts of metrics (Chapelle et al. 2009, Figure 1)."""

import numpy as np
from scipy.optimize import minimize_scalar

from clickassay.click_models.click_log import ClickLog, Floats
from clickassay.click_models.model import ClickModel


def examination(model: ClickModel, log: ClickLog) -> Floats:
    """Return (K,) the share of sessions in which a position is examined, of those that have a result there.

    NaN where no session has one. Whatever was clicked: the average of the model's chance over the log.
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
    """Return the p of RBP whose discount comes nearest to examination relative to that of the first position.

    Parameters
    ----------
    examined
        (K,) chances of examination; NaN where unknown.

    Returns
    -------
    The p in 0..1 that minimises the sum over positions of (p^(r-1) - examined[r] / examined[1])^2; None where
    fewer than two positions are known, or the first is never examined.
    """
    known = ~np.isnan(examined)
    if not known[0] or known.sum() < 2 or examined[0] <= 0:
        return None
    relative = examined / examined[0]

    def distance(persistence: float) -> float:
        return float(np.sum((rbp_discount(persistence, len(relative)) - relative)[known] ** 2))

    # one interval at a time: the sum may have more than one dip
    grid = np.linspace(0, 1, 101)
    near = float(grid[np.argmin([distance(p) for p in grid])])
    bounds = max(near - 0.01, 0.0), min(near + 0.01, 1.0)
    found = minimize_scalar(distance, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    return min((float(found.x), near), key=distance)
