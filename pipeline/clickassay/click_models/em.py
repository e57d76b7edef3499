"""Expectation maximisation, round by round, and the smoothing that all models share."""

from typing import Protocol, TypedDict

import numpy as np

from clickassay.click_models.click_log import ClickLog, Floats, total
from clickassay.click_models.model import ClickModel, Fit

ROUNDS = 200
TOLERANCE = 1e-7


class Limits(TypedDict, total=False):
    """When rounds end, and whether they leap.

    Attributes
    ----------
    rounds, tolerance
        They end when the objective per session grows by less than `tolerance`, or after so many rounds.
    leaps
        Whether two rounds are extrapolated to a third far ahead (SQUAREM, scheme S3 of Varadhan and Roland
        2008); a leap that lowers the objective is taken back. Without it, plain expectation maximisation.
    """

    rounds: int
    tolerance: float
    leaps: bool


class State(Protocol):
    """Parameters on the way."""

    parameters: Floats
    """All of them in one vector; 0..1."""

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        ...

    def model(self) -> ClickModel:
        """Return the model of the parameters so far."""
        ...

    def untied(self) -> frozenset[str]:
        """Return the names of shared parameters that the clicks do not tell."""
        ...


def fit_rounds(state: State, log: ClickLog, limits: Limits) -> Fit:
    """Improve parameters round by round, as long as `limits` say."""
    climb, converged = _Climb(state), False
    least = limits.get("tolerance", TOLERANCE) * float(log.sessions.sum())
    while climb.rounds < limits.get("rounds", ROUNDS) and not converged:
        before = climb.best
        climb.stride(leaps=limits.get("leaps", True))
        converged = climb.best - before < least and before > -np.inf
    return Fit(state.model(), tuple(climb.objectives), bool(converged), state.untied())


class _Climb:
    """Rounds done so far, and the objectives that were reached."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.rounds = 0
        self.objectives: list[float] = []

    @property
    def best(self) -> float:
        """The objective reached, as far as it is known."""
        return self.objectives[-1] if self.objectives else -np.inf

    def _step(self) -> float:
        self.rounds += 1
        return self._state.step()

    def stride(self, *, leaps: bool) -> None:
        """Do one round; or two, a leap, and one from where it lands."""
        if not leaps:
            self.objectives.append(self._step())
            return
        start = self._state.parameters
        self.objectives.append(self._step())
        first = self._state.parameters
        self.objectives.append(self._step())
        second = self._state.parameters
        self._state.parameters = _leap(start, first, second)
        reached = self._step()
        if reached >= self.best:
            self.objectives.append(reached)
        else:
            self._state.parameters = second


def _leap(start: Floats, first: Floats, second: Floats) -> Floats:
    """Return where two rounds lead to; what would leave 0..1 stays where the rounds brought it."""
    step, bend = first - start, second - 2 * first + start
    curvature = float(np.sqrt(np.sum(bend**2)))
    length = max(1.0, float(np.sqrt(np.sum(step**2))) / curvature) if curvature > 0 else 1.0
    far = start + 2 * length * step + length**2 * bend
    return np.asarray(np.where((far > 0) & (far < 1), far, second))


def share(successes: Floats, trials: Floats, smoothing: float) -> Floats:
    """Return (successes + smoothing) / (trials + 2 smoothing); one half where nothing is known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (successes + smoothing) / (trials + 2 * smoothing)
    return np.asarray(np.where(trials + smoothing > 0, found, 0.5))


def divided(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; 0 where the whole is."""
    zeros = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    return np.divide(part, whole, out=zeros, where=whole > 0)


def log_prior(smoothing: float, *parameters: Floats) -> float:
    """Return the logarithm of the Beta(1 + smoothing, 1 + smoothing) densities, but for their constants."""
    if smoothing == 0:
        return 0.0
    return float(sum(smoothing * np.sum(np.log(one) + np.log1p(-one)) for one in parameters))


def dot_log(counts: Floats, chances: Floats) -> float:
    """Return the sum of counts times log chances, where nothing counts nothing."""
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return total(counts[seen], np.log(chances[seen]))
