"""Queries with documents, features and grades: simulated after MSLR-WEB30k, or read from LETOR files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from benchmarks.promises.labelling.pools import Floats, Integers, Lengths

LENGTHS = Lengths(middle=97, sigma=0.66, longest=1200)
"""119 documents a query on average, as in MSLR-WEB30k."""

SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
"""Of the grades 0..4."""

FEATURES = 20
SPREAD_OF_QUERIES = 0.5
"""Standard deviation of a feature's mean over queries, and of what features do not tell of a query."""

NOISE = 0.7
"""Standard deviation of the part of a document's relevance that is in no feature; the other part has 1."""


@dataclass(frozen=True)
class Collection:
    """Queries and their judged documents, one query behind the other.

    Attributes
    ----------
    features
        (D, F).
    grades
        (D,) 0..4.
    offsets
        (m + 1,) where the documents of each query begin, and D.
    costs
        (m,) of labelling all documents of a query, 1 on average over the collection that was made.
    """

    features: NDArray[np.float32]
    grades: Integers
    offsets: Integers
    costs: Floats

    @property
    def of_query(self) -> Integers:
        """(D,) the query of each document."""
        return np.repeat(np.arange(len(self.costs)), np.diff(self.offsets))

    def only(self, queries: NDArray[np.bool_]) -> "Collection":
        """Return the collection of some queries (m,)."""
        documents = queries[self.of_query]
        offsets = np.append(0, np.cumsum(np.diff(self.offsets)[queries]))
        return Collection(self.features[documents], self.grades[documents], offsets, self.costs[queries])


def simulated(queries: int, rng: np.random.Generator) -> Collection:
    """Return queries whose documents have grades that follow their features, in part by bends and products.

    A document costs the logarithm of its length, which is lognormal.
    """
    sizes = LENGTHS.drawn(queries, rng)
    offsets = np.append(0, np.cumsum(sizes))
    of_query = np.repeat(np.arange(queries), sizes)
    features = rng.standard_normal((len(of_query), FEATURES), dtype=np.float32)
    features += rng.normal(0, SPREAD_OF_QUERIES, (queries, FEATURES)).astype(np.float32)[of_query]
    noise = rng.normal(0, SPREAD_OF_QUERIES, queries)[of_query] + rng.normal(0, NOISE, len(of_query))
    relevance = _relevance_signal(features) + noise
    grades = np.searchsorted(np.quantile(relevance, np.cumsum(SHARES)[:-1]), relevance)
    costs = np.bincount(of_query, np.log(rng.lognormal(6, 1, len(of_query)).clip(2)), queries)
    return Collection(features, grades, offsets, costs / costs.mean())


def _relevance_signal(features: NDArray[np.float32]) -> Floats:
    """Return (D,) what features tell of relevance, with mean 0 and standard deviation 1."""
    straight = features[:, :10] @ (0.8 ** np.arange(10))
    bent = np.maximum(features[:, 10], 0) + np.abs(features[:, 11]) + features[:, 12] * features[:, 13]
    signal = straight + bent
    return np.asarray((signal - signal.mean()) / signal.std(), dtype=np.float64)


def letor(folder: Path, name: str, *, features: int = 300) -> Collection:
    """Read `name` (libsvm) and `name`.query (documents of each query); every document costs the same."""
    found, grades = load_svmlight_file(str(folder / name), n_features=features, zero_based=False)
    sizes = np.loadtxt(folder / f"{name}.query", dtype=np.int64)
    dense = found.toarray().astype(np.float32)
    return Collection(dense, grades.astype(np.int64), np.append(0, np.cumsum(sizes)), sizes / sizes.mean())


def joined(one: Collection, other: Collection) -> Collection:
    """Return the queries of both; costs are 1 on average again if each document costs the same."""
    offsets = np.append(one.offsets, other.offsets[1:] + one.offsets[-1])
    sizes = np.diff(offsets)
    return Collection(
        np.vstack([one.features, other.features]),
        np.append(one.grades, other.grades),
        offsets,
        sizes / sizes.mean(),
    )
