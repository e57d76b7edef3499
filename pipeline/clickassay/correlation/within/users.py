"""What users add to the error of a number within queries, beyond what leaving out queries sees (method 8.1).

Queries share users, whose habits move all their clicks at once. The variance that this adds is what leaving
out each fold of users adds beyond chance (two-way clustering: Cameron, Gelbach and Miller 2011).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from clickassay.core.records import USER_FOLDS, Floats, Integers
from clickassay.correlation.uncertainty.intervals import Deviations, Spread
from clickassay.correlation.weighted import precision_weights
from clickassay.correlation.within.shared import Residuals, folds_of

FEWEST_FOLDS = 8
"""Fewer folds of users say too little of the variance between them."""

UNITS_AT_ONCE = 2**7

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Moved:
    """How correlations within queries change without each of F folds of users, by their derivatives."""

    by_fold: Floats  # (F, C, E) changes.
    by_chance: Floats  # (C, E, E) F/(F - 1) Σ (u - mean u)(u - mean u)ᵀ, u the changes by unit and fold.

    def excess(self, pairs: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None) -> Spread:
        """Return what users add to correlations, or differences of `pairs` (first - second), as a spread."""
        moved, chance = self.by_fold, np.diagonal(self.by_chance, axis1=1, axis2=2)
        if pairs is not None:
            a, b = pairs
            moved = moved[..., a] - moved[..., b]
            chance = chance[:, a] + chance[:, b] - 2 * self.by_chance[:, a, b]
        between = Deviations()
        between.add(moved)
        found = between.spread()
        with np.errstate(invalid="ignore"):
            added = np.sqrt(np.maximum(np.nan_to_num(found.error**2 - chance), 0.0))
        return Spread(added, found.degrees, found.queries)


def moved_by_folds(
    parts: Sequence[Residuals],
    units: Integers,
    chosen: Mapping[Name, tuple[NDArray[np.bool_], Floats]],
    sides: Sequence[int] | None = None,
) -> dict[Name, Moved]:
    """Return, by class, how correlations change without each fold of users, what is taken out being held.

    units: (G,) the unit of each group of all markets, one after the other, as a number.
    chosen: by class: which groups belong to it, and (S, C, E, 3) derivatives of its correlations by Σ w c², Σ
      w c e and Σ w e², of each side; sides: the run, 0 or 1, of each market, None = one.
    There are none with fewer than `FEWEST_FOLDS` folds.
    """
    folds = folds_of([part.lists for part in parts])
    if len(folds) < FEWEST_FOLDS:
        return {}
    members = np.stack([own for own, _ in chosen.values()])
    # units of the same classes are numbered side by side: then a class has all units of most blocks, or none
    of_units = np.zeros((len(members), int(units.max(initial=-1)) + 1), np.bool_)
    of_units[:, units] = members
    numbers = np.empty(of_units.shape[1], np.int64)
    numbers[np.lexsort(of_units)] = np.arange(len(numbers))
    units = numbers[units]
    firsts = np.cumsum([0, *(len(part.lists.starts) for part in parts)])
    cells = [_Cells.of(part, units[first:], int(first)) for part, first in zip(parts, firsts, strict=False)]
    sides = sides or (0,) * len(parts)
    by_row = [_by_row(slopes) for _, slopes in chosen.values()]
    at_once = len(by_row) == 1  # what moves correlations is added then, else what it follows from
    shape = by_row[0].shape[1], by_row[0].shape[2 if at_once else 3]
    of_folds, products = (np.zeros((len(members), *shape, size)) for size in (USER_FOLDS, shape[1]))
    # threads would change the order of addition; and a metric that does not vary has no derivative
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(invalid="ignore"):
        for first in range(0, int(units.max(initial=-1)) + 1, UNITS_AT_ONCE):
            some = [own.changes(first, first + UNITS_AT_ONCE) for own in cells]
            if at_once:
                some = [(*own, by_row[0][side] @ of) for side, (*own, of) in zip(sides, some, strict=True)]
            # the cells of all markets, by unit and fold
            groups, of_fold, changes = (np.concatenate(of, axis=-1) for of in zip(*some, strict=True))
            keys = units[groups] * USER_FOLDS + of_fold
            order = np.argsort(keys, kind="stable")
            groups, keys, changes = groups[order], keys[order], changes.take(order, axis=-1)
            of_all: tuple[Floats, Floats] | None = None
            for number, is_member in enumerate(members[:, groups]):
                if is_member.all():
                    sums = of_all = of_all or _sums(changes, keys, len(folds))
                elif is_member.any():
                    sums = _sums(changes.compress(is_member, axis=-1), keys[is_member], len(folds))
                else:
                    continue
                of_folds[number] += sums[0]
                products[number] += sums[1]
        if not at_once:
            rows = np.stack([own[0] for own in by_row])
            of_folds, products = rows @ of_folds, rows @ products @ rows.swapaxes(-1, -2)
    by_fold, share = np.moveaxis(of_folds[..., folds], -1, 1), len(folds) / (len(folds) - 1)
    return {name: Moved(*own) for name, *own in zip(chosen, by_fold, share * products, strict=True)}


def _sums(changes: Floats, keys: Integers, folds: int) -> tuple[Floats, Floats]:
    """Return (C, k, F) sums of (C, k, P) changes by fold, and their (C, k, k) squares and products by cell.

    The products are less those of the sums of units over the number of folds.
    """
    changes, keys = _added(changes, keys)
    unit, fold = np.divmod(keys, USER_FOLDS)
    of_folds = changes @ (fold[:, None] == np.arange(USER_FOLDS)).astype(np.float64)
    of_units, _ = _added(changes, unit)
    return of_folds, changes @ changes.swapaxes(-1, -2) - of_units @ of_units.swapaxes(-1, -2) / folds


def _by_row(slopes: Floats) -> Floats:
    """Return (S, C, E, k): how far each of the k rows of `_Cells.changes` moves each correlation."""
    n_sides, n_clicks, n_editorial, _ = slopes.shape
    rows = np.zeros((n_sides, n_clicks, n_editorial, 1 + 2 * n_editorial))
    rows[..., 0] = slopes[..., 0]
    for metric in range(n_editorial):
        rows[:, :, metric, 1 + metric] = slopes[:, :, metric, 1]
        rows[:, :, metric, 1 + n_editorial + metric] = slopes[:, :, metric, 2]
    return rows


def _added(changes: Floats, keys: Integers) -> tuple[Floats, Integers]:
    """Return the sums of changes with the same key, and these keys; keys ascend."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) == len(keys):
        return changes, keys
    return np.add.reduceat(changes, starts, axis=-1), keys[starts]


@dataclass(frozen=True)
class _Layers:
    """Runs of neighbouring rows, put so that their sums are sums of slices: many runs of few rows each."""

    order: Integers  # (M,) rows: of runs of one length the first rows, then the second ones, and so on.
    firsts: Integers  # (P,) the first row of each run, shortest runs first.
    runs: tuple[tuple[int, int], ...]  # Each length, and how many runs have it.

    @classmethod
    def of(cls, starts: Integers, size: int) -> "_Layers":
        """Return the layers of runs that begin at these rows, of so many."""
        lengths = np.diff(starts, append=size)
        by_length = {length: starts[lengths == length] for length in np.unique(lengths).tolist()}
        rows = [firsts + place for length, firsts in by_length.items() for place in range(length)]
        runs = tuple((length, len(firsts)) for length, firsts in by_length.items())
        return cls(np.concatenate(rows), np.concatenate([*by_length.values()]), runs)

    def sums(self, values: Floats) -> Floats:
        """Return the (..., P) sums of (..., M) values in this order."""
        sums, at, end = np.empty((*values.shape[:-1], len(self.firsts))), 0, 0
        for length, number in self.runs:
            own = sums[..., end : end + number]
            own[:] = values[..., at : at + number]
            for layer in range(at + number, at + length * number, number):
                own += values[..., layer : layer + number]
            at, end = at + length * number, end + number
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
        keys = lists.group[cells.rows[some]] * USER_FOLDS + cells.folds[some]
        layers = _Layers.of(np.flatnonzero(np.diff(keys, prepend=-1)), len(keys))
        group, fold = np.divmod(keys[layers.firsts], USER_FOLDS)
        some = some[layers.order]
        own, folds, sessions = cells.rows[some], cells.folds[some], cells.sessions[some]
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
        means = layers.sums(weighted - old_weighted)
        whole = lists.whole[group] + layers.sums(after - before)
        there = whole > 1e-9
        means = np.where(there, means / np.sqrt(np.where(there, whole, 1.0)), 0.0)
        changes = np.empty((n_clicks, 1 + 2 * n_editorial, len(group)))

        def change(one: slice | int, other: slice | int) -> Floats:
            products = weighted[one] * new[other] - old_weighted[one] * old[other]
            return layers.sums(products) - means[one] * means[other]

        metrics = slice(n_clicks, both)
        changes[:, 1 + n_editorial :] = change(metrics, metrics)
        for click in range(n_clicks):
            changes[click, 0] = change(click, click)
            changes[click, 1 : 1 + n_editorial] = change(click, metrics)
        return group + self.first, fold, changes
