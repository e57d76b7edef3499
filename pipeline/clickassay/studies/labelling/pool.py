"""A pool of queries to label: rankings, grade probabilities, costs, weights (Sawade et al. 2012, 2, 4)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats, Integers

TOLERANCE = 1e-6
"""Largest difference from 1 that the sum of a document's probabilities may have."""


@dataclass(frozen=True)
class RankedDocuments:
    """One list of documents for each of m queries, concatenated."""

    documents: Integers  # (E,) indices into the documents of the pool, best first within a query.
    # (m + 1,) where the list of each query begins, and E. An empty list has a performance of 0.
    offsets: Integers

    @property
    def lengths(self) -> Integers:
        """(m,) documents in each list."""
        return np.diff(self.offsets)

    @property
    def queries(self) -> Integers:
        """(E,) the query of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    @property
    def ranks(self) -> Integers:
        """(E,) the rank of each entry, from 1."""
        return np.arange(len(self.documents)) - np.repeat(self.offsets[:-1], self.lengths) + 1

    def cut_each(self, k: Integers) -> "RankedDocuments":
        """Return the first documents of each list: k (m,) is their number, for each list its own."""
        kept = np.minimum(self.lengths, k)
        return RankedDocuments(self.documents[self.ranks <= k[self.queries]], np.append(0, np.cumsum(kept)))


@dataclass(frozen=True)
class Pool:
    """Queries that may be labelled, with grade probabilities and costs; `pool_of` makes and checks it."""

    queries: tuple[str, ...]  # m names.
    offsets: Integers  # (m + 1,) where the documents of each query begin, and D.
    probabilities: Floats  # (D, G) p(y|x, z) of the grades 0..G-1 of each document.
    costs: Floats  # (m,) costs of labelling all documents of a query, above 0, in any unit.
    weights: Floats  # (m,) p(x); they add up to 1.
    rankings: tuple[RankedDocuments, ...]  # One to evaluate, or two to compare.

    def uninformed(self) -> "Pool":
        """Return the pool with all grades of every document equally likely."""
        return replace(self, probabilities=np.full(self.probabilities.shape, 1 / self.probabilities.shape[1]))


def pool_of(
    queries: Sequence[str],
    offsets: ArrayLike,
    probabilities: ArrayLike,
    rankings: Sequence[RankedDocuments],
    *,
    costs: ArrayLike,
    weights: ArrayLike | None = None,
) -> Pool:
    """Return a checked pool; arguments as the attributes of `Pool`.

    Probabilities that add up to 1 within 1e-6 are divided by their sum; weights are divided by their sum, and
    are equal if None. Raises ActiveError, which names the query or document at fault.
    """
    names = tuple(queries)
    if not names:
        raise ActiveError("the pool is empty: give at least one query")
    if len(rankings) not in (1, 2):
        raise ActiveError(f"{len(rankings)} rankings were given: give one to evaluate, or two to compare")
    pool = Pool(
        queries=names,
        offsets=np.asarray(offsets, dtype=np.int64),
        probabilities=np.asarray(probabilities, dtype=np.float64),
        costs=np.asarray(costs, dtype=np.float64),
        weights=np.asarray(np.ones(len(names)) if weights is None else weights, dtype=np.float64),
        rankings=tuple(rankings),
    )
    _check_shapes(pool)
    for values, sound, message in (
        (pool.costs, pool.costs > 0, "labelling query {!r} costs {:g}: give a number above 0"),
        (pool.weights, pool.weights >= 0, "query {!r} has the weight {:g}: give a number from 0 up"),
    ):
        wrong = ~(np.isfinite(values) & sound)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ActiveError(message.format(names[at], values[at]))
    if not 0 < pool.weights.sum() < np.inf:
        raise ActiveError("the weights of the queries have no finite sum above 0: give one a weight above 0")
    for number, ranking in enumerate(pool.rankings, start=1):
        _check_ranking(pool, ranking, f"ranking {number}")
    total = pool.probabilities.sum(axis=1)
    wrong = ~(np.abs(total - 1) <= TOLERANCE) | (pool.probabilities < 0).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        given = ", ".join(f"{probability:g}" for probability in pool.probabilities[at])
        raise ActiveError(
            f"the probabilities of {_document(pool, at)} are {given}: give one of 0 or more for each grade, "
            "with a sum of 1"
        )
    sound = pool.probabilities / total[:, None]
    return replace(pool, probabilities=sound, weights=pool.weights / pool.weights.sum())


def _check_shapes(pool: Pool) -> None:
    m = len(pool.queries)
    if pool.probabilities.ndim != 2 or pool.probabilities.shape[1] < 2:
        raise ActiveError(
            f"probabilities have the shape {pool.probabilities.shape}: give documents x grades, 2 or more"
        )
    for name, values, size in (
        ("costs", pool.costs, m),
        ("weights", pool.weights, m),
        ("offsets", pool.offsets, m + 1),
    ):
        if values.shape != (size,):
            raise ActiveError(f"{name} have the shape {values.shape}: give {size} for {m} queries")
    _check_offsets(pool.offsets, len(pool.probabilities), "the documents")


def _check_offsets(offsets: Integers, size: int, what: str) -> None:
    if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
        raise ActiveError(f"offsets of {what} must rise from 0 to their number, {size}: count them anew")


def _check_ranking(pool: Pool, ranking: RankedDocuments, name: str) -> None:
    if ranking.offsets.shape != pool.offsets.shape:
        raise ActiveError(
            f"{name} has {len(ranking.offsets) - 1} lists for {len(pool.queries)} queries: give one for each"
        )
    _check_offsets(ranking.offsets, len(ranking.documents), name)
    queries = ranking.queries
    stray = (ranking.documents < pool.offsets[queries]) | (ranking.documents >= pool.offsets[queries + 1])
    if stray.any():
        query = pool.queries[queries[np.argmax(stray)]]
        raise ActiveError(
            f"{name} lists a document for {query!r} that the query lacks: add it, with its probabilities"
        )
    again = np.bincount(ranking.documents, minlength=1)[ranking.documents] > 1
    if again.any():
        document = _document(pool, int(ranking.documents[np.argmax(again)]))
        raise ActiveError(f"{name} lists {document} more than once: keep its best rank")


def _document(pool: Pool, at: int) -> str:
    query = int(np.searchsorted(pool.offsets, at, side="right")) - 1
    return f"document {at - pool.offsets[query] + 1} of query {pool.queries[query]!r}"
