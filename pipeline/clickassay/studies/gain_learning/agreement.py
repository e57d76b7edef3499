"""Agreement of a metric with clicks, as a function to maximise (Chapelle et al. 2009, 6.2, 6.3, 7.1).

Both measures are correlations of deviations from means within groups,

    rho = sum w (E - mean E)(C - mean C) / sqrt(sum w (E - mean E)^2  sum w (C - mean C)^2):

the weighted correlation has one group, with w the sessions; the closed form of Algorithm 3, whose sign
agreement is 1/2 + asin(rho)/pi, has a group for each query, with w = 1/(n_q - 1) and plain means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Integers

Grades = NDArray[np.integer]


@dataclass(frozen=True)
class Observations:
    """Judged configurations with the values of a click metric."""

    grades: Grades  # (N, K) grades, best position first.
    queries: Integers  # (N,) index of the query of each.
    sessions: Floats  # (N,) number of sessions: the weights.
    clicks: Floats  # (N,) values of the click metric.

    def select(self, rows: NDArray[np.bool_]) -> "Observations":
        """Return the configurations where `rows` (N,) holds."""
        return Observations(self.grades[rows], self.queries[rows], self.sessions[rows], self.clicks[rows])


@dataclass(frozen=True)
class Agreement:
    """Deviations of a click metric from group means, and their correlation with another metric."""

    groups: Integers  # (N,) group of each configuration, 0..G-1.
    weights: Floats  # (N,) w, above 0; within a group, means are weighted by it too.
    clicks: Floats  # (N,) deviations of the click metric from the means of their groups.
    queries: int  # Number of queries: what the agreement counts as so many independent observations.

    def deviations(self, values: Floats) -> Floats:
        """Return (N,) deviations of values from the means of their groups."""
        whole = np.bincount(self.groups, self.weights)
        means = np.bincount(self.groups, self.weights * values) / whole
        return np.asarray(values - means[self.groups])

    def rho(self, values: Floats) -> tuple[float, Floats]:
        """Return the correlation, and (N,) its gradient in the values; NaN and zeros if they do not vary."""
        own = self.deviations(values)
        squares = float(np.sum(self.weights * own**2))
        of_clicks = float(np.sum(self.weights * self.clicks**2))
        if squares <= 0 or of_clicks <= 0:
            return float("nan"), np.zeros_like(values)
        scale = np.sqrt(squares * of_clicks)
        rho = float(np.sum(self.weights * own * self.clicks) / scale)
        return rho, self.weights * (self.clicks / scale - rho * own / squares)


def weighted_correlation(observed: Observations) -> tuple[Observations, Agreement]:
    """Return all configurations, and their weighted correlation with the click metric."""
    groups = np.zeros(len(observed.sessions), dtype=np.int64)
    return observed, _centred(groups, observed.sessions, observed)


def ranker_correlation(observed: Observations) -> tuple[Observations, Agreement]:
    """Return the configurations of queries that have two or more, and the closed form of Algorithm 3."""
    _, groups, sizes = np.unique(observed.queries, return_inverse=True, return_counts=True)
    kept = observed.select(sizes[groups] > 1)
    _, groups, sizes = np.unique(kept.queries, return_inverse=True, return_counts=True)
    weights = 1 / (sizes[groups] - 1.0)
    return kept, _centred(groups, weights, kept)


OBJECTIVES: Mapping[str, Callable[[Observations], tuple[Observations, Agreement]]] = MappingProxyType(
    {"correlation": weighted_correlation, "rankers": ranker_correlation}
)
"""The agreements that a map can be learned to maximise, by name."""


def _centred(groups: Integers, weights: Floats, observed: Observations) -> Agreement:
    queries = len(np.unique(observed.queries))
    raw = Agreement(groups, weights, observed.clicks, queries)
    return replace(raw, clicks=raw.deviations(observed.clicks))
