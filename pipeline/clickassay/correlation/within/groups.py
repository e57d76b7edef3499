"""Correlation within queries (method 8.1): whether a metric prefers the list that users prefer.

A group is a query of a market with two judged lists or more. Only differences within groups count, without
what the periods and users explain that lists were shown in and to (`shared`). Lists of all markets together
are the sum over all groups. Intervals leave out a query, or a group of queries with one intent, with all its
markets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Integers, Sample, SampleKey, Split
from clickassay.correlation.uncertainty.noise import list_variances, pooled_variance, reliability
from clickassay.correlation.weighted import QUERIES_AT_ONCE, ratio
from clickassay.correlation.within import shared
from clickassay.correlation.within.users import FEWEST_FOLDS, Moved, moved_by_folds

NO_GROUP = "no query has two fully judged rankings"
CLICKS_SAME = "the click metric is the same in all rankings of each query"
EDITORIAL_SAME = "the offline metric is the same in all rankings of each query"
NO_TIMES = "times are unknown: a change over time may affect this number"
NO_USERS = "fewer than 8 folds of users: one busy user may dominate this number"

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class GroupSums:
    """Additive sums of the G groups of one depth and judge."""

    units: tuple[str, ...]  # (G,) the unit of each group: the text of its query, or the name of its intent.
    queries: tuple[tuple[str, str], ...]  # (G,) the market and the text of the query of each.
    # n_lists, n_sessions: (G,) lists of each group, and their sessions.
    n_lists: Integers
    n_sessions: Integers
    values: Floats  # (G, K) sums over the lists of each group: see `WithinSums`.

    @cached_property
    def places(self) -> Integers:
        """(G,) the place of the unit of each among all, sorted."""
        order = {unit: at for at, unit in enumerate(sorted(set(self.units)))}
        return np.array([order[unit] for unit in self.units], np.int64)

    def by_unit(self, chosen: Masks, values: Floats | None = None) -> Floats:
        """Return the (Q, K) sums of each unit over the chosen groups, sorted by its name; None = `values`."""
        values = self.values if values is None else values
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(self.places[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(self.places[rows], prepend=-1))
        if len(starts) == len(rows):  # no unit has two groups
            return values[rows]
        return np.add.reduceat(values[rows], starts, axis=0)


def joined(parts: Sequence[GroupSums]) -> GroupSums:
    """Return the groups of several markets together."""
    counts = ("n_lists", "n_sessions", "values")
    return GroupSums(
        tuple(unit for part in parts for unit in part.units),
        tuple(query for part in parts for query in part.queries),
        *(np.concatenate([getattr(one, of) for one in parts]) for of in counts),
    )


@dataclass(frozen=True)
class WithinSums:
    """Sums over groups; w: weight of a list."""

    # squares_y, squares_x, products: (..., C) sums of w c², (..., E) of w e², and (..., C, E) of w c e; c and
    # e are residuals.
    squares_y: Floats
    squares_x: Floats
    products: Floats
    # noise, single: (..., C) sums of w (1 - h) s²/n over lists with two sessions or more, h the leverage; and
    # (..., 1) sums of w (1 - h) over lists with one, whose s² is not known.
    noise: Floats
    # few, n_few: (..., C) sums of s² of lists with few sessions, and (..., 1) their number: their mean stands
    # for it.
    few: Floats
    n_few: Floats
    single: Floats
    # null_squares, null_products: (..., 1) and (..., E): as `squares_y` and `products` of SS if clicks
    # ignored the grades, with chance.
    null_squares: Floats
    null_products: Floats

    @property
    def correlations(self) -> Floats:
        """(..., C, E) correlations within queries; NaN where a metric does not vary within any group."""
        return ratio(self.products, self.squares_y, self.squares_x)

    @property
    def slopes(self) -> Floats:
        """(C, E, 3) derivatives of the correlations by `squares_y`, `products` and `squares_x`."""
        r = self.correlations
        with np.errstate(divide="ignore", invalid="ignore"):
            by_products = 1 / np.sqrt(self.squares_y[:, None] * self.squares_x)
            slopes = -r / 2 / self.squares_y[:, None], by_products, -r / 2 / self.squares_x
        return np.stack(slopes, axis=-1)

    @property
    def reliabilities(self) -> Floats:
        """(..., C) part of `squares_y` that is not due to sampling; NaN where sampling explains all."""
        unknown = pooled_variance(self.few, self.n_few, self.single) * self.single
        return reliability(self.squares_y, self.noise + unknown)

    @property
    def nulls(self) -> Floats:
        """(..., E) correlations of SS if clicks ignored the grades."""
        return ratio(self.null_products[..., None, :], self.null_squares, self.squares_x)[..., 0, :]


def group_sums(part: shared.Residuals) -> Floats:
    """Return the (G, K) sums of the groups of a sample: see `WithinSums`."""
    lists = part.lists
    n_clicks, n_editorial = len(lists.clicks), len(lists.metrics)
    left = lists.weights * (1 - part.leverage)  # what is left of the noise of a list
    y, x, null = np.split(part.values, [n_clicks, n_clicks + n_editorial])
    own, single, few = list_variances(lists.variances.T, lists.sessions)
    chance = left * lists.null[0] * (1 - lists.null[0]) / lists.sessions
    of_lists = np.stack([lists.weights, left / lists.sessions, left * single, few, chance])
    sums = np.empty((len(lists.starts), 3 * n_clicks + 2 * n_editorial + n_clicks * n_editorial + 3))
    ends = np.append(lists.starts, len(lists.rows))
    for first in range(0, len(sums), QUERIES_AT_ONCE):  # products of all rows would not fit the caches
        block = slice(first, first + QUERIES_AT_ONCE)
        place = slice(ends[first], ends[min(first + QUERIES_AT_ONCE, len(sums))])
        some_y, some_x, some_null, variances, lists_too = (
            column[:, place] for column in (y, x, null, own, of_lists)
        )
        weights, of_noise, one_session, few_sessions, by_chance = lists_too
        weighted, null_weighted = some_y * weights, some_null * weights
        terms = [
            weighted * some_y, some_x * weights * some_x, *(row * some_x for row in weighted),
            variances * of_noise, variances * few_sessions, few_sessions[None], one_session[None],
            null_weighted * some_null + by_chance, null_weighted * some_x,
        ]  # fmt: skip
        added = [np.add.reduceat(term, lists.starts[block] - ends[first], axis=1) for term in terms]
        sums[block] = np.concatenate(added).T
    return sums


@dataclass(frozen=True)
class QueryGroups:
    """The groups of a market, or of all markets together, at one depth and judge."""

    key: SampleKey  # Market, depth and judge; the market is ``all`` for all markets together.
    click_names: tuple[str, ...]
    editorial_names: tuple[str, ...]
    groups: GroupSums  # The sums of its groups.
    classes: Mapping[tuple[str, str], Masks]  # By split and class: which groups belong to it.
    parts: tuple[shared.Residuals, ...]  # The residuals of each market, in the order of the groups.

    def correlations(self, sums: Floats) -> Floats:
        """Return the (..., C, E) correlations of (..., K) sums."""
        return self.split(sums).correlations

    def split(self, sums: Floats) -> WithinSums:
        """Return (..., K) sums by what they are."""
        n_clicks, n_editorial = len(self.click_names), len(self.editorial_names)
        both = n_clicks * n_editorial
        sizes = (n_clicks, n_editorial, both, n_clicks, n_clicks, 1, 1, 1, n_editorial)
        parts = np.split(sums, np.cumsum(sizes)[:-1], axis=-1)
        parts[2] = parts[2].reshape(*sums.shape[:-1], n_clicks, n_editorial)
        return WithinSums(*parts)

    @property
    def taken_out(self) -> shared.TakenOut:
        """What is taken out of all blocks together: lists, rank, and the most periods and folds."""
        blocks = {id(part.block): part.block for part in self.parts}.values()
        free, rank = (sum(getattr(one, of) for one in blocks) for of in ("free", "rank"))
        periods, folds = (max(getattr(one, of) for one in blocks) for of in ("periods", "folds"))
        return shared.TakenOut(free, rank, periods, folds)

    @cached_property
    def moments(self) -> tuple[float, Floats]:
        """In how many ways its lists changed, and (E,) how far metrics differ within periods: `moments`."""
        return shared.moments([part.lists for part in self.parts])

    @cached_property
    def caution(self) -> str | None:
        """What is not taken out, since it is not known."""
        if not all(part.lists.has_times for part in self.parts):
            return NO_TIMES
        return NO_USERS if len(shared.folds_of([part.lists for part in self.parts])) < FEWEST_FOLDS else None

    @cached_property
    def moved(self) -> Mapping[tuple[str, str], Moved]:
        """By class with lists enough: what each fold of users moves its correlations by."""
        n_free = self.groups.n_lists - 1
        chosen = {
            name: (own, self.split(self.groups.values[own].sum(axis=0)).slopes[None])
            for name, own in self.classes.items()
            if n_free[own].sum() >= shared.LISTS_FOR_FOLDS
        }
        return moved_by_folds(self.parts, self.groups.places, chosen) if chosen else {}


def query_groups(
    samples: Sequence[Sample], splits: Sequence[Sequence[Split]] | None = None
) -> list[QueryGroups]:
    """Return the groups of each sample, and the classes of its queries, by splits (None = all in one class).

    samples: all markets of a depth and judge: what periods and users explain leaves small ones together.
    """
    parts = shared.residuals_of([shared.lists_of(sample) for sample in samples])
    of_each: Sequence[Sequence[Split]] = [()] * len(samples) if splits is None else splits
    found = []
    for sample, own, part in zip(samples, of_each, parts, strict=True):
        lists = part.lists
        queries = sample.query_index[lists.rows[lists.starts]]
        names = sample.queries if sample.units is None else sample.units
        groups = GroupSums(
            tuple(names[query] for query in queries),
            tuple((sample.key.market, sample.queries[query]) for query in queries),
            np.diff(lists.starts, append=len(lists.rows)),
            np.add.reduceat(lists.sessions, lists.starts),
            group_sums(part),
        )
        classes = {
            (split.name, label): split.labels[queries] == place
            for split in own
            for place, label in enumerate(split.classes)
        } or {(EVERY, EVERY): np.ones(len(queries), np.bool_)}
        metrics = sample.click_names, sample.editorial_names
        found.append(QueryGroups(sample.key, *metrics, groups, classes, (part,)))
    return found


def all_markets(places: Sequence[QueryGroups]) -> QueryGroups:
    """Return the groups of several markets, of one depth and judge, as one place."""
    names = dict.fromkeys(name for place in places for name in place.classes)
    classes = {
        name: np.concatenate(
            [place.classes.get(name, np.zeros(len(place.groups.units), bool)) for place in places]
        )
        for name in names
    }
    first = places[0]
    return replace(
        first,
        key=replace(first.key, market=EVERY),
        groups=joined([place.groups for place in places]),
        classes=classes,
        parts=tuple(part for place in places for part in place.parts),
    )
