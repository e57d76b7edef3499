"""The effect of one test: differences of its arms by days, and on the queries that both arms have.

Arrays have the arms first: 0 is control, 1 is treatment.
"""

from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats, Integers
from clickassay.correlation.changes import differences_from_nothing
from clickassay.correlation.uncertainty.intervals import Deviations, difference_interval, p_value
from clickassay.correlation.weighted import ROUNDING

FEWEST_FOLDS = 8
"""Folds of users that both arms need: fewer say too little of the variance between users."""


@dataclass(frozen=True)
class Effects:
    """Differences of P numbers, treatment minus control; all arrays (P,), NaN where unknown."""

    # control, treatment: Means of the arms, with the weights of their difference.
    control: Floats
    treatment: Floats
    # low, high: 95% CI of the difference.
    low: Floats
    high: Floats
    p: Floats  # Two-sided p-values of no difference.
    cautions: tuple[str | None, ...]  # Why an interval may be unreliable; None where there is no reason.
    units: int  # Folds of users, or units of queries, that are left out.
    error: Floats | None = None  # Standard errors; None where they are not kept.

    @property
    def difference(self) -> Floats:
        """Treatment minus control; 0 where it is rounding."""
        difference = self.treatment - self.control
        is_rounding = np.abs(difference) <= ROUNDING * np.abs(self.control)
        return np.where(is_rounding, 0.0, difference)

    def three(self, at: int) -> tuple[float, float, float]:
        """Return one of the differences with the ends of its interval."""
        return float(self.difference[at]), float(self.low[at]), float(self.high[at])


def by_days(sessions: Floats, totals: Floats) -> Effects:
    """Return the effects on users: ΔC = Σ_d w_d (c_T,d - c_C,d) / Σ_d w_d, w = n_T n_C / (n_T + n_C).

    A ramp-up gives treatment other days than control; within a day the arms are alike. Errors leave out one
    fold of users of both arms at a time.

    sessions: (2, D, F, P) sessions by arm, day and fold of users; the last axis may be of length 1.
    totals: (2, D, F, P) sums of the P numbers over these.
    """
    has_users = (sessions > 0).any(axis=(0, 1, 3))
    sessions, totals = sessions[:, :, has_users], totals[:, :, has_users]
    whole = [part.sum(axis=2) for part in (sessions, totals)]
    control, treatment = _means(*whole)
    # (2, F, D, P) without each fold
    without = [
        np.moveaxis(all_[:, :, None] - part, 2, 1)
        for all_, part in zip(whole, (sessions, totals), strict=True)
    ]
    of_arms = _means(*without)
    difference = treatment - control
    deviations = Deviations()
    deviations.add(of_arms[1] - of_arms[0] - difference)
    spread = deviations.spread().of_shape(difference.shape)
    low, high = difference_interval(difference, spread)
    p = p_value(difference, spread, spread.degrees)
    return Effects(control, treatment, low, high, p, (None,) * len(p), spread.queries, spread.error)


def _means(sessions: Floats, totals: Floats) -> Floats:
    """Return (2, ..., P) means of the arms over the days of (2, ..., D, P) sums, with common weights."""
    weights = _weights(sessions)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(weights > 0, totals / sessions, 0.0)
        means: Floats = (weights * values).sum(axis=-2) / weights.sum(axis=-2)
    return means


def _weights(sessions: Floats) -> Floats:
    """Return the weights of differences of means of so many sessions, (2, ...): the inverse of 1/n + 1/n."""
    weights: Floats = sessions.prod(axis=0) / np.maximum(sessions.sum(axis=0), 1)
    return weights


def by_queries(sessions: Floats, totals: Floats, units: Integers, *, users: bool) -> Effects:
    """Return differences on the queries that both arms have: Σ_q w_q (v_T,q - v_C,q) / Σ_q w_q.

    w = n_T n_C / (n_T + n_C) as in `by_days`. Errors leave out one query, or unit of queries, at a time.

    sessions: (2, Q, F) sessions by arm, query and fold of users.
    totals: (2, Q, F, P) sums of the P numbers over these.
    units: (Q,) number of the unit that each query belongs to.
    users: whether the variance between users is added, for numbers that depend on who searched.
    """
    common = sessions.any(axis=2).all(axis=0)
    sessions, totals, size = sessions[:, common], totals[:, common], totals.shape[3]
    distinct, unit = np.unique(units[common], return_inverse=True)

    def contributions(sessions: Floats, totals: Floats) -> Floats:
        weights = _weights(sessions)
        values = np.column_stack([weights, *(weights[:, None] * totals / np.maximum(sessions, 1)[..., None])])
        if len(distinct) == len(unit):
            return values
        sums = np.zeros((len(distinct), values.shape[1]))
        np.add.at(sums, unit, values)
        return sums

    whole = [part.sum(axis=2) for part in (sessions, totals)]
    values = contributions(*whole)

    def statistic(sums: Floats) -> Floats:
        weights = np.where(sums[..., :1] > 0, sums[..., :1], np.nan)
        difference: Floats = (sums[..., 1 + size :] - sums[..., 1 : 1 + size]) / weights
        return difference

    def without(fold: int) -> Floats:
        return contributions(whole[0] - sessions[:, :, fold], whole[1] - totals[:, :, fold])

    folds = np.flatnonzero(sessions.any(axis=(0, 1)) if users and sessions.shape[2] > 1 else [])
    sums = values.sum(axis=0)
    with np.errstate(invalid="ignore"):
        control, treatment = sums[1 : 1 + size] / sums[0], sums[1 + size :] / sums[0]
    weights = values[:, 0]
    residuals = values[:, 1 + size :] - values[:, 1 : 1 + size] - weights[:, None] * (treatment - control)
    most = _most_degrees(weights, residuals, noisy=users)
    parts = [without(int(fold)) for fold in folds]
    number = np.bincount(unit, whole[0].sum(axis=0)).astype(np.float64)
    found = differences_from_nothing(values, statistic, parts, most, number)
    return Effects(control, treatment, found.low, found.high, found.p, found.cautions, len(values))


def _most_degrees(weights: Floats, residuals: Floats, *, noisy: bool) -> Floats:
    """Return the degrees of freedom that an error by queries has if residuals vary as their weights say.

    Where few queries have most of the weight and happen to lie near the mean, the residuals themselves have
    far too many degrees (an interval of 60 queries held the truth in 85 to 90%). The variance of w d is
    a w² + b w: d differs between queries, and has noise where sessions are counted. a and b follow from
    Σ r² = a Σ w² + b Σ w and Σ r²/w = a Σ w + b Q, and the degrees are (Σ h)² / Σ h² of these variances h
    (Bell and McCaffrey 2002).

    weights, residuals: (Q,) w and (Q, P) r = w (d - mean d).
    noisy: whether d has noise; else b = 0.
    """
    kept = weights > 0
    w, size = weights[kept], residuals.shape[1]
    between, within = np.ones(size), np.zeros(size)
    spread = len(w) * (w**2).sum() - w.sum() ** 2
    if noisy and spread > 0:
        squares = residuals[kept] ** 2
        whole, over = squares.sum(axis=0), (squares / w[:, None]).sum(axis=0)
        between = np.maximum((len(w) * whole - w.sum() * over) / spread, 0)
        within = np.maximum(((w**2).sum() * over - w.sum() * whole) / spread, 0)
    variances = between * w[:, None] ** 2 + within * w[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = variances.sum(axis=0) ** 2 / (variances**2).sum(axis=0)
    return np.where(np.isfinite(degrees), np.maximum(degrees, 1.0), 1.0)
