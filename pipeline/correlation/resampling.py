"""The query bootstrap: resamples of queries, percentile intervals, p-values (contract 7).

The configurations of a query depend on each other, so queries are what is drawn again. All statistics
here follow from sums over queries; so B resamples are one matrix product, (B, Q) counts of how often
each query was drawn times (Q, K) contributions of the queries. The same resamples serve all
metrics, so differences between metrics are paired.
"""

import hashlib
import json
from typing import cast

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pipeline.correlation.weighted import ROUNDING
from pipeline.sample import Floats, Integers

CELLS = 2**21
"""Cells of the matrix of counts that are in memory at once: about 50 MB with the draws behind them."""


def child(rng: np.random.Generator, *names: str) -> np.random.Generator:
    """Return a generator that depends on the seed of `rng` and on `names` only.

    Neither on what was drawn before nor on what else is drawn: so a further split, market or depth
    leaves all other numbers as they were. The state of `rng` is neither used nor changed.
    """
    seed = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4)]
    key = (*seed.spawn_key, *words)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))


def resample_counts(queries: int, resamples: int, rng: np.random.Generator) -> Integers:
    """Draw `queries` queries with replacement, `resamples` times: (resamples, queries) counts."""
    draws = rng.integers(0, queries, size=(resamples, queries))
    draws += queries * np.arange(resamples)[:, None]
    counts = np.bincount(draws.ravel(), minlength=resamples * queries)
    return counts.reshape(resamples, queries)


def resampled_sums(contributions: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Add up the contributions of the queries of each resample.

    Parameters
    ----------
    contributions
        (Q, K) additive contributions of the queries; Q >= 1.
    resamples
        B.
    rng
        Source of the draws.

    Returns
    -------
    (B, K) sums. The same to the last bit whatever the number of threads.
    """
    queries = len(contributions)
    sums = np.empty((resamples, contributions.shape[1]))
    chunk = max(1, CELLS // queries)
    with threadpool_limits(limits=1, user_api="blas"):  # threads would change the order of addition
        for first in range(0, resamples, chunk):
            size = min(chunk, resamples - first)
            counts = resample_counts(queries, size, rng)
            sums[first : first + size] = counts.astype(np.float64) @ contributions
    return sums


def percentile_interval(values: Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval over the first axis, leaving NaN out.

    Parameters
    ----------
    values
        (B, ...) statistic of each resample; NaN where a resample has none.
    level
        Coverage of the interval.

    Returns
    -------
    Lower and upper ends, (...), interpolated linearly between order statistics; NaN where more than half
    of the resamples have no value.
    """
    ordered = np.sort(values, axis=0)  # NaN last
    valid = np.isfinite(values).sum(axis=0)
    low, high = (_quantile(ordered, valid, (1 + side * level) / 2) for side in (-1, 1))
    enough = (valid > 0) & (2 * valid >= len(values))
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def _quantile(ordered: Floats, valid: Integers, part: float) -> Floats:
    position = part * np.maximum(valid - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(valid - 1, 0))
    low, high = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (below, above))
    quantile: Floats = low + (position - below) * (high - low)
    return quantile


def p_value(differences: Floats) -> Floats:
    """Return the two-sided bootstrap p-value of no difference, over the first axis.

    p = min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (B + 1)), over the B resamples that have a value; the
    observed sample counts as one more, so p is never 0. Differences that are only rounding count as 0.

    Parameters
    ----------
    differences
        (B, ...) difference of two correlations in each resample; NaN where a resample has none.

    Returns
    -------
    (...) p-values, 0..1; NaN where more than half of the resamples have no value.
    """
    valid = np.isfinite(differences).sum(axis=0)
    not_above = (differences <= ROUNDING).sum(axis=0)
    not_below = (differences >= -ROUNDING).sum(axis=0)
    p = np.minimum(1, 2 * (1 + np.minimum(not_above, not_below)) / (valid + 1))
    return np.where((valid > 0) & (2 * valid >= len(differences)), p, np.nan)
