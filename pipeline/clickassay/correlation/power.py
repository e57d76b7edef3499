"""How much has to be judged and clicked to detect a difference between two metrics (method 7.6).

A difference of two weighted correlations is d = D / √S, D a difference of covariances and S the variance
of the click metric. With f times the sessions, sampling noise shrinks: the variance of D over samples of
Q queries is (A + B/f)/Q, where B/f is due to sampling, and S shrinks by the same factor for d and its
error. So Q (A + B/f) queries are needed where Q (A + B) would be at present. A and B come from a pilot:
its error as it is, and with sampling noise added as if each configuration had half the sessions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats, Sample, SampleKey
from clickassay.correlation.comparisons import detectable_errors, difference_spread, queries_needed
from clickassay.correlation.jackknife import Spread, no_rounding
from clickassay.correlation.noise import session_variances, weighted_noise, weighted_reliability
from clickassay.correlation.weighted import centred_sums, correlation_matrix, sample_moments

DRAWS = 32
"""Samples with noise added; they give the mean variance to a few per cent."""


@dataclass(frozen=True)
class Pilot:
    """A sample's estimate of the difference between two metrics' correlations with a click metric.

    Attributes
    ----------
    difference, error, degrees
        The difference in the sample, its standard error, and the degrees of freedom of that.
    queries, configurations, sessions
        Size of the sample.
    noise
        Part of the error's square that is due to the sampling of clicks, 0..1; None where too few
        configurations have two sessions to estimate it.
    """

    difference: float
    error: float
    degrees: float
    queries: int
    configurations: int
    sessions: int
    noise: float | None

    @property
    def spread(self) -> Spread:
        """The spread of the difference, (1, 1) arrays."""
        return Spread(np.array([[self.error]]), np.array([[self.degrees]]), self.queries)


@dataclass(frozen=True)
class RequiredSize:
    """Size of the sample that is needed when configurations have `factor` times the pilot's sessions."""

    factor: float
    queries: int
    configurations: int
    sessions: int


def pilot_of(sample: Sample, click: str, metric_a: str, metric_b: str, *, seed: int) -> Pilot:
    """Measure a pilot.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    click, metric_a, metric_b
        The click metric and the two editorial metrics.
    seed
        Seed of the added noise.

    Raises
    ------
    SettingsError
        If a metric is not of the sample, or the difference has no standard error.
    """
    for name, names, what in (
        (click, sample.click_names, "click metric"),
        (metric_a, sample.editorial_names, "editorial metric"),
        (metric_b, sample.editorial_names, "editorial metric"),
    ):
        if name not in names:
            raise SettingsError(f"{what} {name} is not in this run; it has {', '.join(names)}")
    small = sample.narrowed([click], [metric_a, metric_b])
    moments = sample_moments(small)
    difference, spread = _difference(small, moments)
    if not spread.error.item() > 0:
        raise SettingsError(
            f"the difference of {metric_a} and {metric_b} with {click} has no standard error in this run: "
            "too few queries vary; choose another pair or a larger run"
        )
    return Pilot(
        difference=difference,
        error=spread.error.item(),
        degrees=spread.degrees.item(),
        queries=len(small.queries),
        configurations=len(small.sessions),
        sessions=int(small.sessions.sum()),
        noise=_noise_part(small, moments, spread.error.item(), np.random.default_rng(seed)),
    )


def family_size(comparisons: pl.DataFrame, key: SampleKey, click: str) -> int:
    """Return how many comparisons of a run's table are one family for Holm's adjustment; at least 1."""
    own = key.rows(comparisons).filter(click_metric=click)
    return max(1, own["p_value"].count())


def required_sizes(
    pilot: Pilot, difference: float, factors: Sequence[float], *, alpha: float, power: float
) -> tuple[RequiredSize, ...]:
    """Return how many queries it takes to detect a difference, for each factor of sessions.

    Parameters
    ----------
    pilot
        Estimate and size of a sample.
    difference
        The difference to detect, at the pilot's sessions per configuration; not 0.
    factors
        Sessions per configuration as multiples of the pilot's.
    alpha, power
        Significance level of the two-sided test, and the chance to detect the difference.
    """
    chosen = factors if pilot.noise is not None else (1.0,)
    return tuple(
        _required_size(pilot, _queries(pilot, difference, alpha, power), factor) for factor in chosen
    )


def smallest_difference(pilot: Pilot, *, alpha: float, power: float) -> float:
    """Return the difference that a sample as large as the pilot detects with this power."""
    return float(detectable_errors(pilot.spread, np.array(alpha), power).item()) * pilot.error


def _required_size(pilot: Pilot, queries: float, factor: float) -> RequiredSize:
    noise = pilot.noise or 0.0
    needed = max(2, math.ceil(queries * (1 - noise * (1 - 1 / factor))))
    share = needed / pilot.queries
    return RequiredSize(
        factor, needed, math.ceil(share * pilot.configurations), math.ceil(share * pilot.sessions * factor)
    )


def _queries(pilot: Pilot, difference: float, alpha: float, power: float) -> float:
    wanted, one = np.array([[difference]]), np.array([1])
    found = queries_needed(wanted, pilot.spread, pilot.queries, tests=one, alpha=alpha, power=power)
    return float(found.item())


def _difference(sample: Sample, moments: Floats) -> tuple[float, Spread]:
    """Return the difference of the two correlations, and its spread."""
    found = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    difference = no_rounding(found[:, :1] - found[:, 1:])
    pair = np.array([0]), np.array([1])
    spread = difference_spread(moments, difference, pair, n_editorial=2)
    return difference.item(), spread


def _noise_part(sample: Sample, moments: Floats, error: float, rng: np.random.Generator) -> float | None:
    """Return B / (A + B): see the head of this module."""
    reliability = _reliability(sample, moments)
    if np.isnan(reliability):
        return None
    deviation = np.sqrt(session_variances(sample) / sample.sessions[:, None])
    squares = []
    for _ in range(DRAWS):
        noise = deviation * rng.standard_normal(deviation.shape)
        noisy = replace(sample, click_values=sample.click_values + noise)
        squares.append(_difference(noisy, sample_moments(noisy))[1].error.item() ** 2)
    # half the sessions: error² = (A + 2 B)/(Q S), S = 1 + (1 - reliability) times as large
    at_half = float(np.mean(squares)) * (2 - reliability)
    return min(1.0, max(0.0, at_half / error**2 - 1))


def _reliability(sample: Sample, moments: Floats) -> float:
    centred = centred_sums(moments.sum(axis=0), 1, 2)
    noise = weighted_noise(sample).sum(axis=0)
    return float(weighted_reliability(centred.squares_y, centred.sessions, noise, 1)[0])
