"""Models of a user who goes down the list: what is examined next depends on what was just seen.

    P(E_1) = 1,  P(C_r | E_r) = a[document],  P(E_{r+1} | E_r) = after_click if C_r else after_skip

cascade          after_click = 0                       after_skip = 1        Craswell et al. 2008
DCM              lambda[r]                             1                     Guo, Liu and Wang 2009
simplified DBN   1 - s[document]                       1                     Chapelle and Zhang 2009
DBN              gamma (1 - s[document])               gamma                 Chapelle and Zhang 2009
CCM              alpha2 (1 - a) + alpha3 a             alpha1                Guo et al. 2009
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np

from clickassay.click_models.click_log import (
    NO_DOCUMENT,
    Bools,
    ClickLog,
    Floats,
    Ints,
    shown_values,
    summed,
    total,
)
from clickassay.click_models.em import RoundLimits, divide, dot_log, fit_rounds, log_prior, smoothed_rate
from clickassay.click_models.model import Clicked, Fit


@dataclass(frozen=True)
class CascadeModel:
    """A fitted model."""

    attraction: Floats  # (D,) a: chance that an examined document is clicked; 0..1.
    satisfaction: Floats  # (D,) chance that a clicked document gives what was sought; 0..1.
    # after_click, after_skip: Chance to examine the next position: (D, 1) by the document clicked or (1, K)
    # by the position of the click; and one number.
    after_click: Floats
    after_skip: float
    shared: dict[str, float]  # Parameters that no document owns, by name.
    parameters: int  # How many numbers were fitted.

    @property
    def relevance(self) -> Floats:
        """(D,) chance that a document gives what was sought once it is examined."""
        return np.asarray(self.attraction * self.satisfaction)

    def at(self, documents: Ints, place: int) -> tuple[Floats, Floats]:
        """Return the chance of a click, and to continue after one, of documents at a position."""
        return shown_values(self.attraction, documents), self.continuation(documents, place)

    def continuation(self, documents: Ints, place: int) -> Floats:
        """Return the chance to continue after a click on documents at a position, from 0."""
        column = self.after_click[:, min(place, self.after_click.shape[1] - 1)]
        return np.asarray(np.broadcast_to(column, self.attraction.shape)[documents])

    def continuations(self, documents: Ints) -> Floats:
        """Return the same of (k, L) documents at the first k positions."""
        if self.after_click.shape[1] == 1:
            return np.asarray(self.after_click[documents, 0])
        return np.broadcast_to(self.after_click[0, : len(documents), None], documents.shape)

    def conditional(self, lists: Ints, clicked: Clicked) -> Floats:
        """Return (P, K) chance of each click, given those before it, down the (P, K) lists."""
        chances = np.zeros(lists.shape)
        examined = np.ones(len(lists))  # given the clicks so far
        for place in range(lists.shape[1]):
            attracted, continuation = self.at(lists[:, place], place)
            chances[:, place] = examined * attracted
            with np.errstate(invalid="ignore", divide="ignore"):
                unclicked = examined * (1 - attracted) / (1 - chances[:, place])
            skipped = np.where(chances[:, place] < 1, unclicked, 0.0) * self.after_skip
            examined = np.where(clicked(place, chances[:, place]), continuation, skipped)
        return chances

    def examined(self, lists: Ints) -> Floats:
        """Return (L, K) chance that each position is examined, whatever is clicked before it."""
        size, depth = lists.shape
        chances = np.ones((size, depth))
        for place in range(depth - 1):
            attracted, continuation = self.at(lists[:, place], place)
            next_one = attracted * continuation + (1 - attracted) * self.after_skip
            chances[:, place + 1] = chances[:, place] * next_one
        return chances


@dataclass(frozen=True)
class Counts:
    """Counts of a log that fits need."""

    # (D,) times a document was shown at or above the last click; all of a list that has none.
    until_last: Floats
    until_first: Floats  # (D,) times it was shown at or above the first click; all of a list that has none.
    # clicks, last_clicks, first_clicks: (D,) clicks on it; the clicks that were the last, and the first, of
    # their session.
    clicks: Floats
    last_clicks: Floats
    first_clicks: Floats
    # clicks_at, last_clicks_at: (K,) the same by position.
    clicks_at: Floats
    last_clicks_at: Floats
    by_last_click: Floats  # (K + 1, L) sessions of each list by last click, 0 = none.


def counts(log: ClickLog) -> Counts:
    """Count what fits need, first by list: there are fewer lists than patterns."""
    size, depth = log.lists.shape
    shown, lists = log.shown, log.lists

    def by_document(values: Floats) -> Floats:
        """Add up (K, L) values by document."""
        return summed(lists[shown], values.T[shown], len(log.documents))

    def by_list(places: Ints) -> Floats:
        """Return (K + 1, L) sessions by one of their places, 0 = none."""
        return summed(places * size + log.rows, log.sessions, (depth + 1) * size).reshape(depth + 1, size)

    last, first = by_list(log.last_clicks()), by_list(log.first_clicks())
    _, clicks = log.by_list()
    return Counts(
        until_last=by_document(_at_or_above(last)),
        until_first=by_document(_at_or_above(first)),
        clicks=by_document(clicks.T.astype(np.float64)),
        last_clicks=by_document(last[1:]),
        first_clicks=by_document(first[1:]),
        clicks_at=clicks.sum(axis=0).astype(np.float64),
        last_clicks_at=last[1:].sum(axis=1),
        by_last_click=last,
    )


def _at_or_above(by_place: Floats) -> Floats:
    """Return (K, L) sessions that have this place at or above theirs, of (K + 1, L); all that have none."""
    return np.asarray(np.cumsum(by_place[:0:-1], axis=0)[::-1] + by_place[0])


def fit_cascade(log: ClickLog, *, pseudo_count: float = 1.0, **_limits: Unpack[RoundLimits]) -> Fit:
    """Fit the cascade model: a = first clicks / times examined until then; what is clicked satisfies.

    `pseudo_count`: so many clicks and so many skips are added for each parameter; 0 = none. Two
    clicks in a session are impossible to this model. Limits of rounds do not matter: it is a closed form.
    """
    counted = counts(log)
    attraction = smoothed_rate(counted.first_clicks, counted.until_first, pseudo_count)
    return Fit(
        CascadeModel(attraction, np.ones_like(attraction), np.zeros((1, log.depth)), 1.0, {}, len(attraction))
    )


def closed_form_dcm(counted: Counts, *, pseudo_count: float = 1.0) -> CascadeModel:
    """Return the DCM of the closed form: lambda[r] = 1 - last clicks at r / clicks at r.

    This, and a = clicks / times shown until the last click, is the maximum of a lower bound of the
    likelihood, which lets users stop at their last click (Guo, Liu and Wang 2009, section 4).
    """
    attraction = smoothed_rate(counted.clicks, counted.until_last, pseudo_count)
    continuation = 1 - smoothed_rate(counted.last_clicks_at, counted.clicks_at, pseudo_count)
    named = {f"lambda[{place}]": float(value) for place, value in enumerate(continuation, 1)}
    size = len(attraction) + len(continuation)
    return CascadeModel(attraction, np.ones_like(attraction), continuation[None, :], 1.0, named, size)


def closed_form_sdbn(counted: Counts, *, pseudo_count: float = 1.0) -> CascadeModel:
    """Return the SDBN of the closed form: s = last clicks / clicks, a = clicks / times shown until the last.

    Chapelle and Zhang 2009, section 5: gamma = 1, and users stop at their last click.
    """
    attraction = smoothed_rate(counted.clicks, counted.until_last, pseudo_count)
    satisfaction = smoothed_rate(counted.last_clicks, counted.clicks, pseudo_count)
    after_click = (1 - satisfaction)[:, None]
    return CascadeModel(attraction, satisfaction, after_click, 1.0, {"gamma": 1.0}, 2 * len(attraction))


# ---- the expectation step: what is hidden lies after the last click --------------------------------
#
# Down to the last click all is examined. From there on nothing is clicked, and where the user stopped is
# not seen. With B[i] = P(no click from i on | E_i), which depends on the list alone,
#
#     B[i] = (1 - a[i]) ((1 - c) + c B[i+1]),    B[K] = 1 - a[K],    c = after_skip,
#
# and k = after_click of the last click, at l < K, nothing after it has probability L = (1 - k) + k B[l+1];
# then E_{l+1} has the posterior k B[l+1] / L, and E_{i+1} that of E_i times c B[i+1] / ((1 - c) + c
# B[i+1]). So a log is counted once, by list and last click; and in a round, sessions of a list that differ
# in their last click go down the list together.


@dataclass(frozen=True)
class Ends:
    """How sessions ended: sessions by list and last click, and what came before that."""

    documents: Ints  # (K, L) code of the document at each place of each list; any where there is none.
    lengths: Ints  # (L,) how many a list has.
    sessions: Floats  # (K + 1, L) sessions by last click, 0 = none.
    # skips, clicks: (D,) times a document was skipped above a last click, and clicked.
    skips: Floats
    clicks: Floats
    # continued, continued_at: (D,) clicks on it, and (K,) clicks at a position, that were not the last.
    continued: Floats
    continued_at: Floats

    @property
    def depth(self) -> int:
        """Positions, K."""
        return len(self.documents)

    def more(self, place: int) -> Bools:
        """(L,) whether there is a result after `place`, from 0; after -1, any at all."""
        return np.asarray(self.lengths > place + 1)

    @cached_property
    def shown(self) -> Bools:
        """(K, L) whether there is a result at each place."""
        return np.asarray(self.lengths > np.arange(self.depth)[:, None])

    @cached_property
    def all_shown(self) -> bool:
        """Whether all lists are full."""
        return bool(self.shown.all())

    def where_shown(self, values: Floats, otherwise: float, place: int | None = None) -> Floats:
        """Return values where there is a result, and `otherwise` elsewhere.

        `values` are (K, L), or (L,) of one `place` from 0. Of most logs all lists are full, and nothing is
        looked up.
        """
        if self.all_shown:
            return values
        return np.asarray(np.where(self.shown if place is None else self.shown[place], values, otherwise))

    def followed(self) -> Floats:
        """(K, L) sessions whose last click is at a place with a result after it; 0 at other places."""
        followed = np.zeros(self.documents.shape)
        followed[:-1] = np.where(self.shown[1:], self.sessions[1:-1], 0.0)
        return followed

    def by_document(self, values: Floats) -> Floats:
        """Add up (K, L) values, 0 where there is no document, by document."""
        return summed(self.documents.ravel(), values.ravel(), len(self.clicks))


def ends(log: ClickLog, counted: Counts) -> Ends:
    """Count a log, of which `counted` is known, by list and last click; but for lists without a session."""
    used = np.unique(log.rows)
    lists, sessions = log.lists[used], np.ascontiguousarray(counted.by_last_click[:, used])
    there = lists != NO_DOCUMENT
    documents = np.ascontiguousarray(np.where(there, lists, 0).T)
    of_none = np.where(there.T, sessions[0], 0.0)
    all_skipped = summed(documents.ravel(), of_none.ravel(), len(log.documents))
    return Ends(
        documents=documents,
        lengths=there.sum(axis=1),
        sessions=sessions,
        skips=counted.until_last - all_skipped - counted.clicks,
        clicks=counted.clicks,
        continued=counted.clicks - counted.last_clicks,
        continued_at=counted.clicks_at - counted.last_clicks_at,
    )


@dataclass(frozen=True)
class Tails:
    """Expectations, under the parameters of a round, of the part after the last click."""

    # (K + 1, L) by last click: L, the probability of no click after it; 1 where nothing follows.
    chance: Floats
    silent: Floats  # (K + 1, L) B at the place after the last click; 1 where there is none.
    examined: Floats  # (K, L) expected sessions that examine a place below their last click.
    # examined_next, examined_later, could_continue: Expected numbers: of places examined right after a last
    # click, of those examined later, and of chances to continue from a place skipped there.
    examined_next: float
    examined_later: float
    could_continue: float


def tails(found: Ends, model: CascadeModel) -> Tails:
    """Work out the expectation step."""
    silent, skip = np.ones_like(found.sessions), model.after_skip
    skipped, after = (1 - model.attraction)[found.documents], np.ones(silent.shape[1])
    for place in reversed(range(found.depth)):
        silent[place] = found.where_shown(skipped[place] * after, 1.0, place)
        after = found.where_shown(1 - skip + skip * silent[place], 1.0, place)
    chance = np.ones_like(found.sessions)
    # the chance that users who skipped one place, and clicked nothing later, examined the next
    onward = found.where_shown(divide(skip * silent[:-1], 1 - skip + skip * silent[:-1]), 0.0)
    continues = np.ones_like(onward)  # row l is of last click l, and of the place after it
    continues[1:] = model.continuations(found.documents[:-1])
    following = continues * silent[:-1]
    chance[:-1] = found.where_shown(1 - continues + following, 1.0)
    examined = found.sessions[:-1] * found.where_shown(divide(following, chance[:-1]), 0.0)
    examined_next = examined_later = could_continue = 0.0
    for place in range(1, found.depth):
        examined_next += float(examined[place].sum())
        above = found.where_shown(examined[place - 1], 0.0, place)
        more = above * onward[place]
        could_continue += float(above.sum())
        examined_later += float(more.sum())
        examined[place] += more
    return Tails(chance, silent, examined, examined_next, examined_later, could_continue)


def log_likelihood(found: Ends, seen: Tails, model: CascadeModel) -> float:
    """Return the natural logarithm of the probability of all sessions; `seen` are the model's tails."""
    above = dot_log(found.clicks, model.attraction) + dot_log(found.skips, 1 - model.attraction)
    by_place = model.after_click.shape == (1, found.depth)
    continued = found.continued_at[None, :] if by_place else found.continued[:, None]
    skips, after_skip = np.array([found.skips.sum()]), np.array([model.after_skip])
    on = dot_log(continued, model.after_click) + dot_log(skips, after_skip)
    return above + on + dot_log(found.sessions.ravel(), seen.chance.ravel())


# ---- rounds ----------------------------------------------------------------------------------------
#
# Guo, Liu and Wang 2009 and Chapelle and Zhang 2009 let users of DCM and SDBN stop at their last click,
# which gives closed forms. Here they may have looked further without a click, as the models allow: the
# rounds start from the closed forms.


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
