"""Examination of positions by the results that were seen at several of them, with its standard error.

The position-based model says that a result of attraction alpha is clicked at position r with the chance
alpha * theta[r] (Craswell et al. 2008). Given all clicks on a result, its attraction drops out: a share
n[r] theta[r] / sum n[s] theta[s] of them is expected at position r, n being its sessions there. So theta is
free of the bias that a parameter for each result brings into maximum likelihood, and holds for any model
of this mean (Hausman, Hall and Griliches 1984; Wooldridge 1999).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.click_models.click_log import ClickLog, Floats, Ints

LEAST_PAIRS = 100
"""Fewest pairs of positions that a result was seen at; with fewer, positions and results look alike."""

MOST_ERROR = 0.1
"""Largest standard error of the logarithm of examination that is good enough to divide by."""

LEAST_QUERIES = 10
"""Fewest queries with such results: the error is that between queries."""

_ROUNDS, _TOLERANCE = 100, 1e-10
_FAR = 10.0
"""Where clicks put no bound on the logarithm of an examination, it ends here, with an error beyond use."""


@dataclass(frozen=True)
class PositionBias:
    """Examination of K positions relative to the first, theta."""

    examination: Floats  # (K,) theta > 0, the first 1; NaN where clicks do not tell.
    covariance: Floats  # (K, K) of log theta, robust over queries; 0 of the first position.
    pairs: int  # Pairs of positions that a result was seen at, of all results.
    # queries, sessions: Queries with such a result, and sessions, that it was estimated from.
    queries: int
    sessions: int

    @property
    def errors(self) -> Floats:
        """(K,) standard errors of log theta."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0)))  # a 0 may be rounded below 0

    def missing(self, depth: int) -> str | None:
        """Return why positions down to a depth cannot be told from results; None if they can."""
        if self.pairs < LEAST_PAIRS:
            return (
                f"too few results were seen at two positions ({self.pairs:,} pairs, {LEAST_PAIRS} needed): "
                "effects of position and result cannot be separated"
            )
        if self.queries < LEAST_QUERIES:
            return (
                f"too few queries have results seen at two positions ({self.queries}, {LEAST_QUERIES} "
                "needed): the error of examination is unknown"
            )
        known, errors = np.isfinite(self.examination[:depth]), self.errors[:depth]
        if not known.all():
            place = int(np.argmin(known)) + 1
            if place == 1:
                return "no result that was seen at several positions was clicked at the first"
            return f"no clicked result links position {place} to the first"
        if not errors.max() <= MOST_ERROR:
            place = int(errors.argmax()) + 1
            return (
                f"the logarithm of the examination of position {place} has a standard error of "
                f"{errors[place - 1]:.2f}, above {MOST_ERROR}"
            )
        return None


def position_bias(log: ClickLog) -> PositionBias:
    """Estimate examination from the results of a log that were seen at several positions."""
    shown, clicked = log.by_document()
    places = (shown > 0).sum(axis=1)
    is_moved, pairs = places > 1, int((places * (places - 1) // 2).sum())
    used = is_moved & (clicked.sum(axis=1) > 0)
    # the clicked positions that a chain of results links to the first
    seen, is_clicked = shown[used] > 0, clicked[used].sum(axis=0) > 0
    linked = np.arange(log.depth) == 0
    for _ in range(log.depth):
        linked |= (seen[(seen & linked).any(axis=1)]).any(axis=0) & is_clicked
    linked &= is_clicked
    query = log.documents.select(pl.struct("market", "query").rank("dense")).to_series().to_numpy()
    examination, covariance = np.full(log.depth, np.nan), np.full((log.depth, log.depth), np.nan)
    counted = _Counts(shown[used][:, linked], clicked[used][:, linked], query[used])
    if linked[0]:
        theta = np.zeros(int(linked.sum()))  # by Newton's method on a concave objective
        for _ in range(_ROUNDS):
            slope = _scores(counted, theta).sum(axis=0)
            step = np.linalg.lstsq(_information(counted, theta), slope)[0]
            theta[1:] = np.clip(theta[1:] + np.clip(step, -2, 2), -_FAR, _FAR)
            if np.abs(step).max(initial=0) < _TOLERANCE:
                break
        examination[linked] = np.exp(theta)
        covariance[np.ix_(linked, linked)] = _covariance(counted, theta)
    return PositionBias(
        examination, covariance, pairs, len(np.unique(query[is_moved])), int(log.sessions.sum())
    )


@dataclass(frozen=True)
class _Counts:
    """(D, K) sessions and clicks of results at linked positions, and (D,) numbers of their queries."""

    shown: Floats
    clicked: Floats
    query: Ints

    def shares(self, theta: Floats) -> Floats:
        """Return (D, K) the share of a result's clicks that is expected at each position."""
        weights = self.shown * np.exp(theta)
        whole = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0))


def _scores(counted: _Counts, theta: Floats) -> Floats:
    """Return (D, K - 1) clicks minus expected clicks."""
    total = counted.clicked.sum(axis=1, keepdims=True)
    return np.asarray((counted.clicked - total * counted.shares(theta))[:, 1:])


def _information(counted: _Counts, theta: Floats) -> Floats:
    """Return (K - 1, K - 1) the slope of the sum of scores, its sign changed."""
    shares = counted.shares(theta)
    expected = counted.clicked.sum(axis=1, keepdims=True) * shares
    return np.asarray((np.diag(expected.sum(axis=0)) - expected.T @ shares)[1:, 1:])


def _covariance(counted: _Counts, theta: Floats) -> Floats:
    """Return (K, K) the covariance of log theta; clicks of one query may depend on each other."""
    scores = _scores(counted, theta)
    queries = np.unique(counted.query, return_inverse=True)[1]
    by_query = np.zeros((int(queries.max(initial=-1)) + 1, scores.shape[1]))
    np.add.at(by_query, queries, scores)
    information, size = _information(counted, theta), len(by_query)
    is_open = len(theta) > 1 and np.linalg.cond(information) > 1 / _TOLERANCE
    if size < 2 or is_open or (np.abs(theta) >= _FAR).any():
        return np.pad(np.full(information.shape, np.inf), ((1, 0), (1, 0)))
    inverse = np.linalg.inv(information)
    spread = inverse @ (by_query.T @ by_query) @ inverse * (size / (size - 1))
    return np.pad(spread, ((1, 0), (1, 0)))
