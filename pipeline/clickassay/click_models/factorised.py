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
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
from clickassay.click_models.em import Limits, divided, dot_log, fit_rounds, log_prior, share
from clickassay.click_models.model import Clicked, Fit


@dataclass(frozen=True)
class Product:
    """A fitted model.

    Attributes
    ----------
    attraction
        (D,) alpha: chance that a document is clicked once it is examined; 0..1.
    examination
        (K, K) gamma by position and by the last click before it (0 = none); 0..1.
    parameters
        How many numbers were fitted.
    """

    attraction: Floats
    examination: Floats
    parameters: int

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
        found = np.zeros((size, depth))
        last = np.zeros((size, depth + 1))  # chance of each last click so far
        last[:, 0] = 1.0
        for place in range(depth):
            gamma = self.examination[place, : place + 1]
            attracted = shown_values(self.attraction, lists[:, place])
            clicked = attracted[:, None] * last[:, : place + 1] * gamma
            found[:, place] = last[:, : place + 1] @ gamma
            last[:, : place + 1] -= clicked
            last[:, place + 1] = clicked.sum(axis=1)
        return found

    def marginal(self, lists: Ints) -> Floats:
        """Return (L, K) chance of each click, whatever is clicked before it."""
        return np.asarray(self.examined(lists) * shown_values(self.attraction, lists))


def _name(place: int, last: int, *, by_last_click: bool) -> str:
    return f"gamma[{place + 1},{last}]" if by_last_click else f"gamma[{place + 1}]"


@dataclass(frozen=True)
class _Cells:
    """Sufficient statistics: impressions and clicks by document and kind of examination."""

    documents: Ints
    kinds: Ints
    shown: Floats
    clicked: Floats


def _cells(log: ClickLog, *, by_last_click: bool) -> _Cells:
    parts = []
    for chunk in log.chunks():
        clicks, lists = chunk.clicks, chunk.lists[chunk.rows]
        last = np.zeros(len(lists), dtype=np.int64)
        for place in range(log.depth):
            kind = place * log.depth + (last if by_last_click else 0 * last)
            parts.append(_counted(lists[:, place], kind, chunk.sessions, clicks[:, place]))
            last[clicks[:, place]] = place + 1
    every = pl.concat(parts).group_by("document", "kind").sum().sort("document", "kind")
    counts = (every[name].to_numpy().astype(np.float64) for name in ("shown", "clicked"))
    return _Cells(every["document"].to_numpy(), every["kind"].to_numpy(), *counts)


def _counted(documents: Ints, kinds: Ints, sessions: Ints, clicked: Bools) -> pl.DataFrame:
    frame = pl.DataFrame(
        {"document": documents, "kind": kinds, "shown": sessions, "clicked": sessions * clicked}
    )
    return frame.filter(pl.col("document") != NO_DOCUMENT).group_by("document", "kind").sum()


def fit_product(
    log: ClickLog, *, by_last_click: bool, smoothing: float = 1.0, **limits: Unpack[Limits]
) -> Fit:
    """Fit alpha and gamma by expectation maximisation.

    Parameters
    ----------
    log
        At least one session.
    by_last_click
        Whether gamma depends on the last click (UBM) or on the position alone (PBM).
    smoothing
        Pseudo-observations: so many clicks and so many skips are added to each parameter; 0 = none.
    limits
        Rounds, tolerance and leaps as in `em.fit_rounds`.

    Returns
    -------
    The objective is the log-likelihood plus the logarithm of the Beta(1 + smoothing, 1 + smoothing) densities
    but for their constants; it never falls (Dempster, Laird and Rubin 1977).
    """
    return fit_rounds(_Rounds(log, smoothing, by_last_click=by_last_click), log, limits)


class _Rounds:
    """The parameters, and one round of expectation maximisation after the other."""

    def __init__(self, log: ClickLog, smoothing: float, *, by_last_click: bool) -> None:
        self._depth, self._smoothing, self._by_last_click = log.depth, smoothing, by_last_click
        cells = self._cells = _cells(log, by_last_click=by_last_click)
        self._skipped = cells.shown - cells.clicked
        self._where_clicked = np.flatnonzero(cells.clicked)
        documents, kinds = len(log.documents), log.depth * log.depth
        self._alpha, self._gamma = np.full(documents, 0.5), np.full(kinds, 0.5)
        self._gamma[0] = 1.0
        self._of_documents = [summed(cells.documents, n, documents) for n in (cells.clicked, cells.shown)]
        self._of_kinds = [summed(cells.kinds, n, kinds) for n in (cells.clicked, cells.shown)]

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
        cells = self._cells
        alpha, gamma = self._alpha[cells.documents], self._gamma[cells.kinds]
        clicked = alpha * gamma
        skipped = 1 - clicked
        objective = self._log_likelihood(clicked, skipped)
        objective += log_prior(self._smoothing, self._alpha, self._gamma[1:])
        # of those who skipped, share alpha (1 - gamma) / (1 - alpha gamma) would have been attracted
        unseen = self._skipped / skipped if skipped.min() > 0 else divided(self._skipped, skipped)
        self._alpha = self._new(cells.documents, (alpha - clicked) * unseen, self._of_documents)
        self._gamma = self._new(cells.kinds, (gamma - clicked) * unseen, self._of_kinds)
        self._gamma[0] = 1.0
        return objective

    def _log_likelihood(self, clicked: Floats, skipped: Floats) -> float:
        some = self._where_clicked  # few of the cells
        with np.errstate(divide="ignore"):
            of_clicks = total(self._cells.clicked[some], np.log(clicked[some]))
        if skipped.min() > 0:
            return of_clicks + total(self._skipped, np.log(skipped))
        return of_clicks + dot_log(self._skipped, skipped)

    def _new(self, index: Ints, hidden: Floats, counted: list[Floats]) -> Floats:
        clicked, shown = counted
        return share(clicked + summed(index, hidden, len(shown)), shown, self._smoothing)

    def untied(self) -> frozenset[str]:
        """Return the names of gammas that no chain of documents links to the first position.

        Only products are seen: where a document is shown at two positions, it tells their ratio.
        """
        cells, size = self._cells, len(self._alpha) + len(self._gamma)
        links = coo_array(
            (np.ones(len(cells.kinds)), (cells.documents, len(self._alpha) + cells.kinds)), shape=(size, size)
        )
        _, labels = connected_components(links, directed=False)
        of_kinds = labels[len(self._alpha) :]
        loose = np.flatnonzero(of_kinds != of_kinds[0])
        places, last = np.divmod(loose, self._depth)
        used = last <= places if self._by_last_click else last == 0
        pairs = zip(places[used], last[used], strict=True)
        return frozenset(_name(*pair, by_last_click=self._by_last_click) for pair in pairs)

    def model(self) -> Product:
        """Return the model of the parameters so far."""
        depth, gamma = self._depth, self._gamma.reshape(self._depth, self._depth)
        if self._by_last_click:
            return Product(self._alpha, gamma, len(self._alpha) + depth * (depth + 1) // 2 - 1)
        alike = np.repeat(gamma[:, :1], depth, axis=1)
        return Product(self._alpha, alike, len(self._alpha) + depth - 1)


def fit_rate(log: ClickLog, *, smoothing: float = 1.0) -> Fit:
    """Return one rate of clicks for all: smoothed as in `fit_product`."""
    cells = _cells(log, by_last_click=False)
    rate = share(np.array(cells.clicked.sum()), np.array(cells.shown.sum()), smoothing)
    return _by_position(log, np.repeat(rate, log.depth), parameters=1)


def fit_rates_by_position(log: ClickLog, *, smoothing: float = 1.0) -> Fit:
    """Return the rate of clicks of each position, smoothed as in `fit_product`."""
    cells = _cells(log, by_last_click=False)
    places = cells.kinds // log.depth
    clicked, shown = (summed(places, counts, log.depth) for counts in (cells.clicked, cells.shown))
    return _by_position(log, share(clicked, shown, smoothing), parameters=log.depth)


def _by_position(log: ClickLog, rates: Floats, *, parameters: int) -> Fit:
    examination = np.repeat(rates[:, None], log.depth, axis=1)
    return Fit(Product(np.ones(len(log.documents)), examination, parameters))


def fit_rates_by_document(log: ClickLog, *, smoothing: float = 1.0) -> Fit:
    """Return the rate of clicks of each document, smoothed as in `fit_product`."""
    cells, size = _cells(log, by_last_click=False), len(log.documents)
    clicked, shown = (summed(cells.documents, counts, size) for counts in (cells.clicked, cells.shown))
    rates = share(clicked, shown, smoothing)
    return Fit(Product(rates, np.ones((log.depth, log.depth)), size))
