"""E[L1 L2]: the mean product of the ERR of two rankings (Sawade et al. 2012, Theorem 3)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats, Integers
from clickassay.studies.labelling.pool import RankedDocuments

BATCH_SIZE = 1 << 16
"""Array elements of a batch, queries x ranks in the second list: small enough to stay in the CPU's cache."""


@dataclass(frozen=True)
class GainMoments:
    """Mean and variance of the gain l(y) of each document, by its grade probabilities."""

    mean: Floats  # (D,) E l.
    variance: Floats  # (D,) Var l.

    @property
    def with_padding(self) -> "GainMoments":
        """The pool with one more document, number D, of gain 0: it pads lists."""
        return GainMoments(np.append(self.mean, 0.0), np.append(self.variance, 0.0))

    @property
    def unsatisfied_squared(self) -> Floats:
        """(D,) E[(1 - l)^2]."""
        return np.asarray((1 - self.mean) ** 2 + self.variance)


@dataclass(frozen=True)
class _Batch:
    """Lists of some queries, padded: rank x query for the first ranking, query x rank for the second.

    `position` is the rank from 0 that the second ranking gives the documents of the first, or its width where
    it lacks them. Padding has gain 0, and is in no other list.
    """

    first: Integers
    second: Integers
    position: Integers


def shared_tops(one: RankedDocuments, other: RankedDocuments) -> Integers:
    """Return (m,) at how many ranks from the first on two rankings have the same documents."""
    queries, ranks = one.queries, one.ranks
    place = np.where(ranks <= other.lengths[queries], other.offsets[queries] + ranks - 1, -1)
    differs = np.append(other.documents, -1)[place] != one.documents
    same = one.lengths.copy()
    np.minimum.at(same, queries[differs], ranks[differs] - 1)
    return same


def mean_product(one: RankedDocuments, other: RankedDocuments, gains: GainMoments) -> Floats:
    """Return (m,) E[L1 L2] of ERR; O(|r1| |r2|) for each query, and memory for a batch of them.

    Of `gains`, the last document is that of `with_padding`, which may be in both lists at many ranks.

    The sum over ranks i of the first list and j of the second of t(i, j) / (i j), where S(i, j) is the
    product over documents before i or before j of E[(1 - l)^2] if before both, else E[1 - l], and
    t = S E[l^2] if both ranks hold the same document, else S times a factor for each of the two: E l, or
    E[l (1 - l)] / E[1 - l] if it stands before the other's rank in the other list. Gains are below 1.
    """
    places = np.full(len(gains.mean), -1)
    places[other.documents] = other.ranks - 1
    places[-1] = -1
    products = np.zeros(len(one.offsets) - 1)
    for queries in _batches(one.lengths, other.lengths):
        products[queries] = _products(_batch(one, other, queries, places), gains)
    return products


def _products(batch: _Batch, gains: GainMoments) -> Floats:
    """Return E[L1 L2] of the queries of a batch, one rank of the first list after the other.

    `row` is S(i, j) / j times the factor of the second list's document, for all j. From i to i + 1 it can
    only fall, as 1 - l <= 1: what is too small for a float was of no account, so no logarithms are needed.
    With m, v the mean and variance of l of the document a at i, which has the rank p in the second list:

        E[l^2] / m = m + v / m,                      for j = p: then row holds m itself;
        E[l (1 - l)] / E[1 - l] = m - v / (1 - m),   for j > p;
        E[(1 - l)^2] / E[1 - l] = (1 - m) + v / (1 - m).
    """
    total = np.zeros(len(batch.second))
    row = _first_row(batch.second, gains)
    columns, lines = np.arange(row.shape[1]), np.arange(len(row))
    for rank, (document, position) in enumerate(zip(batch.first, batch.position, strict=True), start=1):
        mean, variance = gains.mean[document], gains.variance[document]
        after = row * (columns > position[:, None])
        at = np.minimum(position, row.shape[1] - 1)
        same = row[lines, at] * np.where(position < row.shape[1], _share(variance, mean), 0)
        later = variance / (1 - mean)
        total += (mean * row.sum(axis=1) + same - later * after.sum(axis=1)) / rank
        row *= (1 - mean)[:, None]
        row += after * later[:, None]
        row[lines, at] -= same
    return total


def _first_row(second: Integers, gains: GainMoments) -> Floats:
    """Return the product of E[1 - l] before each rank j, times E l / j there."""
    gain = gains.mean[second]
    before = np.ones_like(gain)
    np.cumprod(1 - gain[:, :-1], axis=1, out=before[:, 1:])
    return np.asarray(before * gain / np.arange(1, gain.shape[1] + 1))


def _share(variance: Floats, mean: Floats) -> Floats:
    return np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0)


def _batches(one: Integers, other: Integers) -> Iterator[Integers]:
    """Yield queries with two lists in batches of like lengths."""
    both = np.flatnonzero((one > 0) & (other > 0))
    order = both[np.lexsort((one[both], other[both]))]
    at = 0
    while at < len(order):
        fitting = max(1, BATCH_SIZE // int(other[order[at]]))
        wide = int(other[order[min(at + fitting, len(order)) - 1]])
        end = at + max(1, min(fitting, BATCH_SIZE // wide))
        yield order[at:end]
        at = end


def _padded(ranking: RankedDocuments, queries: Integers, nothing: int) -> Integers:
    """Return (queries, longest) documents of lists, `nothing` behind their ends."""
    starts, lengths = ranking.offsets[queries], ranking.lengths[queries]
    steps = np.arange(lengths.max())
    inside = steps < lengths[:, None]
    return np.where(inside, ranking.documents[np.where(inside, starts[:, None] + steps, 0)], nothing)


def _batch(one: RankedDocuments, other: RankedDocuments, queries: Integers, places: Integers) -> _Batch:
    nothing = len(places) - 1
    first, second = _padded(one, queries, nothing), _padded(other, queries, nothing)
    position = places[first]
    return _Batch(first.T.copy(), second, np.where(position < 0, second.shape[1], position).T.copy())
