"""Values of grades and positions that make ERR agree best with clicks (Chapelle et al. 2009, 7.1).

    E = sum over r of phi(r) R(g_r) prod_{i<r} (1 - R(g_i)),

with R monotone in the grade, 0 <= R <= 1, and phi(1) = 1, phi > 0. E is what definition 1 of the paper makes
of the cascade model; with R(g) = (2^g - 1) / 2^g_max and phi(r) = 1/r it is ERR.

With S = 1 - R and phi(K + 1) = 0, E = phi(1) - sum over r of (phi(r) - phi(r+1)) prod_{i<=r} S(g_i). So c S
with (phi(r) - phi(r+1)) / c^r says the same of every list but for a constant and a factor, which no
correlation sees: where phi is learned too, R(0) = 0 fixes c.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from pipeline.learning.agreement import Agreement, Grades
from pipeline.sample import Floats


@dataclass(frozen=True)
class GradeMap:
    """R and phi.

    Attributes
    ----------
    chances
        (L,) R(0..g_max), ascending; 0..1.
    utilities
        (K,) phi(1..K); the first is 1.
    """

    chances: Floats
    utilities: Floats

    def values(self, grades: Grades) -> Floats:
        """Return (N,) E of (N, K) grades."""
        total, goes_on = np.zeros(len(grades)), np.ones(len(grades))
        for grade, utility in zip(grades.T, self.utilities, strict=True):
            stops = self.chances[grade]
            total += utility * goes_on * stops
            goes_on *= 1 - stops
        return total


def paper_map(max_grade: int, depth: int) -> GradeMap:
    """Return the map of ERR: R(g) = (2^g - 1) / 2^g_max, phi(r) = 1/r."""
    grades = np.arange(max_grade + 1, dtype=np.float64)
    chances: Floats = np.ldexp(np.exp2(grades) - 1, -max_grade)
    return GradeMap(chances, 1 / np.arange(1, depth + 1))


@dataclass(frozen=True)
class Learned:
    """The best map found, and the agreement it reaches on what it was learned from."""

    map: GradeMap
    rho: float


_STOP: Any = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}


def learn(
    grades: Grades, agreement: Agreement, start: GradeMap, *, utilities: bool = False, afresh: bool = True
) -> Learned:
    """Climb the agreement by its gradient (L-BFGS).

    Parameters
    ----------
    grades
        (N, K) grades 0..g_max.
    start
        Where to begin; its utilities are kept unless `utilities`.
    afresh
        Whether to begin from even steps of R as well, and take the better end.
    """
    free = _Free(grades, agreement, start, learns_utilities=utilities)
    starts = free.starts() if afresh else free.starts()[:1]
    ends = [_climbed(free, at) for at in starts]
    best = max(ends, key=free.rho)
    return Learned(free.map(best), free.rho(best))


def _climbed(free: "_Free", at: Floats) -> Floats:
    loss: Any = free.loss  # SciPy's types ask for a shape that ours do not name
    return np.asarray(minimize(loss, at, jac=True, method="L-BFGS-B", options=_STOP).x)


class _Free:
    """The map as numbers without bounds: increments of R are shares of 1, utilities are powers of e."""

    def __init__(
        self, grades: Grades, agreement: Agreement, start: GradeMap, *, learns_utilities: bool
    ) -> None:
        self._grades, self._agreement, self._start = grades, agreement, start
        self._levels = len(start.chances)
        self._first = int(learns_utilities)  # the first grade whose chance is free

    def starts(self) -> list[Floats]:
        """Return the start of the caller, and a map of even steps."""
        even = np.linspace(0, 1, self._levels + 2)[1:-1]
        return [self._point(chances) for chances in (self._start.chances, even)]

    def _point(self, chances: Floats) -> Floats:
        steps = np.maximum(np.diff(chances, prepend=0.0, append=1.0), 1e-6)[self._first :]
        powers = np.log(self._start.utilities[1:]) if self._first else np.zeros(0)
        return np.concatenate([np.log(steps / steps.sum()), powers])

    def map(self, point: Floats) -> GradeMap:
        """Return the map that numbers without bounds stand for."""
        logits, powers = np.split(point, [self._levels + 1 - self._first])
        steps = np.exp(logits - logits.max())
        chances = np.append(np.zeros(self._first), np.cumsum(steps / steps.sum())[:-1])
        utilities = np.concatenate([[1.0], np.exp(powers)]) if self._first else self._start.utilities
        return GradeMap(chances, utilities)

    def rho(self, point: Floats) -> float:
        """Return the agreement of a point."""
        return self._agreement.rho(self.map(point).values(self._grades))[0]

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """Return minus the agreement, and its gradient."""
        found = self.map(point)
        rho, slope = self._agreement.rho(found.values(self._grades))
        of_chances, of_utilities = self._gradients(found, slope)
        # R(g) = sum of the first g + 1 shares p; d p_j / d x_i = p_j (1[i = j] - p_i)
        shares = np.diff(found.chances, prepend=0.0, append=1.0)[self._first :]
        of_shares = np.append(np.cumsum(of_chances[::-1])[::-1], 0.0)[self._first :]
        of_logits = shares * (of_shares - np.sum(shares * of_shares))
        of_powers = (found.utilities * of_utilities)[1:] if self._first else np.zeros(0)
        return -rho, -np.concatenate([of_logits, of_powers])

    def _gradients(self, found: GradeMap, slope: Floats) -> tuple[Floats, Floats]:
        """Return (L,) and (K,) gradients in R and phi, from (N,) that in the values."""
        stops, depth = found.chances[self._grades], self._grades.shape[1]
        reached = np.cumprod(np.hstack([np.ones((len(stops), 1)), 1 - stops[:, :-1]]), axis=1)
        of_chances, of_utilities = np.zeros(self._levels), np.zeros(depth)
        rest = np.zeros(len(stops))  # expected utility below the position
        for place in reversed(range(depth)):
            utility = found.utilities[place]
            here = slope * reached[:, place]
            of_utilities[place] = np.sum(here * stops[:, place])
            of_chances += np.bincount(self._grades[:, place], here * (utility - rest), self._levels)
            rest = utility * stops[:, place] + (1 - stops[:, place]) * rest
        return of_chances, of_utilities
