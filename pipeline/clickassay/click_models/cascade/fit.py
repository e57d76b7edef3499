"""DCM, SDBN, DBN and CCM by expectation maximisation; `posterior` is the expectation step.

Guo, Liu and Wang 2009 and Chapelle and Zhang 2009 let users of DCM and SDBN stop at their last click, which
gives closed forms. Here they may have looked further without a click, as the models allow: the rounds start
from the closed forms.
"""

from abc import ABC, abstractmethod
from typing import Unpack

import numpy as np

from clickassay.click_models.cascade.model import CascadeModel, closed_form_dcm, closed_form_sdbn, counts
from clickassay.click_models.cascade.posterior import Ends, Tails, ends, log_likelihood, tails
from clickassay.click_models.click_log import ClickLog, Floats, total
from clickassay.click_models.em import RoundLimits, divide, fit_rounds, log_prior, smoothed_rate
from clickassay.click_models.model import Fit


class _Rounds(ABC):
    """The parameters that are fitted, attraction first, and one round after the other."""

    def __init__(self, found: Ends, pseudo_count: float, *free: Floats) -> None:
        self._found, self._pseudo_count, self._free = found, pseudo_count, list(free)

    @property
    def parameters(self) -> Floats:
        """All that are fitted in one vector."""
        return np.concatenate(self._free)

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        self._free = np.split(values, np.cumsum([len(one) for one in self._free])[:-1])

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        model = self.model()
        seen = tails(self._found, model)
        objective = log_likelihood(self._found, seen, model) + log_prior(self._pseudo_count, *self._free)
        self._free = self._improved(seen)
        return objective

    def improve(self) -> None:
        """Improve the parameters."""
        self._free = self._improved(tails(self._found, self.model()))

    @abstractmethod
    def model(self) -> CascadeModel:
        """Return the model of the parameters so far."""

    @abstractmethod
    def _improved(self, seen: Tails) -> list[Floats]:
        """Return better parameters, given the expectations under those so far."""

    def unidentified(self) -> frozenset[str]:
        """Return the names of shared parameters that the clicks do not identify."""
        return frozenset()

    def _attraction(
        self, seen: Tails, *, successes: Floats | float = 0.0, trials: Floats | float = 0.0
    ) -> Floats:
        """Return a: clicks (and `successes` more) over times examined (and `trials` more)."""
        found = self._found
        examined = found.skips + found.clicks + found.by_document(seen.examined)
        return smoothed_rate(found.clicks + successes, examined + trials, self._pseudo_count)


class _DcmRounds(_Rounds):
    """The dependent click model: after_click = lambda[r], after_skip = 1; nothing follows the last place."""

    def __init__(self, found: Ends, pseudo_count: float, start: CascadeModel) -> None:
        super().__init__(found, pseudo_count, start.attraction, start.after_click[0, :-1])
        self._ended = found.followed()
        self._trials = found.continued_at + self._ended.sum(axis=1)

    def model(self) -> CascadeModel:
        a, continuation = self._free
        named = {f"lambda[{place}]": float(value) for place, value in enumerate(continuation, 1)}
        after_click = np.append(continuation, 0.0)[None, :]
        return CascadeModel(a, np.ones_like(a), after_click, 1.0, named, len(a) + len(continuation))

    def _improved(self, seen: Tails) -> list[Floats]:
        stop = 1 - np.append(self._free[1], 0.0)[:, None]
        unclicked = (self._ended - divide(self._ended * stop, seen.chance[1:])).sum(axis=1)
        continuation = smoothed_rate(self._found.continued_at + unclicked, self._trials, self._pseudo_count)
        return [self._attraction(seen), continuation[:-1]]

    def unidentified(self) -> frozenset[str]:
        return frozenset(f"lambda[{place + 1}]" for place in np.flatnonzero(self._trials[:-1] == 0))


class _SdbnRounds(_Rounds):
    """The simplified DBN: after_click = 1 - s, after_skip = 1."""

    def __init__(self, found: Ends, pseudo_count: float, *free: Floats) -> None:
        super().__init__(found, pseudo_count, *free)
        self._ended = found.followed()
        self._trials = found.continued + found.by_document(self._ended)

    def model(self) -> CascadeModel:
        a, s = self._free
        return CascadeModel(a, s, (1 - s)[:, None], 1.0, {"gamma": 1.0}, 2 * len(a))

    def _improved(self, seen: Tails) -> list[Floats]:
        return [self._attraction(seen), self._satisfaction(self._satisfied(seen))]

    def _satisfied(self, seen: Tails) -> Floats:
        """Return (K, L) expected sessions that a last click satisfied, where a result follows it."""
        return divide(self._ended * self._free[1][self._found.documents], seen.chance[1:])

    def _satisfaction(self, satisfied: Floats) -> Floats:
        return smoothed_rate(self._found.by_document(satisfied), self._trials, self._pseudo_count)


class _DbnRounds(_SdbnRounds):
    """The dynamic Bayesian network: after_click = gamma (1 - s), after_skip = gamma."""

    def __init__(self, found: Ends, pseudo_count: float, *free: Floats) -> None:
        super().__init__(found, pseudo_count, *free)
        places = np.arange(found.depth + 1)
        # all transitions above a last click were made
        self._above = float((found.sessions.sum(axis=1) * np.maximum(places - 1, 0)).sum())

    def model(self) -> CascadeModel:
        a, s, (gamma,) = self._free
        after_click, named = (gamma * (1 - s))[:, None], {"gamma": float(gamma)}
        return CascadeModel(a, s, after_click, named["gamma"], named, 2 * len(a) + 1)

    def _improved(self, seen: Tails) -> list[Floats]:
        satisfied = self._satisfied(seen)
        successes = np.array([self._above + seen.examined_next + seen.examined_later])
        trials = np.array([self._above + float((self._ended - satisfied).sum()) + seen.could_continue])
        gamma = smoothed_rate(successes, trials, self._pseudo_count)
        return [self._attraction(seen), self._satisfaction(satisfied), gamma]


class _CcmRounds(_Rounds):
    """The click chain model: after_click = alpha2 (1 - a) + alpha3 a, after_skip = alpha1."""

    def model(self) -> CascadeModel:
        a, alpha = self._free
        named = {f"alpha{number}": float(value) for number, value in enumerate(alpha, 1)}
        after_click = (alpha[1] * (1 - a) + alpha[2] * a)[:, None]
        return CascadeModel(a, np.ones_like(a), after_click, named["alpha1"], named, len(a) + len(named))

    def _improved(self, seen: Tails) -> list[Floats]:
        found, (a, alpha) = self._found, self._free
        # relevant, given that the user continued
        above = divide(a * alpha[2], self.model().after_click[:, 0])
        of_last = divide(found.sessions[1:] * a[found.documents], seen.chance[1:])
        continued, ended = np.zeros_like(of_last), np.zeros_like(of_last)
        for place in range(found.depth):
            more = found.more(place)
            continued[place] = np.where(more, of_last[place] * alpha[2] * seen.silent[place + 1], 0.0)
            ended[place] = np.where(more, of_last[place] * (1 - alpha[2]), of_last[place])
        relevant = found.by_document(continued + ended) + found.continued * above
        better = self._attraction(seen, successes=relevant, trials=found.clicks)
        return [better, self._alpha(seen, above, continued, ended)]

    def _alpha(self, seen: Tails, above: Floats, continued: Floats, ended: Floats) -> Floats:
        """Return the chances to continue: after a skip, after a click on what was not relevant, or was."""
        found, on = self._found, float(continued.sum())
        last_clicks, relevant = 0.0, 0.0
        for place in range(found.depth):
            more = found.more(place)
            last_clicks += float(found.sessions[place + 1][more].sum())
            relevant += float((continued[place] + ended[place])[more].sum())
        skips, of_relevant, of_others = (
            float(found.skips.sum()), total(found.continued, above), total(found.continued, 1 - above),
        )  # fmt: skip
        of_open = last_clicks - relevant
        successes = (skips + seen.examined_later, of_others + seen.examined_next - on, of_relevant + on)
        trials = (skips + seen.could_continue, of_others + of_open, of_relevant + relevant)
        return smoothed_rate(np.array(successes), np.array(trials), self._pseudo_count)


def fit_dcm(log: ClickLog, *, pseudo_count: float = 1.0, **limits: Unpack[RoundLimits]) -> Fit:
    """Fit the dependent click model (Guo, Liu and Wang 2009), lambda of all places but the last.

    Parameters as in `factorised.fit_factorised`.
    """
    counted = counts(log)
    start = closed_form_dcm(counted, pseudo_count=_positive(pseudo_count))
    return fit_rounds(_DcmRounds(ends(log, counted), pseudo_count, start), log, limits)


def fit_sdbn(log: ClickLog, *, pseudo_count: float = 1.0, **limits: Unpack[RoundLimits]) -> Fit:
    """Fit the simplified DBN (Chapelle and Zhang 2009, section 5).

    Parameters as in `factorised.fit_factorised`.
    """
    counted = counts(log)
    start = closed_form_sdbn(counted, pseudo_count=_positive(pseudo_count))
    state = _SdbnRounds(ends(log, counted), pseudo_count, start.attraction, start.satisfaction)
    return fit_rounds(state, log, limits)


def fit_dbn(log: ClickLog, *, pseudo_count: float = 1.0, **limits: Unpack[RoundLimits]) -> Fit:
    """Fit the DBN (Chapelle and Zhang 2009, section 4), gamma with the rest.

    Parameters as in `factorised.fit_factorised`.
    """
    a, s = np.full((2, len(log.documents)), 0.5)
    return fit_rounds(_DbnRounds(ends(log, counts(log)), pseudo_count, a, s, np.array([0.9])), log, limits)


def fit_ccm(log: ClickLog, *, pseudo_count: float = 1.0, **limits: Unpack[RoundLimits]) -> Fit:
    """Fit the click chain model (Guo et al. 2009), the alphas with the rest.

    Parameters as in `factorised.fit_factorised`.
    """
    a, alpha = np.full(len(log.documents), 0.5), np.array([0.9, 0.8, 0.5])
    return fit_rounds(_CcmRounds(ends(log, counts(log)), pseudo_count, a, alpha), log, limits)


def _positive(pseudo_count: float) -> float:
    """Return a pseudo-count that keeps start values off 0 and 1, which rounds would not leave again."""
    return max(pseudo_count, 1.0)
