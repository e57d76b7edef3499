"""What lists share: the periods and the folds of users that they were shown in (method 8.1).

Lists of a query differ in when and to whom they were shown. A release and a sale, or one busy user, move all
queries alike, which errors by queries do not see. So what the periods and folds explain is taken out of
clicks and metrics within queries, by regression on the share of its sessions that each list has in each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clickassay.core.records import NO_DAY, USER_FOLDS, ByFold, Floats, Integers, Sample, Shown
from clickassay.correlation.weighted import precision_weights, without_rounding

FEWEST_LISTS = 50
"""Lists beyond the first of each query that it takes to take periods and folds out."""

LISTS_FOR_FOLDS = 160
"""With fewer lists beyond the first of each query, the excess of folds is not counted."""

LISTS_FOR_ALL_FOLDS = 80
"""With fewer, folds are joined in pairs: 8 leave too much of one busy user where there are more lists."""

FEWEST_PERIODS, MOST_PERIODS, LISTS_A_PERIOD = 4, 12, 20
"""Periods are 1 + d / 20 for d lists beyond the first of each query, but so many at least and at most."""

NO_SPREAD = 1e-10
"""Eigenvalues below this part of the largest count as 0."""


@dataclass(frozen=True)
class GroupedLists:
    """The n lists of a sample that are in one of G groups: of a query with two judged lists or more."""

    rows: Integers  # (n,) the configurations of the sample.
    starts: Integers  # (G,) the first list of each group.
    sessions: Integers  # (n,) sessions of each.
    # clicks, metrics, null: (C, n), (E, n) and (1, n) click metrics, offline metrics, and SS of the null.
    clicks: Floats
    metrics: Floats
    null: Floats
    variances: Floats  # (C, n) unbiased variances of the click metrics between sessions; NaN for one.
    shown: Shown | None  # When; None where times are not known.
    by_fold: ByFold | None  # Their click metrics by fold; None where users are not known.

    @property
    def free(self) -> int:
        """d, lists beyond the first of each group."""
        return len(self.rows) - len(self.starts)

    @property
    def has_times(self) -> bool:
        """Whether any of their sessions has a day."""
        return self.shown is not None and bool((self.shown.days != NO_DAY).any())

    @cached_property
    def weights(self) -> Floats:
        """(n,) n / (n + 4)."""
        return precision_weights(self.sessions)

    @cached_property
    def whole(self) -> Floats:
        """(G,) sums of the weights of groups."""
        return np.add.reduceat(self.weights, self.starts)

    @cached_property
    def group(self) -> Integers:
        """(n,) the group of each list."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.rows)))

    def centred(self, values: Floats) -> Floats:
        """Return the (M, n) deviations from the weighted mean of the group; exactly 0 where all are equal."""
        means = np.add.reduceat(values * self.weights, self.starts, axis=1) / self.whole
        return without_rounding(values - means.take(self.group, axis=1), _scale(values))


def _scale(values: Floats) -> Floats:
    scale: Floats = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    return scale


def lists_of(sample: Sample) -> GroupedLists:
    """Return the lists of a sample that are in a group."""
    counts = np.bincount(sample.query_index, minlength=len(sample.queries))
    rows = np.flatnonzero(counts[sample.query_index] >= 2)
    sizes = counts[counts >= 2]
    return GroupedLists(
        rows=rows,
        starts=np.cumsum(sizes) - sizes,
        sessions=sample.sessions[rows],
        clicks=np.ascontiguousarray(sample.click_values[rows].T),
        metrics=np.ascontiguousarray(sample.editorial_values[rows].T),
        null=sample.null_success[None, rows],
        variances=np.ascontiguousarray(sample.click_variances[rows].T),
        shown=sample.shown and sample.shown.of_rows(rows),
        by_fold=sample.by_fold and sample.by_fold.of_rows(rows),
    )


@dataclass(frozen=True)
class Periods:
    """Whole days, cut so that each period has about as many sessions."""

    days: Integers  # Known days, ascending.
    period: Integers  # The period of each.
    number: int  # Periods, with that of unknown days, which is the last.

    def shares(self, lists: GroupedLists) -> Floats:
        """Return the (K, n) shares of the sessions of each list by period."""
        size = len(lists.rows)
        if not self.number or lists.shown is None:
            return np.zeros((self.number, size))
        rows, days, sessions = lists.shown.rows, lists.shown.days, lists.shown.sessions
        period = np.append(self.period, self.number - 1)[np.searchsorted(self.days, days)]
        period[days == NO_DAY] = self.number - 1
        counts = np.bincount(period * size + rows, sessions, self.number * size).reshape(self.number, size)
        shares: Floats = counts / np.maximum(counts.sum(axis=0), 1)
        return shares


def periods_of(block: Sequence[GroupedLists]) -> Periods:
    """Return the periods of the lists of some markets; none where times are not known."""
    every = [lists.shown for lists in block if lists.shown is not None]
    if not every:
        return Periods(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    days, sessions = (np.concatenate([getattr(one, of) for one in every]) for of in ("days", "sessions"))
    known, place = np.unique(days, return_inverse=True)
    counts = np.bincount(place, sessions, len(known)).astype(np.int64)
    is_day = known != NO_DAY
    known, counts = known[is_day], counts[is_day]
    free = sum(lists.free for lists in block)
    most = min(max(1 + free // LISTS_A_PERIOD, FEWEST_PERIODS), MOST_PERIODS, len(known))
    before = np.cumsum(counts) - counts
    _, period = np.unique(most * before // max(1, int(counts.sum())), return_inverse=True)
    number = int(period.max(initial=-1)) + 1 + int(not is_day.all())
    return Periods(known, period.astype(np.int64), number)


def _fold_shares(lists: GroupedLists, joined: int) -> Floats:
    """Return the (joined, n) shares of the sessions of each list by fold of users, joined by number."""
    size = len(lists.rows)
    if lists.by_fold is None:
        return np.zeros((joined, size))
    cells = lists.by_fold
    counts = np.bincount(cells.folds % joined * size + cells.rows, cells.sessions, joined * size)
    return counts.reshape(joined, size) / lists.sessions


def folds_of(block: Sequence[GroupedLists]) -> Integers:
    """Return the folds of users that some lists were shown to, ascending."""
    cells = [lists.by_fold.folds for lists in block if lists.by_fold is not None]
    counts = [np.zeros(USER_FOLDS, np.int64), *(np.bincount(own, minlength=USER_FOLDS) for own in cells)]
    return np.flatnonzero(np.sum(counts, axis=0))


@dataclass(frozen=True)
class TakenOut:
    """What is taken out of the lists of one market, or of several small ones together."""

    free: int = 0  # d, lists beyond the first of each group; 0 where nothing is taken out.
    rank: int = 0  # r, independent shares that are taken out.
    # periods, folds: how many are told apart; 0 where nothing is taken out.
    periods: int = 0
    folds: int = 0

    @property
    def factor(self) -> float:
        """What squared errors are multiplied by, as regression makes them too small: d / (d - r)."""
        return self.free / (self.free - self.rank) if self.rank else 1.0


@dataclass(frozen=True)
class Residuals:
    """Lists without what the periods and folds of their block explain."""

    lists: GroupedLists
    block: TakenOut
    values: Floats  # (C + E + 1, n) residuals of click metrics, offline metrics and SS of the null.
    leverage: Floats  # (n,) h, the part of the noise of each list that centring and regression take out.
    # of_folds, of_users: what shares of folds explain, not centred: (C + E + 1, n) of each list, and (C + E +
    # 1, F) of a list that only users of one fold were shown.
    of_folds: Floats
    of_users: Floats


def residuals_of(samples: Sequence[GroupedLists]) -> list[Residuals]:
    """Take out what periods and folds explain in the lists of each market of one depth and judge.

    A market with `FEWEST_LISTS` lists beyond the first of each query is a block of its own; the others form
    one block together, or join the smallest market that is one if they have fewer. Nothing is taken out where
    all markets together have fewer.
    """
    found: dict[int, Residuals] = {}
    small = [number for number, lists in enumerate(samples) if lists.free < FEWEST_LISTS]
    blocks = [[number] for number in range(len(samples)) if number not in small]
    if blocks and sum(samples[number].free for number in small) < FEWEST_LISTS:
        smallest = min(blocks, key=lambda own: samples[own[0]].free)
        smallest += small
    else:
        blocks.append(small)
    for numbers in blocks:
        block = [samples[number] for number in numbers]
        free = sum(lists.free for lists in block)
        if free >= FEWEST_LISTS:
            found |= zip(numbers, _taken_out(block, free), strict=True)
            continue
        for number, lists in zip(numbers, block, strict=True):
            values, own = _values(lists), lists.weights / lists.whole[lists.group]
            nothing = np.zeros((len(values), USER_FOLDS))
            found[number] = Residuals(lists, TakenOut(), lists.centred(values), own, nothing, nothing)
    return [found[number] for number in range(len(samples))]


def _values(lists: GroupedLists) -> Floats:
    return np.concatenate([lists.clicks, lists.metrics, lists.null])


def _taken_out(block: Sequence[GroupedLists], free: int) -> list[Residuals]:
    """Regress all columns on shares, weighted, within queries; eigenvalues near 0 of their sum are none."""
    periods = periods_of(block)
    joined = USER_FOLDS if free >= LISTS_FOR_ALL_FOLDS else USER_FOLDS // 2
    folds = np.unique(folds_of(block) % joined)
    of_periods = max(0, periods.number - 1)  # the first period and the first fold are left out
    shares = [
        np.concatenate([periods.shares(lists)[1:], _fold_shares(lists, joined)[folds[1:]]]) for lists in block
    ]
    centred = [lists.centred(own) for lists, own in zip(block, shares, strict=True)]
    values = [lists.centred(_values(lists)) for lists in block]
    both = [
        (own * lists.weights) @ np.concatenate([own, others]).T
        for lists, own, others in zip(block, centred, values, strict=True)
    ]
    size = len(shares[0])
    squares, products = np.hsplit(np.sum(both, axis=0), [size])
    spreads, vectors = np.linalg.eigh(squares)
    kept = spreads > max(NO_SPREAD * spreads.max(initial=0.0), 0.0)
    inverse = (vectors[:, kept] / spreads[kept]) @ vectors[:, kept].T
    effects = inverse @ products
    rank = int(kept.sum())
    counted = (number if rank and number > 1 else 0 for number in (periods.number, len(folds)))
    taken = TakenOut(free, rank, *counted)
    by_fold = np.zeros((joined, effects.shape[1]))
    by_fold[folds[1:]] = effects[of_periods:]
    of_users = np.ascontiguousarray(by_fold[np.arange(USER_FOLDS) % joined].T)
    return [
        Residuals(
            lists,
            taken,
            without_rounding(own - effects.T @ others, _scale(_values(lists))),
            lists.weights / lists.whole[lists.group]
            + lists.weights * (others * (inverse @ others)).sum(axis=0),
            effects[of_periods:].T @ raw[of_periods:],
            of_users,
        )
        for lists, own, others, raw in zip(block, values, centred, shares, strict=True)
    ]


def moments(places: Sequence[GroupedLists]) -> tuple[float, Floats]:
    """Return in how many ways lists changed over time, and how far metrics differ within a period.

    Returns moments m = (Σ λ)² / Σ λ², λ the positive eigenvalues of A = Σ w z zᵀ over the shares of periods
    less what drawing sessions adds to it: near 1 where all lists changed at one moment; NaN where times are
    not known, or shares differ by chance alone. And (E,) shares of the spread of each offline metric within
    queries that is within periods: near 1 where lists were shown side by side; NaN where times are not known,
    or nothing varies.
    """
    periods = periods_of(places)
    within, whole = (np.zeros(len(places[0].metrics)) for _ in range(2))
    squares = np.zeros((periods.number, periods.number))
    for lists in places:
        shares, metrics = periods.shares(lists), lists.centred(lists.metrics)
        own = (metrics * metrics * lists.weights).sum(axis=1)
        whole += own
        within += own - sum(_between(metrics, lists.weights * share, lists.starts) for share in shares)
        squares += _spread_of(shares, lists)
    positive = np.maximum(np.linalg.eigvalsh(squares), 0.0) if periods.number else np.zeros(1)
    positive = np.where(positive > NO_SPREAD * len(positive), positive, 0.0)
    ways = float(positive.sum() ** 2 / (positive**2).sum()) if positive.any() else np.nan
    known = (whole > 0) & (len(periods.days) > 0)
    return ways, np.divide(within, whole, out=np.full(len(whole), np.nan), where=known)


def _spread_of(shares: Floats, lists: GroupedLists) -> Floats:
    """Return Σ w z zᵀ of (K, n) shares p less what drawing sessions adds: w (1 - w/W)(diag p - p pᵀ)/(n - 1).

    Of lists with two sessions or more, n of all users, in groups that have two such lists.
    """
    if lists.shown is None:
        return np.zeros((len(shares), len(shares)))
    sessions = np.bincount(lists.shown.rows, lists.shown.sessions, len(lists.rows))
    weights = np.where(sessions > 1, lists.weights, 0.0)
    several = np.add.reduceat((weights > 0).astype(np.int64), lists.starts) > 1
    weights = np.where(several[lists.group], weights, 0.0)
    whole = np.maximum(np.add.reduceat(weights, lists.starts), 1e-9)
    means = np.add.reduceat(shares * weights, lists.starts, axis=1) / whole
    centred = shares - means[:, lists.group]
    drawn = weights * (1 - weights / whole[lists.group]) / np.maximum(sessions - 1, 1)
    return (centred * weights) @ centred.T - np.diag(shares @ drawn) + (shares * drawn) @ shares.T


def _between(metrics: Floats, weights: Floats, starts: Integers) -> Floats:
    """Return (E,) sums over groups of what the means of one period take from the squares."""
    sums, whole = np.add.reduceat(metrics * weights, starts, axis=1), np.add.reduceat(weights, starts)
    between: Floats = np.divide(sums * sums, whole, out=np.zeros_like(sums), where=whole > 0).sum(axis=1)
    return between
