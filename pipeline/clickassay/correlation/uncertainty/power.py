"""How much has to be judged and clicked to detect a difference of two metrics (method 7.6), or in a test.

The squared error of a difference d of two correlations is (A + B/f)/Q for Q queries and a log f times as
long: A because queries differ, B because a log has some of all sessions that there could be. A longer log
shows the lists of a query in other proportions, and further lists, and clicks on them; so what is drawn is
the session. B follows from what each session adds to d, its influence. The error of a pilot is A + B
together, so A + B/f is what is left without B (1 - 1/f). That error is uncertain itself, as its degrees of
freedom tell: so the power that is promised is the mean over the errors that there may be, and the number of
queries has a range.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.records import USER_FOLDS, Floats, Integers, Sample, SampleKey
from clickassay.core.special import chdtri, ndtr, ndtri, stdtrit
from clickassay.correlation.comparisons import detectable_errors, difference_spread, within_spread
from clickassay.correlation.uncertainty.intervals import (
    CONFIDENCE,
    DIFFERENCE_INDEX,
    Deviations,
    Spread,
    difference_interval,
    is_heavy,
    no_rounding,
)
from clickassay.correlation.uncertainty.noise import list_variances
from clickassay.correlation.weighted import (
    HALF_KNOWN,
    ROUNDING,
    correlation_matrix,
    deviations,
    precision_weights,
    sample_moments,
)
from clickassay.correlation.within.groups import NO_GROUP, QueryGroups, all_markets, query_groups

ERRORS, FACTORS, BISECTIONS = 400, (0.25, 1e6), 50
"""Errors over which power is averaged, factors of queries that are tried, and how often these are halved."""

FEWEST_DEGREES = 2.0
"""Degrees of freedom of a test that has very few units."""


@dataclass(frozen=True)
class Pilot:
    """A sample's estimate of the difference between two metrics' correlations with a click metric."""

    # difference, error, degrees: The difference in the sample, its standard error, and the degrees of freedom
    # of that.
    difference: float
    error: float
    degrees: float
    queries: int
    configurations: int
    sessions: int
    # ci_low, ci_high: 95% CI of the difference.
    ci_low: float
    ci_high: float
    # noise, noise_low, noise_high: Part of the error's square that would vanish with ever more sessions, and
    # its 95% CI; the interval is within 0..1, the estimate can be above 1 by chance.
    noise: float
    noise_low: float
    noise_high: float
    # Whether its sessions are spread so unevenly over queries that other queries can need far more.
    heavy_tail: bool = False

    @property
    def spread(self) -> Spread:
        """The spread of the difference, (1, 1) arrays."""
        return Spread(np.array([[self.error]]), np.array([[self.degrees]]), self.queries)


@dataclass(frozen=True)
class RequiredSize:
    """Size of the sample that is needed when a log is `factor` times as long as the pilot's."""

    factor: float  # Sessions per query as multiples of the pilot's.
    # queries, fewest, most: Judged queries that have the power on average over the errors that there may be;
    # and the 95% range of what would do if the error were known.
    queries: int
    fewest: int
    most: int
    # Judged lists of these queries at factor 1; None at others, where a log shows more or fewer.
    configurations: int | None
    sessions: int  # Of these queries.


def pilot_of(sample: Sample, click: str, metric_a: str, metric_b: str) -> Pilot:
    """Measure a pilot of the difference of two weighted correlations.

    Raises SettingsError if a metric is not of the sample, or the difference has no standard error.
    """
    small = _narrowed(sample, click, metric_a, metric_b)
    values = correlation_matrix(small.click_values, small.editorial_values, small.sessions).values
    difference = no_rounding(values[:, :1] - values[:, 1:])
    moments = small.by_unit(sample_moments(small))
    spread = difference_spread(moments, difference, _PAIR, n_editorial=2)
    size = (len(small.sessions), int(small.sessions.sum()))
    pilot = _pilot(difference, spread, size, session_noise(small), (metric_a, metric_b, click))
    return replace(pilot, heavy_tail=is_heavy(moments[:, 0], DIFFERENCE_INDEX))


def within_pilot(samples: Sequence[Sample], click: str, metric_a: str, metric_b: str) -> Pilot:
    """Measure a pilot of the difference of two correlations within queries (method 8.1).

    samples: configurations of one depth and judge: of one market, or of all markets together.

    Otherwise as `pilot_of`. Its queries are units with two judged lists, its configurations these lists.
    """
    small = [_narrowed(sample, click, metric_a, metric_b) for sample in samples]
    groups = all_markets(query_groups(small))
    sums = groups.groups.by_unit(groups.classes[EVERY, EVERY])
    names = (metric_a, metric_b, click)
    if not len(sums):
        raise SettingsError(
            f"{NO_GROUP}: there is no difference within queries to detect; --question queries"
        )
    values = groups.correlations(sums.sum(axis=0))
    difference = no_rounding(values[:, :1] - values[:, 1:])
    spread = within_spread(groups, difference, _PAIR)
    size = (int(groups.groups.n_lists.sum()), int(groups.groups.n_sessions.sum()))
    return _pilot(difference, spread, size, within_session_noise(groups), names)


_PAIR = (np.array([0]), np.array([1]))


def _narrowed(sample: Sample, click: str, *metrics: str) -> Sample:
    for name, names, what in (
        (click, sample.every_click, "click metric"),
        *((metric, sample.editorial_names, "offline metric") for metric in metrics),
    ):
        if name not in names:
            raise SettingsError(f"{what} {name} is not in this run; it has {', '.join(names)}")
    return sample.of_click(click).narrowed([click], metrics)


def _pilot(
    difference: Floats, spread: Spread, size: tuple[int, int], noise: float, names: tuple[str, str, str]
) -> Pilot:
    """Return a pilot; `size` is its lists and sessions, `noise` what these add to its squared error."""
    if not spread.error.item() > 0:
        raise SettingsError(
            f"the difference of {names[0]} and {names[1]} with {names[2]} has no standard error in this "
            "run: too few queries vary; choose another pair of metrics or a larger run"
        )
    low, high = (end.item() for end in difference_interval(difference, spread))
    part = noise / spread.error.item() ** 2
    low_error, high_error = _error_range(spread.degrees.item())
    return Pilot(
        difference=difference.item(),
        error=spread.error.item(),
        degrees=spread.degrees.item(),
        queries=spread.queries,
        configurations=size[0],
        sessions=size[1],
        ci_low=low,
        ci_high=high,
        noise=part,
        noise_low=min(1.0, part / high_error),
        noise_high=min(1.0, part / low_error),
    )


def session_noise(sample: Sample) -> float:
    """Return what sessions, drawn one by one, add to the squared error of a difference of two correlations.

    sample: with one click metric and two offline metrics, none of them constant.
    """
    n = sample.sessions
    y, x = deviations(sample.click_values, n), deviations(sample.editorial_values, n)
    variances = np.where(n > 1, sample.click_variances[:, 0], 0.0)
    return _session_noise(y[0], x, n, n.astype(np.float64), np.ones(len(n)), variances)


def within_session_noise(place: QueryGroups) -> float:
    """Return the same of a difference of two correlations within queries.

    A list of n sessions has the weight n/(n + 4), which another session raises by 4/(n + 4)^2. Lists with one
    session have the mean variance of lists with few.
    """
    y, x = np.split(np.concatenate([part.values[:3] for part in place.parts], axis=1), [1])
    n = np.concatenate([part.lists.sessions for part in place.parts])
    variances = np.concatenate([part.lists.variances for part in place.parts], axis=1)
    (own,), single, few = list_variances(variances.T, n)
    known = np.where(single, own[few].mean() if few.any() else 0.0, own)
    growth = HALF_KNOWN / (n + HALF_KNOWN) ** 2
    return _session_noise(y[0], x, n, precision_weights(n), growth, known)


def _session_noise(
    y: Floats, x: Floats, n: Integers, weights: Floats, growth: Floats, variances: Floats
) -> float:
    """Return sum c^2 over all sessions, c what a session adds to r_a - r_b (its influence).

    A session in configuration i whose click metric is y has, with z of the click metric and a, b of the
    editorial ones scaled so that their weighted squares add up to 1, s the scale of the click metric, w the
    weight of its list and w' what one more session adds to it:

        c = w' shift_i + (w/n) slope_i (y - true mean_i)
        shift = z (a - b) - (r_a - r_b) z^2/2 - (r_a a^2 - r_b b^2)/2,   slope = (a - b - (r_a - r_b) z)/s

    The sum of the squares of y - true mean_i is n s_i^2 on average. Of it shift_i, whose z is taken from the
    clicks too, has (w' n/w)^2 s_i^2 already, which leaves (n - 1) s_i^2 where w = n.
    """
    scale_y, scale_x = np.sqrt((y * y * weights).sum()), np.sqrt((x * x * weights).sum(axis=1, keepdims=True))
    z, (a, b) = y / scale_y, x / scale_x
    r_a, r_b = ((z * part * weights).sum() for part in (a, b))
    shift = z * (a - b) - (r_a - r_b) / 2 * z**2 - (r_a * a**2 - r_b * b**2) / 2
    slope = (a - b - (r_a - r_b) * z) / scale_y
    between = (n - (growth * n / weights) ** 2) * variances
    return float((n * (growth * shift) ** 2 + (weights / n * slope) ** 2 * between).sum())


def family_size(comparisons: pl.DataFrame, key: SampleKey, click: str, than: str | None) -> int:
    """Return how many tests of a run's comparisons the decision takes for one family.

    `than` is the metric that all others are compared with; None = all pairs.

    Raises SettingsError if there is none, as of SS.
    """
    own = key.rows(comparisons).filter(pl.col("p_value").is_not_null(), click_metric=click)
    size = own.filter(than is None or pl.any_horizontal(pl.col("metric_a", "metric_b") == than)).height
    if not size:
        raise SettingsError(
            f"click metric {click} does not compare metrics in this run: name another click "
            "metric, such as MeanRR"
        )
    return size


def required_sizes(
    pilot: Pilot, difference: float, factors: Sequence[float], *, alpha: float, power: float
) -> tuple[RequiredSize, ...]:
    """Return how many queries it takes to detect a difference, for each factor of sessions.

    difference: the difference to detect, at the pilot's sessions per query; not 0.
    factors: sessions per query as multiples of the pilot's.
    alpha, power: significance level of the two-sided test, and the chance to detect the difference.
    """
    threshold = float(detectable_errors(pilot.spread, np.array(alpha), 0.5).item())
    wide = threshold + float(ndtri(power))
    queries = (
        pilot.queries * (wide * pilot.error / difference) ** 2
    )  # were the error of the pilot the true one
    errors = (_mean_over_errors(pilot.degrees, threshold, power), *_error_range(pilot.degrees))
    sizes = []
    for factor in factors:  # V - B (1 - 1/f), V = A + B as estimated, and at its ends
        parts = (v - min(v, pilot.noise) * (1 - 1 / factor) for v in errors)
        needed, fewest, most = (max(2, math.ceil(queries * part)) for part in parts)
        share = needed / pilot.queries
        lists = math.ceil(share * pilot.configurations) if factor == 1 else None
        sessions = math.ceil(share * pilot.sessions * factor)
        sizes.append(RequiredSize(factor, needed, fewest, most, lists, sessions))
    return tuple(sizes)


def smallest_difference(pilot: Pilot, *, alpha: float, power: float) -> float:
    """Return the difference that a sample as large as the pilot detects with this power."""
    threshold = float(detectable_errors(pilot.spread, np.array(alpha), 0.5).item())
    errors = threshold + float(ndtri(power))
    return errors * pilot.error * math.sqrt(_mean_over_errors(pilot.degrees, threshold, power))


def _mean_over_errors(degrees: float, threshold: float, power: float) -> float:
    """Return how many times as many queries have this power on average, as the squared error is not known.

    It is the estimate times degrees / chi-square. With k times as many queries the power is
    Φ(√k (t + z) / e - t) where the true error is e times the estimate, t + z as in `detectable_errors`.
    `threshold` is t.
    """
    ranks = (np.arange(ERRORS) + 0.5) / ERRORS
    ratios = np.sqrt(chdtri(degrees, ranks) / degrees)  # of the estimated error to the true one
    wide = threshold + float(ndtri(power))
    low, high = (math.log(end) for end in FACTORS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        has_power = ndtr(math.exp(middle / 2) * wide * ratios - threshold).mean() >= power
        low, high = (low, middle) if has_power else (middle, high)
    return math.exp(high)


def _error_range(degrees: float) -> tuple[float, float]:
    """Return the ends of the range of a squared error, as parts of its estimate (chi-square)."""
    low, high = (
        degrees / float(chdtri(degrees, tail)) for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    )
    return low, high


# ---- tests ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PilotOfTest:
    """What a log tells of the error of a difference between the arms of a test that is planned."""

    metric: str
    mean: float  # Its mean in the log.
    # units, sessions: Users, or queries, and their sessions.
    units: float
    sessions: int
    # error, degrees: Standard error of a difference if each arm had as many units, and the degrees of freedom
    # of its square.
    error: float
    degrees: float
    # test_degrees, grows: Degrees of freedom that a test of as many units has, and whether more units give
    # more; folds of users do not.
    test_degrees: float
    grows: bool = False
    heavy_tail: bool = False  # As in `Pilot`.

    def needed(self, difference: float, *, alpha: float, power: float) -> tuple[int, int, int]:
        """Return how many units detect a difference, and the 95% range of what would do.

        difference: of the arms; not 0. alpha, power: as in `required_sizes`.

        The number has the power on average over the errors that there may be.
        """
        times, ratio, z = 1.0, (self.error / difference) ** 2, float(ndtri(power))
        for _ in range(BISECTIONS):  # t depends on the number of units, which depends on t
            freedom = max(self.test_degrees * (times if self.grows else 1.0), FEWEST_DEGREES)
            threshold = float(stdtrit(freedom, 1 - alpha / 2))
            times = (times + (threshold + z) ** 2 * ratio) / 2
        parts = (_mean_over_errors(self.degrees, threshold, power), *_error_range(self.degrees))
        needed, fewest, most = (max(2, math.ceil(self.units * times * part)) for part in parts)
        return needed, fewest, most


def pilot_of_users(samples: Sequence[Sample], click: str, sessions: int, users: float) -> PilotOfTest:
    """Measure how much the mean of a click metric over the users of an arm varies.

    A session varies by s², and users by what folds of them, left out one at a time, vary more than sessions
    do: that part grows with the sessions of a user, of which the sample may have some alone.

    samples: the judged rankings of the log, by market.
    sessions, users: of the whole log.

    Raises SettingsError if the click metric is not there, or there are fewer than two folds of users.
    """
    small = [_narrowed(sample, click) for sample in samples]
    sums = np.zeros((USER_FOLDS, 2))
    for sample in small:
        cells = sample.by_fold
        if cells is not None:
            values = np.column_stack([np.ones(len(cells.rows)), cells.values[:, 0]])
            np.add.at(sums, cells.folds, cells.sessions[:, None] * values)
    sums = sums[sums[:, 0] > 0]
    if len(sums) < 2:
        raise SettingsError("users are not told apart in this run; make its pattern table with 16 folds")
    whole = sums.sum(axis=0)
    known, mean = whole[0], whole[1] / whole[0]
    without = whole - sums
    gathered = Deviations()
    gathered.add((without[:, 1] / without[:, 0] - mean)[:, None])
    spread = gathered.spread()
    squares = sum(
        float(n @ (own.click_values[:, 0] - mean) ** 2 + (n - 1) @ np.nan_to_num(own.click_variances[:, 0]))
        for own in small
        for n in [own.sessions]
    )
    of_session = squares / (known - 1)
    of_users = max(float(spread.error.item()) ** 2 * known - of_session, 0.0) * sessions / known
    error = math.sqrt(2 * (of_session + of_users) / sessions)
    if not error > 0:
        raise SettingsError(f"{click} does not vary in this run; name another click metric")
    return PilotOfTest(click, mean, users, sessions, error, len(sums) - 1.0, len(sums) - 1.0)


def pilot_of_rankings(samples: Sequence[Sample], metric: str, changed: float) -> PilotOfTest | None:
    """Measure how much the difference of a metric between two rankings varies from query to query.

    A test weighs queries by their sessions w: error² = changed Σ w² d² / (Σ w)², where d² is the mean square
    of the difference of two rankings of a query, drawn by their sessions. The degrees of the test are those
    of `studies.experiments.effects`: (Σ w²)² / Σ w⁴.

    samples: as in `pilot_of_users`.
    changed: share of the queries whose ranking the test changes; above 0, at most 1.

    Returns None if rankings do not differ, or fewer than two queries have several.
    """
    rows = []
    for sample in samples:
        values, n = sample.editorial_values[:, sample.editorial_names.index(metric)], sample.sessions
        counts = np.bincount(sample.query_index)
        w = np.bincount(sample.query_index, n)
        p = n / w[sample.query_index]
        means = np.bincount(sample.query_index, p * values)
        centred = values - means[sample.query_index]
        second, same = (np.bincount(sample.query_index, part) for part in (p * centred**2, p * p))
        squares = 2 * second / np.where(counts > 1, 1 - same, 1.0)
        rows.append(np.column_stack([w, squares, w * means])[counts > 1])
    w, squares, totals = np.concatenate(rows).T
    parts = w**2 * squares
    variance, number = float(parts.sum()), len(w)
    if number < 2 or not variance > ROUNDING * float((w**2).sum()):
        return None
    degrees = 2 / max(float((parts**2).sum()) / variance**2 - 1 / number, 2 / (number - 1))
    error = math.sqrt(changed * variance) / float(w.sum())
    of_weights = float((w**2).sum() ** 2 / (w**4).sum())
    return PilotOfTest(
        metric, float(totals.sum() / w.sum()), number, int(w.sum()), error, degrees, of_weights, grows=True,
        heavy_tail=is_heavy(w, DIFFERENCE_INDEX),
    )  # fmt: skip
