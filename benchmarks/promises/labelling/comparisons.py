"""What is evaluated and compared on a pool, and how far the estimates of each kind of plan are off."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.promises.labelling.collections_of_documents import Collection
from benchmarks.promises.labelling.pools import Floats
from benchmarks.promises.labelling.relevance_models import Scored
from benchmarks.promises.labelling.repeated_plans import repeated_estimates
from clickassay.core.seeds import child
from clickassay.studies.labelling.moments import MEASURES, measure_moments, performance
from clickassay.studies.labelling.pool import Pool, RankedDocuments, pool_of
from clickassay.studies.labelling.sampling import CORRECTED, VARIANTS, sampling_distribution

OF_THE_PAPER = tuple(name for name in VARIANTS if name != CORRECTED)
"""The variants of Sawade et al. (2012)."""

PLANS = (*((variant, 0.0) for variant in OF_THE_PAPER), ("active", 0.1))
"""Variants of q, each with its defensive share."""

BEYOND = (1.5, 2, 3, 4)
"""Budgets of passive plans beyond the largest one, as multiples of it: what it takes to catch up. None is
above half the cost of the pool, where most draws are of queries that are paid."""

DROPPED = 0.1
"""Share of the documents that the outdated index has not."""

Point = dict[str, str | int | float]


@dataclass(frozen=True)
class Comparison:
    """What is estimated: the performance of the first ranker, less that of the second if there is one.

    Attributes
    ----------
    name
        What the tables call it.
    rankers
        Names of models; `outdated` is the first one without a tenth of the documents.
    informed_by
        Models whose mean probabilities of grades the plans know.
    """

    name: str
    rankers: tuple[str, ...]
    informed_by: tuple[str, ...]


ESTIMATED = (
    Comparison("forest", ("forest",), ("forest",)),
    Comparison("ordered logit", ("ordered logit",), ("ordered logit",)),
)
SELECTED = (
    Comparison(
        "forest regression or classification",
        ("forest", "forest classification"),
        ("forest", "forest classification"),
    ),
    Comparison("ordered logit or linear", ("ordered logit", "linear"), ("ordered logit",)),
    Comparison("ordered logit or forest", ("ordered logit", "forest"), ("ordered logit", "forest")),
)
UPDATED = (
    Comparison("index update", ("forest", "outdated"), ("forest",)),
    Comparison("twice the training data", ("forest", "forest on half"), ("forest", "forest on half")),
)


def measured(
    collection: Collection,
    scored: Mapping[str, Scored],
    budgets: Floats,
    repetitions: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Return one row per comparison, measure, plan and budget."""
    points: list[Point] = []
    for comparison in (*ESTIMATED, *SELECTED, *UPDATED):
        pool = _pool(collection, scored, comparison, child(rng, "dropped"))
        for measure in MEASURES:
            own = child(rng, comparison.name, measure)
            points += [
                {"comparison": comparison.name, "measure": measure, **point}
                for point in _points(
                    pool, _values(pool, collection, measure), measure, budgets, repetitions, own
                )
            ]
    return pl.DataFrame(points)


def _pool(
    collection: Collection, scored: Mapping[str, Scored], comparison: Comparison, rng: np.random.Generator
) -> Pool:
    probabilities = np.mean([scored[name].probabilities for name in comparison.informed_by], axis=0)
    first = _sorted(collection, scored[comparison.rankers[0]].scores)
    rankings = [
        _outdated(first, rng) if name == "outdated" else _sorted(collection, scored[name].scores)
        for name in comparison.rankers
    ]
    names = [f"q{number}" for number in range(len(collection.costs))]
    return pool_of(names, collection.offsets, probabilities, rankings, costs=collection.costs)


def _sorted(collection: Collection, scores: Floats) -> RankedDocuments:
    return RankedDocuments(np.lexsort((-scores, collection.of_query)), collection.offsets)


def _outdated(ranking: RankedDocuments, rng: np.random.Generator) -> RankedDocuments:
    kept = rng.random(len(ranking.documents)) >= DROPPED
    lengths = np.bincount(ranking.queries[kept], minlength=len(ranking.lengths))
    return RankedDocuments(ranking.documents[kept], np.append(0, np.cumsum(lengths)))


def _values(pool: Pool, collection: Collection, measure: str) -> Floats:
    """Return (m,) L or L1 - L2 by the grades."""
    found = [performance(pool, ranking, collection.grades, measure) for ranking in pool.rankings]
    return found[0] - found[1] if len(found) == 2 else found[0]


def _points(
    pool: Pool, values: Floats, measure: str, budgets: Floats, repetitions: int, rng: np.random.Generator
) -> Iterator[Point]:
    moments = measure_moments(pool, measure)
    for variant, defensive_share in PLANS:
        q = sampling_distribution(pool, measure, variant, defensive_share=defensive_share, moments=moments).q
        spent = _with_more(budgets, pool.costs.sum() / 2) if variant == "passive" else budgets
        own = child(rng, variant, str(defensive_share))
        found = repeated_estimates(values, pool.costs, q, spent, own, repetitions=repetitions)
        for budget, estimates in zip(spent, found.T, strict=True):
            yield {
                "variant": variant,
                "defensive_share": defensive_share,
                "budget": float(budget),
                **_off(estimates, values),
            }


def _with_more(budgets: Floats, most: float) -> Floats:
    beyond = budgets[-1] * np.array(BEYOND)
    return np.append(budgets, beyond[beyond <= most])


def _off(estimates: Floats, values: Floats) -> Point:
    """Return how far estimates are from the mean of all values, and how often they have its sign not."""
    truth = float(values.mean())
    off, wrong = np.abs(estimates - truth), estimates * truth <= 0
    root = np.sqrt(len(estimates))
    return {
        "repetitions": len(estimates),
        "truth": truth,
        "error": float(off.mean()),
        "error_se": float(off.std() / root),
        "selection_error": float(wrong.mean()),
        "selection_error_se": float(wrong.std() / root),
    }
