"""DCM, SDBN, DBN and CCM by expectation maximisation: what is hidden is told by `posterior`.

Guo, Liu and Wang 2009 and Chapelle and Zhang 2009 take readers of DCM and SDBN to stop at their last click,
which gives closed forms. Here they may have gone on in vain, as the models have it: the closed forms are
where the rounds start.
"""

from abc import ABC, abstractmethod
from typing import Unpack

import numpy as np

from clickassay.click_models.cascade.model import Chain, counted_dcm, counted_sdbn, counts
from clickassay.click_models.cascade.posterior import Ends, Tails, ends, log_likelihood, tails
from clickassay.click_models.click_log import ClickLog, Floats, total
from clickassay.click_models.em import Limits, divided, fit_rounds, log_prior, share
from clickassay.click_models.model import Fit


class _Rounds(ABC):
    """The parameters that are fitted, attraction first, and one round after the other."""

    def __init__(self, found: Ends, smoothing: float, *free: Floats) -> None:
        self._found, self._smoothing, self._free = found, smoothing, list(free)

    @property
    def parameters(self) -> Floats:
        """All that are fitted in one vector."""
        return np.concatenate(self._free)

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        self._free = np.split(values, np.cumsum([len(one) for one in self._free])[:-1])

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        chain = self.model()
        seen = tails(self._found, chain)
        objective = log_likelihood(self._found, seen, chain) + log_prior(self._smoothing, *self._free)
        self._free = self._improved(seen)
        return objective

    @abstractmethod
    def model(self) -> Chain:
        """Return the model of the parameters so far."""

    @abstractmethod
    def _improved(self, seen: Tails) -> list[Floats]:
        """Return better parameters, given the expectations under those so far."""

    def untied(self) -> frozenset[str]:
        """Return the names of shared parameters that the clicks do not tell."""
        return frozenset()

    def _attraction(
        self, seen: Tails, *, successes: Floats | float = 0.0, trials: Floats | float = 0.0
    ) -> Floats:
        """Return a: clicks (and `successes` more) over times examined (and `trials` more)."""
        found = self._found
        examined = found.skips + found.clicks + found.by_document(seen.examined)
        return share(found.clicks + successes, examined + trials, self._smoothing)


class _DcmRounds(_Rounds):
    """The dependent click model: after_click = lambda[r], after_skip = 1; nothing follows the last place."""

    def __init__(self, found: Ends, smoothing: float, start: Chain) -> None:
        super().__init__(found, smoothing, start.attraction, start.after_click[0, :-1])
        self._ended = found.followed()
        self._trials = found.went_on_at + self._ended.sum(axis=1)

    def model(self) -> Chain:
        a, going_on = self._free
        named = {f"lambda[{place}]": float(value) for place, value in enumerate(going_on, 1)}
        after_click = np.append(going_on, 0.0)[None, :]
        return Chain(a, np.ones_like(a), after_click, 1.0, named, len(a) + len(going_on))

    def _improved(self, seen: Tails) -> list[Floats]:
        stop = 1 - np.append(self._free[1], 0.0)[:, None]
        in_vain = (self._ended - divided(self._ended * stop, seen.chance[1:])).sum(axis=1)
        going_on = share(self._found.went_on_at + in_vain, self._trials, self._smoothing)
        return [self._attraction(seen), going_on[:-1]]

    def untied(self) -> frozenset[str]:
        return frozenset(f"lambda[{place + 1}]" for place in np.flatnonzero(self._trials[:-1] == 0))


class _SdbnRounds(_Rounds):
    """The simplified DBN: after_click = 1 - s, after_skip = 1."""

    def __init__(self, found: Ends, smoothing: float, *free: Floats) -> None:
        super().__init__(found, smoothing, *free)
        self._ended = found.followed()
        self._trials = found.went_on + found.by_document(self._ended)

    def model(self) -> Chain:
        a, s = self._free
        return Chain(a, s, (1 - s)[:, None], 1.0, {"gamma": 1.0}, 2 * len(a))

    def _improved(self, seen: Tails) -> list[Floats]:
        return [self._attraction(seen), self._satisfaction(self._satisfied(seen))]

    def _satisfied(self, seen: Tails) -> Floats:
        """Return (K, L) expected sessions that a last click satisfied; one on a last result tells nothing."""
        return divided(self._ended * self._free[1][self._found.documents], seen.chance[1:])

    def _satisfaction(self, satisfied: Floats) -> Floats:
        return share(self._found.by_document(satisfied), self._trials, self._smoothing)


class _DbnRounds(_SdbnRounds):
    """The dynamic Bayesian network: after_click = gamma (1 - s), after_skip = gamma."""

    def __init__(self, found: Ends, smoothing: float, *free: Floats) -> None:
        super().__init__(found, smoothing, *free)
        places = np.arange(found.depth + 1)
        # all transitions above a last click were made
        self._above = float((found.sessions.sum(axis=1) * np.maximum(places - 1, 0)).sum())

    def model(self) -> Chain:
        a, s, (gamma,) = self._free
        after_click, named = (gamma * (1 - s))[:, None], {"gamma": float(gamma)}
        return Chain(a, s, after_click, named["gamma"], named, 2 * len(a) + 1)

    def _improved(self, seen: Tails) -> list[Floats]:
        satisfied = self._satisfied(seen)
        successes = np.array([self._above + seen.reached + seen.passed])
        trials = np.array([self._above + float((self._ended - satisfied).sum()) + seen.could_go])
        gamma = share(successes, trials, self._smoothing)
        return [self._attraction(seen), self._satisfaction(satisfied), gamma]


class _CcmRounds(_Rounds):
    """The click chain model: after_click = alpha2 (1 - a) + alpha3 a, after_skip = alpha1."""

    def model(self) -> Chain:
        a, alpha = self._free
        named = {f"alpha{number}": float(value) for number, value in enumerate(alpha, 1)}
        after_click = (alpha[1] * (1 - a) + alpha[2] * a)[:, None]
        return Chain(a, np.ones_like(a), after_click, named["alpha1"], named, len(a) + len(named))

    def _improved(self, seen: Tails) -> list[Floats]:
        found, (a, alpha) = self._found, self._free
        # relevant, given that the reader went on
        above = divided(a * alpha[2], self.model().after_click[:, 0])
        of_last = divided(found.sessions[1:] * a[found.documents], seen.chance[1:])
        went_on, ended = np.zeros_like(of_last), np.zeros_like(of_last)
        for place in range(found.depth):
            more = found.more(place)
            went_on[place] = np.where(more, of_last[place] * alpha[2] * seen.silent[place + 1], 0.0)
            ended[place] = np.where(more, of_last[place] * (1 - alpha[2]), of_last[place])
        relevant = found.by_document(went_on + ended) + found.went_on * above
        better = self._attraction(seen, successes=relevant, trials=found.clicks)
        return [better, self._alpha(seen, above, went_on, ended)]

    def _alpha(self, seen: Tails, above: Floats, went_on: Floats, ended: Floats) -> Floats:
        """Return the means of going on: after a skip, after a click on what was not relevant, or was."""
        found, on = self._found, float(went_on.sum())
        last_clicks, relevant = 0.0, 0.0
        for place in range(found.depth):
            more = found.more(place)
            last_clicks += float(found.sessions[place + 1][more].sum())
            relevant += float((went_on[place] + ended[place])[more].sum())
        skips, of_relevant, of_others = (
            float(found.skips.sum()), total(found.went_on, above), total(found.went_on, 1 - above),
        )  # fmt: skip
        of_open = last_clicks - relevant
        successes = (skips + seen.passed, of_others + seen.reached - on, of_relevant + on)
        trials = (skips + seen.could_go, of_others + of_open, of_relevant + relevant)
        return share(np.array(successes), np.array(trials), self._smoothing)


def fit_dcm(log: ClickLog, *, smoothing: float = 1.0, **limits: Unpack[Limits]) -> Fit:
    """Fit the dependent click model (Guo, Liu and Wang 2009), lambda of all places but the last.

    Parameters as in `factorised.fit_product`.
    """
    found = counts(log)
    start = counted_dcm(found, smoothing=_inside(smoothing))
    return fit_rounds(_DcmRounds(ends(log, found), smoothing, start), log, limits)


def fit_sdbn(log: ClickLog, *, smoothing: float = 1.0, **limits: Unpack[Limits]) -> Fit:
    """Fit the simplified DBN (Chapelle and Zhang 2009, section 5).

    Parameters as in `factorised.fit_product`.
    """
    found = counts(log)
    start = counted_sdbn(found, smoothing=_inside(smoothing))
    state = _SdbnRounds(ends(log, found), smoothing, start.attraction, start.satisfaction)
    return fit_rounds(state, log, limits)


def fit_dbn(log: ClickLog, *, smoothing: float = 1.0, **limits: Unpack[Limits]) -> Fit:
    """Fit the DBN (Chapelle and Zhang 2009, section 4), gamma with the rest.

    Parameters as in `factorised.fit_product`.
    """
    a, s = np.full((2, len(log.documents)), 0.5)
    return fit_rounds(_DbnRounds(ends(log, counts(log)), smoothing, a, s, np.array([0.9])), log, limits)


def fit_ccm(log: ClickLog, *, smoothing: float = 1.0, **limits: Unpack[Limits]) -> Fit:
    """Fit the click chain model (Guo et al. 2009), the alphas with the rest.

    Parameters as in `factorised.fit_product`.
    """
    a, alpha = np.full(len(log.documents), 0.5), np.array([0.9, 0.8, 0.5])
    return fit_rounds(_CcmRounds(ends(log, counts(log)), smoothing, a, alpha), log, limits)


def _inside(smoothing: float) -> float:
    """Return a smoothing that keeps what rounds start with off 0 and 1: they would not leave them again."""
    return max(smoothing, 1.0)
