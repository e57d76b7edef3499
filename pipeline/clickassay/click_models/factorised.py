"""Models in which a click takes two independent things: the position is examined, and the document attracts.

    P(C_r = 1 | clicks before) = alpha[document] * gamma[r, last click before r]

Position-based model: gamma depends on r alone (Craswell et al. 2008). User browsing model: also on the last
click before r (Dupret and Piwowarski 2008). The rates of clicks by document, by position and over all fix one
factor at 1. Only products are seen, so gamma of the first position is 1: a page is read from its top.
"""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import polars as pl

from clickassay.click_models.click_log import NO_DOCUMENT, ClickLog, Floats, Ints, shown_values, summed, total
from clickassay.click_models.em import RoundLimits, divide, dot_log, fit_rounds, log_prior, smoothed_rate
from clickassay.click_models.model import Clicked, Fit


@dataclass(frozen=True)
class FactorisedModel:
    """A fitted model."""

    attraction: Floats  # (D,) alpha: chance that a document is clicked once it is examined; 0..1.
    examination: Floats  # (K, K) gamma by position and by the last click before it (0 = none); 0..1.
    parameters: int  # How many numbers were fitted.

    @property
    def relevance(self) -> Floats:
        """(D,) chance that a document gives what was sought: alpha, as a click is all these models know."""
        return self.attraction

    @property
    def shared(self) -> dict[str, float]:
        """Gamma by position, and by the last click where it matters: ``gamma[3]``, ``gamma[3,1]``."""
        places = range(len(self.examination))
        alike = np.array_equal(self.examination, np.repeat(self.examination[:, :1], len(places), axis=1))
        return {
            _name(place, last, by_last_click=not alike): float(self.examination[place, last])
            for place in places
            for last in ([0] if alike else range(place + 1))
        }

    def conditional(self, lists: Ints, clicked: Clicked) -> Floats:
        """Return (P, K) chance of each click, given those before it, down the (P, K) lists."""
        chances = np.zeros(lists.shape)
        last = np.zeros(len(lists), dtype=np.int64)
        for place in range(lists.shape[1]):
            attracted = shown_values(self.attraction, lists[:, place])
            chances[:, place] = attracted * self.examination[place, last]
            last[clicked(place, chances[:, place])] = place + 1
        return chances

    def examined(self, lists: Ints) -> Floats:
        """Return (L, K) chance that each position is examined, whatever is clicked before it."""
        size, depth = lists.shape
        chances = np.zeros((size, depth))
        last = np.zeros((size, depth + 1))  # chance of each last click so far
        last[:, 0] = 1.0
        for place in range(depth):
            gamma = self.examination[place, : place + 1]
            attracted = shown_values(self.attraction, lists[:, place])
            clicked = attracted[:, None] * last[:, : place + 1] * gamma
            chances[:, place] = last[:, : place + 1] @ gamma
            last[:, : place + 1] -= clicked
            last[:, place + 1] = clicked.sum(axis=1)
        return chances


def _name(place: int, last: int, *, by_last_click: bool) -> str:
    return f"gamma[{place + 1},{last}]" if by_last_click else f"gamma[{place + 1}]"


@dataclass(frozen=True)
class _Counts:
    """Sufficient statistics: impressions and clicks by document and kind of examination."""

    documents: Ints
    kinds: Ints
    shown: Floats
    clicked: Floats


def _counts(log: ClickLog, *, by_last_click: bool) -> _Counts:
    parts = []
    for chunk in log.chunks():
        clicks, documents = chunk.clicks, chunk.lists[chunk.rows]
        kinds = np.tile(np.arange(log.depth) * log.depth, (len(documents), 1))
        if by_last_click:  # the last position clicked down to each, 0 where there is none
            so_far = np.maximum.accumulate(clicks * np.arange(1, log.depth + 1), axis=1)
            kinds[:, 1:] += so_far[:, :-1]
        shown = np.repeat(chunk.sessions, log.depth)
        columns = {"document": documents.ravel(), "kind": kinds.ravel(), "shown": shown}
        frame = pl.DataFrame({**columns, "clicked": shown * clicks.ravel()})
        seen = frame.filter(pl.col("document") != NO_DOCUMENT)
        parts.append(seen.group_by("document", "kind").sum())
    every = pl.concat(parts).group_by("document", "kind").sum().sort("document", "kind")
    counts = (every[name].to_numpy().astype(np.float64) for name in ("shown", "clicked"))
    return _Counts(every["document"].to_numpy(), every["kind"].to_numpy(), *counts)


def fit_factorised(
    log: ClickLog, *, by_last_click: bool, pseudo_count: float = 1.0, **limits: Unpack[RoundLimits]
) -> Fit:
    """Fit alpha and gamma by expectation maximisation.

    by_last_click: whether gamma depends on the last click (UBM) or on the position alone (PBM).
    pseudo_count: so many clicks and so many skips are added for each parameter; 0 = none.

    Returns the objective is the log-likelihood plus the log-density of Beta(1 + pseudo_count, 1 +
    pseudo_count) priors but for its constants; it never falls (Dempster, Laird and Rubin 1977).
    """
    return fit_rounds(_Rounds(log, pseudo_count, by_last_click=by_last_click), log, limits)


class _Rounds:
    """The parameters, and one round of expectation maximisation after the other."""

    def __init__(self, log: ClickLog, pseudo_count: float, *, by_last_click: bool) -> None:
        self._depth, self._pseudo_count, self._by_last_click = log.depth, pseudo_count, by_last_click
        counts = self._counts = _counts(log, by_last_click=by_last_click)
        self._skipped = counts.shown - counts.clicked
        self._where_clicked = np.flatnonzero(counts.clicked)
        documents, kinds = len(log.documents), log.depth * log.depth
        self._alpha, self._gamma = np.full(documents, 0.5), np.full(kinds, 0.5)
        self._gamma[0] = 1.0
        self._of_documents = [summed(counts.documents, n, documents) for n in (counts.clicked, counts.shown)]
        self._of_kinds = [summed(counts.kinds, n, kinds) for n in (counts.clicked, counts.shown)]

    @property
    def parameters(self) -> Floats:
        """Alpha and gamma in one vector."""
        return np.concatenate([self._alpha, self._gamma])

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        self._alpha, self._gamma = np.split(values, [len(self._alpha)])
        self._gamma[0] = 1.0

    def step(self) -> float:
        """Improve the parameters; return the objective before."""
        alpha, gamma = self._alpha[self._counts.documents], self._gamma[self._counts.kinds]
        clicked = alpha * gamma
        some, skipped = self._where_clicked, 1 - clicked  # few of the rows have clicks
        with np.errstate(divide="ignore"):
            objective = total(self._counts.clicked[some], np.log(clicked[some]))
        if skipped.min() > 0:
            objective += total(self._skipped, np.log(skipped))
        else:
            objective += dot_log(self._skipped, skipped)
        objective += log_prior(self._pseudo_count, self._alpha, self._gamma[1:])
        self._improve(alpha, gamma, clicked)
        return objective

    def improve(self) -> None:
        """Improve the parameters."""
        alpha, gamma = self._alpha[self._counts.documents], self._gamma[self._counts.kinds]
        self._improve(alpha, gamma, alpha * gamma)

    def _improve(self, alpha: Floats, gamma: Floats, clicked: Floats) -> None:
        counts = self._counts
        # of those who skipped, share alpha (1 - gamma) / (1 - alpha gamma) would have been attracted
        unseen = divide(self._skipped, 1 - clicked)
        self._alpha = self._new(counts.documents, (alpha - clicked) * unseen, self._of_documents)
        self._gamma = self._new(counts.kinds, (gamma - clicked) * unseen, self._of_kinds)
        self._gamma[0] = 1.0

    def _new(self, index: Ints, hidden: Floats, counted: list[Floats]) -> Floats:
        clicked, shown = counted
        return smoothed_rate(clicked + summed(index, hidden, len(shown)), shown, self._pseudo_count)

    def unidentified(self) -> frozenset[str]:
        """Return the names of gammas that no chain of documents links to the first position.

        Only products are seen: a document that is shown at two positions identifies their ratio.
        """
        counts = self._counts
        linked, reached = np.arange(len(self._gamma)) == 0, 0
        while linked.sum() > reached:
            reached = int(linked.sum())
            documents = np.zeros(len(self._alpha), bool)
            documents[counts.documents[linked[counts.kinds]]] = True
            linked[counts.kinds[documents[counts.documents]]] = True
        loose = np.flatnonzero(~linked)
        places, last = np.divmod(loose, self._depth)
        used = last <= places if self._by_last_click else last == 0
        pairs = zip(places[used], last[used], strict=True)
        return frozenset(_name(*pair, by_last_click=self._by_last_click) for pair in pairs)

    def model(self) -> FactorisedModel:
        """Return the model of the parameters so far."""
        depth, gamma = self._depth, self._gamma.reshape(self._depth, self._depth)
        if self._by_last_click:
            return FactorisedModel(self._alpha, gamma, len(self._alpha) + depth * (depth + 1) // 2 - 1)
        alike = np.repeat(gamma[:, :1], depth, axis=1)
        return FactorisedModel(self._alpha, alike, len(self._alpha) + depth - 1)


def fit_rate(log: ClickLog, *, pseudo_count: float = 1.0) -> Fit:
    """Return one rate of clicks for all, with pseudo-counts as in `fit_factorised`."""
    counts = _counts(log, by_last_click=False)
    rate = smoothed_rate(np.array(counts.clicked.sum()), np.array(counts.shown.sum()), pseudo_count)
    return _by_position(log, np.repeat(rate, log.depth), parameters=1)


def fit_rates_by_position(log: ClickLog, *, pseudo_count: float = 1.0) -> Fit:
    """Return the rate of clicks of each position, with pseudo-counts as in `fit_factorised`."""
    counts = _counts(log, by_last_click=False)
    places = counts.kinds // log.depth
    clicked, shown = (summed(places, n, log.depth) for n in (counts.clicked, counts.shown))
    return _by_position(log, smoothed_rate(clicked, shown, pseudo_count), parameters=log.depth)


def _by_position(log: ClickLog, rates: Floats, *, parameters: int) -> Fit:
    examination = np.repeat(rates[:, None], log.depth, axis=1)
    return Fit(FactorisedModel(np.ones(len(log.documents)), examination, parameters))


def fit_rates_by_document(log: ClickLog, *, pseudo_count: float = 1.0) -> Fit:
    """Return the rate of clicks of each document, with pseudo-counts as in `fit_factorised`."""
    counts, size = _counts(log, by_last_click=False), len(log.documents)
    clicked, shown = (summed(counts.documents, n, size) for n in (counts.clicked, counts.shown))
    rates = smoothed_rate(clicked, shown, pseudo_count)
    return Fit(FactorisedModel(rates, np.ones((log.depth, log.depth)), size))
