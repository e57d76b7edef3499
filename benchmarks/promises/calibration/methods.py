"""Other intervals beside those of the project, on the same worlds: three kinds of bootstrap over queries.

Resamples of queries are counts of how often each was drawn; sums over a resample are one matrix product,
(B, Q) counts times (Q, K) contributions of the queries.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.coverage import STATISTICS, intervals, summary, true_values
from benchmarks.promises.calibration.work import REAL, Chunk, chunks
from benchmarks.promises.calibration.worlds import FAR, FIRST, NEAR, draw, make_pool, truth, with_metrics
from clickassay.core.records import Floats, Sample
from clickassay.correlation.rankers import covariance_contributions, exact_correlations, within_queries
from clickassay.correlation.uncertainty.intervals import left_out
from clickassay.correlation.uncertainty.noise import within_noise, within_reliability
from clickassay.correlation.weighted import centred_sums, query_moments

RESAMPLES = 1000
SELDOM = 0.3
"""Share of the worlds of other questions: a thousand resamples of each take their time."""

OURS = "leave one out, t"
PERCENTILE, BCA, STUDENTISED = "percentile", "BCa", "studentised, symmetric"
CORRELATION, CLOSED, _, FAR_DIFFERENCE, _, CORRECTED = STATISTICS

Ends = tuple[float, float]


@dataclass(frozen=True)
class Statistic:
    """A statistic of sums over queries.

    Attributes
    ----------
    contributions
        (Q, K) additive contributions of the queries.
    of_sums
        Turns (..., K) sums into (...) values.
    bounded
        Whether it lies in -1..1: the studentised bootstrap then works on artanh of it.
    """

    contributions: Floats
    of_sums: Callable[[Floats], Floats]
    bounded: bool


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per nature, size, statistic and method: how often its intervals hold the truth."""
    found = in_processes(of_chunk, chunks(REAL, max(1, round(SELDOM * worlds)), seed), processes)
    return summary(found, "weights", "configurations", "queries", "statistic", "method")


def of_chunk(chunk: Chunk) -> pl.DataFrame:
    """Return one row per world, statistic and method: its interval and the truth."""
    pool = make_pool(chunk.nature, chunk.seed)
    true = true_values(truth(pool))
    rows: list[tuple[str, str, float, float | None, float | None, str | None]] = []
    for rng in chunk.generators("coverage"):  # the first of its worlds
        sample = with_metrics(draw(pool, chunk.queries, rng), FIRST, NEAR, FAR)
        ours, counts = intervals(sample), resample_counts(chunk.queries, RESAMPLES, rng)
        for name, statistic in statistics(sample).items():
            own = ours[name]
            rows.append((name, OURS, true[name], own.low, own.high, own.caution))
            for method, ends in bootstrap_intervals(statistic, counts).items():
                low, high = (None if np.isnan(end) else end for end in ends)
                rows.append((name, method, true[name], low, high, own.caution))
    schema = {"statistic": pl.String, "method": pl.String, "truth": pl.Float64, "low": pl.Float64,
              "high": pl.Float64, "caution": pl.String}  # fmt: skip
    return chunk.labelled(pl.DataFrame(rows, schema=schema, orient="row"))


def statistics(sample: Sample) -> dict[str, Statistic]:
    """Return statistics of the first metric, and its difference to the far one, as functions of sums."""
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    both = with_metrics(sample, FIRST, FAR)
    one = with_metrics(sample, FIRST)
    moments = query_moments(one.click_values, one.editorial_values, one.sessions, starts)
    of_both = query_moments(both.click_values, both.editorial_values, both.sessions, starts)
    within = covariance_contributions(one, within_queries(one))
    noisy = np.concatenate([within, within_noise(one)], axis=1)

    def correlation(sums: Floats) -> Floats:
        return centred_sums(sums, 1, 1).correlations[..., 0, 0]

    def difference(sums: Floats) -> Floats:
        found = centred_sums(sums, 1, 2).correlations
        return found[..., 0, 0] - found[..., 0, 1]

    def closed(sums: Floats) -> Floats:
        return exact_correlations(sums[..., :3], 1)[..., 0, 0]

    def corrected(sums: Floats) -> Floats:
        reliability = within_reliability(sums[..., :1], sums[..., 3:], 1)[..., 0]
        return closed(sums) / np.sqrt(reliability)

    return {
        CORRELATION: Statistic(moments, correlation, bounded=True),
        CLOSED: Statistic(within, closed, bounded=True),
        FAR_DIFFERENCE: Statistic(of_both, difference, bounded=False),
        CORRECTED: Statistic(noisy, corrected, bounded=False),
    }


def resample_counts(queries: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Draw `queries` queries with replacement, `resamples` times: (resamples, queries) counts."""
    counts = np.empty((resamples, queries))
    for row in counts:
        row[:] = np.bincount(rng.integers(0, queries, size=queries), minlength=queries)
    return counts


def bootstrap_intervals(statistic: Statistic, counts: Floats) -> dict[str, Ends]:
    """Return the 95% intervals of three kinds of bootstrap; NaN where the sample has no value.

    Resamples without a value are left out.
    """
    contributions = statistic.contributions
    value = float(statistic.of_sums(contributions.sum(axis=0)))
    if np.isnan(value):
        return dict.fromkeys((PERCENTILE, BCA, STUDENTISED), (np.nan, np.nan))
    values = statistic.of_sums(counts @ contributions)
    return {
        PERCENTILE: _quantiles(values, 0.025, 0.975),
        BCA: _bca(statistic, value, values),
        STUDENTISED: _studentised(statistic, value, values, counts),
    }


def _quantiles(values: Floats, low: float, high: float) -> Ends:
    found = np.nanquantile(values, [low, high])
    return float(found[0]), float(found[1])


def _bca(statistic: Statistic, value: float, values: Floats) -> Ends:
    """Bias-corrected and accelerated (Efron 1987), the acceleration from leaving out one query at a time."""
    bias = ndtri((np.nanmean(values < value) + np.nanmean(values <= value)) / 2)
    left = np.concatenate(list(left_out(statistic.contributions, statistic.of_sums)))
    deviations = np.nanmean(left) - left
    cubes, squares = np.nansum(deviations**3), np.nansum(deviations**2)
    acceleration = cubes / (6 * squares**1.5)
    z = bias + ndtri([0.025, 0.975])
    low, high = ndtr(bias + z / (1 - acceleration * z))
    return (np.nan, np.nan) if np.isnan(low + high) else _quantiles(values, low, high)


def _studentised(statistic: Statistic, value: float, values: Floats, counts: Floats) -> Ends:
    """Value -+ the 95% quantile of |resampled - value| / its own error, times the error."""
    error = standard_errors(
        statistic, statistic.contributions.sum(axis=0)[None], np.ones((1, counts.shape[1]))
    )[0]
    errors = standard_errors(statistic, counts @ statistic.contributions, counts)
    if statistic.bounded:
        error, errors = error / (1 - value**2), errors / (1 - values**2)
        value, values = np.arctanh(value), np.arctanh(values)
    distance = np.abs(values - value) / errors
    reach = float(np.quantile(distance[np.isfinite(distance)], 0.95)) * float(error)
    ends = value - reach, value + reach
    return (float(np.tanh(ends[0])), float(np.tanh(ends[1]))) if statistic.bounded else ends


def standard_errors(statistic: Statistic, sums: Floats, counts: Floats) -> Floats:
    """Return the (b,) standard errors of resamples by linearisation: the root of sum_q count_q (g m_q)^2.

    g is the gradient at the resample's sums; sum_q count_q g m_q is 0, as scaling all sums changes nothing.
    """
    gradients = _gradients(statistic, sums)
    linear = gradients @ statistic.contributions.T
    found: Floats = np.sqrt((counts * linear**2).sum(axis=1))
    return found


def _gradients(statistic: Statistic, sums: Floats) -> Floats:
    """Return (b, K) gradients of the statistic at (b, K) sums, by central differences."""
    steps = 1e-5 * np.abs(statistic.contributions).sum(axis=0)
    slopes = []
    for place, step in enumerate(steps):
        shift = np.zeros(len(steps))
        shift[place] = step
        rise = statistic.of_sums(sums + shift) - statistic.of_sums(sums - shift)
        slopes.append(rise / (2 * step) if step > 0 else np.zeros(len(sums)))
    return np.stack(slopes, axis=1)
