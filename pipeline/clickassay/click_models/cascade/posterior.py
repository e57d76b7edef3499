"""The expectation step for users who go down the list: what is hidden lies after the last click.

Down to the last click all is examined. From there on nothing is clicked, and where the user stopped is not
seen. With B[i] = P(no click from i on | E_i), which depends on the list alone,

    B[i] = (1 - a[i]) ((1 - c) + c B[i+1]),    B[K] = 1 - a[K],    c = after_skip,

and k = after_click of the last click, at l < K, nothing after it has probability L = (1 - k) + k B[l+1]; then
E_{l+1} has the posterior k B[l+1] / L, and E_{i+1} that of E_i times c B[i+1] / ((1 - c) + c B[i+1]). So a
log is counted once, by list and last click; and in a round, sessions of a list that differ in their last
click go down the list together.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clickassay.click_models.cascade.model import CascadeModel, Counts
from clickassay.click_models.click_log import NO_DOCUMENT, Bools, ClickLog, Floats, Ints, summed
from clickassay.click_models.em import divide, dot_log


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
    def _all_shown(self) -> bool:
        return bool(self.shown.all())

    def where_shown(self, values: Floats, otherwise: float, place: int | None = None) -> Floats:
        """Return values where there is a result, and `otherwise` elsewhere.

        `values` are (K, L), or (L,) of one `place` from 0. Of most logs all lists are full, and nothing is
        looked up.
        """
        if self._all_shown:
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
    silent, chance = _no_click_chances(found, model), np.ones_like(found.sessions)
    onward = found.where_shown(_next_examined(model.after_skip, silent[:-1]), 0.0)
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


def _no_click_chances(found: Ends, model: CascadeModel) -> Floats:
    """Return (K + 1, L) B by place from 0; 1 where there is no document."""
    silent, skip = np.ones_like(found.sessions), model.after_skip
    skipped, after = (1 - model.attraction)[found.documents], np.ones(silent.shape[1])
    for place in reversed(range(found.depth)):
        silent[place] = found.where_shown(skipped[place] * after, 1.0, place)
        after = found.where_shown(1 - skip + skip * silent[place], 1.0, place)
    return silent


def _next_examined(after_skip: float, silent: Floats) -> Floats:
    """Return the chance that users who skipped one place, and clicked nothing later, examined the next."""
    after = after_skip * silent
    return divide(after, 1 - after_skip + after)


def log_likelihood(found: Ends, seen: Tails, model: CascadeModel) -> float:
    """Return the natural logarithm of the probability of all sessions; `seen` are the model's tails."""
    above = dot_log(found.clicks, model.attraction) + dot_log(found.skips, 1 - model.attraction)
    by_place = model.after_click.shape == (1, found.depth)
    continued = found.continued_at[None, :] if by_place else found.continued[:, None]
    skips, after_skip = np.array([found.skips.sum()]), np.array([model.after_skip])
    on = dot_log(continued, model.after_click) + dot_log(skips, after_skip)
    return above + on + dot_log(found.sessions.ravel(), seen.chance.ravel())
