"""The interface of every click model, and the record of a fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clickassay.click_models.click_log import Bools, Floats, Ints, shown_values

# ---- how a fit responds to a change of its log: what saves rounds on logs that are nearly the same -
#
# A fit is where a round M leads back to itself, x = M(x). Near there M(x + d) is about x + J d. On a log
# that is nearly the same, whose rounds are M', the steps x <- x + (I - J)^-1 (M'(x) - x) therefore lead to
# its fit: a round each, after which the error is smaller by as much as the two logs differ.


STEPS = 10
NEAR_ENOUGH = 1e-5
"""Steps end when no parameter moves further."""

_MOST_PARAMETERS = 60
"""Response takes a round for each parameter: with more, rounds on each log take no longer."""

_CHANGE = 1e-5
_INSIDE = 1e-9  # parameters are chances: steps stay inside 0..1


class Rounds(Protocol):
    """Parameters, and the rounds that improve them."""

    parameters: Floats
    """All of them in one vector; 0..1."""

    def improve(self) -> None:
        """Do one round."""
        ...


@dataclass(frozen=True)
class Response:
    """The fit to one log, and how the fits to similar logs follow from it."""

    parameters: Floats  # (P,) the fit.
    inverse: Floats  # (P, P) of I - J, J being the derivatives of a round there.

    def lead(self, rounds: Rounds) -> bool:
        """Bring the parameters of a similar log to its fit; if that fails, leave them as they were."""
        start, at = rounds.parameters, self.parameters
        for _ in range(STEPS):
            step = self.inverse @ (_after(rounds, at) - at)
            at = np.clip(at + step, _INSIDE, 1 - _INSIDE)
            if np.abs(step).max() < NEAR_ENOUGH:
                rounds.parameters = at
                return True
        rounds.parameters = start
        return False


def response(rounds: Rounds) -> Response | None:
    """Measure how rounds respond at their fit, which they have reached; None if it cannot be had cheaply."""
    at = rounds.parameters
    if len(at) > _MOST_PARAMETERS:
        return None
    after, derivatives = _after(rounds, at), np.empty((len(at), len(at)))
    for number, value in enumerate(at):
        moved, change = at.copy(), _CHANGE if value < 0.5 else -_CHANGE
        moved[number] += change
        derivatives[:, number] = (_after(rounds, moved) - after) / change
    rounds.parameters = at
    try:
        inverse = np.linalg.inv(np.eye(len(at)) - derivatives)
    except np.linalg.LinAlgError:  # a parameter that the clicks do not identify stays where it is put
        return None
    return Response(at, np.asarray(inverse, np.float64))


def _after(rounds: Rounds, parameters: Floats) -> Floats:
    rounds.parameters = parameters
    rounds.improve()
    return rounds.parameters


Clicked = Callable[[int, Floats], Bools]
"""(place from 0, (P,) chance of a click there) -> (P,) whether it is clicked: as logged, or as drawn."""


class ClickModel(Protocol):
    """A fitted click model."""

    @property
    def attraction(self) -> Floats:
        """(D,) chance that a document is clicked once it is examined; 0..1."""
        ...

    @property
    def relevance(self) -> Floats:
        """(D,) chance that a document gives what was sought once it is examined; 0..1."""
        ...

    @property
    def shared(self) -> dict[str, float]:
        """Parameters that no document owns, by name; 0..1."""
        ...

    @property
    def parameters(self) -> int:
        """How many numbers were fitted."""
        ...

    def conditional(self, lists: Ints, clicked: Clicked) -> Floats:
        """Return (P, K) chance of each click, given those before it, down the (P, K) lists."""
        ...

    def examined(self, lists: Ints) -> Floats:
        """Return (L, K) chance that each position is examined, whatever is clicked before it."""
        ...


def marginal(model: ClickModel, lists: Ints) -> Floats:
    """Return (L, K) chance of each click, whatever is clicked before it."""
    return np.asarray(model.examined(lists) * shown_values(model.attraction, lists))


@dataclass(frozen=True)
class Fit:
    """A fitted model, and how it came about."""

    model: ClickModel  # The model.
    # The objective before each round of expectation maximisation: log-likelihood plus log-density of the
    # prior that the pseudo-counts stand for, but for its constants. It never falls. Empty for closed forms.
    objectives: tuple[float, ...] = ()
    converged: bool = True  # Whether the last round gained less than the tolerance; True for closed forms.
    # Names of `shared` parameters that the clicks do not identify: the pseudo-counts set their values.
    unidentified: frozenset[str] = frozenset()
    # How the fit responds to changes of its log, if that was asked for and can be had.
    response: Response | None = None
