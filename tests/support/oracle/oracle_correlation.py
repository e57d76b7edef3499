"""Weighted correlation, the two virtual rankers' closed form and noise in plain Python.

Every statistic is worked from its definition: means first, then sums of deviations from them.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from operator import mul
from typing import Any

from support.oracle.oracle_intervals import ROUNDING
from support.oracle.oracle_log import Settings
from support.oracle.oracle_metrics import CLICK_METRICS, Configuration, session_values

Rows = list[dict[str, Any]]
"""Judged configurations of one market, depth and judge as rows of their metrics."""

Pair = tuple[str, str]
"""A click metric and an offline metric."""

POOLED_CONFIGURATIONS = 1000
"""Configurations with the fewest sessions above one that stand for those with one."""


@dataclass(frozen=True)
class Found:
    """Correlations of some configurations, and the part of each click metric's variance that is no noise."""

    correlations: dict[Pair, float | None]
    reliabilities: dict[str, float | None]


def with_noise(rows: Rows, configurations: list[Configuration], settings: Settings) -> Rows:
    """Add to the rows what the noise of single sessions and the null value of SS need.

    The variance of each click metric between sessions (None with one session), whether the configuration
    is one of those with few sessions, and the SS it would have with the click patterns of all; sessions by
    day, and sessions and sums of each click metric by fold.
    """
    widened = [dict(row) for row in rows]
    repeated = sorted(row["n_sessions"] for row in rows if row["n_sessions"] >= 2)
    limit = repeated[:POOLED_CONFIGURATIONS][-1] if repeated else 0
    for row, configuration, null in zip(
        widened, configurations, null_success(configurations, settings), strict=True
    ):
        row["few"] = 2 <= row["n_sessions"] <= limit
        row["null SS"] = null
        for click in CLICK_METRICS:
            values = session_values(configuration, click, settings)
            row[f"variance {click}"] = covariance(values, values) if len(values) >= 2 else None
            row[f"by fold {click}"] = sums_by_fold(values, configuration.folds)
        row["by fold"], row["by day"] = Counter(configuration.folds), Counter(configuration.days)
    return widened


def sums_by_fold(values: list[float], folds: tuple[int, ...]) -> dict[int, float]:
    """Return the sums of the values of sessions by the fold of their users."""
    sums: dict[int, float] = defaultdict(float)
    for value, fold in zip(values, folds, strict=False):  # folds may not be known
        sums[fold] += value
    return sums


def null_success(configurations: list[Configuration], settings: Settings) -> list[float]:
    """Return the SS of each configuration if its click patterns were those of all configurations."""
    patterns = Counter(places for configuration in configurations for places in configuration.clicked)
    success = settings.get("success_grade", 2)
    return [
        sum(
            sessions
            for places, sessions in patterns.items()
            if any(configuration.grades[place - 1] >= success for place in places)
        )
        / patterns.total()
        for configuration in configurations
    ]


def pooled_variance(rows: Rows, click: str) -> float | None:
    """Return the mean variance of configurations with few sessions; None where there are none."""
    known = [row[f"variance {click}"] for row in rows if row["few"]]
    return math.fsum(known) / len(known) if known else None


def noises(rows: Rows, click: str, pooled: float | None) -> list[float] | None:
    """Return the variance between sessions of each configuration, the pooled one where there is one session.

    None where one of them is not known.
    """
    found = [row[f"variance {click}"] if row["n_sessions"] >= 2 else pooled for row in rows]
    return None if None in found else found


def reliability(squares: float, noise: float | None) -> float | None:
    """Return the part of a sum of squares that noise does not explain; None where nothing is left."""
    if noise is None or squares <= 0 or squares - noise <= ROUNDING * squares:
        return None
    return (squares - noise) / squares


def is_constant(values: list[float]) -> bool:
    """Tell whether the values are one value but for rounding."""
    return max(values) - min(values) <= ROUNDING * max(abs(value) for value in values)


def weighted_deviations(values: list[float], weights: list[int]) -> list[float] | None:
    """Return the deviations from the weighted mean; None for one value but for rounding."""
    if not values or is_constant(values):
        return None
    mean = math.fsum(map(mul, weights, values)) / sum(weights)
    return [value - mean for value in values]


def weighted_statistic(rows: Rows, editorial_names: list[str]) -> Found:
    """Return all weighted correlations of some configurations, and how reliable the click metrics are."""
    weights = [row["n_sessions"] for row in rows]
    metrics = (*CLICK_METRICS, *editorial_names)
    deviations = {name: weighted_deviations([row[name] for row in rows], weights) for name in metrics}
    weighted = {name: list(map(mul, weights, own)) for name, own in deviations.items() if own}
    squares = {name: math.fsum(map(mul, own, deviations[name] or [])) for name, own in weighted.items()}
    found: dict[Pair, float | None] = {}
    for click, editorial in itertools.product(CLICK_METRICS, editorial_names):
        own = deviations[editorial]
        if click not in weighted or own is None:
            found[click, editorial] = None
            continue
        products = math.fsum(map(mul, weighted[click], own))
        found[click, editorial] = products / math.sqrt(squares[click] * squares[editorial])
    reliable = {
        click: reliability(squares.get(click, 0.0), weighted_noise(rows, click)) for click in CLICK_METRICS
    }
    return Found(found, reliable)


def weighted_noise(rows: Rows, click: str) -> float | None:
    """Sum of s2 (1 - n/N): what sampling adds to the weighted sum of squares."""
    variances, total = (
        noises(rows, click, pooled_variance(rows, click)),
        sum(row["n_sessions"] for row in rows),
    )
    if variances is None:
        return None
    return math.fsum(s2 * (1 - row["n_sessions"] / total) for s2, row in zip(variances, rows, strict=True))


def null_correlation(rows: Rows, editorial: str) -> float | None:
    """Return the weighted correlation of SS with a metric if click patterns ignored the grades.

    The expected value of each configuration is its null SS s; the chance of its n sessions adds
    s (1 - s)/n to the variance of its mean.
    """
    weights = [row["n_sessions"] for row in rows]
    success = [row["null SS"] for row in rows]
    dx = weighted_deviations([row[editorial] for row in rows], weights)
    dy = weighted_deviations(success, weights) or [0.0] * len(rows)
    chance = math.fsum(s * (1 - s) * (1 - n / sum(weights)) for s, n in zip(success, weights, strict=True))
    s_yy = math.fsum(n * d * d for n, d in zip(weights, dy, strict=True)) + chance
    if dx is None or s_yy <= ROUNDING:
        return None
    s_xx = math.fsum(n * d * d for n, d in zip(weights, dx, strict=True))
    return math.fsum(n * a * b for n, a, b in zip(weights, dx, dy, strict=True)) / math.sqrt(s_xx * s_yy)


def covariance(x: list[float], y: list[float]) -> float:
    """Unbiased sample covariance (divisor n - 1)."""
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (len(x) - 1)


def by_query(rows: Rows) -> dict[str, Rows]:
    """Return the configurations of each query that has at least two of them."""
    queries: dict[str, Rows] = defaultdict(list)
    for row in rows:
        queries[row["query"]].append(row)
    return {query: own for query, own in queries.items() if len(own) >= 2}


def covariances(own: Rows, pairs: Iterable[Pair]) -> dict[Pair, float]:
    """Return the covariances of pairs of metrics over some configurations; exactly 0 for a constant."""
    columns = {name: [row[name] for row in own] for pair in pairs for name in pair}
    constant = {name for name, values in columns.items() if is_constant(values)}
    return {(a, b): 0.0 if constant & {a, b} else covariance(columns[a], columns[b]) for a, b in pairs}


def ratio(sums: dict[Pair, float], click: str, editorial: str) -> float | None:
    """Sum_q S_ec / sqrt(sum_q S_ee * sum_q S_cc), or None where a metric does not vary within queries."""
    s_cc, s_ee = sums[click, click], sums[editorial, editorial]
    return sums[click, editorial] / math.sqrt(s_cc * s_ee) if s_cc and s_ee else None


def summed(parts: list[dict[Pair, float]], pairs: Iterable[Pair]) -> dict[Pair, float]:
    """Add up the covariances of queries."""
    return {pair: math.fsum(part[pair] for part in parts) for pair in pairs}


class Within:
    """All closed forms of some queries of a sample; a query's covariances do not depend on the others."""

    def __init__(self, rows: Rows, editorial_names: list[str]) -> None:
        self.editorial_names = editorial_names
        same = [(name, name) for name in (*CLICK_METRICS, *editorial_names)]
        self.pairs = [*same, *itertools.product(CLICK_METRICS, editorial_names)]
        self.of_query = {query: covariances(own, self.pairs) for query, own in by_query(rows).items()}

    def statistic(self, rows: Rows) -> Found:
        """Return all closed forms of some configurations, and how reliable the click metrics are."""
        sums = summed([self.of_query[query] for query in by_query(rows)], self.pairs)
        noise = {click: within_noise(rows, click) for click in CLICK_METRICS}
        return Found(
            {pair: ratio(sums, *pair) for pair in itertools.product(CLICK_METRICS, self.editorial_names)},
            {click: reliability(sums[click, click], noise[click]) for click in CLICK_METRICS},
        )


def within_noise(rows: Rows, click: str) -> float | None:
    """Sum over queries of the mean of s2_i / n_i: what sampling adds to S_cc."""
    pooled = pooled_variance(rows, click)
    total = 0.0
    for own in by_query(rows).values():
        variances = noises(own, click, pooled)
        if variances is None:
            return None
        total += math.fsum(s2 / row["n_sessions"] for s2, row in zip(variances, own, strict=True)) / len(own)
    return total
