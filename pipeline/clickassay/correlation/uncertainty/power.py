"""How much has to be judged and clicked to detect a difference between two metrics (method 7.6).

The squared error of a difference d of two weighted correlations is (A + B/f)/Q for Q queries and a log f
times as long: A because queries differ, B because a log has some of all sessions that there could be. A
longer log shows the lists of a query in other proportions, and further lists, and clicks on them; so what
is drawn is the session. B follows from what each session adds to d, its influence. The error of a pilot is
A + B together, so A + B/f is what is left without B (1 - 1/f). That error is uncertain itself, as its degrees
of freedom tell, and what is left is so still more: hence ranges.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.records import Sample, SampleKey
from clickassay.core.special import chdtri
from clickassay.correlation.comparisons import detectable_errors, difference_spread, queries_needed
from clickassay.correlation.uncertainty.jackknife import CONFIDENCE, Spread, difference_interval, no_rounding
from clickassay.correlation.weighted import correlation_matrix, deviations, sample_moments


@dataclass(frozen=True)
class Pilot:
    """A sample's estimate of the difference between two metrics' correlations with a click metric.

    Attributes
    ----------
    difference, error, degrees
        The difference in the sample, its standard error, and the degrees of freedom of that.
    queries, configurations, sessions
        Size of the sample.
    ci_low, ci_high
        95 % interval of the difference.
    noise, noise_low, noise_high
        Part of the error's square that would vanish with ever more sessions, and its 95 % interval; the
        interval is within 0..1, the estimate can be above 1 by chance.
    """

    difference: float
    error: float
    degrees: float
    queries: int
    configurations: int
    sessions: int
    ci_low: float
    ci_high: float
    noise: float
    noise_low: float
    noise_high: float

    @property
    def spread(self) -> Spread:
        """The spread of the difference, (1, 1) arrays."""
        return Spread(np.array([[self.error]]), np.array([[self.degrees]]), self.queries)


@dataclass(frozen=True)
class RequiredSize:
    """Size of the sample that is needed when a log is `factor` times as long as the pilot's.

    Attributes
    ----------
    factor
        Sessions per query as multiples of the pilot's.
    queries, fewest, most
        Judged queries, and their 95 % range, as the standard error of the pilot is uncertain.
    configurations
        Judged lists of these queries at factor 1; None at others, where a log shows more or fewer.
    sessions
        Of these queries.
    """

    factor: float
    queries: int
    fewest: int
    most: int
    configurations: int | None
    sessions: int


def pilot_of(sample: Sample, click: str, metric_a: str, metric_b: str) -> Pilot:
    """Measure a pilot.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    click, metric_a, metric_b
        The click metric and the two editorial metrics.

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
    difference, spread = _difference(small)
    if not spread.error.item() > 0:
        raise SettingsError(
            f"the difference of {metric_a} and {metric_b} with {click} has no standard error in this run: "
            "too few queries vary; choose another pair or a larger run"
        )
    low, high = (end.item() for end in difference_interval(np.array([[difference]]), spread))
    noise = session_noise(small) / spread.error.item() ** 2
    low_error, high_error = _error_range(spread.degrees.item())
    return Pilot(
        difference=difference,
        error=spread.error.item(),
        degrees=spread.degrees.item(),
        queries=len(small.queries),
        configurations=len(small.sessions),
        sessions=int(small.sessions.sum()),
        ci_low=low,
        ci_high=high,
        noise=noise,
        noise_low=min(1.0, noise / high_error),
        noise_high=min(1.0, noise / low_error),
    )


def session_noise(sample: Sample) -> float:
    """Return what sessions, drawn one by one, add to the squared error of a difference of two correlations.

    A session in configuration i whose click metric is y changes r_a - r_b by c/N (its influence), with
    standardised z of the click metric, a and b of the editorial ones, s the scale of the click metric:

        c = shift_i + slope_i (y - mean_i)
        shift = z (a - b) - (r_a - r_b) z^2/2 - (r_a a^2 - r_b b^2)/2,   slope = (a - b - (r_a - r_b) z)/s

    The answer is sum c^2 / N^2, over all N sessions.

    Parameters
    ----------
    sample
        With one click metric and two editorial metrics, none of them constant.
    """
    n, sessions = sample.sessions, sample.sessions.sum()
    y, x = deviations(sample.click_values, n), deviations(sample.editorial_values, n)
    scale_y, scale_x = (np.sqrt((part * part * n).sum(axis=1, keepdims=True) / sessions) for part in (y, x))
    z, (a, b) = (y / scale_y)[0], x / scale_x
    r_a, r_b = ((z * part * n).sum() / sessions for part in (a, b))
    shift = z * (a - b) - (r_a - r_b) / 2 * z**2 - (r_a * a**2 - r_b * b**2) / 2
    slope = (a - b - (r_a - r_b) * z) / scale_y[0]
    between = np.where(n > 1, (n - 1) * sample.click_variances[:, 0], 0.0)
    return float((n * shift**2 + slope**2 * between).sum() / sessions**2)


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
        The difference to detect, at the pilot's sessions per query; not 0.
    factors
        Sessions per query as multiples of the pilot's.
    alpha, power
        Significance level of the two-sided test, and the chance to detect the difference.
    """
    queries = _queries(pilot, difference, alpha, power)
    return tuple(_required_size(pilot, queries, factor) for factor in factors)


def smallest_difference(pilot: Pilot, *, alpha: float, power: float) -> float:
    """Return the difference that a sample as large as the pilot detects with this power."""
    return float(detectable_errors(pilot.spread, np.array(alpha), power).item()) * pilot.error


def _required_size(pilot: Pilot, queries: float, factor: float) -> RequiredSize:
    """Return the size at a factor: queries (V - B (1 - 1/f)), V = A + B as estimated, and at its ends."""
    errors = (1.0, *_error_range(pilot.degrees))
    parts = (v - min(v, pilot.noise) * (1 - 1 / factor) for v in errors)
    needed, fewest, most = (max(2, math.ceil(queries * part)) for part in parts)
    share = needed / pilot.queries
    lists = math.ceil(share * pilot.configurations) if factor == 1 else None
    return RequiredSize(factor, needed, fewest, most, lists, math.ceil(share * pilot.sessions * factor))


def _error_range(degrees: float) -> tuple[float, float]:
    """Return the ends of the range of a squared error, as parts of its estimate (chi-square)."""
    low, high = (
        degrees / float(chdtri(degrees, tail)) for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    )
    return low, high


def _queries(pilot: Pilot, difference: float, alpha: float, power: float) -> float:
    wanted, one = np.array([[difference]]), np.array([1])
    needed = queries_needed(wanted, pilot.spread, pilot.queries, tests=one, alpha=alpha, power=power)
    return float(needed.item())


def _difference(sample: Sample) -> tuple[float, Spread]:
    """Return the difference of the two correlations, and its spread."""
    values = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    difference = no_rounding(values[:, :1] - values[:, 1:])
    pair = np.array([0]), np.array([1])
    spread = difference_spread(sample_moments(sample), difference, pair, n_editorial=2)
    return difference.item(), spread
