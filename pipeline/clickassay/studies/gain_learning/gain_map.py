"""Values of grades and positions that make ERR agree best with clicks (Chapelle et al. 2009, 7.1).

    E = sum over r of phi(r) R(g_r) prod_{i<r} (1 - R(g_i)),

with R monotone in the grade, 0 <= R <= 1, and phi(1) = 1, phi > 0. E is what definition 1 of the paper makes
of the cascade model; with R(g) = (2^g - 1) / 2^g_max and phi(r) = 1/r it is ERR, with phi(r) = gamma^(r - 1)
the extended cascade metric of 7.2.

With S = 1 - R and phi(K + 1) = 0, E = phi(1) - sum over r of (phi(r) - phi(r+1)) prod_{i<=r} S(g_i). So c S
with (phi(r) - phi(r+1)) / c^r gives every list the same value up to a constant and a factor, on which no
correlation depends: where phi is learned too, R(0) = 0 fixes c. Where phi is a power of gamma, this holds
nearly (exactly for lists without end), and R(0) = 0 as well.

What is maximised is a log-likelihood with a prior. That of Q queries as Q normal observations is, at the
best slope that is not negative, -Q/2 log(1 - max(rho, 0)^2). The prior is worth one observation for each
step of R, spread as the steps of the map that the search starts from (Dirichlet); one of each kind for gamma
(Beta); and log phi is normal around that of this map, with a standard deviation of 1. So what clicks do not
determine stays near that map, nothing runs off to 0, 1 or infinity, and what they do determine outweighs it
as Q grows.

Agreement with clicks (6.2, 6.3) is a correlation of deviations from means within groups,

    rho = sum w (E - mean E)(C - mean C) / sqrt(sum w (E - mean E)^2  sum w (C - mean C)^2):

the weighted correlation has one group, with w the sessions; the closed form of Algorithm 3, whose sign
agreement is 1/2 + asin(rho)/pi, has a group for each query, with w = 1/(n_q - 1) and plain means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clickassay.core.records import Floats, Integers
from clickassay.core.special import expit, log_expit
from clickassay.metrics.editorial import expected_utility, satisfaction

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


Positions = Literal["fixed", "free", "gamma"]
"""The part of phi to learn: nothing, each value, or gamma, the probability to go on when not satisfied."""


@dataclass(frozen=True)
class GainMap:
    """The values of grades, R, and of positions, phi."""

    # (L,) R(0..g_max): probability that a result of the grade satisfies; ascending, 0..1.
    probabilities: Floats
    utilities: Floats  # (K,) phi(1..K); the first is 1.
    gamma: float | None = None  # The number that utilities are powers of; None if they are not.

    def values(self, grades: Grades) -> Floats:
        """Return (N,) E of (N, K) grades."""
        return expected_utility(self.probabilities[grades], tuple(self.utilities))


def paper_map(max_grade: int, depth: int) -> GainMap:
    """Return the map of ERR: R(g) = (2^g - 1) / 2^g_max, phi(r) = 1/r."""
    return GainMap(satisfaction(np.arange(max_grade + 1), max_grade), 1 / np.arange(1, depth + 1))


@dataclass(frozen=True)
class LearnedMap:
    """The best map found, and its agreement on the configurations that it was learned from."""

    map: GainMap
    rho: float
    prior_errors: Floats
    """Standard errors of `numbers(map)` by the prior: its standard deviations where clicks say nothing."""


FIRST_GAMMA = 0.8
"""Start of the search for gamma."""

LEAST_STEP = 0.01
"""Least share that the prior gives a step of R: without one, the step could vanish for want of clicks."""

_NOISE = 1e-9  # unexplained variance that is taken for granted, so that the likelihood stays finite
_SLIGHT = 1e-5  # step of the finite differences
_STOP: Any = {"maxiter": 500, "ftol": 1e-10, "gtol": 1e-7}


def numbers(gain_map: GainMap) -> Floats:
    """Return all that was learned in one vector: R, phi, and gamma if there is one."""
    gamma = [] if gain_map.gamma is None else [gain_map.gamma]
    return np.concatenate([gain_map.probabilities, gain_map.utilities, gamma])


def learn(
    grades: Grades, agreement: Agreement, start: GainMap, *, positions: Positions = "fixed"
) -> LearnedMap:
    """Maximise the log-likelihood with its prior by the gradient (L-BFGS).

    Parameters
    ----------
    grades
        (N, K) grades 0..g_max.
    start
        The map that the prior is centred at; its utilities are kept where `positions` is "fixed". The search
        begins at it, and at even steps of R, and takes the better result.
    """
    parameters = _Parameters(grades, agreement, start, positions)
    loss: Any = parameters.loss  # SciPy's types ask for a shape that ours do not name
    ends = [minimize(loss, at, jac=True, method="L-BFGS-B", options=_STOP).x for at in parameters.starts()]
    best = min(map(np.asarray, ends), key=lambda at: parameters.loss(at)[0])
    return LearnedMap(parameters.map(best), parameters.rho(best), parameters.prior_errors(best))


def _slopes(of: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the (M, N) derivatives of an (M,) function of (N,) parameters, by central differences."""
    steps = _SLIGHT * np.eye(len(at))
    return np.stack([(of(at + step) - of(at - step)) / (2 * _SLIGHT) for step in steps], axis=1)


class _Parameters:
    """Unbounded parameters: softmax increments of R; logarithms of utilities, or log-odds of gamma."""

    def __init__(self, grades: Grades, agreement: Agreement, start: GainMap, positions: Positions) -> None:
        self._grades, self._agreement, self._start = grades, agreement, start
        self._levels, self._positions = len(start.probabilities), positions
        self._first = int(positions != "fixed")  # the first grade whose R is free
        steps = np.maximum(np.diff(start.probabilities, prepend=0.0, append=1.0), LEAST_STEP)[self._first :]
        self._pseudo_counts = len(steps) * steps / steps.sum()

    def starts(self) -> list[Floats]:
        """Return the parameters of the caller's map, and of a map with even steps of R."""
        gamma = FIRST_GAMMA if self._start.gamma is None else min(max(self._start.gamma, 1e-6), 1 - 1e-6)
        of_positions = {
            "free": np.log(self._start.utilities[1:]), "gamma": np.log([gamma / (1 - gamma)]),
            "fixed": np.zeros(0),
        }  # fmt: skip
        points = []
        for probabilities in (self._start.probabilities, np.linspace(0, 1, self._levels + 2)[1:-1]):
            steps = np.maximum(np.diff(probabilities, prepend=0.0, append=1.0), 1e-6)[self._first :]
            points.append(np.concatenate([np.log(steps / steps.sum()), of_positions[self._positions]]))
        return points

    def map(self, point: Floats) -> GainMap:
        """Return the map of a vector of parameters."""
        logits, powers = np.split(point, [self._levels + 1 - self._first])
        steps = np.exp(logits - logits.max())
        probabilities = np.append(np.zeros(self._first), np.cumsum(steps / steps.sum())[:-1])
        if self._positions == "free":
            return GainMap(probabilities, np.concatenate([[1.0], np.exp(powers)]))
        if self._positions == "fixed":
            return GainMap(probabilities, self._start.utilities)
        gamma = float(expit(powers[0]))
        places = np.arange(len(self._start.utilities), dtype=np.float64)
        return GainMap(probabilities, gamma**places, gamma)

    def rho(self, point: Floats) -> float:
        """Return the agreement of the map of a vector of parameters."""
        return self._agreement.rho(self.map(point).values(self._grades))[0]

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """Return minus the log-likelihood with its prior, a query, and its gradient."""
        gain_map = self.map(point)
        rho, slope = self._agreement.rho(gain_map.values(self._grades))
        rho = max(rho, 0.0) if rho == rho else 0.0  # noqa: PLR0124 - NaN where values do not vary
        unexplained = 1 - rho**2 + _NOISE
        prior, of_prior = self._prior(point)
        own = -rho / unexplained * self._gradient(gain_map, slope)
        queries = self._agreement.queries
        return 0.5 * float(np.log(unexplained)) - prior / queries, own - of_prior / queries

    def _prior(self, point: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the prior but for a constant, and its gradient."""
        logits, powers = np.split(point, [len(self._pseudo_counts)])
        counts, chances = self._pseudo_counts, logits - np.logaddexp.reduce(logits)
        prior, of_logits = float(counts @ chances), counts - counts.sum() * np.exp(chances)
        if self._positions == "gamma":
            prior += float(log_expit(powers[0]) + log_expit(-powers[0]))
            return prior, np.append(of_logits, 1 - 2 * expit(powers[0]))
        gaps = powers - np.log(self._start.utilities[1:]) if self._positions == "free" else powers
        return prior - 0.5 * float(gaps @ gaps), np.concatenate([of_logits, -gaps])

    def prior_errors(self, point: Floats) -> Floats:
        """Return the standard errors of `numbers` by the prior: H^-1 P H^-1, with P and H the curvatures.

        H^-1 (J + P) H^-1 is the expected square of the error where the truth is drawn from the prior, J the
        variance of the gradient over samples; J is what leaving out queries shows.
        """
        queries = self._agreement.queries
        whole = _slopes(lambda at: queries * self.loss(at)[1], point)
        prior = _slopes(lambda at: -self._prior(at)[1], point)
        inverse = np.linalg.pinv(0.5 * (whole + whole.T), rcond=1e-8, hermitian=True)
        spread = inverse @ prior @ inverse
        slopes = _slopes(lambda at: numbers(self.map(at)), point)
        return np.asarray(np.sqrt(np.maximum(np.sum((slopes @ spread) * slopes, axis=1), 0.0)))

    def _gradient(self, gain_map: GainMap, slope: Floats) -> Floats:
        """Return the gradient of the agreement in the parameters from (N,) that in the values."""
        stops, depth = gain_map.probabilities[self._grades], self._grades.shape[1]
        reached = np.cumprod(np.hstack([np.ones((len(stops), 1)), 1 - stops[:, :-1]]), axis=1)
        of_probabilities, of_utilities = np.zeros(self._levels), np.zeros(depth)  # (L,) of R, (K,) of phi
        rest = np.zeros(len(stops))  # expected utility below the position
        for place in reversed(range(depth)):
            utility = gain_map.utilities[place]
            here = slope * reached[:, place]
            of_utilities[place] = np.sum(here * stops[:, place])
            of_probabilities += np.bincount(self._grades[:, place], here * (utility - rest), self._levels)
            rest = utility * stops[:, place] + (1 - stops[:, place]) * rest
        # R(g) = sum of the first g + 1 shares p; d p_j / d x_i = p_j (1[i = j] - p_i)
        shares = np.diff(gain_map.probabilities, prepend=0.0, append=1.0)[self._first :]
        of_shares = np.append(np.cumsum(of_probabilities[::-1])[::-1], 0.0)[self._first :]
        of_logits: Floats = shares * (of_shares - np.sum(shares * of_shares))
        scaled = gain_map.utilities * of_utilities
        if self._positions == "free":
            return np.concatenate([of_logits, scaled[1:]])
        if gain_map.gamma is None:
            return of_logits
        # d gamma^(r - 1) / d x = (r - 1) gamma^(r - 1) (1 - gamma), where gamma = 1 / (1 + e^-x)
        return np.append(of_logits, np.sum(scaled * np.arange(len(scaled))) * (1 - gain_map.gamma))
