"""Weighted Pearson correlation over configurations (method 7), and the sums per query that give it.

Arrays of values have one row per configuration: (N, C) for C click metrics, (N, E) for E editorial
metrics. A correlation that does not exist is NaN in an array and comes with a reason; it is never 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats, Integers, Sample

Weights = Floats | Integers

ROUNDING = 1e-12
"""Two values of a metric that differ by less, relative to its largest value, are the same number.

A value is a sum of at most 62 terms or a mean of such sums, each step exact to 2^-53 = 1.1e-16 relative: its
rounding error stays below 1e-14. Real differences are far larger: one more session with a click among
10^9 moves a mean by 10^-9.
"""

QUERIES_AT_ONCE = 2**12
"""Queries whose products are in memory at once."""

VALUES_AT_ONCE = 2**17
"""Values that are worked on at once: of a large sample one metric, as more would leave the caches."""

HALF_KNOWN = 4.0
"""Sessions, or clicks, with which a share of clicks has half the weight of a share that is known exactly.

It varies by chance with a variance of about 1/(4 n), and between lists by about 1/16. With weights that are n
itself, a few frequent queries would decide.
"""

TOO_FEW = "fewer than two configurations"
CLICKS_SAME = "the click metric is the same in every configuration"
EDITORIAL_SAME = "the offline metric is the same in every configuration"


def precision_weights(number: Weights) -> Floats:
    """Return n / (n + 4), 0..1: about the precision with which a share of n sessions or clicks is known."""
    return number / (number + HALF_KNOWN)


@dataclass(frozen=True)
class Correlations:
    """Correlations of C click metrics with E offline metrics."""

    values: Floats  # (C, E) correlations, -1..1; NaN where there is none.
    reasons: tuple[tuple[str | None, ...], ...]  # (C, E) why there is no value; None where there is one.


def correlation_matrix(clicks: Floats, editorial: Floats, weights: Weights) -> Correlations:
    """Compute the weighted correlation of every click metric with every offline metric.

    C(x, y, n) = sum n_i (x_i - m_x)(y_i - m_y) / (sqrt(sum n_i (x_i - m_x)^2) sqrt(sum n_i (y_i - m_y)^2)),
    m_x, m_y the weighted means (Chapelle et al. 2009, 6.2); in two passes, first the means.

    clicks, editorial: (N, C) and (N, E) values.
    weights: (N,) weights > 0: sessions.
    """
    return correlations_of_deviations(deviations(clicks, weights), deviations(editorial, weights), weights)


def correlations_of_deviations(y: Floats, x: Floats, weights: Weights) -> Correlations:
    """Compute `correlation_matrix` from (C, N) and (E, N) `deviations`."""
    weighted = y * weights
    squares_y, squares_x = (weighted * y).sum(axis=1), np.empty(len(x))
    products = np.empty((len(y), len(x)))
    for some in _some_at_once(len(x), len(weights)):
        squares_x[some] = (x[some] * x[some] * weights).sum(axis=1)
        for row, products_of_row in zip(weighted, products, strict=True):
            products_of_row[some] = (row * x[some]).sum(axis=1)

    def reason(click: float, editorial: float) -> str | None:
        if len(weights) < 2:
            return TOO_FEW
        if not click > 0:
            return CLICKS_SAME
        return None if editorial > 0 else EDITORIAL_SAME

    reasons = tuple(tuple(reason(click, editorial) for editorial in squares_x) for click in squares_y)
    return Correlations(ratio(products, squares_y, squares_x), reasons)


def deviations(values: Floats, weights: Weights) -> Floats:
    """Return the (M, N) deviations of (N, M) values from their weighted means; exactly 0 for a constant."""
    differences = np.empty(values.shape[::-1])
    if not differences.size:
        return differences
    for some in _some_at_once(len(differences), len(values)):
        columns = np.ascontiguousarray(values[:, some].T)
        centre = (columns * weights).sum(axis=1, keepdims=True) / weights.sum()
        scale = np.abs(columns).max(axis=1, keepdims=True)
        differences[some] = without_rounding(columns - centre, scale)
    return differences


def _some_at_once(metrics: int, size: int) -> Iterator[slice]:
    """Yield the metrics, `size` values each, some at once: `VALUES_AT_ONCE` or one metric."""
    some = max(1, VALUES_AT_ONCE // max(1, size))
    yield from (slice(first, first + some) for first in range(0, metrics, some))


def without_rounding(differences: Floats, scale: Floats) -> Floats:
    """Set differences that are only rounding of values of size `scale` (see ROUNDING) to 0."""
    is_rounding = np.abs(differences) <= ROUNDING * scale
    return np.where(is_rounding, 0.0, differences) if is_rounding.any() else differences


def ratio(products: Floats, squares_y: Floats, squares_x: Floats) -> Floats:
    """Return products / sqrt(squares_y squares_x), (..., C, E), in -1..1; NaN without positive squares."""
    # one root each: the product of two small sums of squares could underflow
    spread_y, spread_x = (np.sqrt(np.maximum(squares, 0)) for squares in (squares_y, squares_x))
    scale = spread_y[..., :, None] * spread_x[..., None, :]
    quotient = np.divide(products, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    clipped: Floats = np.clip(quotient, -1, 1)
    return clipped


def query_moments(clicks: Floats, editorial: Floats, weights: Integers, starts: Integers) -> Floats:
    """Compute per query the weighted sums from which correlations follow (`centred_sums`); they are additive.

    Values are taken from the weighted means of all rows first, so that sums without a query do not
    cancel.

    clicks, editorial, weights: (N, C), (N, E) values and (N,) weights > 0, the rows of a query together.
    starts: (Q,) first row of each query.

    Returns (Q, 1 + 2 C + 2 E + C E) sums of n | n y | n x | n y^2 | n x^2 | n y x.
    """
    return moments_of(deviations(clicks, weights), deviations(editorial, weights), weights, starts)


def moments_of(y: Floats, x: Floats, weights: Integers, starts: Integers) -> Floats:
    """Compute `query_moments` of (C, N) and (E, N) deviations from values of the caller's choice."""
    moments = np.empty((len(starts), 1 + 2 * (len(y) + len(x)) + len(y) * len(x)))
    ends = np.append(starts[1:], len(weights))
    for first in range(0, len(starts), QUERIES_AT_ONCE):  # products of all rows would not fit the caches
        block = slice(first, first + QUERIES_AT_ONCE)
        rows = slice(starts[block][0], ends[block][-1])
        own_y, own_x, n = y[:, rows], x[:, rows], weights[rows]
        n_y, n_x = own_y * n, own_x * n
        products = (row * own_x for row in n_y)
        terms = [n[None, :].astype(np.float64), n_y, n_x, n_y * own_y, n_x * own_x, *products]
        sums = [np.add.reduceat(term, starts[block] - starts[first], axis=1) for term in terms]
        moments[block] = np.concatenate(sums).T
    return moments


def sample_moments(sample: Sample) -> Floats:
    """Return the `query_moments` of a sample; (0, K) when it has no query."""
    return query_moments(sample.click_values, sample.editorial_values, sample.sessions, sample.starts)


@dataclass(frozen=True)
class Centred:
    """Sums around means: n, Σ n dy², Σ n dx², Σ n dy dx; (..., 1), (..., C), (..., E), (..., C, E)."""

    sessions: Floats
    squares_y: Floats
    squares_x: Floats
    products: Floats

    @property
    def correlations(self) -> Floats:
        """(..., C, E) correlations; NaN where a metric does not vary or a set is empty."""
        return ratio(self.products, self.squares_y, self.squares_x)


def centred_sums(sums: Floats, n_clicks: int, n_editorial: int, scale: Floats | None = None) -> Centred:
    """Turn summed `query_moments` into sums around the means.

    sums: (..., 1 + 2 C + 2 E + C E), for each set of queries.
    scale: (1 + 2 C + 2 E + C E) sums that these are a part of: their rounding counts as 0.
    """
    cuts = np.cumsum([1, n_clicks, n_editorial, n_clicks, n_editorial])
    n, n_y, n_x, n_yy, n_xx, n_yx = np.split(sums, cuts, axis=-1)
    n = np.where(n > 0, n, np.nan)
    _, _, _, scale_y, scale_x, _ = np.split(sums if scale is None else scale, cuts, axis=-1)
    squares_y, squares_x = _centred(n_yy, n_y, n, scale_y), _centred(n_xx, n_x, n, scale_x)
    products = n_yx.reshape(*sums.shape[:-1], n_clicks, n_editorial)
    products = products - n_y[..., :, None] * n_x[..., None, :] / n[..., None]
    return Centred(n, squares_y, squares_x, products)


def _centred(squares: Floats, sums: Floats, n: Floats, scale: Floats) -> Floats:
    """Return sum n (x - m)^2 = sum n x^2 - (sum n x)^2 / n, 0 where nothing but rounding is left of it."""
    return np.maximum(without_rounding(squares - sums**2 / n, scale), 0)


def null_of_deviations(success: Floats, x: Floats, sessions: Integers) -> Floats:
    """Return the (E,) weighted correlations of SS with offline metrics if clicks ignored the grades.

    The chance of single sessions adds to its weighted sum of squares: a mean of n sessions has variance
    s (1 - s)/n, so together Σ s (1 - s)(1 - n/N), N = Σ n.

    success: (N,) chances of a click on a good result that do not depend on what the configuration shows.
    x: (E, N) `deviations` of the offline metrics.
    """
    y = deviations(success[:, None], sessions)
    chance = success * (1 - success) * (1 - sessions / max(1, sessions.sum()))
    squares = (y * y * sessions).sum() + chance.sum()
    squares = squares if squares > ROUNDING * (success**2 * sessions).sum() else 0.0
    products = (y * sessions * x).sum(axis=1)
    nulls: Floats = ratio(products[None], np.array([squares]), (x * x * sessions).sum(axis=1))[0]
    return nulls
