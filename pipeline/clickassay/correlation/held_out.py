"""How well click models predict rankings that they have not seen, within queries (method 13).

Of each query some lists are held out, and models are fitted on the others, again and again. Only lists that
are held out together are compared: what other lists of a query say of one is low where it is high by chance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import ClickLog, Floats, Ints, check_clicked
from clickassay.click_models.expected import expected_clicks
from clickassay.click_models.held_out import LEAST_LISTS, ListLog, drawn_lists, list_log, surprise
from clickassay.core.errors import ClickModelError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import sums_by_unit
from clickassay.correlation.uncertainty.intervals import (
    Deviations,
    Spread,
    difference_interval,
    fisher_interval,
    left_out,
)
from clickassay.correlation.weighted import precision_weights
from clickassay.metrics.clicks import CLICK_METRICS, SIGNAL_METRICS, click_values

SPLITS = 10
"""How often lists are held out."""

LEAST_SESSIONS = 20
"""Fewest sessions of a list that is held out: with fewer, nearly all of a difference is noise."""

LEAST_ATTAINABLE = 0.2
"""Where no prediction could reach this correlation, a log cannot tell models apart."""

CHOICES = 10
"""Groups of queries: the model that predicts a group is chosen by the others."""

PREDICTED = SIGNAL_METRICS
"""Click metrics that models predict: all but SS, which needs grades."""

_NEIGHBOURS = 8  # a list makes pairs with so many others of its query on either side, in random order


class Terms(NamedTuple):
    """Sums over lists of weight w that are held out together; they add up over queries.

    o is what was observed less its mean over the lists of the query, p likewise what was predicted.
    """

    products: Floats  # (..., M, C) of w p o.
    squares: Floats  # (..., M, C) of w p².
    in_order: Floats  # (..., M, C) of the weights of pairs that are predicted in order; a tie is half.
    bits: Floats  # (..., M) bits by which clicks and skips surprise a model.
    observed: Floats  # (..., C) of w o².
    noise: Floats  # (..., C) what the sessions of a list add to that by chance.
    pairs: Floats  # (..., C) of the weights of pairs.
    shows: Floats  # (..., 1) clicks and skips.

    @property
    def correlations(self) -> Floats:
        """(..., M, C) correlations within queries, -1..1; NaN where a prediction does not vary."""
        return np.asarray(_over(self.products, np.sqrt(self.squares * self.observed[..., None, :])))

    @property
    def slopes(self) -> Floats:
        """(..., M, C) what is observed where one more is predicted; 1 = as predicted, 0 = unrelated."""
        return _over(self.products, self.squares)

    @property
    def order(self) -> Floats:
        """(..., M, C) shares of pairs in order, 0..1."""
        return _over(self.in_order, self.pairs[..., None, :])

    @property
    def real(self) -> Floats:
        """(..., C) the part of what is observed that is no noise; below 0 by chance."""
        return 1 - _over(self.noise, self.observed)

    @property
    def surprise(self) -> Floats:
        """(..., M) bits of surprise a click or skip."""
        return _over(self.bits, self.shows)


def _over(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


@dataclass(frozen=True)
class HeldOut:
    """Terms of Q queries, means over splits; M models, C click metrics (`PREDICTED`)."""

    models: tuple[str, ...]
    queries: tuple[str, ...]  # (Q,) texts: a query of several markets is one.
    n_lists: int  # Lists that may be held out.
    n_sessions: int  # Their sessions.
    values: Floats  # (Q, K) the terms in their order.

    def terms(self, sums: Floats) -> Terms:
        """Return the terms of (..., K) sums."""
        m, c = len(self.models), len(PREDICTED)
        parts = np.split(sums, np.cumsum([m * c, m * c, m * c, m, c, c, c]), axis=-1)
        by_model = [part.reshape(*sums.shape[:-1], m, c) for part in parts[:3]]
        return Terms(*by_model, *parts[3:])

    @property
    def whole(self) -> Terms:
        """The terms of all queries together."""
        return self.terms(self.values.sum(axis=0))

    def of_models(self, places: Ints) -> "HeldOut":
        """Return the terms of one model for each query, (Q,) its place among the models."""
        terms, rows = self.terms(self.values), np.arange(len(places))
        own = (part[rows, places] for part in terms[:3])
        values = np.concatenate([*own, terms.bits[rows, places][:, None], *terms[4:]], axis=1)
        return replace(self, models=("",), values=values)


# ---- fitting and comparing -------------------------------------------------------------------------


class _Held:
    """The lists of a split that are held out, those of a query together."""

    def __init__(self, lists: ListLog, held: Ints, rng: np.random.Generator) -> None:
        order = rng.permutation(held)
        self.rows = order[np.argsort(lists.group[order], kind="stable")]
        group = lists.group[self.rows]
        self.starts = np.flatnonzero(np.diff(group, prepend=-1))
        self.sizes = np.diff(self.starts, append=len(group))
        self.group = np.repeat(np.arange(len(self.starts)), self.sizes)
        self.weights = precision_weights(lists.sessions[self.rows])
        self.left, self.right = self._pairs()
        self.of_pairs = self.weights[self.left] * self.weights[self.right]

    def _pairs(self) -> tuple[Ints, Ints]:
        """Return pairs of lists of a query: all of them where these are few."""
        first, size = self.starts[self.group], self.sizes[self.group]
        place = np.arange(len(self.group)) - first
        pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for step in range(1, _NEIGHBOURS + 1):
            some = np.flatnonzero((2 * step < size) | ((2 * step == size) & (place < step)))
            pairs.append((some, first[some] + (place[some] + step) % size[some]))
        left, right = zip(*pairs, strict=True)
        return np.concatenate(left), np.concatenate(right)

    def summed(self, values: Floats) -> Floats:
        """Return the (G, ...) sums of (..., n) values by query."""
        return np.add.reduceat(values, self.starts, axis=-1).T

    def centred(self, values: Floats) -> Floats:
        """Return the (..., n) values less their weighted mean over the lists of the query."""
        means = self.summed(values * self.weights).T / self.summed(self.weights)
        return np.asarray(values - means[..., self.group])

    def paired(self, values: Floats) -> Floats:
        """Return the (G, C) sums of (C, pairs) values by query."""
        found = np.zeros((len(self.starts), len(values)))
        np.add.at(found, self.group[self.left], values.T)
        return found


def held_out(
    log: ClickLog,
    kinds: Sequence[ClickModelKind],
    *,
    share: float,
    pseudo_count: float,
    rng: np.random.Generator,
    splits: int = SPLITS,
    progress: Progress = silent,
) -> HeldOut:
    """Hold out lists of each query, fit models on the others, and compare what they predict of these.

    share: part of the lists of a query that is held out each time (`drawn_lists`).

    Raises ClickModelError if no query has three lists to compare, or no other list was clicked.
    """
    lists = list_log(log)
    values = click_values(
        lists.log.rows, lists.log.masks, lists.log.sessions, np.zeros(len(lists.sessions), np.int64),
        depth=log.depth,
    )  # fmt: skip
    kept = [CLICK_METRICS.index(name) for name in PREDICTED]
    means, variances = values.means.T[kept], values.variances.T[kept]
    may_judge = lists.sessions >= LEAST_SESSIONS
    per_query = np.bincount(lists.group[may_judge], minlength=len(lists.queries))
    groups = np.flatnonzero(per_query >= LEAST_LISTS)
    if not len(groups):
        raise ClickModelError(
            f"click models: no query has {LEAST_LISTS} rankings that {LEAST_SESSIONS} sessions or more saw, "
            "so none can be held out; use --hold-out sessions"
        )
    total = np.zeros((len(groups), len(kinds) * (3 * len(PREDICTED) + 1) + 3 * len(PREDICTED) + 1))
    for split in range(splits):
        is_held = drawn_lists(lists, may_judge, share, rng)
        train = lists.log.some(~is_held[lists.log.rows])
        check_clicked(train)
        held = _Held(lists, np.flatnonzero(is_held), rng)
        o, w = held.centred(means[:, held.rows]), held.weights
        left = w * (1 - w / held.summed(w)[held.group])
        noise = left * variances[:, held.rows] / lists.sessions[held.rows]
        differs = o[:, held.left] - o[:, held.right]
        counts = held.of_pairs * (differs != 0)
        by_model: list[list[Floats]] = []
        for number, kind in enumerate(kinds):
            told = f"fitting {kind.name}, split {split + 1} of {splits}"
            progress(Event(told, (split + number / len(kinds)) / splits))
            model = kind.fit(train, pseudo_count=pseudo_count).model
            expected = expected_clicks(model, lists.log.lists[held.rows])
            p = held.centred(np.array([expected[name] for name in PREDICTED]))
            agree = np.sign(p[:, held.left] - p[:, held.right]) * np.sign(differs)
            bits = surprise(model, lists, held.rows)
            sums = (held.summed(w * p * o), held.summed(w * p * p), held.paired(counts * (1 + agree) / 2))
            by_model.append([*sums, held.summed(bits)[:, None]])
        shows = (lists.log.shown[held.rows] * lists.sessions[held.rows, None]).sum(axis=1).astype(np.float64)
        of_log = [held.summed(w * o * o), held.summed(noise), held.paired(counts), held.summed(shows)[:, None]]
        terms = [part for kind_parts in zip(*by_model, strict=True) for part in kind_parts]
        total += np.concatenate([*terms, *of_log], axis=1)
    texts = [lists.queries[group][1] for group in groups]
    judging = may_judge & np.isin(lists.group, groups)
    return HeldOut(
        tuple(kind.name for kind in kinds),
        tuple(sorted(set(texts))),
        int(judging.sum()),
        int(lists.sessions[judging].sum()),
        sums_by_unit(total / splits, texts),
    )


# ---- what it says of models ------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """Values with their 95% CIs over queries, arrays of one shape; NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Numbers:
    """How well M models predict C click metrics of lists that they have not seen."""

    correlation: Interval  # (M, C) within queries, -1..1.
    slope: Interval  # (M, C) what is observed where one more is predicted.
    order: Interval  # (M, C) share of pairs of lists that are predicted in order, 0..1.


@dataclass(frozen=True)
class Support:
    """Which click model a log supports, by one click metric."""

    held: HeldOut
    click_metric: str
    numbers: Numbers
    behind: Interval  # (M, C) by how much the correlation of the best model is higher.
    best: int  # The place of the model of highest correlation.
    # (1, C) of what is predicted by the model that the other queries choose: the choice pays for itself.
    choice: Numbers
    reason: str | None  # Why the log cannot tell which model it supports; None if it can.

    @property
    def attainable(self) -> Floats:
        """(C,) the correlation that an exact prediction would have, 0..1."""
        return np.sqrt(np.clip(self.held.whole.real, 0, 1))

    @property
    def model(self) -> str | None:
        """The model that the log supports; None if it cannot tell."""
        return None if self.reason else self.held.models[self.best]

    @property
    def as_good(self) -> tuple[str, ...]:
        """Models that are not significantly behind the best, the best itself not among them."""
        low = self.behind.low[:, PREDICTED.index(self.click_metric)]
        return tuple(
            name
            for number, (name, end) in enumerate(zip(self.held.models, low, strict=True))
            if number != self.best and end <= 0
        )


def support(held: HeldOut, click_metric: str, rng: np.random.Generator) -> Support:
    """Return which model predicts a click metric of unseen lists best, and whether the log can tell.

    The best is chosen by all queries. So that its numbers are honest, those of the choice are of the model
    that nine tenths of the queries choose, on the queries of the last tenth (nested cross-validation).
    """
    at = PREDICTED.index(click_metric)
    best = _best(held.whole, at)
    place, choices = rng.permutation(len(held.queries)) % CHOICES, np.empty(len(held.queries), np.int64)
    total = held.values.sum(axis=0)
    for part in range(CHOICES):
        choices[place == part] = _best(held.terms(total - held.values[place == part].sum(axis=0)), at)
    numbers = _numbers(held)
    behind = _interval(held, lambda terms: terms.correlations[..., [best], :] - terms.correlations)
    real = float(held.whole.real[at])
    reason = None
    if not real >= LEAST_ATTAINABLE**2:
        reason = (
            f"{min(1 - real, 1):.0%} of the variance of {click_metric} between rankings of a query is noise of "
            f"their sessions, so no model could reach a correlation of {LEAST_ATTAINABLE}"
        )
    elif not (numbers.slope.low[:, at] > 0).any():
        reason = f"no model predicts {click_metric} of unseen rankings: every slope may be 0"
    return Support(held, click_metric, numbers, behind, best, _numbers(held.of_models(choices)), reason)


def _best(terms: Terms, at: int) -> int:
    return int(np.argmax(np.nan_to_num(terms.correlations[:, at], nan=-np.inf)))


def _numbers(held: HeldOut) -> Numbers:
    return Numbers(
        _interval(held, lambda terms: terms.correlations, is_correlation=True),
        _interval(held, lambda terms: terms.slopes),
        _interval(held, lambda terms: terms.order),
    )


def _interval(
    held: HeldOut, statistic: Callable[[Terms], Floats], *, is_correlation: bool = False
) -> Interval:
    """Return values with their intervals: each query is left out in turn; of correlations by Fisher's scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.arctanh if is_correlation else np.asarray
        value, deviations = statistic(held.whole), Deviations()
        for without in left_out(held.values, lambda sums: scale(statistic(held.terms(sums)))):
            deviations.add(without - scale(value))
        spread: Spread = deviations.spread()
        low, high = (fisher_interval if is_correlation else difference_interval)(value, spread)
    return Interval(value, low, high)
