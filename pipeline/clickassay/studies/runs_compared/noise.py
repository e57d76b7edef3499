"""Intervals and p-values of the change of a correlation from one run to another (*ours*).

Each query of either run is left out of both at once. So one calculation serves two logs of different queries,
where the variances of both add up, and two runs over the same queries, where the shared errors cancel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from clickassay.core.records import Floats, Sample
from clickassay.correlation.jackknife import (
    CONFIDENCE,
    Deviations,
    cautions,
    difference_interval,
    left_out,
    no_rounding,
    p_value,
)
from clickassay.correlation.rankers import covariance_contributions, exact_correlations, within_queries
from clickassay.correlation.tails import DIFFERENCE_INDEX, is_heavy
from clickassay.correlation.weighted import centred_sums, sample_moments

Pairwise = Callable[[Floats], Floats]
"""Turns (..., K) sums over queries into (..., C, E) correlations."""


@dataclass(frozen=True)
class CorrelationChanges:
    """Changes of P correlations with intervals and p-values; all arrays (P,), NaN where unknown.

    Attributes
    ----------
    a, b
        The correlations in the first run and in the second.
    low, high
        95 % interval of b - a.
    p
        Two-sided p-values of no change.
    cautions
        Why an interval may be unreliable; None where there is no reason.
    """

    a: Floats
    b: Floats
    low: Floats
    high: Floats
    p: Floats
    cautions: tuple[str | None, ...]


@dataclass(frozen=True)
class _Contributions:
    """One run: the contributions of its queries to sums, and the correlations as a function of the sums."""

    queries: tuple[str, ...]
    contributions: Floats  # (Q, K)
    correlations: Pairwise
    heavy_tail: bool = False  # whether its sessions are spread too unevenly for intervals


def weighted_changes(a: Sample, b: Sample) -> CorrelationChanges:
    """Test the changes of all weighted correlations between two samples by leaving out queries.

    Parameters
    ----------
    a, b
        Samples of the first and second run with the same C click and E editorial metrics.

    Returns
    -------
    The C E changes in row-major order.
    """
    return _changes(_weighted(a), _weighted(b))


def within_changes(a: Sample, b: Sample) -> CorrelationChanges:
    """Test the changes of all closed forms of Algorithm 3; otherwise as `weighted_changes`."""
    return _changes(_within(a), _within(b))


def _weighted(sample: Sample) -> _Contributions:
    moments = sample_moments(sample)
    total, shape = moments.sum(axis=0), (len(sample.click_names), len(sample.editorial_names))
    return _Contributions(
        sample.queries,
        moments,
        lambda sums: centred_sums(sums, *shape, total).correlations,
        is_heavy(moments[:, 0], DIFFERENCE_INDEX),
    )


def _within(sample: Sample) -> _Contributions:
    contributions = covariance_contributions(sample, within_queries(sample))
    n_clicks = len(sample.click_names)
    return _Contributions(sample.queries, contributions, lambda sums: exact_correlations(sums, n_clicks))


def _changes(a: _Contributions, b: _Contributions) -> CorrelationChanges:
    """Test r_B - r_A by leaving each query of either run out of both.

    With u_q = (r_B without q - r_B) - (r_A without q - r_A), 0 for a run that lacks q:
    error² = (Q - 1)/Q Σ(u - mean u)² over the Q queries of both runs together.
    """
    queries = sorted({*a.queries, *b.queries})
    of_a, of_b = (_spread_out(half, queries) for half in (a, b))
    value_a, value_b = a.correlations(of_a.sum(axis=0)), b.correlations(of_b.sum(axis=0))
    deviations = Deviations()
    for without_a, without_b in zip(
        left_out(of_a, a.correlations), left_out(of_b, b.correlations), strict=True
    ):
        deviations.add(no_rounding((without_b - value_b) - (without_a - value_a)))
    change, spread = no_rounding(value_b - value_a), deviations.spread().of_shape(value_a.shape)
    low, high = difference_interval(change, spread)
    reasons = cautions(change, low, spread.queries, heavy_tail=a.heavy_tail or b.heavy_tail)
    return CorrelationChanges(
        value_a.ravel(),
        value_b.ravel(),
        low.ravel(),
        high.ravel(),
        p_value(change, spread).ravel(),
        tuple(reasons),
    )


def _spread_out(half: _Contributions, queries: Sequence[str]) -> Floats:
    """Return contributions of all `queries`; 0 for those that a run lacks: its sums do not depend on them."""
    place = {query: number for number, query in enumerate(queries)}
    whole = np.zeros((len(queries), half.contributions.shape[1]))
    whole[[place[query] for query in half.queries]] = half.contributions
    return whole


def from_intervals(a: NDArray[np.float64], b: NDArray[np.float64]) -> CorrelationChanges:
    """Test changes by the intervals in two runs, as if the runs were independent.

    On Fisher's scale the standard error of r is (artanh high - artanh low) / (2 · 1.96), and
    z = (artanh r_B - artanh r_A) / √(error_A² + error_B²). The errors of runs with common queries are
    correlated, so that this test is then conservative.

    Parameters
    ----------
    a, b
        (P, 3) correlations with the lower and upper ends of their intervals; NaN where unknown.

    Returns
    -------
    Changes whose interval is r_B - r_A with the ends of Zou (2007): -√((r_B - low_B)² + (high_A - r_A)²)
    and +√((high_B - r_B)² + (r_A - low_A)²).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fisher_a, fisher_b = np.arctanh(a), np.arctanh(b)
        errors = [
            (fisher[:, 2] - fisher[:, 1]) / (2 * ndtri((1 + CONFIDENCE) / 2))
            for fisher in (fisher_a, fisher_b)
        ]
        z = (fisher_b[:, 0] - fisher_a[:, 0]) / np.hypot(*errors)
    change = b[:, 0] - a[:, 0]
    low = change - np.hypot(b[:, 0] - b[:, 1], a[:, 2] - a[:, 0])
    high = change + np.hypot(b[:, 2] - b[:, 0], a[:, 0] - a[:, 1])
    p = np.where(np.isfinite(z), 2 * ndtr(-np.abs(z)), np.nan)
    return CorrelationChanges(a[:, 0], b[:, 0], low, high, p, (None,) * len(change))
