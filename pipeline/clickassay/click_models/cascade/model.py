"""Models of a user who goes down the list: what is examined next depends on what was just seen.

    P(E_1) = 1,  P(C_r | E_r) = a[document],  P(E_{r+1} | E_r) = after_click if C_r else after_skip

cascade          after_click = 0                       after_skip = 1        Craswell et al. 2008
DCM              lambda[r]                             1                     Guo, Liu and Wang 2009
simplified DBN   1 - s[document]                       1                     Chapelle and Zhang 2009
DBN              gamma (1 - s[document])               gamma                 Chapelle and Zhang 2009
CCM              alpha2 (1 - a) + alpha3 a             alpha1                Guo et al. 2009
"""

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from clickassay.click_models.click_log import ClickLog, Floats, Ints, shown_values, summed
from clickassay.click_models.em import RoundLimits, smoothed_rate
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

    def marginal(self, lists: Ints) -> Floats:
        """Return (L, K) chance of each click, whatever is clicked before it."""
        return np.asarray(self.examined(lists) * shown_values(self.attraction, lists))


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
