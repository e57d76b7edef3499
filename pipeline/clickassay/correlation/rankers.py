"""Two virtual rankers (method 8): Algorithm 3 of Chapelle et al. 2009, and its exact limit.

Only queries with two configurations or more take part.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from clickassay.core.records import Floats, Integers, Sample
from clickassay.correlation import weighted

DRAWS_AT_ONCE = 2**16
"""Draws (iteration, query) that are computed at once: what they need stays in the cache of one core."""

MAX_PLACES = 48
"""In queries with more configurations, values are looked up; below, sums over all places are faster."""

NO_QUERY = "no query has two configurations"
CLICKS_SAME = "the click metric is the same in all configurations of each query"
EDITORIAL_SAME = "the offline metric is the same in all configurations of each query"
DRAWS_SAME = "every draw of the two rankers gave the same difference"


@dataclass(frozen=True)
class Within:
    """The configurations of the Q queries that have two or more, n in all, query after query."""

    # (n, C + E) click metrics, then offline metrics, minus their plain mean over the query: differences
    # between two configurations of a query are the same, and nothing cancels.
    values: Floats
    n_clicks: int  # C.
    # starts, sizes: (Q,) first row of each query, and its number of rows.
    starts: Integers
    sizes: Integers
    rows: Integers  # (n,) the configurations, as rows of the sample.


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
        values = weighted.without_rounding(values - np.repeat(means, sizes, axis=0), scale)
    return Within(values, sample.click_values.shape[1], starts, sizes, rows)


def monte_carlo_correlations(deltas: Floats, n_clicks: int) -> weighted.Correlations:
    """Return the Pearson correlations of (dE_i, dC_i) from the (iterations, C + E) `ranker_differences`."""
    result = weighted.correlation_matrix(deltas[:, :n_clicks], deltas[:, n_clicks:], np.ones(len(deltas)))
    missing = np.isnan(result.values)
    reasons = tuple(tuple(DRAWS_SAME if none else None for none in row) for row in missing)
    return weighted.Correlations(result.values, reasons)


def ranker_differences(within: Within, *, iterations: int, rng: np.random.Generator) -> Floats:
    """Return the (iterations, C + E) differences between engines A and B of the means over the queries.

    Every query gives each engine another of its configurations, drawn uniformly, the same for all metrics.
    """
    deltas = np.zeros((iterations, within.values.shape[1]))
    order = np.argsort(within.sizes, kind="stable")  # a block has queries of about the same size
    block = max(1, DRAWS_AT_ONCE // iterations)
    with threadpool_limits(limits=1, user_api="blas"):  # threads would change the order of addition
        for first in range(0, len(order), block):
            queries = order[first : first + block]
            starts, sizes = within.starts[queries], within.sizes[queries]
            a, b = draw_pairs(sizes, iterations=iterations, rng=rng)
            if sizes.max() <= MAX_PLACES:
                # one matrix product for each place within the query: signs are those of the drawn pairs,
                # and values count from those of the query's last configuration, which then needs none
                ends = starts + sizes - 1
                last, a, b = within.values[ends], a.astype(np.int8), b.astype(np.int8)
                signs = np.empty(a.shape)
                for place in range(int(sizes.max()) - 1):
                    there = (place < sizes - 1)[:, None]
                    rows = np.where(there, within.values[np.minimum(starts + place, ends)] - last, 0.0)
                    of_a, of_b = (a == place).view(np.int8), (b == place).view(np.int8)
                    np.subtract(of_a, of_b, out=signs, casting="unsafe")
                    deltas += signs @ rows
            else:
                for query, start in enumerate(starts):
                    deltas += within.values[start + a[:, query]] - within.values[start + b[:, query]]
    return deltas / max(1, len(order))


def draw_pairs(
    sizes: Integers, *, iterations: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw two different configurations of each query, all ordered pairs with the same chance.

    sizes: (Q,) configurations of each query, n >= 2.
    rng: source of the draws: one uniform number for a pair. What n u leaves beyond its whole part is uniform
      again; a chance is right to about n^2 / 2^53.

    Returns two (iterations, Q) arrays of places 0..n-1 within the query: for engine A and for engine B.
    """
    scaled = rng.random((iterations, len(sizes)))
    scaled *= sizes
    a = scaled.astype(np.int32)
    scaled -= a
    scaled *= sizes - 1
    b = scaled.astype(np.int32)
    b += b >= a  # uniform among the others
    return a, b


def query_covariances(within: Within) -> Floats:
    """Compute the unbiased (n - 1) covariances over the configurations of each query. They add up.

    Returns (Q, C + E + C E): variances of the click metrics | of the offline metrics | covariances.
    """
    n_clicks, n_editorial = within.n_clicks, within.values.shape[1] - within.n_clicks
    sums = np.zeros((len(within.sizes), n_clicks + n_editorial + n_clicks * n_editorial))
    for first in range(0, len(sums), weighted.QUERIES_AT_ONCE):
        block = slice(first, first + weighted.QUERIES_AT_ONCE)
        starts, sizes = within.starts[block], within.sizes[block]
        # a metric's values side by side in memory: adding up is several times faster
        columns = np.ascontiguousarray(within.values[starts[0] : starts[-1] + sizes[-1]].T)
        y, x = columns[:n_clicks], columns[n_clicks:]
        terms = [y * y, x * x, *(row * x for row in y)]
        added = np.concatenate([np.add.reduceat(term, starts - starts[0], axis=1) for term in terms])
        sums[block] = (added / (sizes - 1)).T
    return sums


def exact_correlations(sums: Floats, n_clicks: int) -> Floats:
    """Return sum_q S_ec / sqrt(sum_q S_ee sum_q S_cc), the limit of Algorithm 3 for infinitely many draws.

    (..., C, E), of (..., C + E + C E) sums of `query_covariances`; NaN where nothing varies within queries.
    """
    squares_y, squares_x, products = split_sums(sums, n_clicks)
    return weighted.ratio(products, squares_y, squares_x)


def split_sums(sums: Floats, n_clicks: int) -> tuple[Floats, Floats, Floats]:
    """Split (..., C + E + C E) sums of `query_covariances` into (..., C), (..., E) and (..., C, E)."""
    n_editorial = (sums.shape[-1] - n_clicks) // (n_clicks + 1)
    squares_y, squares_x, products = np.split(sums, [n_clicks, n_clicks + n_editorial], axis=-1)
    return squares_y, squares_x, products.reshape(*sums.shape[:-1], n_clicks, n_editorial)


def covariance_contributions(sample: Sample, within: Within) -> Floats:
    """Return (Q, C + E + C E) `query_covariances` of all queries; 0 for a query with one configuration."""
    covariances = query_covariances(within)
    contributions = np.zeros((len(sample.queries), covariances.shape[1]))
    contributions[sample.query_index[within.rows[within.starts]]] = covariances
    return contributions


def no_value_reasons(within: Within, total: Floats, drawn: weighted.Correlations) -> tuple[str | None, ...]:
    """Return why there is no limit or no `drawn` value, for each pair of metrics in row-major order."""
    squares_y, squares_x, _ = split_sums(total, within.n_clicks)

    def reason(click: int, editorial: int) -> str | None:
        if not len(within.sizes):
            return NO_QUERY
        if not squares_y[click] > 0:
            return CLICKS_SAME
        return drawn.reasons[click][editorial] if squares_x[editorial] > 0 else EDITORIAL_SAME

    return tuple(reason(y, x) for y in range(len(squares_y)) for x in range(len(squares_x)))
