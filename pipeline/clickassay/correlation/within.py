"""Correlation within queries (method 8.1): whether a metric prefers the list that users prefer.

A group is a query of a market with two judged lists or more. Only differences within groups count, and lists
of all markets together are the sum over all groups. Intervals leave out a query, or a group of
queries with one intent, with all its markets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Integers, Sample, SampleKey, Split
from clickassay.correlation.uncertainty.noise import list_variances, pooled_variance, reliability
from clickassay.correlation.weighted import QUERIES_AT_ONCE, precision_weights, ratio, without_rounding

NO_GROUP = "no query has two judged lists"
CLICKS_SAME = "the click metric is the same in all lists of each query"
EDITORIAL_SAME = "the editorial metric is the same in all lists of each query"

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class GroupSums:
    """Additive sums of the G groups of one depth and judge."""

    units: tuple[str, ...]  # (G,) the unit of each group: the text of its query, or the name of its intent.
    queries: tuple[tuple[str, str], ...]  # (G,) the market and the text of the query of each.
    places: Integers  # (G,) the place of its unit among all, sorted.
    # n_lists, n_sessions: (G,) lists of each group, and their sessions.
    n_lists: Integers
    n_sessions: Integers
    values: Floats  # (G, K) sums over the lists of each group: see `WithinSums`.

    def by_unit(self, chosen: Masks) -> Floats:
        """Return the (Q, K) sums of each unit over the chosen groups, sorted by its name."""
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(self.places[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(self.places[rows], prepend=-1))
        if len(starts) == len(rows):  # no unit has two groups
            return self.values[rows]
        sums: Floats = np.add.reduceat(self.values[rows], starts, axis=0)
        return sums


def joined(parts: Sequence[GroupSums]) -> GroupSums:
    """Return the groups of several markets together."""
    units = tuple(unit for part in parts for unit in part.units)
    counts = ("n_lists", "n_sessions", "values")
    queries = tuple(query for part in parts for query in part.queries)
    return GroupSums(
        units,
        queries,
        _places(units),
        *(np.concatenate([getattr(one, of) for one in parts]) for of in counts),
    )


def _places(units: tuple[str, ...]) -> Integers:
    """Return the place of each unit among all, sorted by name."""
    order = {unit: at for at, unit in enumerate(sorted(set(units)))}
    return np.array([order[unit] for unit in units], np.int64)


@dataclass(frozen=True)
class WithinSums:
    """Sums over groups; w: weight of a list, W: sum of weights of its group, means weighted by w."""

    # squares_y, squares_x, products: (..., C) sums of w (c - mean)², (..., E) of w (e - mean)², and (..., C,
    # E) of w (c - mean)(e - mean).
    squares_y: Floats
    squares_x: Floats
    products: Floats
    # noise, single: (..., C) sums of w (1 - w/W) s²/n over lists with two sessions or more; (..., 1) sums of
    # w (1 - w/W) over lists with one, whose s² is not known.
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
    def reliabilities(self) -> Floats:
        """(..., C) part of `squares_y` that is not due to sampling; NaN where sampling explains all."""
        unknown = pooled_variance(self.few, self.n_few, self.single) * self.single
        return reliability(self.squares_y, self.noise + unknown)

    @property
    def nulls(self) -> Floats:
        """(..., E) correlations of SS if clicks ignored the grades."""
        nulls: Floats = ratio(self.null_products[..., None, :], self.null_squares, self.squares_x)[..., 0, :]
        return nulls


def split_within(sums: Floats, n_clicks: int, n_editorial: int) -> WithinSums:
    """Split (..., K) sums of `group_sums` for C click and E editorial metrics."""
    both = n_clicks * n_editorial
    sizes = (n_clicks, n_editorial, both, n_clicks, n_clicks, 1, 1, 1, n_editorial)
    parts = np.split(sums, np.cumsum(sizes)[:-1], axis=-1)
    parts[2] = parts[2].reshape(*sums.shape[:-1], n_clicks, n_editorial)
    return WithinSums(*parts)


def group_sums(sample: Sample) -> tuple[GroupSums, Integers]:
    """Return the sums of the groups of a sample, and the (G,) index of the query of each."""
    counts = np.bincount(sample.query_index, minlength=len(sample.queries))
    queries = np.flatnonzero(counts >= 2)
    rows = np.flatnonzero(counts[sample.query_index] >= 2)
    sizes = counts[queries]
    sessions, starts = sample.sessions[rows], np.cumsum(sizes) - sizes
    n_sessions = np.add.reduceat(sessions, starts) if len(rows) else sizes
    values = _sums(sample, rows, starts) if len(rows) else np.zeros((0, _width(sample)))
    names = sample.queries if sample.units is None else sample.units
    units = tuple(names[query] for query in queries)
    texts = tuple((sample.key.market, sample.queries[query]) for query in queries)
    return GroupSums(units, texts, _places(units), sizes, n_sessions, values), queries


def _width(sample: Sample) -> int:
    """Return K, the number of sums of a group."""
    n_clicks, n_editorial = len(sample.click_names), len(sample.editorial_names)
    return 3 * n_clicks + 2 * n_editorial + n_clicks * n_editorial + 3


def group_deviations(sample: Sample) -> tuple[Integers, Floats, Floats, Floats]:
    """Return sessions (n,), deviations (C, n) and (E, n) from the means of groups, and variances (C, n).

    Of the n lists that are in a group.
    """
    counts = np.bincount(sample.query_index, minlength=len(sample.queries))
    rows = np.flatnonzero(counts[sample.query_index] >= 2)
    sizes = counts[counts >= 2]
    starts, weights = np.cumsum(sizes) - sizes, precision_weights(sample.sessions[rows])
    y, x = (_centred(one[rows].T, weights, starts) for one in (sample.click_values, sample.editorial_values))
    return sample.sessions[rows], y, x, np.ascontiguousarray(sample.click_variances[rows].T)


def _sums(sample: Sample, rows: Integers, starts: Integers) -> Floats:
    """Return the (G, K) sums of the groups that begin at these `rows`."""
    sessions = sample.sessions[rows]
    weights = precision_weights(sessions)
    whole = np.repeat(np.add.reduceat(weights, starts), np.diff([*starts, len(rows)]))
    left = weights * (1 - weights / whole)  # what centring leaves of the noise of a list
    y, x, null = (
        _centred(values[rows].T, weights, starts)
        for values in (sample.click_values, sample.editorial_values, sample.null_success[:, None])
    )
    own, single, few = list_variances(sample.click_variances[rows], sessions)
    success = sample.null_success[rows]
    chance = left * success * (1 - success) / sessions
    columns = (y, x, null, own, np.stack([weights, left / sessions, left * single, few, chance]))
    sums = np.empty((len(starts), _width(sample)))
    ends = np.append(starts, len(rows))
    for first in range(0, len(starts), QUERIES_AT_ONCE):  # products of all rows would not fit the caches
        block = slice(first, first + QUERIES_AT_ONCE)
        part = slice(starts[first], ends[min(first + QUERIES_AT_ONCE, len(starts))])
        terms = _terms(*(column[:, part] for column in columns))
        added = [np.add.reduceat(term, starts[block] - starts[first], axis=1) for term in terms]
        sums[block] = np.concatenate(added).T
    return sums


def _terms(y: Floats, x: Floats, null: Floats, own: Floats, of_lists: Floats) -> list[Floats]:
    weights, of_noise, single, few, chance = of_lists
    weighted, null_weighted = y * weights, null * weights
    products = [row * x for row in weighted]
    noise = [own * of_noise, own * few, few[None], single[None]]
    return [
        weighted * y, x * weights * x, *products, *noise, null_weighted * null + chance, null_weighted * x
    ]  # fmt: skip


def _centred(values: Floats, weights: Floats, starts: Integers) -> Floats:
    """Return the (M, n) deviations from the weighted mean of their group; exactly 0 where all are equal."""
    columns = np.ascontiguousarray(values)
    sizes = np.diff([*starts, columns.shape[1]])
    means = np.add.reduceat(columns * weights, starts, axis=1) / np.add.reduceat(weights, starts)
    scale = np.abs(columns).max(axis=1, keepdims=True)
    return without_rounding(columns - np.repeat(means, sizes, axis=1), scale)


@dataclass(frozen=True)
class QueryGroups:
    """The groups of a market, or of all markets together, at one depth and judge."""

    key: SampleKey  # Market, depth and judge; the market is ``all`` for all markets together.
    # click_names, editorial_names: The metrics.
    click_names: tuple[str, ...]
    editorial_names: tuple[str, ...]
    groups: GroupSums  # The sums of its groups.
    classes: Mapping[tuple[str, str], Masks]  # By split and class: which groups belong to it.

    def correlations(self, sums: Floats) -> Floats:
        """Return the (..., C, E) correlations of (..., K) sums."""
        return self.split(sums).correlations

    def split(self, sums: Floats) -> WithinSums:
        """Return (..., K) sums by what they are."""
        return split_within(sums, len(self.click_names), len(self.editorial_names))


def query_groups(sample: Sample, splits: Sequence[Split]) -> QueryGroups:
    """Return the groups of a sample and the classes of its queries."""
    groups, queries = group_sums(sample)
    classes = {
        (split.name, label): split.labels[queries] == place
        for split in splits
        for place, label in enumerate(split.classes)
    }
    return QueryGroups(sample.key, sample.click_names, sample.editorial_names, groups, classes)


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
    key = replace(first.key, market=EVERY)
    return replace(first, key=key, groups=joined([place.groups for place in places]), classes=classes)
