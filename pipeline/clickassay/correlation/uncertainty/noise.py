"""What sampling adds to the variance of a click metric, as sums per query (method 7.2 and 8).

The click metric of a configuration with n sessions is a mean, with variance s²/n; s² is estimated by the
unbiased variance between the sessions. A configuration with one session has none. It takes the mean s²
of those with few sessions, which are most like it: weighting by sessions would give it that of the most
frequent queries.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Integers, Sample
from clickassay.correlation.weighted import ROUNDING

POOLED_CONFIGURATIONS = 1000
"""So many configurations with the fewest sessions above one stand for configurations with one session."""


def weighted_noise(sample: Sample) -> Floats:
    """Return (Q, 3 C + 2) sums of each query for `weighted_reliability`.

    Σ s² | Σ n s² | Σ s² of configurations with few sessions | their number | number of those with one
    session.
    """
    variances, single, few = list_variances(sample.click_variances, sample.sessions)
    terms = (*variances, *(variances * sample.sessions), *(variances * few), few, single)
    return _by_query(sample, terms)


def weighted_reliability(squares: Floats, sessions: Floats, sums: Floats, n_clicks: int) -> Floats:
    """Return the part of Σ n (y - m)² that is not due to sampling.

    Its expected part from sampling is Σ s² (1 - n/N), N = Σ n.

    squares, sessions: (..., C) Σ n (y - m)², and (..., 1) Σ n.
    sums: (..., 3 C + 2) sums of `weighted_noise`.

    Returns (..., C) reliabilities, at most 1; NaN where sampling explains all, or no configuration has two
    sessions.
    """
    own, by_sessions, few, counts = np.split(sums, n_clicks * np.arange(1, 4), axis=-1)
    n_few, n_single = counts[..., :1], counts[..., 1:]
    pooled = pooled_variance(few, n_few, n_single)
    noise = own - by_sessions / sessions + pooled * n_single * (1 - 1 / sessions)
    return reliability(squares, noise)


def within_noise(sample: Sample) -> Floats:
    """Return (Q, 2 C + 2) sums of each query for `within_reliability`.

    Mean over its configurations of s²/n | Σ s² of configurations with few sessions | their number | part
    of its configurations with one session. The first and the last are 0 for queries with one configuration.
    """
    variances, single, few = list_variances(sample.click_variances, sample.sessions)
    sizes = np.bincount(sample.query_index, minlength=len(sample.queries))
    share = np.where(sizes >= 2, 1 / np.maximum(sizes, 1), 0)[sample.query_index]
    terms = (*(variances * (share / sample.sessions)), *(variances * few), few, single * share)
    return _by_query(sample, terms)


def within_reliability(squares: Floats, sums: Floats, n_clicks: int) -> Floats:
    """Return the part of Σ_q S_cc(q) that is not due to sampling, from sums of `within_noise`; as above."""
    own, few = sums[..., :n_clicks], sums[..., n_clicks : 2 * n_clicks]
    n_few, single = sums[..., -2:-1], sums[..., -1:]
    return reliability(squares, own + pooled_variance(few, n_few, single) * single)


def pooled_variance(few: Floats, n_few: Floats, single: Floats) -> Floats:
    """Return the variance assumed for a configuration with one session; 0 where there is none."""
    pooled = np.divide(few, n_few, out=np.full(few.shape, np.nan), where=n_few > 0)
    return np.where(single > 0, pooled, 0.0)


def reliability(squares: Floats, noise: Floats) -> Floats:
    """Return the part of sums of squares that is no noise, at most 1; NaN where noise explains all."""
    left = squares - noise
    real = (left > ROUNDING * squares) & (squares > 0)  # false for NaN
    part: Floats = np.divide(left, squares, out=np.full(left.shape, np.nan), where=real)
    return part


def list_variances(
    variances: Floats, sessions: Integers
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (C, N) variances, 0 with one session; which have one; which few. `variances` are (N, C)."""
    single = sessions < 2
    repeated = np.sort(sessions[~single])
    limit = repeated[min(POOLED_CONFIGURATIONS, len(repeated)) - 1] if len(repeated) else 0
    few = ~single & (sessions <= limit)
    return np.where(single, 0.0, np.ascontiguousarray(variances.T)), single, few


def _by_query(sample: Sample, terms: Sequence[NDArray[Any]]) -> Floats:
    """Return (Q, K) sums of K terms, (N,) each; added up one by one, as they lie in memory."""
    if not len(sample.queries):
        return np.zeros((0, len(terms)))
    return np.array([np.add.reduceat(term.astype(np.float64), sample.starts) for term in terms]).T
