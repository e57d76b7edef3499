"""Click metrics (method 5): functions of the click mask of a session, and their means over sessions."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from clickassay.core.contracts.patterns import names_known
from clickassay.core.errors import PatternError, SettingsError
from clickassay.core.records import ByFold, Floats, Integers, Rated
from clickassay.core.settings import MAX_DEPTH, SIGNAL_NAME, Settings
from clickassay.core.text.words import did_you_mean
from clickassay.metrics.definition import Metric
from clickassay.metrics.editorial import EDITORIAL

MASKS_USED = 20_000
"""The most frequent masks that are used: bounds the work at great depths."""

_PAIRS_AT_ONCE = 10_000_000


def null_success(good: NDArray[np.int64], masks: Integers, sessions: Integers) -> Floats:
    """Return (N,) SS, 0..1, that configurations would have if masks were drawn regardless of grades.

    good: (N,) masks of the positions with a good grade.
    masks, sessions: (M,) click patterns of all configurations, in any order, perhaps repeated.
    """
    distinct, place = np.unique(masks, return_inverse=True)
    weights = np.bincount(place, weights=sessions, minlength=len(distinct))
    kept = np.argsort(-weights, kind="stable")[:MASKS_USED]
    distinct, weights = distinct[kept], weights[kept]
    shown, place = np.unique(good, return_inverse=True)
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(distinct)))
    met = [
        ((shown[first : first + rows, None] & distinct) != 0) @ weights
        for first in range(0, len(shown), rows)
    ]
    shares: Floats = np.concatenate([np.zeros(0), *met]) / max(1.0, weights.sum())
    return shares[place]


TABLED_DEPTH = 16
"""Up to this depth a table of all masks is smaller than the patterns it serves."""


def good_masks(grades: NDArray[np.integer], settings: Settings) -> Integers:
    """Return the (N,) masks of the positions whose grade, of (N, k), is at least the success grade."""
    bits = np.left_shift(np.int64(1), np.arange(grades.shape[1], dtype=np.int64))
    return (grades >= settings.success_grade).astype(np.int64) @ bits


def first_click(masks: Integers) -> Integers:
    """Return the first clicked position p1, 0 without a click."""
    # mask ^ (mask - 1) keeps the lowest set bit and all below it
    below = np.bitwise_count(masks ^ (masks - 1)).astype(np.int64)
    return np.where(masks > 0, below, 0)


def last_click(masks: Integers) -> Integers:
    """Return the last (lowest on the page) clicked position pc, 0 without a click."""
    smeared = masks.copy()
    for shift in (1, 2, 4, 8, 16, 32):  # copies the highest set bit into every bit below it
        smeared |= smeared >> shift
    return np.bitwise_count(smeared).astype(np.int64)


def qctr(masks: Integers) -> Floats:
    """QCTR = c, the number of clicked results; 0..k."""
    return np.bitwise_count(masks).astype(np.float64)


def uctr(masks: Integers) -> Floats:
    """UCTR = 1 if c > 0."""
    return (masks > 0).astype(np.float64)


def max_rr(masks: Integers) -> Floats:
    """MaxRR = 1 / p1; 0..1."""
    return _ratio(uctr(masks), first_click(masks))


def min_rr(masks: Integers) -> Floats:
    """MinRR = 1 / pc; 0..1."""
    return _ratio(uctr(masks), last_click(masks))


def mean_rr(masks: Integers) -> Floats:
    """MeanRR = mean of 1 / pi over the clicked positions; 0..1."""
    total = np.zeros(len(masks))
    for position in range(1, int(masks.max(initial=0)).bit_length() + 1):
        total += ((masks >> (position - 1)) & 1) / position
    return _ratio(total, np.bitwise_count(masks))


def plc(masks: Integers) -> Floats:
    """PLC = c / pc, precision at the lowest click; 0..1."""
    return _ratio(qctr(masks), last_click(masks))


def search_success(masks: Integers, good: Integers) -> Floats:
    """SS = 1 if any clicked result is good; (M,) click masks, and masks of positions of a good grade."""
    return uctr(masks & good)


def _ratio(numerator: Floats, denominator: NDArray[np.integer]) -> Floats:
    ratio: Floats = numerator / np.maximum(denominator, 1)
    return ratio


_FROM = "Chapelle et al. 2009, section 6.2"
_MASKS = ("masks",)

CLICKS = (
    Metric("UCTR", "1 if anything was clicked", 0, 1, _FROM, uctr, _MASKS),
    Metric("MaxRR", "reciprocal position of the first click", 0, 1, _FROM, max_rr, _MASKS),
    Metric("MeanRR", "mean reciprocal position of the clicks", 0, 1, _FROM, mean_rr, _MASKS),
    Metric("MinRR", "reciprocal position of the lowest click", 0, 1, _FROM, min_rr, _MASKS),
    Metric("PLC", "clicks divided by the position of the lowest click", 0, 1, _FROM, plc, _MASKS),
    Metric("SS", "1 if a good result was clicked", 0, 1, _FROM, search_success, ("masks", "good")),
    Metric("QCTR", "number of clicked results", 0, math.inf, _FROM, qctr, _MASKS),
)
"""The click metrics in the order of reports; QCTR last (method 5)."""

CLICK_METRICS = tuple(metric.name for metric in CLICKS)

IPS = "IPS"
"""A further click metric, if asked for: clicks weighted by the inverse of examination (`judgments.ips`)."""

USES_GRADES = "SS"
"""The click metric that is made of the grades: it compares neither offline metrics nor judges."""


LESS_IS_BETTER = ("abandoned", "reformulated")
"""Outcomes that no verdict can be about."""

SIGNAL_METRICS = tuple(metric.name for metric in CLICKS if metric.needs == _MASKS)
"""The click metrics that other signals have too: SS, which needs grades, has a null value of clicks alone."""

_OF_METRICS = frozenset(metric.name.lower() for metric in EDITORIAL)
_OF_OUTCOME = re.compile(r"mean\(\s*outcome\s*=\s*(['\"]?)([^'\"()]+)\1\s*\)", re.IGNORECASE)
_OF_SIGNAL = re.compile(r"(\w+)\(\s*signal\s*=\s*(['\"]?)([^'\"()]+)\2\s*\)")


def signal_metric(metric: str, signal: str) -> str:
    """Return the name of a click metric of a signal, such as ``MeanRR(signal='satisfied')``."""
    return f"{metric}(signal='{signal}')"


def signal_of(name: str) -> str | None:
    """Return the signal that a click metric is of; None for clicks, and for what is no click metric."""
    found = _OF_SIGNAL.fullmatch(name.strip())
    return found[3].strip() if found is not None and _plain(found[1]) in SIGNAL_METRICS else None


def is_click_metric(name: str) -> bool:
    """Return whether a column or row of a run is of a click metric."""
    return name in CLICK_METRICS or name == IPS or signal_of(name) is not None


def click_metric_named(text: str) -> str:
    """Return a click metric by its name in any letter case, an outcome by its own; else SettingsError."""
    signal, name = signal_of(text), _plain(text.partition("(")[0].strip())
    if signal is not None:
        return signal_metric(name, " ".join(signal.split()).lower())
    if "(" in text and name in (*CLICK_METRICS, IPS):
        raise SettingsError(
            f"click metric {text!r}: write MeanRR, or MeanRR(signal='satisfied'); metrics of signals are "
            f"{', '.join(SIGNAL_METRICS)}"
        )
    if name in (*CLICK_METRICS, IPS):
        return name
    outcome = _OF_OUTCOME.fullmatch(text.strip())
    own = " ".join((text if outcome is None else outcome[2]).split()).lower()
    if not SIGNAL_NAME.fullmatch(own) or own in _OF_METRICS:
        raise SettingsError(f"unknown click metric {text!r}; {did_you_mean(text, (*CLICK_METRICS, IPS))}")
    return own


def named_click(text: str, signals: Collection[str], outcomes: Collection[str]) -> str:
    """Return a click metric in full, of an action its UCTR; SettingsError if it is none, or two."""
    name, is_outcome = click_metric_named(text), _OF_OUTCOME.fullmatch(text.strip()) is not None
    if is_click_metric(name):
        return name
    if not is_outcome and name in signals and name in outcomes:
        raise SettingsError(
            f"click metric {text!r} is an action and an outcome: write {signal_metric('UCTR', name)} for the "
            f"share of sessions with the action, or {outcome_metric(name)} for the mean of the outcome"
        )
    if not is_outcome and name in signals:
        return signal_metric("UCTR", name)
    if name not in outcomes:
        known = did_you_mean(text, dict.fromkeys((*CLICK_METRICS, IPS, *sorted(signals), *sorted(outcomes))))
        raise SettingsError(f"unknown click metric {text!r}; {known}")
    return outcome_metric(name)


def outcome_metric(outcome: str) -> str:
    """Return how an outcome is written where its name may mean an action too: ``Mean(outcome='stars')``."""
    return f"Mean(outcome='{outcome}')"


def _plain(name: str) -> str:
    """Return the name of a click metric as reports spell it; another text as it is."""
    return {known.lower(): known for known in (*CLICK_METRICS, IPS)}.get(name.lower(), name)


def counted_clicks(settings: Settings) -> tuple[str, ...]:
    """Return the click metrics of the setting, the headline one first; without IPS (see `refuse_ips`) and SS.

    Raises SettingsError if one is no click metric, IPS is first, SS stands alone, or less of one is better.
    """
    named = tuple(dict.fromkeys(click_metric_named(name) for name in settings.click_metric))
    if named[0] == IPS:
        raise SettingsError(
            "IPS cannot be the headline metric: name another before it, such as --click-metric MeanRR,IPS"
        )
    less = next((name for name in named if name in LESS_IS_BETTER), None)
    if less is not None:
        raise SettingsError(
            f"click metric {less}: lower is better, but the verdict prefers metrics that rise with it; the "
            "report shows it among the outcomes: name another click metric, such as --click-metric MeanRR"
        )
    counted = tuple(name for name in named if name not in {IPS, USES_GRADES})
    if not counted:
        raise SettingsError(
            f"click metric {USES_GRADES} cannot compare metrics because it uses the grades too; name "
            f"another one first, such as --click-metric MeanRR,{USES_GRADES}"
        )
    return counted


def refuse_ips(name: str) -> None:
    """Refuse to compare IPS (SettingsError): it prefers the worse order where users stop at a good result."""
    if name == IPS:
        raise SettingsError(
            "click metric IPS has no value within queries and no rank; name another click metric, such as "
            "MeanRR"
        )


def wants_ips(settings: Settings) -> bool:
    """Return whether the setting `click_metric` names IPS."""
    return any(click_metric_named(name) == IPS for name in settings.click_metric)


@dataclass(frozen=True)
class PatternRows:
    """Rows of patterns: index of the configuration, mask, and sessions."""

    configuration: Integers
    masks: Integers
    sessions: Integers

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "PatternRows":
        """Return the columns n, click_mask and sessions."""
        names = ("n", "click_mask", "sessions")
        return cls(*(rows[name].to_numpy().astype(np.int64) for name in names))


@dataclass(frozen=True)
class ClickValues:
    """Click metrics of N configurations."""

    means: Floats  # (N, C) means over the sessions of a configuration, of each metric.
    variances: Floats  # (N, C) unbiased variances (divisor n - 1) between these sessions; NaN where n = 1.
    sessions: Integers  # (N,) sessions, n.
    names: tuple[str, ...] = CLICK_METRICS  # The C metrics.
    ratings: Mapping[str, Rated] = field(default_factory=dict)  # By name; they are not among the C metrics.
    by_fold: ByFold | None = None  # The C metrics by fold of users; None where it is not counted.

    def beside(self, others: "ClickValues") -> "ClickValues":
        """Return the values, and after them the values of other metrics."""
        return ClickValues(
            np.hstack([self.means, others.means]),
            np.hstack([self.variances, others.variances]),
            self.sessions,
            (*self.names, *others.names),
            {**self.ratings, **others.ratings},
        )


def signal_values(
    signals: Mapping[str, PatternRows], configuration: Integers, sessions: Integers, *, size: int, depth: int
) -> ClickValues:
    """Compute the click metrics of signals over all sessions, of which those without the signal have none.

    signals: by name: index of the configuration, mask above 0 and sessions of rows with the signal.
    configuration, sessions: (P,) pattern rows of all sessions: index 0..size-1 of the configuration, and
      number of sessions.
    size, depth: N, the number of configurations, and k.

    Returns the values of the metrics, signal by signal.

    Raises PatternError if more sessions of a configuration have a signal than there are.
    """
    every = np.bincount(configuration, sessions, size).astype(np.int64)
    kept = [CLICK_METRICS.index(name) for name in SIGNAL_METRICS]
    names, parts = [], []
    for signal, rows in signals.items():
        left = every - np.bincount(rows.configuration, rows.sessions, size).astype(np.int64)
        if (left < 0).any():
            raise PatternError(
                f"more sessions have the signal {signal} than there are; rebuild the pattern table"
            )
        none = np.flatnonzero(left)
        found = click_values(
            np.concatenate([none, rows.configuration]),
            np.concatenate([np.zeros(len(none), np.int64), rows.masks]),
            np.concatenate([left[none], rows.sessions]),
            np.zeros(size, np.int64),
            depth=depth,
        )
        names += [signal_metric(name, signal) for name in SIGNAL_METRICS]
        parts.append((found.means[:, kept], found.variances[:, kept]))
    means, variances = (np.hstack([np.zeros((size, 0)), *(part[of] for part in parts)]) for of in (0, 1))
    return ClickValues(means, variances, every, tuple(names))


def outcome_values(
    outcomes: pl.DataFrame | None, sessions: Integers, ratings: Collection[str] = ()
) -> ClickValues:
    """Compute the means and variances of outcomes over all sessions, of which those without one have 0.

    outcomes: rows (n, outcome, sessions, total, total_of_squares), totals in thousandths; the type of
      `outcome` (`pl.Enum`) has all names. None = none.
    sessions: (N,) sessions of each configuration.
    ratings: outcomes whose means and variances are over the sessions that have a row.
    """
    size, found = len(sessions), dict[str, Rated]()
    if outcomes is None:
        return ClickValues(np.zeros((size, 0)), np.zeros((size, 0)), sessions, ())
    for key in names_known(outcomes["outcome"]):
        rows = outcomes.filter(outcome=key).group_by("n")
        summed = rows.agg(cs.numeric().sum())
        counts = sessions
        if key in ratings:
            counts = np.zeros(size, np.int64)
            counts[summed["n"].to_numpy()] = summed["sessions"].to_numpy()
        means, variances = (np.where(counts > fewest, 0.0, np.nan) for fewest in (0, 1))
        n = summed["n"].to_numpy()
        totals, squares = ([int(one) for one in summed[of]] for of in ("total", "total_of_squares"))
        number = counts[n].tolist()
        means[n] = [total / 1000 / count for total, count in zip(totals, number, strict=True)]
        # in whole numbers: the difference of two large squares would lose its digits
        variances[n] = [
            (count * square - total * total) / (count * (count - 1)) / 1e6 if count > 1 else math.nan
            for total, square, count in zip(totals, squares, number, strict=True)
        ]
        found[key] = Rated(counts, means, variances)
    rated = {name: found.pop(name) for name in sorted(found.keys() & set(ratings))}
    means = np.column_stack([np.zeros((size, 0)), *(one.values for one in found.values())])
    variances = np.column_stack([np.zeros((size, 0)), *(one.variances for one in found.values())])
    return ClickValues(means, variances, sessions, tuple(found), rated)


def click_values(
    configuration: Integers, masks: Integers, sessions: Integers, good: Integers, *, depth: int
) -> ClickValues:
    """Compute the means and variances of all click metrics over the sessions of each configuration.

    Rows with the same configuration and mask are added up first, so the result depends neither on
    the order of the rows nor on how the sessions are spread over them (days, folds).

    configuration, masks, sessions: (P,) pattern rows: index 0..N-1 of the configuration, click mask, number
      of sessions (>= 1). Rows in the order of (configuration, mask) are the fast case.
    good: (N,) masks of the positions whose grade is at least the success grade.
    depth: k; no mask may have a click below it.

    Raises PatternError if a mask, a number of sessions or an index is out of range, or a configuration has no
    row.
    """
    configuration, masks, sessions = (
        np.asarray(column, dtype=np.int64) for column in (configuration, masks, sessions)
    )
    if not 1 <= depth <= MAX_DEPTH:
        raise PatternError(f"depth {depth}: expected 1..{MAX_DEPTH}")
    if len(masks) and (masks.min() < 0 or masks.max() >> depth):
        worst = int(masks.min()) if masks.min() < 0 else int(masks.max())
        raise PatternError(
            f"click mask {worst} does not fit depth {depth}: cut the patterns to the depth first"
        )
    if len(sessions) and sessions.min() < 1:
        raise PatternError(f"a pattern row has {sessions.min()} sessions, expected at least 1")
    if len(configuration) and not 0 <= configuration.min() <= configuration.max() < len(good):
        span = f"{configuration.min()}..{configuration.max()}"
        raise PatternError(f"configuration indices {span} lie outside the {len(good)} configurations")
    configuration, masks, sessions = _added_up(configuration, masks, sessions)
    starts = np.flatnonzero(np.diff(configuration, prepend=-1))
    if len(starts) != len(good):
        raise PatternError(f"{len(good) - len(starts)} of {len(good)} configurations have no pattern row")
    if not len(good):
        none = np.zeros((0, len(CLICKS)))
        return ClickValues(none, none, np.zeros(0, dtype=np.int64))
    counts = np.add.reduceat(sessions, starts)
    if depth <= TABLED_DEPTH:
        distinct, code = np.arange(1 << depth, dtype=np.int64), masks
    else:
        distinct, code = np.unique(masks, return_inverse=True)
    means, variances = np.empty((2, len(good), len(CLICKS)))
    for place, metric in enumerate(CLICKS):
        if metric.needs == _MASKS:  # once per distinct mask
            values = metric.function(distinct)[code]
        else:
            values = metric.function(masks, good[configuration])
        mean = np.add.reduceat(values * sessions, starts) / counts
        # what rounding left over: a metric that is the same in every session has exactly that mean, in every
        # configuration, and exactly no variance
        mean += np.add.reduceat((values - mean[configuration]) * sessions, starts) / counts
        squares = np.add.reduceat((values - mean[configuration]) ** 2 * sessions, starts)
        means[:, place] = mean
        unbiased = np.divide(squares, counts - 1, out=np.full(len(counts), np.nan), where=counts > 1)
        variances[:, place] = unbiased
    return ClickValues(means, variances, counts)


def _added_up(
    configuration: Integers, masks: Integers, sessions: Integers
) -> tuple[Integers, Integers, Integers]:
    """Sort by (configuration, mask) and add up equal pairs; rows that are so already stay as they are."""
    step = np.diff(configuration)
    if np.all((step > 0) | ((step == 0) & (np.diff(masks) > 0))):
        return configuration, masks, sessions
    bits = int(masks.max(initial=0)).bit_length()
    if int(configuration.max(initial=0)).bit_length() + bits < 64:
        # of rows sorted but for folds, few are out of order
        order = np.argsort(configuration << bits | masks, kind="stable")
    else:
        order = np.lexsort((masks, configuration))
    configuration, masks = configuration[order], masks[order]
    new = np.diff(configuration, prepend=-1).astype(bool) | np.diff(masks, prepend=-1).astype(bool)
    firsts = np.flatnonzero(new)
    return configuration[firsts], masks[firsts], np.add.reduceat(sessions[order], firsts)


def click_entropy(query: Integers, url: Integers, clicks: Integers, *, queries: int) -> Floats:
    """Return (Q,) entropies in bits of the clicked URLs of each query: sum p log2(1 / p), p = share of them.

    Rows may come in any order and repeatedly; the result is the same to the last bit. 0 without clicks.
    query, url, clicks: (R,) index of the query (0..queries-1), any index of the URL, clicks (>= 0).
    Raises PatternError if a number of clicks is negative or an index is out of range.
    """
    query, url, clicks = (np.asarray(column, dtype=np.int64) for column in (query, url, clicks))
    if len(clicks) and (clicks.min() < 0 or query.min() < 0 or query.max() >= queries):
        raise PatternError(f"clicks must not be negative and query indices must lie in 0..{queries - 1}")
    order = np.lexsort((url, query))
    query, url, clicks = query[order], url[order], clicks[order]
    new = np.diff(query, prepend=-1).astype(bool) | np.diff(url, prepend=-1).astype(bool)
    firsts = np.flatnonzero(new)
    counts = np.add.reduceat(clicks, firsts) if len(firsts) else clicks
    query = query[firsts]
    order = np.lexsort((counts, query))  # so that the indices of URLs do not decide the order of addition
    query, counts = query[order], counts[order]
    clicked = counts > 0
    query, counts = query[clicked], counts[clicked]
    totals = np.bincount(query, weights=counts, minlength=queries)
    share = totals[query] / counts
    return np.bincount(query, weights=np.log2(share) / share, minlength=queries).astype(np.float64)
