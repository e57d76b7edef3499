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


def pool_of(
    queries: Sequence[str],
    offsets: ArrayLike,
    probabilities: ArrayLike,
    rankings: Sequence[RankedDocuments],
    *,
    costs: ArrayLike,
    weights: ArrayLike | None = None,
) -> Pool:
    """Return a pool with checked costs, weights and probabilities; arguments as the attributes of `Pool`.

    Probabilities that add up to 1 within 1e-6 are divided by their sum; weights are divided by their sum, and
    are equal if None. Raises ActiveError, which names the query or document at fault.
    """
    names = tuple(queries)
    pool = Pool(
        queries=names,
        offsets=np.asarray(offsets, dtype=np.int64),
        probabilities=np.asarray(probabilities, dtype=np.float64),
        costs=np.asarray(costs, dtype=np.float64),
        weights=np.asarray(np.ones(len(names)) if weights is None else weights, dtype=np.float64),
        rankings=tuple(rankings),
    )
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
    total = pool.probabilities.sum(axis=1)
    wrong = ~(np.abs(total - 1) <= TOLERANCE) | (pool.probabilities < 0).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        given = ", ".join(f"{probability:g}" for probability in pool.probabilities[at])
        query = int(np.searchsorted(pool.offsets, at, side="right")) - 1
        raise ActiveError(
            f"the probabilities of document {at - pool.offsets[query] + 1} of query {names[query]!r} are "
            f"{given}: give one of 0 or more for each grade, with a sum of 1"
        )
    sound = pool.probabilities / total[:, None]
    return replace(pool, probabilities=sound, weights=pool.weights / pool.weights.sum())
