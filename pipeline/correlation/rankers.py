"""Two virtual rankers (contract 8): Algorithm 3 of Chapelle et al. 2009, and its exact limit.

Only queries with two configurations or more take part.
"""

import math
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pipeline.correlation.resampling import percentile_interval, resampled_sums
from pipeline.correlation.weighted import (
    ROUNDING,
    Correlations,
    correlation_matrix,
    ratio,
    unclipped_ratio,
    without_rounding,
)
from pipeline.sample import Floats, Integers, Sample

CELLS = 2**21
"""Cells of the matrix of draws that are in memory at once: about 50 MB with the indices behind them."""

NO_QUERY = "no query has two configurations"
CLICKS_SAME = "the click metric is the same in all configurations of each query"
EDITORIAL_SAME = "the editorial metric is the same in all configurations of each query"
DRAWS_SAME = "every draw of the two rankers gave the same difference"


@dataclass(frozen=True)
class Within:
    """The configurations of the Q queries that have two or more, n in all, query after query.

    Attributes
    ----------
    values
        (n, C + E) click metrics, then editorial metrics, less their plain mean over the query: differences
        between two configurations of a query are the same, and nothing cancels.
    n_clicks
        C.
    starts, sizes
        (Q,) first row of each query, and its number of rows.
    rows
        (n,) the configurations, as rows of the sample.
    """

    values: Floats
    n_clicks: int
    starts: Integers
    sizes: Integers
    rows: Integers


def within_queries(sample: Sample) -> Within:
    """Take the queries of `sample` that have two configurations or more, centred query by query."""
    counts = np.bincount(sample.query_index, minlength=len(sample.queries))
    rows = np.flatnonzero(counts[sample.query_index] >= 2)
    sizes = counts[counts >= 2]
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate([sample.click_values, sample.editorial_values], axis=1)[rows]
    if len(rows):
        means = np.add.reduceat(values, starts, axis=0) / sizes[:, None]
        scale = np.abs(values).max(axis=0)
        values = without_rounding(values - np.repeat(means, sizes, axis=0), scale)
    return Within(values, sample.click_values.shape[1], starts, sizes, rows)


def monte_carlo(within: Within, *, iterations: int, rng: np.random.Generator) -> Correlations:
    """Run Algorithm 3.

    Per iteration every query gives two different configurations, drawn uniformly, one to engine A and
    one to engine B; dE and dC are the differences of the means over the queries. The same draws
    serve all metrics.

    Parameters
    ----------
    within
        Queries and values.
    iterations
        How often to draw; 1000 in the paper.
    rng
        Source of the draws.

    Returns
    -------
    Pearson correlations of the (dE_i, dC_i), i = 1..iterations.
    """
    deltas = ranker_differences(within, iterations=iterations, rng=rng)
    result = correlation_matrix(
        deltas[:, : within.n_clicks], deltas[:, within.n_clicks :], np.ones(iterations)
    )
    missing = np.isnan(result.values)
    reasons = tuple(tuple(DRAWS_SAME if none else None for none in row) for row in missing)
    return Correlations(result.values, reasons)


def ranker_differences(within: Within, *, iterations: int, rng: np.random.Generator) -> Floats:
    """Return the (iterations, C + E) differences between engines A and B of the means over the queries."""
    deltas = np.zeros((iterations, within.values.shape[1]))
    if not len(within.sizes):
        return deltas
    chunk = max(1, CELLS // len(within.rows))
    with threadpool_limits(limits=1, user_api="blas"):  # threads would change the order of addition
        for first in range(0, iterations, chunk):
            size = min(chunk, iterations - first)
            deltas[first : first + size] = _signs(within, size, rng) @ within.values
    return deltas / len(within.sizes)


def _signs(within: Within, iterations: int, rng: np.random.Generator) -> Floats:
    """Draw the two rankers: (iterations, n), +1 for the configuration of A, -1 for that of B."""
    shape = (iterations, len(within.sizes))
    a = rng.integers(within.sizes, size=shape)
    b = rng.integers(within.sizes - 1, size=shape)
    b += b >= a  # uniform among the others
    signs = np.zeros((iterations, len(within.rows)))
    np.put_along_axis(signs, within.starts + a, 1.0, axis=1)
    np.put_along_axis(signs, within.starts + b, -1.0, axis=1)
    return signs


def query_covariances(within: Within) -> Floats:
    """Compute the unbiased (n - 1) covariances over the configurations of each query. They add up.

    Returns
    -------
    (Q, C + E + C E): variances of the click metrics | of the editorial metrics | covariances.
    """
    y, x = within.values[:, : within.n_clicks], within.values[:, within.n_clicks :]
    products = (y[:, :, None] * x[:, None, :]).reshape(len(y), y.shape[1] * x.shape[1])
    terms = np.concatenate([y * y, x * x, products], axis=1)
    if not len(within.sizes):
        return terms
    sums: Floats = np.add.reduceat(terms, within.starts, axis=0) / (within.sizes - 1)[:, None]
    return sums


def _split(sums: Floats, n_clicks: int) -> tuple[Floats, Floats, Floats]:
    """Split (..., C + E + C E) sums into (..., C), (..., E) and (..., C, E)."""
    n_editorial = (sums.shape[-1] - n_clicks) // (n_clicks + 1)
    squares_y, squares_x, products = np.split(sums, [n_clicks, n_clicks + n_editorial], axis=-1)
    return squares_y, squares_x, products.reshape(*sums.shape[:-1], n_clicks, n_editorial)


def exact_correlations(sums: Floats, n_clicks: int) -> Floats:
    """Return sum_q S_ec / sqrt(sum_q S_ee sum_q S_cc), the limit of Algorithm 3 for endless iterations.

    Parameters
    ----------
    sums
        (..., C + E + C E) sums of `query_covariances`.
    n_clicks
        C.

    Returns
    -------
    (..., C, E) correlations; NaN where a metric does not vary within the queries.
    """
    squares_y, squares_x, products = _split(sums, n_clicks)
    return ratio(products, squares_y, squares_x)


def noise_corrected(sums: Floats, n_clicks: int, noise: Floats) -> Floats:
    """Return the same with `noise` subtracted from sum_q S_cc: what endless sessions would show.

    Not clipped: it may lie beyond -1 or 1. NaN where `noise` is NaN or explains all of sum_q S_cc.
    """
    squares_y, squares_x, products = _split(sums, n_clicks)
    left = squares_y - noise
    real = left > ROUNDING * squares_y  # false for NaN
    return unclipped_ratio(products, np.where(real, left, 0), squares_x)


def sampling_noise(sample: Sample, within: Within) -> Floats:
    """Return (C,) E of what sampling adds to sum_q S_cc: sum_q mean_i (s_i^2 / n_i).

    A configuration with one session has no s_i^2 of its own; it is given the pooled variance of the
    sample, weighted by n - 1. NaN when no configuration has two sessions.
    """
    if not len(within.sizes):
        return np.full(within.n_clicks, np.nan)
    repeated = sample.sessions >= 2
    freedom = (sample.sessions - 1)[repeated]
    pooled = np.full(within.n_clicks, np.nan)
    if len(freedom):
        pooled = (freedom[:, None] * sample.click_variances[repeated]).sum(axis=0) / freedom.sum()
    variances = np.where(repeated[:, None], sample.click_variances, pooled)[within.rows]
    shares = variances / sample.sessions[within.rows, None]
    noise: Floats = (np.add.reduceat(shares, within.starts, axis=0) / within.sizes[:, None]).sum(axis=0)
    return noise


@dataclass(frozen=True)
class Differences:
    """Correlations of differences between two virtual rankers; arrays are (C, E), NaN = no value.

    Attributes
    ----------
    monte_carlo, monte_carlo_se
        Algorithm 3 and its standard error (1 - r^2) / sqrt(iterations).
    exact, ci_low, ci_high
        Its limit, and the 95 % query-bootstrap interval.
    noise_corrected
        The limit without the sampling noise of the click metric; may lie beyond -1 or 1.
    sign_agreement
        1/2 + asin(exact) / pi: how often dE and dC have the same sign, in the normal limit.
    reasons
        Why there is no `exact` or `monte_carlo`; None where there are both.
    n_queries, n_configurations
        Queries with two configurations or more, and their configurations.
    """

    monte_carlo: Floats
    monte_carlo_se: Floats
    exact: Floats
    ci_low: Floats
    ci_high: Floats
    noise_corrected: Floats
    sign_agreement: Floats
    reasons: tuple[tuple[str | None, ...], ...]
    n_queries: int
    n_configurations: int


def ranker_correlations(
    sample: Sample,
    *,
    iterations: int,
    resamples: int,
    draws: np.random.Generator,
    bootstrap: np.random.Generator,
) -> Differences:
    """Run Algorithm 3 on `sample`, and compute its limit with interval and noise correction.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    iterations, resamples
        Iterations of Algorithm 3; resamples of the query bootstrap.
    draws, bootstrap
        Generators for the one and the other.
    """
    within = within_queries(sample)
    drawn = monte_carlo(within, iterations=iterations, rng=draws)
    covariances = query_covariances(within)
    total = covariances.sum(axis=0)
    exact = exact_correlations(total, within.n_clicks)
    low, high = _interval(covariances, within.n_clicks, resamples, bootstrap)
    return Differences(
        monte_carlo=drawn.values,
        monte_carlo_se=(1 - drawn.values**2) / math.sqrt(iterations),
        exact=exact,
        ci_low=np.where(np.isnan(exact), np.nan, low),
        ci_high=np.where(np.isnan(exact), np.nan, high),
        noise_corrected=noise_corrected(total, within.n_clicks, sampling_noise(sample, within)),
        sign_agreement=0.5 + np.arcsin(exact) / math.pi,
        reasons=_reasons(within, total, drawn),
        n_queries=len(within.sizes),
        n_configurations=len(within.rows),
    )


def _interval(
    covariances: Floats, n_clicks: int, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    if len(covariances) < 2:  # one query drawn again and again shows no spread
        none = np.full(exact_correlations(covariances.sum(axis=0), n_clicks).shape, np.nan)
        return none, none
    return percentile_interval(exact_correlations(resampled_sums(covariances, resamples, rng), n_clicks))


def _reasons(within: Within, total: Floats, drawn: Correlations) -> tuple[tuple[str | None, ...], ...]:
    squares_y, squares_x, _ = _split(total, within.n_clicks)

    def reason(click: int, editorial: int) -> str | None:
        if not len(within.sizes):
            return NO_QUERY
        if not squares_y[click] > 0:
            return CLICKS_SAME
        return drawn.reasons[click][editorial] if squares_x[editorial] > 0 else EDITORIAL_SAME

    return tuple(tuple(reason(y, x) for x in range(len(squares_x))) for y in range(len(squares_y)))
