"""Is the estimate unbiased, and do its intervals hold the true value? Repeated plans of simulated pools.

    python -m benchmarks.promises.labelling.honest [--repetitions N] [--defensive-share SHARE]

A pool of 2,000 queries, 14 documents each on average, is labelled once; the grade probabilities of the model
are wrong. The true value is the mean over the pool by those labels. Each repetition draws a plan, looks up
its labels and estimates. A query costs 1 on average, so that a budget buys as many queries. The error of
`passive` drawing at the same budget is shown next to it; `passive` would need (its error / error)^2 times the
budget for the same error.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.promises.labelling.pools import Floats, Lengths, grade_probabilities, labels, simulated
from clickassay.studies.labelling.estimate import WeightedEstimate, estimate
from clickassay.studies.labelling.moments import MEASURES, measure_moments, performance
from clickassay.studies.labelling.plan import draw
from clickassay.studies.labelling.pool import Pool
from clickassay.studies.labelling.sampling import CORRECTED, VARIANTS, expected_error, sampling_distribution

QUERIES = 2_000
LENGTHS = Lengths(middle=12, sigma=0.6, longest=60)
BUDGETS = (50, 100, 300)


@dataclass(frozen=True)
class Found:
    """What repeated estimates of one truth showed."""

    bias: float
    bias_error: float
    error: float
    held: float
    draws: float


def main() -> None:
    """Print the table in Markdown."""
    options = _options()
    print("| of | measure | variant | budget | draws | bias +- its error | error | expected | held |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for rankings in (1, 2):
        pool, values = labelled_pool(rankings, options.queries)
        for measure in MEASURES:
            for row in rows(pool, values[measure], measure, options.repetitions, options.defensive_share):
                print(row, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5_000)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--defensive-share", type=float, default=0.0)
    return parser.parse_args()


def labelled_pool(rankings: int, queries: int) -> tuple[Pool, dict[str, Floats]]:
    """Return a pool, and for each measure (m,) L or L1 - L2 by labels that are drawn once."""
    rng = np.random.default_rng(rankings)
    pool, relevance = simulated(queries, LENGTHS, rankings, rng)
    other = 0.8 * relevance + rng.normal(0, 0.3, len(relevance))  # the model is wrong in slope and in detail
    grades = labels(grade_probabilities(other, noise=0.5), rng)
    values = {}
    for measure in MEASURES:
        each = [performance(pool, ranking, grades, measure) for ranking in pool.rankings]
        values[measure] = each[0] - each[1] if rankings == 2 else each[0]
    return pool, values


def rows(pool: Pool, values: Floats, measure: str, repetitions: int, defensive_share: float) -> Iterator[str]:
    """Yield the rows of a pool and a measure."""
    moments = measure_moments(pool, measure)
    of = "one ranking" if len(pool.rankings) == 1 else "difference of two"
    for variant in VARIANTS:
        q = sampling_distribution(pool, measure, variant, defensive_share=defensive_share).q
        for budget in BUDGETS:
            known = moments.mean if variant == CORRECTED else np.zeros_like(moments.mean)
            found = repeated(pool, (values, known), q, budget, repetitions)
            expected = expected_error(pool, moments, q, budget, variant).error
            yield (
                f"| {of} | {measure} | {variant} | {budget} | {found.draws:.0f} "
                f"| {found.bias:+.4f} +- {found.bias_error:.4f} | {found.error:.4f} | {expected:.4f} "
                f"| {found.held:.1%} |"
            )


def repeated(pool: Pool, values: tuple[Floats, Floats], q: Floats, budget: float, repetitions: int) -> Found:
    """Plan and estimate again and again; `values` are by the labels, and what the model is taken to know."""
    truth = float(pool.weights @ values[0])
    found = [planned(pool, values, q, budget, seed) for seed in range(repetitions)]
    off = np.array([each.value - truth for each in found])
    return Found(
        bias=float(off.mean()),
        bias_error=float(off.std() / np.sqrt(repetitions)),
        error=float(np.sqrt(np.mean(off**2))),
        held=float(np.mean([each.ci_low <= truth <= each.ci_high for each in found])),
        draws=float(np.mean([each.draws for each in found])),
    )


def planned(
    pool: Pool, values: tuple[Floats, Floats], q: Floats, budget: float, seed: int
) -> WeightedEstimate:
    """Draw once and estimate."""
    drawn = draw(pool.costs, q, budget, np.random.default_rng([seed, 7])).queries
    true, known = values
    ratios = pool.weights[drawn] / q[drawn]
    return estimate((true - known)[drawn], ratios, known=float(pool.weights @ known))


if __name__ == "__main__":
    main()
