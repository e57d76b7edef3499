"""Intervals and p-values of the change of a number from one run to another (*ours*).

Each query of either run, or each group of queries, is left out of both at once. So one calculation serves
two logs of different queries, where the variances of both add up, and two runs over the same queries, where
the shared errors cancel.

Queries share users, whose habits move all their clicks at once. The variance that this adds is estimated by
leaving out each fold of users too (two-way clustering: Cameron, Gelbach and Miller 2011).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Sample
from clickassay.core.special import ndtr, ndtri
from clickassay.correlation.rankers import covariance_contributions, exact_correlations, within_queries
from clickassay.correlation.uncertainty.intervals import (
    CONFIDENCE,
    DIFFERENCE_INDEX,
    Deviations,
    Spread,
    cautions,
    difference_interval,
    is_heavy,
    left_out,
    no_rounding,
    p_value,
)
from clickassay.correlation.weighted import QUERIES_AT_ONCE, centred_sums, moments_of, without_rounding
from clickassay.correlation.within.groups import QueryGroups
from clickassay.correlation.within.shared import LISTS_FOR_FOLDS
from clickassay.correlation.within.users import moved_by_folds

Statistic = Callable[[Floats], Floats]
"""Turns (..., K) sums over queries into (..., P) values."""

Part = TypeVar("Part")
"""What a kind of numbers is computed from: a sample, or the groups of queries of one or several markets."""

WithoutUsers = Sequence[tuple[Part, Part]]
"""For each fold of users: the samples of both runs without it; empty where users are not known."""


@dataclass(frozen=True)
class Changes:
    """Changes of P numbers with intervals and p-values; all arrays (P,), NaN where unknown."""

    # a, b: The values in the first run and in the second.
    a: Floats
    b: Floats
    # low, high: 95% CI of b - a.
    low: Floats
    high: Floats
    p: Floats  # Two-sided p-values of no change.
    cautions: tuple[str | None, ...]  # Why an interval may be unreliable; None where there is no reason.


@dataclass(frozen=True)
class _Contributions:
    """The contributions of a sample's units to sums: (Q, K)."""

    units: tuple[str, ...]
    values: Floats
    heavy_tail: bool = False  # whether its sessions are spread too unevenly for intervals


@dataclass(frozen=True)
class _Kind(Generic[Part]):
    """A kind of numbers of one run: what any part of its sessions contributes, and the P values of sums."""

    contributions: Callable[[Part], _Contributions]
    statistic: Statistic
    factor: float = 1.0  # What regression takes from squared errors.


def weighted_changes(a: Sample, b: Sample, folds: WithoutUsers[Sample] = ()) -> Changes:
    """Test the changes of all weighted correlations between two samples by leaving out units, and users.

    a, b: samples with the same C click and E offline metrics; folds: the same without each fold of users.
    Returns the C E changes in row-major order.
    """
    return _changes((a, b), (_weighted(a), _weighted(b)), folds)


def within_changes(a: QueryGroups, b: QueryGroups, *, users: bool) -> Changes:
    """Test the changes of all correlations within queries, of a market or of all; as `weighted_changes`.

    `users` says whether folds are of the same users in both; what they add counts where both have the lists.
    """
    excess = None
    if users and min(int((place.groups.n_lists - 1).sum()) for place in (a, b)) >= LISTS_FOR_FOLDS:
        # the folds of both runs are left out of both at once
        names = a.groups.units + b.groups.units
        units = np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)
        sides = (0,) * len(a.parts) + (1,) * len(b.parts)
        of_a, of_b = (place.split(place.groups.values.sum(axis=0)).slopes for place in (a, b))
        chosen = {EVERY: (np.ones(len(units), np.bool_), np.stack([-of_a, of_b]))}
        moved = moved_by_folds((*a.parts, *b.parts), units, chosen, sides)
        if moved:
            found = moved[EVERY].excess()
            excess = Spread(found.error.ravel(), found.degrees.ravel(), found.queries)
    return _changes((a, b), (_within(a), _within(b)), (), users=excess)


def closed_form_changes(a: Sample, b: Sample, folds: WithoutUsers[Sample] = ()) -> Changes:
    """Test the changes of all closed forms of Algorithm 3; otherwise as `weighted_changes`."""
    return _changes((a, b), (_closed_form(a), _closed_form(b)), folds)


def mean_changes(a: Sample, b: Sample, folds: WithoutUsers[Sample] = ()) -> Changes:
    """Test the changes of the means over sessions: of the C click metrics, then of the E editorial ones."""
    return _changes((a, b), (_means(a), _means(b)), folds)


def mean_intervals(sample: Sample, without_users: Sequence[Sample] = ()) -> Changes:
    """Return means over sessions as changes from 0, as `mean_changes`; users count where they are known."""
    return _from_nothing(_means(sample), sample, without_users)


def differences_from_nothing(
    values: Floats,
    statistic: Statistic,
    without_users: Sequence[Floats],
    most_degrees: Floats,
    sessions: Floats,
) -> Changes:
    """Return differences that are functions of sums over units, as changes from 0, with one test of both.

    values, statistic: (Q, K) contributions; turns (..., K) sums into (..., P) differences.
    without_users: `values` without each fold of users; empty where they do not count.
    most_degrees, sessions: (P,) most degrees of freedom by units; (Q,) sessions of the units.
    """
    units = tuple(f"{number:09d}" for number in range(len(values)))
    heavy_tail = is_heavy(sessions, DIFFERENCE_INDEX)
    kind: _Kind[Floats] = _Kind(lambda part: _Contributions(units, part, heavy_tail), statistic)
    return _from_nothing(kind, values, without_users, most_degrees)


def _from_nothing(
    kind: _Kind[Part], part: Part, without_users: Sequence[Part], most_degrees: Floats | None = None
) -> Changes:
    # stands for a run whose numbers are all 0, also without any of the units
    nothing: _Kind[Part] = _Kind(
        lambda _: _Contributions((), np.zeros((0, 1))), lambda sums: np.zeros((*sums.shape[:-1], 1))
    )
    pairs = [(one, one) for one in without_users]
    return _changes((part, part), (nothing, kind), pairs, most_degrees=most_degrees)


def _weighted(sample: Sample) -> _Kind[Sample]:
    contributions = partial(_moments, centre=_centre(sample))
    total = contributions(sample).values.sum(axis=0)
    shape = len(sample.click_names), len(sample.editorial_names)

    def statistic(sums: Floats) -> Floats:
        values = centred_sums(sums, *shape, total).correlations
        return values.reshape(*sums.shape[:-1], -1)

    return _Kind(contributions, statistic)


def _within(place: QueryGroups) -> _Kind[QueryGroups]:
    def contributions(part: QueryGroups) -> _Contributions:
        every = np.ones(len(part.groups.units), np.bool_)
        return _Contributions(tuple(sorted(set(part.groups.units))), part.groups.by_unit(every))

    def statistic(sums: Floats) -> Floats:
        return place.correlations(sums).reshape(*sums.shape[:-1], -1)

    return _Kind(contributions, statistic, place.taken_out.factor)


def _closed_form(sample: Sample) -> _Kind[Sample]:
    def contributions(part: Sample) -> _Contributions:
        values = covariance_contributions(part, within_queries(part))
        return _Contributions(part.unit_names, part.by_unit(values))

    def statistic(sums: Floats) -> Floats:
        return exact_correlations(sums, len(sample.click_names)).reshape(*sums.shape[:-1], -1)

    return _Kind(contributions, statistic)


def _means(sample: Sample) -> _Kind[Sample]:
    centre = _centre(sample)
    metrics = len(sample.click_names) + len(sample.editorial_names)

    def contributions(part: Sample) -> _Contributions:
        moments = _moments(part, centre, products=False)
        return _Contributions(moments.units, moments.values[:, : 1 + metrics], moments.heavy_tail)

    def statistic(sums: Floats) -> Floats:
        sessions = np.where(sums[..., :1] > 0, sums[..., :1], np.nan)
        means: Floats = np.concatenate(centre) + sums[..., 1:] / sessions
        return means

    return _Kind(contributions, statistic)


def _centre(sample: Sample) -> tuple[Floats, Floats]:
    """Return the means of click and offline metrics: sums of values minus these do not cancel."""
    clicks, editorial = (
        sample.sessions @ values / sample.sessions.sum()
        for values in (sample.click_values, sample.editorial_values)
    )
    return clicks, editorial


def _moments(sample: Sample, centre: tuple[Floats, Floats], *, products: bool = True) -> _Contributions:
    """Return `weighted.query_moments` around a common centre; without products, all as click metrics."""
    y, x = (
        without_rounding(np.ascontiguousarray((values - mean).T), np.abs(values).max(axis=0)[:, None])
        for values, mean in zip((sample.click_values, sample.editorial_values), centre, strict=True)
    )
    if not products:
        y, x = np.concatenate([y, x]), x[:0]
    moments = sample.by_unit(moments_of(y, x, sample.sessions, sample.starts))
    return _Contributions(sample.unit_names, moments, is_heavy(moments[:, 0], DIFFERENCE_INDEX))


def _changes(
    samples: tuple[Part, Part],
    kinds: tuple[_Kind[Part], _Kind[Part]],
    folds: WithoutUsers[Part],
    *,
    users: Spread | None = None,
    most_degrees: Floats | None = None,
) -> Changes:
    """Test b - a by leaving each unit of either run out of both.

    With u_q = (b without q - b) - (a without q - a), 0 for a run that lacks q, each times the root of its
    factor: error² = (Q - 1)/Q Σ(u - mean u)² over the Q units of both runs together, and what users add.
    """
    parts_of = [kind.contributions(sample) for kind, sample in zip(kinds, samples, strict=True)]
    units = sorted({unit for part in parts_of for unit in part.units})
    halves = [
        _Half(kind.statistic, _spread_out(part, units)) for kind, part in zip(kinds, parts_of, strict=True)
    ]
    value_a, value_b = (half.statistic(half.total) for half in halves)
    change = no_rounding(value_b - value_a)
    deviations = Deviations()
    for without_a, without_b in zip(*(left_out(half.values, half.statistic) for half in halves), strict=True):
        parts_moved = (without_a - value_a, without_b - value_b)
        of_a, of_b = (moved * kind.factor**0.5 for moved, kind in zip(parts_moved, kinds, strict=True))
        deviations.add(no_rounding(of_b - of_a))
    spread = deviations.spread().of_shape(change.shape).widened(1.0, users)
    if most_degrees is not None:
        spread = replace(spread, degrees=np.minimum(spread.degrees, most_degrees))
    low, _ = difference_interval(change, spread)
    heavy_tail = any(part.heavy_tail for part in parts_of)
    reasons = cautions(change, low, spread.queries, heavy_tail=heavy_tail)
    if folds:
        parts = [
            tuple(
                _spread_out(kind.contributions(sample), units)
                for kind, sample in zip(kinds, pair, strict=True)
            )
            for pair in folds
        ]
        spread = _with_users(spread, halves, parts, change)
    low, high = difference_interval(change, spread)
    p = p_value(change, spread, None if most_degrees is None else spread.degrees)
    return Changes(value_a, value_b, low, high, p, tuple(reasons))


@dataclass(frozen=True)
class _Half:
    """One run: the (Q, K) contributions of all queries, and the values as a function of their sums."""

    statistic: Statistic
    values: Floats

    @property
    def total(self) -> Floats:
        """(K,) sums over all queries."""
        total: Floats = self.values.sum(axis=0)
        return total

    def exchanged(self, block: slice, part: Floats) -> Floats:
        """Return (b, P) values in which one query after the other has the contributions of a part."""
        scale = np.abs(self.total)
        return self.statistic(without_rounding(self.total - self.values[block] + part[block], scale))


def _with_users(
    spread: Spread, halves: Sequence[_Half], parts: Sequence[tuple[Floats, ...]], change: Floats
) -> Spread:
    """Add the variance between users that leaving out queries misses.

    Let v_f be the change without the users of fold f, and w_qf that without their sessions of query q alone.
    Between F folds the variance is (F - 1)/F Σ(v - mean v)². By chance alone, were the sessions of a user
    independent from query to query, it would be F/(F - 1) Σ(w - mean of w over the folds of a query)². What
    the first exceeds the second by is added to error², and the degrees are Satterthwaite's for the sum.
    """
    a, b = halves
    without = [b.statistic(of_b.sum(axis=0)) - a.statistic(of_a.sum(axis=0)) for of_a, of_b in parts]
    known = Deviations()
    known.add(no_rounding(np.stack(without) - change))
    between, folds = known.spread(), len(parts)
    squares: Floats = np.zeros(len(change))
    for first in range(0, len(a.values), QUERIES_AT_ONCE):
        block = slice(first, first + QUERIES_AT_ONCE)
        # (F, b, P) changes without the sessions of a query and a fold
        values = np.stack([b.exchanged(block, of_b) - a.exchanged(block, of_a) for of_a, of_b in parts])
        squares = squares + ((values - values.mean(axis=0)) ** 2).sum(axis=(0, 1))
    by_chance = squares * folds / (folds - 1)
    added = np.maximum(between.error**2 - by_chance, 0)
    return spread.widened(1.0, Spread(np.sqrt(added), between.degrees, folds))


def _spread_out(half: _Contributions, units: Sequence[str]) -> Floats:
    """Return contributions of all `units`; 0 for units that a sample lacks."""
    if list(half.units) == units:
        return half.values
    place = {unit: number for number, unit in enumerate(units)}
    whole = np.zeros((len(units), half.values.shape[1]))
    whole[[place[unit] for unit in half.units]] = half.values
    return whole


def from_intervals(a: NDArray[np.float64], b: NDArray[np.float64]) -> Changes:
    """Test changes by the intervals in two runs, as if the runs were independent.

    On Fisher's scale the standard error of r is (artanh high - artanh low) / (2 · 1.96), and
    z = (artanh r_B - artanh r_A) / √(error_A² + error_B²). The errors of runs with common queries are
    correlated, so that this test is then conservative.

    a, b: (P, 3) correlations with the lower and upper ends of their intervals; NaN where unknown.

    Returns changes whose interval is r_B - r_A with the ends of Zou (2007): -√((r_B - low_B)² + (high_A -
    r_A)²) and +√((high_B - r_B)² + (r_A - low_A)²).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fisher_a, fisher_b = np.arctanh(a), np.arctanh(b)
        errors = [
            (fisher[:, 2] - fisher[:, 1]) / (2 * ndtri((1 + CONFIDENCE) / 2))
            for fisher in (fisher_a, fisher_b)
        ]
        z = (fisher_b[:, 0] - fisher_a[:, 0]) / np.hypot(*errors)
    change = b[:, 0] - a[:, 0]
    low = change - np.hypot(b[:, 0] - b[:, 1], a[:, 2] - a[:, 0])
    high = change + np.hypot(b[:, 2] - b[:, 0], a[:, 0] - a[:, 1])
    p = np.where(np.isfinite(z), 2 * ndtr(-np.abs(z)), np.nan)
    return Changes(a[:, 0], b[:, 0], low, high, p, (None,) * len(change))
