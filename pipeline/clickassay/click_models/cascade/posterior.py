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

import numpy as np

from clickassay.click_models.cascade.model import CascadeModel, Counts
from clickassay.click_models.click_log import NO_DOCUMENT, Bools, ClickLog, Floats, Ints, summed
from clickassay.click_models.em import divide, dot_log


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
        (D,) times a document was skipped above a last click, and clicked.
    continued, continued_at
        (D,) clicks on it, and (K,) clicks at a position, that were not the last.
    """

    documents: Ints
    lengths: Ints
    sessions: Floats
    skips: Floats
    clicks: Floats
    continued: Floats
    continued_at: Floats

    @property
    def depth(self) -> int:
        """Positions, K."""
        return len(self.documents)

    def more(self, place: int) -> Bools:
        """(L,) whether there is a result after `place`, from 0; after -1, any at all."""
        return np.asarray(self.lengths > place + 1)

    def followed(self) -> Floats:
        """(K, L) sessions whose last click is at a place with a result after it; 0 at other places."""
        more = np.stack([self.more(place) for place in range(self.depth)])
        return np.asarray(np.where(more, self.sessions[1:], 0.0))

    def by_document(self, values: Floats) -> Floats:
        """Add up (K, L) values, 0 where there is no document, by document."""
        return summed(self.documents.ravel(), values.ravel(), len(self.clicks))


def ends(log: ClickLog, found: Counts) -> Ends:
    """Count a log, whose counts are `found`, by list and last click; lists without a session are left out."""
    used = np.unique(log.rows)
    lists, sessions = log.lists[used], found.by_last_click[:, used]
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
        continued=found.clicks - found.last_clicks,
        continued_at=found.clicks_at - found.last_clicks_at,
    )


@dataclass(frozen=True)
class Tails:
    """Expectations, under the parameters of a round, of the part after the last click.

    Attributes
    ----------
    chance
        (K + 1, L) by last click: L, the probability of no click after it; 1 where nothing follows.
    silent
        (K + 1, L) B at the place after the last click; 1 where there is none.
    examined
        (K, L) expected sessions that examine a place below their last click.
    examined_next, examined_later, could_continue
        Expected numbers: of places examined right after a last click, of those examined later, and of chances
        to continue from a place skipped there.
    """

    chance: Floats
    silent: Floats
    examined: Floats
    examined_next: float
    examined_later: float
    could_continue: float


def tails(found: Ends, model: CascadeModel) -> Tails:
    """Work out the expectation step."""
    silent, chance = _no_click_chances(found, model), np.ones_like(found.sessions)
    examined = np.zeros(found.documents.shape)
    examined_next = examined_later = could_continue = 0.0
    for last in range(found.depth):  # and what happens at the place after it, which has this number from 0
        follows = found.more(last - 1)
        continues = model.continuation(found.documents[last - 1], last - 1) if last else 1.0
        chance[last] = np.where(follows, 1 - continues + continues * silent[last], 1.0)
        posterior = np.where(follows, divide(continues * silent[last], chance[last]), 0.0)
        examined[last] = found.sessions[last] * posterior
        if last:
            examined_next += float(examined[last].sum())
            more = examined[last - 1] * np.where(follows, _next_examined(model.after_skip, silent[last]), 0.0)
            could_continue += float(examined[last - 1][follows].sum())
            examined_later += float(more.sum())
            examined[last] += more
    return Tails(chance, silent, examined, examined_next, examined_later, could_continue)


def _no_click_chances(found: Ends, model: CascadeModel) -> Floats:
    """Return (K + 1, L) B by place from 0; 1 where there is no document."""
    silent, skip = np.ones_like(found.sessions), model.after_skip
    for place in reversed(range(found.depth)):
        after = np.where(found.more(place), 1 - skip + skip * silent[place + 1], 1.0)
        skipped = 1 - model.attraction[found.documents[place]]
        silent[place] = np.where(found.more(place - 1), skipped * after, 1.0)
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
