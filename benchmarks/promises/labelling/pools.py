"""Simulated pools with labels: queries of unlike difficulty and cost, and two rankings of their documents."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.studies.labelling.pool import Pool, RankedDocuments, pool_of

GRADES = 5

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Lengths:
    """How many documents queries have: the exponential of a normal variate, cut off."""

    middle: float
    sigma: float
    longest: int

    def drawn(self, queries: int, rng: np.random.Generator) -> Integers:
        """Return the documents of each of so many queries, 1 or more."""
        sizes = np.rint(rng.lognormal(np.log(self.middle), self.sigma, queries))
        return np.clip(sizes, 1, self.longest).astype(np.int64)


def simulated(queries: int, lengths: Lengths, rankings: int, rng: np.random.Generator) -> tuple[Pool, Floats]:
    """Return a pool, and (D,) the relevance that its probabilities follow.

    A document's relevance is that of its query plus its own; rankings sort by it with errors, of which those
    of the second are larger. Costs are logarithms of the documents' lengths, and 1 on average.
    """
    sizes = lengths.drawn(queries, rng)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    of_query = np.repeat(np.arange(queries), sizes)
    relevance = rng.normal(-0.7, 0.8, queries)[of_query] + rng.normal(0, 1, len(of_query))
    seconds = np.log(rng.lognormal(6, 1, len(of_query)).clip(2))
    costs = np.bincount(of_query, seconds, queries)
    lists = [
        RankedDocuments(np.lexsort((-relevance - rng.normal(0, error, len(relevance)), of_query)), offsets)
        for error in (0.7, 0.9)[:rankings]
    ]
    names = [f"q{number}" for number in range(queries)]
    probabilities = grade_probabilities(relevance)
    return pool_of(names, offsets, probabilities, lists, costs=costs / costs.mean()), relevance


def grade_probabilities(relevance: Floats, noise: float = 0.6) -> Floats:
    """Return (D, G) grade probabilities: that relevance plus logistic noise lies between two thresholds."""
    steps = np.arange(GRADES - 1) - 0.5
    below = 1 / (1 + np.exp(-(steps - relevance[:, None]) / noise))
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def labels(probabilities: Floats, rng: np.random.Generator) -> Integers:
    """Return a grade for each document, drawn with its probabilities."""
    return np.asarray(
        (rng.random((len(probabilities), 1)) > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)
    )
