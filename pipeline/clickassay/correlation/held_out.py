"""How well click models predict rankings that they have not seen (docs/reference/click-models.md).

Of each query some lists are held out, and models are fitted on the others, again and again. Only lists that
are held out together are compared: what other lists of a query say of one is low where it is high by chance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import ClickLog, Floats, Ints, check_clicked
from clickassay.click_models.expected import expected_clicks
from clickassay.click_models.held_out import (
    LEAST_LISTS,
    MOST_LISTS,
    ListLog,
    drawn_lists,
    list_log,
    lists_to_compare,
    surprise,
)
from clickassay.core.contracts.clicks import CLICK_CALIBRATION, CLICK_HELD_OUT
from clickassay.core.errors import ClickModelError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import sums_by_unit
from clickassay.correlation.uncertainty.intervals import (
    ALPHA,
    CONFIDENCE,
    Deviations,
    Spread,
    difference_interval,
    fisher_interval,
    left_out,
)
from clickassay.correlation.weighted import precision_weights, without_rounding
from clickassay.metrics.clicks import CLICK_METRICS, SIGNAL_METRICS, click_values

HELD_OUT = 0.25
"""Share of the lists, or sessions, that are held out."""

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


def _over(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return quotient


@dataclass(frozen=True)
class HeldOut:
    """Terms of Q queries, means over splits; M models, C click metrics (`PREDICTED`)."""

    models: tuple[str, ...]
    queries: tuple[str, ...]  # (Q,) texts: a query of several markets is one.
    n_lists: int  # Lists that may be held out.
    n_sessions: int  # Their sessions.
    values: Floats  # (Q, K) the terms in their order.
    click_metric: str  # The one of `points`, by which a model is chosen.
    # (M + 1, n) means over splits, of lists that were held out, of what models predict, and of what was
    # observed, less the mean of the lists of the query that were held out with it.
    points: Floats

    def terms(self, sums: Floats) -> Terms:
        """Return the terms of (..., K) sums."""
        m, c = len(self.models), len(PREDICTED)
        parts = np.split(sums, np.cumsum([m * c, m * c, m * c, m, c, c]), axis=-1)
        by_model = [part.reshape(*sums.shape[:-1], m, c) for part in parts[:3]]
        return Terms(*by_model, *parts[3:])

    @property
    def at(self) -> int:
        """The place of the click metric."""
        return PREDICTED.index(self.click_metric)

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
        return without_rounding(values - means[..., self.group], np.abs(values).max(initial=0.0))

    def of_model(self, predicted: Floats, observed: Floats, bits: Floats) -> tuple[Floats, ...]:
        """Return the (G, C) or (G, 1) terms of a model, from (C, n) centred values and (n,) bits."""
        p, o = self.weights * predicted, observed
        agree = np.sign(self._differences(predicted)) * np.sign(self._differences(o))
        in_order = self._paired(o, (1 + agree) / 2)
        return self.summed(p * o), self.summed(p * predicted), in_order, self.summed(bits[None])

    def of_log(self, observed: Floats, variances: Floats) -> tuple[Floats, ...]:
        """Return the (G, C) terms of the log; `variances` are those of means over sessions."""
        own = self.weights * (1 - self.weights / self.summed(self.weights)[self.group])
        pairs = self._paired(observed, np.ones((len(observed), len(self.left))))
        squares = self.summed(self.weights * observed**2)
        return squares, self.summed(own * variances), pairs

    def _differences(self, values: Floats) -> Floats:
        return np.asarray(values[:, self.left] - values[:, self.right])

    def _paired(self, observed: Floats, values: Floats) -> Floats:
        """Return the (G, C) sums of (C, pairs) values by query, of pairs that were observed to differ."""
        counted = self.weights[self.left] * self.weights[self.right] * (self._differences(observed) != 0)
        found = np.zeros((len(self.starts), len(values)))
        np.add.at(found, self.group[self.left], (counted * values).T)
        return found


def comparable_lists(log: ClickLog, rng: np.random.Generator) -> ListLog:
    """Return the lists of queries of which lists can be held out; of a sample of these if they are many."""
    return lists_to_compare(list_log(log), least_sessions=LEAST_SESSIONS, most=MOST_LISTS, rng=rng)


def held_out(
    log: ClickLog,
    kinds: Sequence[ClickModelKind],
    *,
    share: float,
    pseudo_count: float,
    click_metric: str,
    rng: np.random.Generator,
    splits: int = SPLITS,
    progress: Progress = silent,
) -> HeldOut:
    """Hold out lists of each query, fit models on the others, and compare what they predict of these.

    share: part of the lists of a query that is held out each time (`drawn_lists`).
    click_metric: one of `PREDICTED`, by which a model is to be chosen.

    Raises ClickModelError if no query has three lists to compare, or no other list was clicked.
    """
    lists = comparable_lists(log, rng)
    if not lists.queries:
        raise ClickModelError(
            f"click models: no query has {LEAST_LISTS} rankings with {LEAST_SESSIONS} sessions or more, so "
            "none can be held out"
        )
    values = click_values(
        lists.log.rows, lists.log.masks, lists.log.sessions, np.zeros(len(lists.sessions), np.int64),
        depth=log.depth,
    )  # fmt: skip
    kept, at = [CLICK_METRICS.index(name) for name in PREDICTED], PREDICTED.index(click_metric)
    means, variances = values.means.T[kept], values.variances.T[kept]
    may_judge, total = lists.sessions >= LEAST_SESSIONS, np.zeros(1)
    points, times = np.zeros((len(kinds) + 1, len(may_judge))), np.zeros(len(may_judge))
    for split in range(splits):
        is_held = drawn_lists(lists, may_judge, share, rng)
        train = lists.log.some(~is_held[lists.log.rows])
        check_clicked(train)
        held = _Held(lists, np.flatnonzero(is_held), rng)
        observed, models = held.centred(means[:, held.rows]), []
        for number, kind in enumerate(kinds):
            told = f"fitting {kind.name}, split {split + 1} of {splits}"
            progress(Event(told, (split + number / len(kinds)) / splits))
            model = kind.fit(train, pseudo_count=pseudo_count).model
            expected = expected_clicks(model, lists.log.lists[held.rows])
            predicted = held.centred(np.array([expected[name] for name in PREDICTED]))
            models.append(held.of_model(predicted, observed, surprise(model, lists, held.rows)))
            points[number, held.rows] += predicted[at]
        points[-1, held.rows] += observed[at]
        times += is_held
        of_log = held.of_log(observed, variances[:, held.rows] / lists.sessions[held.rows])
        by_term = [part for parts in zip(*models, strict=True) for part in parts]
        total = total + np.concatenate([*by_term, *of_log], axis=1)
    texts = [text for _, text in lists.queries]
    return HeldOut(
        tuple(kind.name for kind in kinds),
        tuple(sorted(set(texts))),
        int(may_judge.sum()),
        int(lists.sessions[may_judge].sum()),
        sums_by_unit(total / splits, texts),
        click_metric,
        points[:, times > 0] / times[times > 0],
    )


# ---- what it says of models ------------------------------------------------------------------------


class QueryInterval(NamedTuple):
    """Values with their 95% CIs over queries, arrays of one shape; NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Predictions:
    """How well M models predict C click metrics of lists that they have not seen."""

    correlation: QueryInterval  # (M, C) within queries, -1..1.
    slope: QueryInterval  # (M, C) what is observed where one more is predicted.
    order: QueryInterval  # (M, C) share of pairs of lists that are predicted in order, 0..1.


@dataclass(frozen=True)
class Support:
    """Which click model a log supports, by the click metric of `held`."""

    held: HeldOut
    numbers: Predictions
    behind: QueryInterval  # (M, C) by how much the correlation of the best model is higher.
    best: int  # The place of the model of highest correlation.
    # (1, C) of what is predicted by the model that the other queries choose: the choice pays for itself.
    choice: Predictions
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
        low = self.behind.low[:, self.held.at]
        return tuple(
            name
            for number, (name, end) in enumerate(zip(self.held.models, low, strict=True))
            if number != self.best and end <= 0
        )


def support(held: HeldOut, rng: np.random.Generator) -> Support:
    """Return which model predicts the click metric of unseen lists best, and whether the log can tell.

    The best is chosen by all queries. So that its numbers are honest, those of the choice are of the model
    that nine tenths of the queries choose, on the queries of the last tenth (nested cross-validation).
    """
    at = held.at
    best = _best(held.whole, at)
    place, choices = rng.permutation(len(held.queries)) % CHOICES, np.empty(len(held.queries), np.int64)
    total = held.values.sum(axis=0)
    for part in range(CHOICES):
        choices[place == part] = _best(held.terms(total - held.values[place == part].sum(axis=0)), at)
    numbers = _numbers(held)
    behind = _interval(held, lambda terms: terms.correlations[..., [best], :] - terms.correlations)
    real = float(held.whole.real[at])
    reason = None
    if np.isnan(real):
        reason = f"{held.click_metric} is the same in all rankings of each query"
    elif real < LEAST_ATTAINABLE**2:
        reason = (
            f"{min(1 - real, 1):.0%} of the variance of {held.click_metric} between rankings of a query is "
            f"noise of their sessions, so no model could reach a correlation of {LEAST_ATTAINABLE}"
        )
    elif not (numbers.slope.low[:, at] > 0).any():
        reason = f"no model predicts {held.click_metric} of unseen rankings: every slope may be 0"
    return Support(held, numbers, behind, best, _numbers(held.of_models(choices)), reason)


def _best(terms: Terms, at: int) -> int:
    return int(np.argmax(np.nan_to_num(terms.correlations[:, at], nan=-np.inf)))


def _numbers(held: HeldOut) -> Predictions:
    return Predictions(
        _interval(held, lambda terms: terms.correlations, is_correlation=True),
        _interval(held, lambda terms: terms.slopes),
        _interval(held, lambda terms: terms.order),
    )


def _interval(
    held: HeldOut,
    statistic: Callable[[Terms], Floats],
    *,
    is_correlation: bool = False,
    confidence: float = CONFIDENCE,
) -> QueryInterval:
    """Return values with their intervals: queries are left out in turn; of correlations by Fisher's scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.arctanh if is_correlation else np.asarray
        value, deviations = statistic(held.whole), Deviations()
        for without in left_out(held.values, lambda sums: scale(statistic(held.terms(sums)))):
            deviations.add(without - scale(value))
        spread: Spread = deviations.spread()
        low, high = (fisher_interval if is_correlation else difference_interval)(value, spread, confidence)
    return QueryInterval(value, low, high)


# ---- the premise of IPS ----------------------------------------------------------------------------

BY_POSITION, CASCADES = "PBM", ("CM", "DCM", "SDBN", "DBN", "CCM")
"""The model whose users examine by position alone, and those whose users stop at what they found."""

MOST_EXCESS = 0.005
"""Clicks may surprise the first by so much more than one of the others, of its surprise, and not more."""


def position_premise(held: HeldOut) -> str | None:
    """Return why examination may depend on more than the position; None where it does not.

    held: of the models `BY_POSITION` and `CASCADES`. What is compared is their surprise at clicks and skips
    of lists held out, each position by itself; intervals hold for all `CASCADES` together (Bonferroni).
    """
    own, others = held.models.index(BY_POSITION), [held.models.index(name) for name in CASCADES]
    excess = _interval(
        held, lambda terms: 1 - terms.bits[..., others] / terms.bits[..., [own]],
        confidence=1 - ALPHA / len(others),
    )  # fmt: skip
    worst = int(np.argmax(np.nan_to_num(excess.low, nan=-np.inf)))
    if excess.low[worst] > 0:
        return (
            f"examination does not depend on the position alone: {CASCADES[worst]} predicts clicks on unseen "
            f"rankings better than {BY_POSITION} (surprise lower by {excess.value[worst]:.1%}, simultaneous "
            f"95% CI {excess.low[worst]:.1%} to {excess.high[worst]:.1%})"
        )
    unknown = support(held, np.random.default_rng(0)).reason
    if unknown is None and not (excess.high <= MOST_EXCESS).all():
        unknown = f"a model with a cascade may predict clicks on unseen rankings better than {BY_POSITION}"
    return None if unknown is None else f"whether examination depends on position alone is unknown: {unknown}"


# ---- as tables -------------------------------------------------------------------------------------

CHOICE = "choice"
"""The row of what the choice among models predicts."""

TENTHS = 10


def held_out_table(found: Support, *, market: str, depth: int) -> pl.DataFrame:
    """Return a table of the form `CLICK_HELD_OUT`."""
    held, rows = found.held, []
    noise, attainable = 1 - held.whole.real, found.attainable
    for column, click in enumerate(PREDICTED):
        for number, model in enumerate((*held.models, CHOICE)):
            is_choice = model == CHOICE
            own, place = (found.choice, 0) if is_choice else (found.numbers, number)
            parts = {"correlation": own.correlation, "slope": own.slope, "in_order": own.order}
            values = {
                f"{name}{end}": float(getattr(part, which)[place, column])
                for name, part in parts.items()
                for end, which in (("", "value"), ("_low", "low"), ("_high", "high"))
            }
            behind = [None if is_choice else float(part[number, column]) for part in found.behind]
            rows.append(
                {
                    "market": market, "depth": depth, "click_metric": click, "model": model, **values,
                    **dict(zip(("behind", "behind_low", "behind_high"), behind, strict=True)),
                    "attainable": float(attainable[column]), "noise": float(noise[column]),
                    "is_best": model == found.model, "as_good": model in (found.model, *found.as_good),
                    "n_queries": len(held.queries), "n_configurations": held.n_lists,
                    "n_sessions": held.n_sessions, "reason": found.reason,
                }
            )  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return CLICK_HELD_OUT.canonical(frame.with_columns(cs.float().fill_nan(None)))


def no_held_out_table(
    kinds: Sequence[ClickModelKind], reason: str, *, market: str, depth: int
) -> pl.DataFrame:
    """Return the same where no rankings can be held out."""
    forms = {column.name: column.dtype for column in CLICK_HELD_OUT.columns}
    rows = [
        {"market": market, "depth": depth, "click_metric": click, "model": kind.name, "is_best": False,
         "as_good": False, "reason": reason}
        for kind in kinds
        for click in PREDICTED
    ]  # fmt: skip
    return CLICK_HELD_OUT.canonical(pl.DataFrame(rows, schema=forms))


def calibration_table(found: Support, *, market: str, depth: int) -> pl.DataFrame:
    """Return a table of the form `CLICK_CALIBRATION`, of the model of highest correlation."""
    predicted, observed = found.held.points[[found.best, -1]]
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, TENTHS) if len(part)]
    rows = [
        {
            "market": market, "depth": depth, "click_metric": found.held.click_metric,
            "model": found.held.models[found.best], "tenth": tenth,
            "predicted": float(predicted[part].mean()), "observed": float(observed[part].mean()),
            "n_configurations": len(part),
        }
        for tenth, part in enumerate(parts, 1)
    ]  # fmt: skip
    return CLICK_CALIBRATION.canonical(pl.DataFrame(rows))
