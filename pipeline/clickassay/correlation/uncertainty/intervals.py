"""Intervals and p-values: by leaving out one query at a time, and of many tests at once (method 7.1).

The configurations of a query depend on each other, so queries are what is left out. All statistics here
follow from sums over queries, so leaving one out is a subtraction, and exact.

The spread of the leave-one-out values gives the standard error (jackknife; Efron and Stein 1981). With
heavy-tailed weights few queries carry most of it, so it is itself uncertain: Student's t with
Satterthwaite's degrees of freedom takes account of that. `benchmarks/promises/calibration` compares this with
the bootstrap: its intervals cover better than percentile and BCa intervals, and as well as studentised ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit
from clickassay.correlation.weighted import QUERIES_AT_ONCE, ROUNDING, without_rounding

ALPHA = 0.05
"""Level of all tests."""


def holm(p_values: Floats) -> Floats:
    """Adjust the p-values of one family (Holm 1979): the chance of any false alarm is at most alpha.

    p_values: (..., m) p-values, a family along the last axis; NaN = not tested, not counted.

    Returns (..., m) adjusted p-values, 0..1; NaN stays.
    """
    order = np.argsort(p_values, axis=-1)  # NaN last
    ordered = np.take_along_axis(p_values, order, axis=-1)
    tests = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    left = np.maximum(tests - np.arange(ordered.shape[-1]), 1)
    raised = np.maximum.accumulate(np.minimum(1, np.where(np.isnan(ordered), 0, ordered * left)), axis=-1)
    adjusted = np.empty_like(raised)
    np.put_along_axis(adjusted, order, np.where(np.isnan(ordered), np.nan, raised), axis=-1)
    return adjusted


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjust p-values so that at most a share alpha of those below alpha is false (Benjamini, Hochberg 1995).

    p_values: (m,) p-values; NaN = not tested, not counted.

    Returns (m,) adjusted p-values, 0..1; NaN stays.
    """
    tested = np.flatnonzero(np.isfinite(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    raised = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted = np.full(len(p_values), np.nan)
    adjusted[order] = np.minimum(1, np.minimum.accumulate(raised[::-1])[::-1])
    return adjusted


def together_confidence(p_values: Floats) -> Floats:
    """Return the confidence of single intervals that together cover a family in 95% of samples (Bonferroni).

    Returns (..., 1) confidences, 0.95 or more. What `holm` leaves at 0.05 or more has an interval that
    contains the null value: it multiplies the smallest p-value by as much, and the others by less.
    """
    tests = np.maximum(np.isfinite(p_values).sum(axis=-1, keepdims=True), 1)
    confidence: Floats = 1 - ALPHA / tests
    return confidence


Values = TypeVar("Values")

CONFIDENCE = 0.95
"""Coverage of all intervals."""

DIFFERENCE_DEGREES = 2.0
"""Tests of differences have so many times Satterthwaite's degrees of freedom.

His rule assumes that an estimate and its error are independent. In a paired difference they are not: the
query that moves one moves the other, which makes large ratios rarer.
"""

MIN_QUERIES = 50
"""With fewer queries an interval has a caution."""

LEFT_OUT_AT_ONCE = 2**8
"""Queries that are left out at once: differences of all pairs of metrics stay in the caches."""

NO_INTERVAL = "no interval: too few queries vary"
FEW_QUERIES = f"fewer than {MIN_QUERIES} queries"
HEAVY_TAIL = "a few very frequent queries dominate, and similar ones may be missing from the log"


def left_out(
    contributions: Floats, statistic: Callable[[Floats], Values], *, at_once: int = LEFT_OUT_AT_ONCE
) -> Iterator[Values]:
    """Yield a statistic without each query, `at_once` at a time, by which `QUERIES_AT_ONCE` can be divided.

    contributions, statistic: (Q, K), additive; turns (b, K) sums over queries into (b, ...) values.
    """
    total = contributions.sum(axis=0)
    scale = np.abs(total)
    for first in range(0, len(contributions), at_once):
        yield statistic(without_rounding(total - contributions[first : first + at_once], scale))


@dataclass
class BlockSums:
    """Sums over queries that come some at once, `QUERIES_AT_ONCE` of them being added to the others together.

    Within these they are added one by one, so sums do not depend on how many come at once.
    """

    queries: int = 0
    _whole: Floats = field(default_factory=lambda: np.zeros(()))
    _block: Floats | None = None

    def add(self, values: Floats) -> None:
        """Add (b, ...) values, one for each query."""
        rows = values if self._block is None else np.concatenate([self._block[None], values])
        self._block = rows.sum(axis=0)
        self.queries += len(values)
        if self.queries % QUERIES_AT_ONCE == 0:
            self._whole, self._block = self.total, None

    @property
    def total(self) -> Floats:
        """The sums so far."""
        return self._whole if self._block is None else self._whole + self._block


@dataclass(frozen=True)
class Spread:
    """How far estimates vary from one sample of queries to the next."""

    error: Floats  # Standard errors; NaN where a query cannot be left out without losing the value.
    # Degrees of freedom of their squares, 2 or more (1 with two queries): few when few queries make up most
    # of the spread.
    degrees: Floats
    queries: int  # Q, queries left out.

    def of_shape(self, shape: tuple[int, ...]) -> "Spread":
        """Return the spread with arrays of this shape."""
        error, degrees = (np.broadcast_to(part, shape) for part in (self.error, self.degrees))
        return Spread(error, degrees, self.queries)

    def widened(self, factor: float, added: "Spread | None" = None) -> "Spread":
        """Return the spread times √factor with another source added; Satterthwaite's degrees of the sum."""
        square = factor * self.error**2
        if added is None:
            return Spread(np.sqrt(square), self.degrees, self.queries)
        more = np.where(added.error > 0, added.error, 0.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(square > 0, square**2 / self.degrees, 0.0)
            others = np.where(more > 0, more**2 / added.degrees, 0.0)
            degrees = np.where(more > 0, (square + more) ** 2 / (own + others), self.degrees)
        return Spread(np.sqrt(square + more), degrees, self.queries)

    @property
    def degrees_of_differences(self) -> Floats:
        """Degrees of freedom for differences: see `DIFFERENCE_DEGREES`; at most Q - 1."""
        return np.minimum(DIFFERENCE_DEGREES * self.degrees, max(self.queries - 1, 1))


@dataclass
class Deviations:
    """Power sums of the deviations of leave-one-out values from the estimate."""

    powers: tuple[BlockSums, ...] = field(default_factory=lambda: tuple(BlockSums() for _ in range(4)))

    def add(self, deviations: Floats) -> None:
        """Add (b, ...) deviations, one for each query left out."""
        with np.errstate(invalid="ignore"):  # r = 1 without a query: infinite on Fisher's scale
            squares = deviations * deviations
            powers = (deviations, squares, squares * deviations, squares * squares)
            for sums, power in zip(self.powers, powers, strict=True):
                sums.add(power)

    @property
    def queries(self) -> int:
        """Queries left out."""
        return self.powers[0].queries

    def spread(self) -> Spread:
        """Return the jackknife standard error, and its degrees of freedom.

        With u the deviations from their mean: error² = (Q - 1)/Q Σu²; the variance of Σu² is about
        Σu⁴ - (Σu²)²/Q, and Satterthwaite sets it to 2 (Σu²)²/degrees.
        """
        q = max(self.queries, 1)
        one, two, three, four = (sums.total for sums in self.powers)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = one / q
            squares = two - q * mean**2
            # equal deviations have no spread but rounding, which must not look like a tiny error
            squares = np.where(squares <= np.maximum(ROUNDING * two, ROUNDING**2), 0, squares)
            fourths = four - 4 * mean * three + 6 * mean**2 * two - 3 * q * mean**4
            degrees = 2 / np.maximum(fourths / squares**2 - 1 / q, 2 / max(q - 1, 1))
            error = np.sqrt((q - 1) / q * squares)
        degrees = np.where(squares > 0, degrees, np.nan)
        return Spread(np.where(np.isfinite(error) & (q > 1), error, np.nan), degrees, self.queries)


def difference_interval(
    values: Floats, spread: Spread, confidence: float | Floats = CONFIDENCE
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of a difference: value -+ t error; NaN where there is no error.

    With Satterthwaite's own degrees of freedom: twice as many are for tests of 0. So an interval may contain
    0 where a test finds the difference significant. 0 to 0 where the two are identical, also without any of
    the queries.
    """
    margin = stdtrit(spread.degrees, (1 + np.asarray(confidence)) / 2) * spread.error
    margin = np.where(_are_identical(values, spread), 0.0, margin)
    return values - margin, values + margin


def _are_identical(differences: Floats, spread: Spread) -> NDArray[np.bool_]:
    identical: NDArray[np.bool_] = (differences == 0) & (spread.error == 0)
    return identical


def fisher_interval(
    values: Floats, spread: Spread, confidence: float | Floats = CONFIDENCE
) -> tuple[Floats, Floats]:
    """Return the interval of correlations, with the `spread` of artanh r; ends within -1..1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.arctanh(values)
        margin = stdtrit(spread.degrees, (1 + np.asarray(confidence)) / 2) * spread.error
    return np.tanh(z - margin), np.tanh(z + margin)


def ratio_interval(
    above: Floats, below: Floats, spreads: tuple[Spread, Spread], covariance: Floats, degrees: Floats
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of above / below, below > 0, by Fieller's theorem (1954).

    All v for which above - v below is within t standard errors of 0; NaN where `below` is too near to 0.
    """
    square = stdtrit(degrees, (1 + CONFIDENCE) / 2) ** 2
    a = below**2 - square * spreads[1].error ** 2
    b = above * below - square * covariance
    c = above**2 - square * spreads[0].error ** 2
    root = b * b - a * c
    bounded = (a > 0) & (root >= 0)  # false for NaN
    middle, margin = (np.where(bounded, part, np.nan) for part in (b, np.sqrt(np.where(bounded, root, 0))))
    a = np.where(bounded, a, np.nan)
    return (middle - margin) / a, (middle + margin) / a


def p_value(differences: Floats, spread: Spread, degrees: Floats | None = None) -> Floats:
    """Return two-sided p-values of no difference, 0..1; 1 without any spread. `degrees`: None = usual."""
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = spread.degrees_of_differences if degrees is None else degrees
        p: Floats = 2 * stdtr(freedom, -np.abs(differences) / spread.error)
    return np.where(_are_identical(differences, spread), 1.0, p)


def cautions(values: Floats, low: Floats, queries: int, *, heavy_tail: bool = False) -> list[str | None]:
    """Return why each interval is not reliable, row-major (None = it is); `heavy_tail`: see `is_heavy`."""
    of_all = FEW_QUERIES if queries < MIN_QUERIES else HEAVY_TAIL if heavy_tail else None
    rows = zip(values.ravel(), np.broadcast_to(low, values.shape).ravel(), strict=True)
    return [None if np.isnan(value) else NO_INTERVAL if np.isnan(end) else of_all for value, end in rows]


def no_rounding(deviations: Floats) -> Floats:
    """Set differences between correlations to 0 that are only rounding."""
    return without_rounding(deviations, np.ones(1))


# ---- tails -----------------------------------------------------------------------------------------
#
# A weighted correlation is decided by the queries with most sessions. Where sessions per query follow a
# power law, with P(n > x) falling as x^-index, queries far larger than any in the sample are never far
# away: a sample without them gives an interval that is too short, and contains no sign of them. What it
# does contain is the shape of its tail, and that shape is looked at here.


CORRELATION_INDEX = 3.0
"""Below this index a correlation has a caution: sessions have no third moment, so t is skewed for long."""

DIFFERENCE_INDEX = 2.0
"""Below this index a paired difference has a caution: sessions have no variance.

The queries that are missing move both correlations alike, so that their difference bears heavier tails.
"""

POWER_LAW_VARIATION = 0.87
"""Logarithms above a threshold vary by this much, relative to their mean, or more: a power law.

It is 1 for a power law, and 0.76 for a lognormal law of any sigma, above its median.
"""

FEWEST_SESSIONS, FEWEST_QUERIES = 5.0, 50
"""Small counts say little of a shape: the tail has queries of 5 sessions or more, if there are 50 of them."""


def tail_index(sessions: Floats) -> float:
    """Return the index of the power law that the upper half of sessions per query follows.

    Hill's estimator (1975), 1 / mean of log(n / threshold) over the queries with at least the median number
    of sessions. Counts are whole, so the threshold is half a session below the smallest of them (Clauset,
    Shalizi and Newman 2009, 3.5).

    sessions: (Q,) sessions of each query, > 0.

    Returns the index, > 0; infinite where the tail falls faster than a power law, or all queries are alike.
    """
    ordered = np.sort(sessions)
    least = ordered[len(ordered) // 2] if len(ordered) else 0.0
    if int((sessions >= FEWEST_SESSIONS).sum()) >= FEWEST_QUERIES:
        least = max(least, FEWEST_SESSIONS)
    tail = ordered[ordered >= least]
    if len(tail) < 2 or tail.min() == tail.max():
        return np.inf
    logs = np.log(tail / (tail.min() - 0.5))
    return float(1 / logs.mean()) if logs.std() >= POWER_LAW_VARIATION * logs.mean() else np.inf


def is_heavy(sessions: Floats, least_index: float) -> bool:
    """Return whether sessions per query follow a power law of a lower index than this."""
    return tail_index(sessions) < least_index


# ---- means -----------------------------------------------------------------------------------------


def half_width(values: Floats) -> Floats:
    """Return the (E,) half widths of the 95% CIs of means of (Q, E) values; NaN below two queries."""
    number = len(values)
    if number < 2:
        return np.full(values.shape[1], np.nan)
    error = values.std(axis=0, ddof=1) / np.sqrt(number)
    half: Floats = stdtrit(number - 1, (1 + CONFIDENCE) / 2) * error
    return half


def t_test(difference: Floats) -> Floats:
    """Return the (E,) two-sided p-values that means of (Q, E) differences are 0; NaN if they do not vary."""
    number = len(difference)
    if number < 2:
        return np.full(difference.shape[1], np.nan)
    error = difference.std(axis=0, ddof=1) / np.sqrt(number)
    varies = error > ROUNDING * np.abs(difference).max(axis=0)
    statistic = np.divide(difference.mean(axis=0), error, out=np.zeros(len(error)), where=varies)
    return np.where(varies, 2 * stdtr(number - 1, -np.abs(statistic)), np.nan)
