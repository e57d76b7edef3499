"""DBN and CCM by expectation maximisation: what is hidden lies after the last click.

Down to the last click all is examined. From there on nothing is clicked, and where the reader stopped is not
seen. With B[i] = P(no click from i on | E_i), which depends on the list alone,

    B[i] = (1 - a[i]) ((1 - c) + c B[i+1]),    B[K] = 1 - a[K],    c = after_skip,

and k = after_click of the last document clicked, at l < K, nothing after it has probability
L = (1 - k) + k B[l+1]; then E_{l+1} has the posterior k B[l+1] / L, and E_{i+1} that of E_i times
c B[i+1] / ((1 - c) + c B[i+1]). So a log is counted once, by list and last click; and in a round, sessions
of a list that differ in their last click go down the list together.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.click_models.chain import Chain, counts
from pipeline.click_models.click_log import NO_DOCUMENT, Bools, ClickLog, Floats, Ints, summed, total
from pipeline.click_models.model import Fit
from pipeline.click_models.rounds import ROUNDS, TOLERANCE, divided, dot_log, fit_rounds, log_prior, share


@dataclass(frozen=True)
class Ends:
    """How sessions ended: sessions by list and last click, and what came before that.

    Attributes
    ----------
    documents
        (K, L) code of the document at each place of each list; any where there is none.
    lengths
        (L,) how many a list has.
    sessions
        (K + 1, L) sessions by last click, 0 = none.
    skips, clicks
        (D,) times a document was passed by above a last click, and clicked.
    went_on
        (D,) clicks on it that were not the last.
    """

    documents: Ints
    lengths: Ints
    sessions: Floats
    skips: Floats
    clicks: Floats
    went_on: Floats

    @property
    def depth(self) -> int:
        """Positions, K."""
        return len(self.documents)

    def more(self, place: int) -> Bools:
        """(L,) whether there is a result after `place`, from 0; after -1, any at all."""
        return np.asarray(self.lengths > place + 1)

    def by_document(self, values: Floats) -> Floats:
        """Add up (K, L) values, 0 where there is no document, by document."""
        return summed(self.documents.ravel(), values.ravel(), len(self.clicks))


def ends(log: ClickLog) -> Ends:
    """Count a log by list and last click; lists without a session are left out."""
    depth = log.depth
    used, rows = np.unique(log.rows, return_inverse=True)
    lists = log.lists[used]
    sessions = summed(log.last_clicks() * len(used) + rows, log.sessions, (depth + 1) * len(used))
    sessions = sessions.reshape(depth + 1, len(used))
    found = counts(log)
    there = lists != NO_DOCUMENT
    documents = np.ascontiguousarray(np.where(there, lists, 0).T)
    of_none = np.where(there.T, sessions[0], 0.0)
    all_skipped = summed(documents.ravel(), of_none.ravel(), len(log.documents))
    return Ends(
        documents=documents,
        lengths=there.sum(axis=1),
        sessions=sessions,
        skips=found.until_last - all_skipped - found.clicks,
        clicks=found.clicks,
        went_on=found.clicks - found.last_clicks,
    )


@dataclass(frozen=True)
class Tails:
    """What the parameters of a round say of the part after the last click.

    Attributes
    ----------
    chance
        (K + 1, L) by last click: L, the probability of no click after it; 1 where nothing follows.
    silent
        (K + 1, L) B at the place after the last click; 1 where there is none.
    examined
        (K, L) expected sessions that examine a place below their last click.
    reached, passed, could_go
        Expected numbers: of places examined right after a last click, of those examined later, and of chances
        to go on from a place skipped there.
    """

    chance: Floats
    silent: Floats
    examined: Floats
    reached: float
    passed: float
    could_go: float


def tails(found: Ends, attraction: Floats, after_click: Floats, after_skip: float) -> Tails:
    """Work out the expectation step.

    Parameters
    ----------
    attraction, after_click
        (D,) by document.
    after_skip
        c.
    """
    silent, chance = _silence(found, attraction, after_skip), np.ones_like(found.sessions)
    examined = np.zeros(found.documents.shape)
    reached = passed = could_go = 0.0
    for last in range(found.depth):  # and what happens at the place after it, which has this number from 0
        follows = found.more(last - 1)
        goes_on = after_click[found.documents[last - 1]] if last else 1.0
        chance[last] = np.where(follows, 1 - goes_on + goes_on * silent[last], 1.0)
        posterior = np.where(follows, divided(goes_on * silent[last], chance[last]), 0.0)
        examined[last] = found.sessions[last] * posterior
        if last:
            reached += float(examined[last].sum())
            more = examined[last - 1] * np.where(follows, _share(after_skip, silent[last]), 0.0)
            could_go += float(examined[last - 1][follows].sum())
            passed += float(more.sum())
            examined[last] += more
    return Tails(chance, silent, examined, reached, passed, could_go)


def _silence(found: Ends, attraction: Floats, after_skip: float) -> Floats:
    """Return (K + 1, L) B by place from 0; 1 where there is no document."""
    silent = np.ones_like(found.sessions)
    for place in reversed(range(found.depth)):
        after = np.where(found.more(place), 1 - after_skip + after_skip * silent[place + 1], 1.0)
        silent[place] = np.where(found.more(place - 1), (1 - attraction[found.documents[place]]) * after, 1.0)
    return silent


def _share(after_skip: float, silent: Floats) -> Floats:
    """Return the chance that who skipped one place, and clicked nothing later, examined the next."""
    after = after_skip * silent
    return divided(after, 1 - after_skip + after)


class DbnRounds:
    """The dynamic Bayesian network: after_click = gamma (1 - s), after_skip = gamma."""

    def __init__(self, found: Ends, smoothing: float) -> None:
        self._found, self._smoothing = found, smoothing
        documents = len(found.clicks)
        self._a, self._s, self._gamma = np.full(documents, 0.5), np.full(documents, 0.5), 0.9
        places = np.arange(found.depth + 1)
        # all transitions above a last click were made
        self._above = float((found.sessions.sum(axis=1) * np.maximum(places - 1, 0)).sum())

    @property
    def parameters(self) -> Floats:
        """A, s and gamma in one vector."""
        return np.concatenate([self._a, self._s, [self._gamma]])

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        self._a, self._s, _ = np.split(values, [len(self._a), 2 * len(self._a)])
        self._gamma = float(values[-1])

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        found, after_click = self._found, self._gamma * (1 - self._s)
        seen = tails(found, self._a, after_click, self._gamma)
        objective = _likelihood(found, seen, self._a, after_click, self._gamma)
        objective += log_prior(self._smoothing, self._a, self._s, np.array([self._gamma]))
        satisfied = divided(found.sessions[1:] * self._s[found.documents], seen.chance[1:])
        of_open = found.sessions[1:] - satisfied
        unsatisfied = sum(float(of_open[place][found.more(place)].sum()) for place in range(found.depth))
        successes = np.array(self._above + seen.reached + seen.passed)
        trials = np.array(self._above + unsatisfied + seen.could_go)
        self._gamma = float(share(successes, trials, self._smoothing))
        self._a = _attraction(found, seen, self._smoothing)
        self._s = share(found.by_document(satisfied), found.clicks, self._smoothing)
        return objective

    def model(self) -> Chain:
        """Return the model of the parameters so far."""
        after_click = (self._gamma * (1 - self._s))[:, None]
        named, size = {"gamma": self._gamma}, 2 * len(self._a) + 1
        return Chain(self._a, self._s, after_click, self._gamma, named, size)


class CcmRounds:
    """The click chain model: after_click = alpha2 (1 - a) + alpha3 a, after_skip = alpha1."""

    def __init__(self, found: Ends, smoothing: float) -> None:
        self._found, self._smoothing = found, smoothing
        self._a, self._alpha = np.full(len(found.clicks), 0.5), np.array([0.9, 0.8, 0.5])

    @property
    def parameters(self) -> Floats:
        """A and the alphas in one vector."""
        return np.concatenate([self._a, self._alpha])

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        self._a, self._alpha = np.split(values, [len(self._a)])

    def _after_click(self) -> Floats:
        return np.asarray(self._alpha[1] * (1 - self._a) + self._alpha[2] * self._a)

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        found, after_click, skip = self._found, self._after_click(), float(self._alpha[0])
        seen = tails(found, self._a, after_click, skip)
        objective = _likelihood(found, seen, self._a, after_click, skip)
        objective += log_prior(self._smoothing, self._a, self._alpha)
        above = divided(self._a * self._alpha[2], after_click)  # relevant, given that the reader went on
        of_last = divided(found.sessions[1:] * self._a[found.documents], seen.chance[1:])
        went_on, ended = np.zeros_like(of_last), np.zeros_like(of_last)
        for place in range(found.depth):
            more = found.more(place)
            went_on[place] = np.where(more, of_last[place] * self._alpha[2] * seen.silent[place + 1], 0.0)
            ended[place] = np.where(more, of_last[place] * (1 - self._alpha[2]), of_last[place])
        self._improve_alpha(seen, above, went_on, ended)
        relevant = found.by_document(went_on + ended) + found.went_on * above
        self._a = _attraction(found, seen, self._smoothing, successes=relevant, trials=found.clicks)
        return objective

    def _improve_alpha(self, seen: Tails, above: Floats, went_on: Floats, ended: Floats) -> None:
        """Take the means of going on: after a skip, after a click on what was not relevant, or was."""
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
        self._alpha = share(np.array(successes), np.array(trials), self._smoothing)

    def model(self) -> Chain:
        """Return the model of the parameters so far."""
        named = {f"alpha{number}": float(value) for number, value in enumerate(self._alpha, 1)}
        after_click, ones = self._after_click()[:, None], np.ones_like(self._a)
        return Chain(self._a, ones, after_click, named["alpha1"], named, len(self._a) + len(named))


def _attraction(
    found: Ends,
    seen: Tails,
    smoothing: float,
    *,
    successes: Floats | float = 0.0,
    trials: Floats | float = 0.0,
) -> Floats:
    """Return a: clicks (and `successes` more) over times examined (and `trials` more)."""
    examined = found.skips + found.clicks + found.by_document(seen.examined)
    return share(found.clicks + successes, examined + trials, smoothing)


def _likelihood(
    found: Ends, seen: Tails, attraction: Floats, after_click: Floats, after_skip: float
) -> float:
    above = dot_log(found.clicks, attraction) + dot_log(found.skips, 1 - attraction)
    on = dot_log(found.went_on, after_click) + dot_log(np.array([found.skips.sum()]), np.array([after_skip]))
    return above + on + dot_log(found.sessions.ravel(), seen.chance.ravel())


def fit_dbn(
    log: ClickLog,
    *,
    smoothing: float = 1.0,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
    leaps: bool = True,
) -> Fit:
    """Fit the DBN (Chapelle and Zhang 2009, section 4) by expectation maximisation, gamma with the rest.

    Parameters as in `product.fit_product`.
    """
    state = DbnRounds(ends(log), smoothing)
    return fit_rounds(state, float(log.sessions.sum()), rounds=rounds, tolerance=tolerance, leaps=leaps)


def fit_ccm(
    log: ClickLog,
    *,
    smoothing: float = 1.0,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
    leaps: bool = True,
) -> Fit:
    """Fit the click chain model (Guo et al. 2009) by expectation maximisation, the alphas with the rest.

    Parameters as in `product.fit_product`.
    """
    state = CcmRounds(ends(log), smoothing)
    return fit_rounds(state, float(log.sessions.sum()), rounds=rounds, tolerance=tolerance, leaps=leaps)
