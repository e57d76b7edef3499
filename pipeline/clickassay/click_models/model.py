"""The interface of every click model, and the record of a fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from clickassay.click_models.click_log import Bools, Floats, Ints
from clickassay.click_models.response import Response

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

    def marginal(self, lists: Ints) -> Floats:
        """Return (L, K) chance of each click, whatever is clicked before it."""
        ...


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
