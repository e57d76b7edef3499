"""The query bootstrap: resamples of queries, percentile intervals, p-values (contract 7).

The configurations of a query depend on each other, so queries are what is drawn again. All statistics
here follow from sums over queries; so B resamples are one matrix product, (B, Q) counts of how often
each query was drawn times (Q, K) contributions of the queries. The same resamples serve all
metrics, classes and splits, so differences between metrics are paired.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pipeline.correlation.weighted import ROUNDING
from pipeline.sample import Floats, Integers

CELLS = 2**21
"""Cells of the matrix of counts that are in memory at once, one byte each."""

FEWEST_ROWS = 64
"""Resamples that are worked at once even when that takes more cells: fewer would make no matrix product."""

QUERIES_PER_CELL = 16
"""Splits are crossed as long as a cell holds so many queries: smaller cells cost more than a second pass."""


def child(rng: np.random.Generator, *names: str) -> np.random.Generator:
    """Return a generator that depends on the seed of `rng` and on `names` only.

    Neither on what was drawn before nor on what else is drawn: so a further split, market or depth
    leaves all other numbers as they were. The state of `rng` is neither used nor changed.
    """
    seed = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4)]
    key = (*seed.spawn_key, *words)
    # SFC64 draws a third faster than the default, and a report draws 100 million numbers
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed.entropy, spawn_key=key)))


def resample_counts(queries: int, resamples: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw `queries` queries with replacement, `resamples` times: (resamples, queries) counts.

    A count is nearly Poisson with mean 1: one above 255 has a chance below 1e-500.
    """
    counts = np.empty((resamples, queries), dtype=np.uint8)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, queries, size=queries), minlength=queries)
    return counts


@dataclass(frozen=True)
class Grouping:
    """Classes of queries, and the statistic that is wanted of each class.

    Attributes
    ----------
    labels
        (Q,) class 0, 1, ... of each query.
    size
        Number of classes, L.
    statistic
        Turns (L, b, K) sums over the queries of each class and of b resamples into (L, b, ...) values.
    """

    labels: Integers
    size: int
    statistic: Callable[[Floats], Floats]


@dataclass(frozen=True)
class _Crossing:
    """Groupings worked together: the queries of a cell have the same class in every grouping.

    Attributes
    ----------
    places
        Which groupings these are.
    members
        Memberships of the cells: for each grouping, an (L, cells) matrix of 0 and 1.
    order
        (Q,) the queries, cell after cell.
    bounds
        (cells + 1,) where in `order` the cells begin and end.
    contributions
        (Q, K) those of the queries, in this order.
    """

    places: tuple[int, ...]
    members: tuple[Floats, ...]
    order: Integers
    bounds: Integers
    contributions: Floats


def resampled_statistics(
    contributions: Floats, groupings: Sequence[Grouping], resamples: int, rng: np.random.Generator
) -> list[Floats]:
    """Compute statistics of classes of queries in resamples of all queries.

    All groupings share the resamples, so a class has as many queries in a resample as were drawn of it:
    its share of all queries on average, perhaps none.

    Parameters
    ----------
    contributions
        (Q, K) additive contributions of the queries; Q >= 1.
    groupings
        Classes of the queries, and the statistic of each.
    resamples
        B.
    rng
        Source of the draws.

    Returns
    -------
    For each grouping, the (L, B, ...) statistics of its classes. The same to the last bit whatever the
    number of threads.
    """
    crossings = list(_crossings(contributions, groupings))
    chunks: list[list[Floats]] = [[] for _ in groupings]
    chunk = max(FEWEST_ROWS, CELLS // len(contributions))
    with threadpool_limits(limits=1, user_api="blas"):  # threads would change the order of addition
        for first in range(0, resamples, chunk):
            counts = resample_counts(len(contributions), min(chunk, resamples - first), rng)
            for crossing in crossings:
                for place, sums in zip(crossing.places, _class_sums(counts, crossing), strict=True):
                    chunks[place].append(groupings[place].statistic(sums))
    return [np.concatenate(parts, axis=1) for parts in chunks]


def _crossings(contributions: Floats, groupings: Sequence[Grouping]) -> Iterator[_Crossing]:
    """Cross as many groupings, in their order, as leave cells that are large enough."""
    places: list[int] = []
    cells = np.zeros(len(contributions), dtype=np.int64)
    for place, grouping in enumerate(groupings):
        finer = np.unique(cells * grouping.size + grouping.labels, return_inverse=True)[1]
        if places and (finer.max() + 1) * QUERIES_PER_CELL > len(contributions):
            yield _crossing(contributions, groupings, places, cells)
            places, finer = [], np.unique(grouping.labels, return_inverse=True)[1]
        places, cells = [*places, place], finer
    if places:
        yield _crossing(contributions, groupings, places, cells)


def _crossing(
    contributions: Floats, groupings: Sequence[Grouping], places: Sequence[int], cells: Integers
) -> _Crossing:
    order = np.argsort(cells, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(cells))])
    firsts = order[bounds[:-1]]
    members = [np.equal.outer(np.arange(groupings[at].size), groupings[at].labels[firsts]) for at in places]
    as_floats = tuple(member.astype(np.float64) for member in members)
    return _Crossing(tuple(places), as_floats, order, bounds, contributions[order])


def _class_sums(counts: NDArray[np.uint8], crossing: _Crossing) -> Iterator[Floats]:
    """Yield, for each grouping of a crossing, the (L, b, K) sums over the queries of its classes."""
    ordered = np.take(counts, crossing.order, axis=1)
    spans = list(zip(crossing.bounds[:-1], crossing.bounds[1:], strict=True))
    shape = (len(counts), crossing.contributions.shape[1])
    cells = np.empty((len(spans), *shape))
    for cell, (first, last) in zip(cells, spans, strict=True):
        np.matmul(ordered[:, first:last].astype(np.float64), crossing.contributions[first:last], out=cell)
    for members in crossing.members:
        yield (members @ cells.reshape(len(spans), -1)).reshape(len(members), *shape)


def resampled_sums(contributions: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Add up the contributions of the queries of each resample.

    Parameters
    ----------
    contributions
        (Q, K) additive contributions of the queries; Q >= 1.
    resamples
        B.
    rng
        Source of the draws.

    Returns
    -------
    (B, K) sums. The same to the last bit whatever the number of threads.
    """
    everything = Grouping(np.zeros(len(contributions), dtype=np.int64), 1, lambda sums: sums)
    (sums,) = resampled_statistics(contributions, (everything,), resamples, rng)
    only: Floats = sums[0]
    return only


def percentile_interval(values: Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval over the first axis, leaving NaN out.

    Parameters
    ----------
    values
        (B, ...) statistic of each resample; NaN where a resample has none.
    level
        Coverage of the interval.

    Returns
    -------
    Lower and upper ends, (...), interpolated linearly between order statistics; NaN where more than half
    of the resamples have no value.
    """
    # one metric after another in memory: sorting is several times faster; NaN last
    ordered = np.sort(np.ascontiguousarray(np.moveaxis(values, 0, -1)), axis=-1)
    valid = np.isfinite(ordered).sum(axis=-1)
    low, high = (_quantile(ordered, valid, (1 + side * level) / 2) for side in (-1, 1))
    enough = (valid > 0) & (2 * valid >= len(values))
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def _quantile(ordered: Floats, valid: Integers, part: float) -> Floats:
    position = part * np.maximum(valid - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(valid - 1, 0))
    low, high = (np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0] for at in (below, above))
    quantile: Floats = low + (position - below) * (high - low)
    return quantile


def p_value(differences: Floats) -> Floats:
    """Return the two-sided bootstrap p-value of no difference, over the first axis.

    p = min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (B + 1)), over the B resamples that have a value; the
    observed sample counts as one more, so p is never 0. Differences that are only rounding count as 0.

    Parameters
    ----------
    differences
        (B, ...) difference of two correlations in each resample; NaN where a resample has none.

    Returns
    -------
    (...) p-values, 0..1; NaN where more than half of the resamples have no value.
    """
    valid = np.isfinite(differences).sum(axis=0)
    not_above = (differences <= ROUNDING).sum(axis=0)
    not_below = (differences >= -ROUNDING).sum(axis=0)
    p = np.minimum(1, 2 * (1 + np.minimum(not_above, not_below)) / (valid + 1))
    return np.where((valid > 0) & (2 * valid >= len(differences)), p, np.nan)
