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
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from clickassay.core.records import Floats
from clickassay.core.special import expit, log_expit
from clickassay.metrics.editorial import expected_utility, satisfaction
from clickassay.studies.gain_learning.agreement import Agreement, Grades

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
    best = min(
        (_minimise(parameters, at) for at in parameters.starts()), key=lambda at: parameters.loss(at)[0]
    )
    return LearnedMap(parameters.map(best), parameters.rho(best), parameters.prior_errors(best))


def _minimise(parameters: "_Parameters", at: Floats) -> Floats:
    loss: Any = parameters.loss  # SciPy's types ask for a shape that ours do not name
    return np.asarray(minimize(loss, at, jac=True, method="L-BFGS-B", options=_STOP).x)


def _slopes(of: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the (M, N) derivatives of an (M,) function of (N,) parameters, by central differences."""
    steps = _SLIGHT * np.eye(len(at))
    return np.stack([(of(at + step) - of(at - step)) / (2 * _SLIGHT) for step in steps], axis=1)


class _Parameters:
    """Unbounded parameters of a map.

    The increments of R are a softmax; utilities are given by their logarithms, or gamma by its log-odds.
    """

    def __init__(self, grades: Grades, agreement: Agreement, start: GainMap, positions: Positions) -> None:
        self._grades, self._agreement, self._start = grades, agreement, start
        self._levels, self._positions = len(start.probabilities), positions
        self._first = int(positions != "fixed")  # the first grade whose R is free
        steps = np.maximum(np.diff(start.probabilities, prepend=0.0, append=1.0), LEAST_STEP)[self._first :]
        self._pseudo_counts = len(steps) * steps / steps.sum()

    def starts(self) -> list[Floats]:
        """Return the parameters of the caller's map, and of a map with even steps of R."""
        even = np.linspace(0, 1, self._levels + 2)[1:-1]
        return [self._point(probabilities) for probabilities in (self._start.probabilities, even)]

    def _point(self, probabilities: Floats) -> Floats:
        steps = np.maximum(np.diff(probabilities, prepend=0.0, append=1.0), 1e-6)[self._first :]
        return np.concatenate([np.log(steps / steps.sum()), self._of_positions()])

    def _of_positions(self) -> Floats:
        if self._positions == "free":
            return np.log(self._start.utilities[1:])
        gamma = FIRST_GAMMA if self._start.gamma is None else min(max(self._start.gamma, 1e-6), 1 - 1e-6)
        return np.log([gamma / (1 - gamma)]) if self._positions == "gamma" else np.zeros(0)

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
        of_probabilities, of_utilities = self._gradients(gain_map, slope)
        # R(g) = sum of the first g + 1 shares p; d p_j / d x_i = p_j (1[i = j] - p_i)
        shares = np.diff(gain_map.probabilities, prepend=0.0, append=1.0)[self._first :]
        of_shares = np.append(np.cumsum(of_probabilities[::-1])[::-1], 0.0)[self._first :]
        of_logits = shares * (of_shares - np.sum(shares * of_shares))
        return np.concatenate([of_logits, self._of_powers(gain_map, of_utilities)])

    def _of_powers(self, gain_map: GainMap, of_utilities: Floats) -> Floats:
        """Return the gradient in the parameters of the utilities."""
        scaled = gain_map.utilities * of_utilities
        if self._positions == "free":
            return scaled[1:]
        if gain_map.gamma is None:
            return np.zeros(0)
        # d gamma^(r - 1) / d x = (r - 1) gamma^(r - 1) (1 - gamma), where gamma = 1 / (1 + e^-x)
        return np.array([np.sum(scaled * np.arange(len(scaled))) * (1 - gain_map.gamma)])

    def _gradients(self, gain_map: GainMap, slope: Floats) -> tuple[Floats, Floats]:
        """Return (L,) and (K,) gradients in R and phi, from (N,) that in the values."""
        stops, depth = gain_map.probabilities[self._grades], self._grades.shape[1]
        reached = np.cumprod(np.hstack([np.ones((len(stops), 1)), 1 - stops[:, :-1]]), axis=1)
        of_probabilities, of_utilities = np.zeros(self._levels), np.zeros(depth)
        rest = np.zeros(len(stops))  # expected utility below the position
        for place in reversed(range(depth)):
            utility = gain_map.utilities[place]
            here = slope * reached[:, place]
            of_utilities[place] = np.sum(here * stops[:, place])
            of_probabilities += np.bincount(self._grades[:, place], here * (utility - rest), self._levels)
            rest = utility * stops[:, place] + (1 - stops[:, place]) * rest
        return of_probabilities, of_utilities
