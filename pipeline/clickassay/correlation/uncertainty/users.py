"""What users add to the error of a number within queries, beyond what leaving out queries sees (method 8.1).

Queries share users, whose habits move all their clicks at once. The variance that this adds is what leaving
out each fold of users adds beyond chance (two-way clustering: Cameron, Gelbach and Miller 2011).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import USER_FOLDS, Floats, Integers
from clickassay.correlation.shared import Residuals, folds_of
from clickassay.correlation.uncertainty.jackknife import Deviations, Spread
from clickassay.correlation.weighted import precision_weights

FEWEST_FOLDS = 8
"""Fewer folds of users say too little of the variance between them."""

UNITS_AT_ONCE = 2**10

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Moved:
    """How sums change without each of F folds of users, for each of C click metrics.

    The k = 1 + 2 E sums are Σ w c² | Σ w c e of each editorial metric | Σ w e² of each, of residuals.
    """

    by_fold: Floats  # (F, C, k) changes of the sums of all units.
    by_chance: Floats  # (C, k, k) F/(F - 1) Σ (d - mean d)(d - mean d)ᵀ, d the changes of each unit.

    def excess(self, slopes: Floats) -> Spread:
        """Return the variance that users add to numbers, as an error, with its degrees of freedom.

        slopes: (C, P, k) derivatives of P numbers of each click metric by the sums.
        """
        between = Deviations()
        between.add(np.einsum("fck,cpk->fcp", self.by_fold, slopes))
        found = between.spread()
        chance = ((slopes @ self.by_chance) * slopes).sum(axis=-1)
        added = np.sqrt(np.fmax(found.error**2 - chance, 0.0))
        return Spread(added, found.degrees, found.queries)


def moved_by_folds(
    parts: Sequence[Residuals],
    units: Integers,
    chosen: Mapping[Name, NDArray[np.bool_]],
    sides: Sequence[int] | None = None,
) -> dict[Name, Moved]:
    """Return how sums of residuals change without each fold of users, effects being held.

    parts: the residuals of each market.
    units: (G,) the unit of each group of all markets, one after the other, as a number.
    chosen: by class: which of these groups belong to it.
    sides: which run each market is of, 0 or 1: the k sums of one follow those of the other. None = one run.

    Returns by class; none where there are fewer than `FEWEST_FOLDS` folds.
    """
    folds = folds_of([part.lists for part in parts])
    if len(folds) < FEWEST_FOLDS:
        return {}
    firsts = np.cumsum([0, *(len(part.lists.starts) for part in parts)])
    cells = [_Cells.of(part, units[first:], int(first)) for part, first in zip(parts, firsts, strict=False)]
    sides = sides or (0,) * len(parts)
    n_clicks, each = len(parts[0].lists.clicks), 1 + 2 * len(parts[0].lists.metrics)
    k = each * (max(sides) + 1)
    squares = {name: np.zeros((n_clicks, k, k)) for name in chosen}
    by_fold = {name: np.zeros((n_clicks, k, USER_FOLDS)) for name in chosen}
    for first in range(0, int(units.max(initial=-1)) + 1, UNITS_AT_ONCE):
        some = [own.changes(first, first + UNITS_AT_ONCE) for own in cells]
        groups, fold = (np.concatenate(of) for of in list(zip(*some, strict=True))[:2])
        changes, at = np.zeros((n_clicks, k, len(groups))), 0
        for side, (_, _, of_part) in zip(sides, some, strict=True):
            end = at + of_part.shape[-1]
            changes[:, side * each : (side + 1) * each, at:end] = of_part
            at = end
        for name, groups_of in chosen.items():
            own = np.flatnonzero(groups_of[groups])
            unit, moved = units[groups[own]], changes if len(own) == len(groups) else changes[..., own]
            moved, keys = _added(moved, unit * USER_FOLDS + fold[own])
            unit, of_fold = np.divmod(keys, USER_FOLDS)
            by_fold[name] += moved @ (of_fold[:, None] == np.arange(USER_FOLDS)).astype(np.float64)
            of_units, _ = _added(moved, unit)
            squares[name] += moved @ moved.swapaxes(-1, -2)
            squares[name] -= of_units @ of_units.swapaxes(-1, -2) / len(folds)
    share = len(folds) / (len(folds) - 1)
    return {
        name: Moved(np.moveaxis(by_fold[name][..., folds], -1, 0), share * squares[name]) for name in chosen
    }


def _added(changes: Floats, keys: Integers) -> tuple[Floats, Integers]:
    """Return the sums of changes with the same key, and these keys, ascending."""
    if (np.diff(keys) < 0).any():
        order = np.argsort(keys, kind="stable")
        changes, keys = changes[..., order], keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) == len(keys):
        return changes, keys
    return _sums(changes, starts), keys[starts]


def _sums(values: Floats, starts: Integers) -> Floats:
    """Return the (..., P) sums of (..., M) values from each start on: faster than `reduceat` for few each."""
    sizes = np.diff(starts, append=values.shape[-1])
    sums = values.take(starts, axis=-1)
    for more in range(1, int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > more)
        sums[..., longer] += values.take(starts[longer] + more, axis=-1)
    return sums


@dataclass(frozen=True)
class _Cells:
    """The cells (list, fold of users) of the lists of a market, by unit, group and fold."""

    part: Residuals
    first: int  # The number of its first group among those of all markets.
    order: Integers  # (M,) cells in this order.
    units: Integers  # (M,) the unit of each in this order.

    @classmethod
    def of(cls, part: Residuals, units: Integers, first: int) -> "_Cells":
        """Order the cells of a market; `units` begins with those of its groups."""
        cells = part.lists.by_fold
        if cells is None:
            return cls(part, first, np.zeros(0, np.int64), np.zeros(0, np.int64))
        group = part.lists.group[cells.rows]
        order = np.lexsort((cells.folds, group, units[group]))
        return cls(part, first, order, units[group[order]])

    def changes(self, first: int, end: int) -> tuple[Integers, Integers, Floats]:
        """Return how the sums of groups of some units change without each fold that has sessions in them.

        Returns (P,) groups and folds, and (C, k, P) changes. A list of n sessions without those of a fold,
        n', has its weight w' and its value v' = v + (n - n')/n' (v - v of the fold), less what shares of
        folds without that one explain. Its group is centred anew: sums of w' v' v', less what its means take.
        """
        lists, cells = self.part.lists, self.part.lists.by_fold
        some = self.order[slice(*np.searchsorted(self.units, [first, end]))]
        n_clicks, n_editorial = len(lists.clicks), len(lists.metrics)
        if cells is None or not len(some):
            return some, some, np.zeros((n_clicks, 1 + 2 * n_editorial, 0))
        own, folds, sessions = cells.rows[some], cells.folds[some], cells.sessions[some]
        group = lists.group[own]
        starts = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(folds, prepend=-1) != 0))
        left = lists.sessions[own] - sessions
        before, after = lists.weights[own], precision_weights(left)
        both = n_clicks + n_editorial
        old = self.part.values[:both, own]
        step = self.part.of_users[:both, folds] - self.part.of_folds[:both].take(
            own if self.part.block.rank else np.zeros_like(own), axis=1
        )
        step[:n_clicks] += lists.clicks[:, own] - cells.values[some].T
        new = old + sessions / np.maximum(left, 1) * step
        weighted, old_weighted = new * after, old * before
        means = _sums(weighted - old_weighted, starts)
        whole = lists.whole[group[starts]] + np.add.reduceat(after - before, starts)
        there = whole > 1e-9
        means = np.where(there, means / np.sqrt(np.where(there, whole, 1.0)), 0.0)
        changes = np.empty((n_clicks, 1 + 2 * n_editorial, len(starts)))

        def change(one: slice | int, other: slice | int) -> Floats:
            products = weighted[one] * new[other] - old_weighted[one] * old[other]
            sums: Floats = _sums(products, starts) - means[one] * means[other]
            return sums

        metrics = slice(n_clicks, both)
        changes[:, 1 + n_editorial :] = change(metrics, metrics)
        for click in range(n_clicks):
            changes[click, 0] = change(click, click)
            changes[click, 1 : 1 + n_editorial] = change(click, metrics)
        return group[starts] + self.first, folds[starts], changes
