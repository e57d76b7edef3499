"""Expectation maximisation, round by round, and the pseudo-counts that all models share."""

from dataclasses import replace
from typing import Protocol, TypedDict

import numpy as np

from clickassay.click_models.click_log import ClickLog, Floats, total
from clickassay.click_models.model import ClickModel, Fit, Response, Rounds, response

ROUNDS = 200
TOLERANCE = 1e-7


class RoundLimits(TypedDict, total=False):
    """When rounds end, and whether they are accelerated."""

    # rounds, tolerance: They end when the objective per session grows by less than `tolerance`, or after so
    # many rounds.
    rounds: int
    tolerance: float
    # Whether two rounds are extrapolated to a third far ahead (SQUAREM, scheme S3 of Varadhan and Roland
    # 2008); a step that lowers the objective is undone. Without it, plain expectation maximisation.
    accelerate: bool
    respond: bool  # Whether the response of the fit to changes of the log is wanted; by default not.
    # The response of a fit to a similar log: if it leads to the fit of this one, there are no rounds.
    near: Response | None


class FitState(Rounds, Protocol):
    """Parameters on the way."""

    def step(self) -> float:
        """Do one round; return the objective before."""
        ...

    def model(self) -> ClickModel:
        """Return the model of the parameters so far."""
        ...

    def unidentified(self) -> frozenset[str]:
        """Return the names of shared parameters that the clicks do not identify."""
        ...


def fit_rounds(state: FitState, log: ClickLog, limits: RoundLimits) -> Fit:
    """Improve parameters round by round, as long as `limits` say."""
    near = limits.get("near")
    if near is not None and near.lead(state):
        return Fit(state.model(), (), converged=True, unidentified=state.unidentified())
    climb, converged = _Climb(state), False
    least = limits.get("tolerance", TOLERANCE) * float(log.sessions.sum())
    while climb.rounds < limits.get("rounds", ROUNDS) and not converged:
        before = climb.best
        climb.stride(accelerate=limits.get("accelerate", True))
        converged = climb.best - before < least and before > -np.inf
    fit = Fit(state.model(), tuple(climb.objectives), bool(converged), state.unidentified())
    return replace(fit, response=response(state)) if limits.get("respond") else fit


class _Climb:
    """Rounds done so far, and the objectives that were reached."""

    def __init__(self, state: FitState) -> None:
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

    def stride(self, *, accelerate: bool) -> None:
        """Do one round; or two, an extrapolation, and one from where it lands."""
        if not accelerate:
            self.objectives.append(self._step())
            return
        start = self._state.parameters
        self.objectives.append(self._step())
        first = self._state.parameters
        self.objectives.append(self._step())
        second = self._state.parameters
        step, bend = first - start, second - 2 * first + start
        curvature = float(np.sqrt(np.sum(bend**2)))
        length = max(1.0, float(np.sqrt(np.sum(step**2))) / curvature) if curvature > 0 else 1.0
        far = start + 2 * length * step + length**2 * bend
        # a parameter that would leave 0..1 stays where the rounds brought it
        self._state.parameters = np.asarray(np.where((far > 0) & (far < 1), far, second))
        reached = self._step()
        if reached >= self.best:
            self.objectives.append(reached)
        else:
            self._state.parameters = second


def smoothed_rate(successes: Floats, trials: Floats, pseudo_count: float) -> Floats:
    """Return (successes + pseudo_count) / (trials + 2 pseudo_count); one half where there are no trials."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = (successes + pseudo_count) / (trials + 2 * pseudo_count)
    return np.asarray(np.where(trials + pseudo_count > 0, rate, 0.5))


def divide(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, which has the shape of both; 0 where the whole is 0."""
    some = whole > 0
    if some.all():  # several times as fast as with a mask
        return np.asarray(part / whole)
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=some)


def log_prior(pseudo_count: float, *parameters: Floats) -> float:
    """Return the log-density of Beta(1 + pseudo_count, 1 + pseudo_count) priors, but for its constants."""
    if pseudo_count == 0:
        return 0.0
    return float(sum(pseudo_count * np.sum(np.log(one) + np.log1p(-one)) for one in parameters))


def dot_log(counts: Floats, chances: Floats) -> float:
    """Return the sum of counts times log chances; a chance that was never counted adds 0."""
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return total(counts[seen], np.log(chances[seen]))
