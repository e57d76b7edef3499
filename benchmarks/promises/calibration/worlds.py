"""Simulated worlds with an exact truth: samples of queries from a large fixed pool.

A pool has 100,000 queries. A world draws its queries from it with replacement, and clicks for the sessions
of each configuration; so the truth of a statistic is its value over the whole pool, with the variance
that sampling sessions adds where the statistic includes it.

Sessions per query are heavy-tailed, as in real logs: lognormal with sigma 1.15 was measured on the log
CLARA 2; 1.5 is heavier. With a Zipf exponent of 0.7 few queries have most of the weight: a stress test.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Integers, Sample, SampleKey
from clickassay.core.seeds import child

POOL_QUERIES = 100_000
MEAN_SESSIONS = 60
"""Sessions of a query on average."""

MOST_CONFIGURATIONS = 30
FIRST, NEAR, FAR = "first", "near", "far"
METRICS = {FIRST: (0.7, 0.0), NEAR: (0.7, 0.5), FAR: (0.0, 1.2), "fair": (0.0, 0.9), "poor": (0.3, 1.6)}
"""Editorial metrics: standard deviations, in grades, of their part of a shared error and of their own."""


@dataclass(frozen=True)
class Nature:
    """What kind of log a pool is.

    Attributes
    ----------
    weights
        Law of the sessions of a query: ``lognormal``, ``pareto`` or ``zipf``.
    spread
        Its sigma, its index, or its exponent.
    many
        Whether queries have 6 configurations on average, up to 30, or 1 to 3.
    """

    weights: str
    spread: float
    many: bool

    @property
    def law(self) -> str:
        """Return the law of the weights in words, e.g. ``lognormal 1.15``."""
        return f"{self.weights} {self.spread:g}"

    @property
    def configurations(self) -> str:
        """Return ``many`` or ``few``."""
        return "many" if self.many else "few"


@dataclass(frozen=True)
class Pool:
    """All queries that a world may draw: P queries with n configurations, query after query.

    Attributes
    ----------
    starts, sizes
        (P,) first configuration of each query, and its number of configurations.
    sessions
        (n,) sessions of each configuration, >= 1.
    chances
        (n,) chance of a click in a session, 0..1.
    names, metrics
        Names of the E editorial metrics, and their (n, E) values.
    """

    starts: Integers
    sizes: Integers
    sessions: Integers
    chances: Floats
    names: tuple[str, ...]
    metrics: Floats


def make_pool(nature: Nature, seed: int, *, queries: int = POOL_QUERIES) -> Pool:
    """Draw a pool; the same `seed` gives the same one."""
    rng = child(np.random.default_rng(seed), "pool", nature.law, nature.configurations)
    weights = _weights(nature, queries, rng)
    sizes = 1 + rng.geometric(1 / 5, queries) if nature.many else rng.integers(1, 4, queries)
    sizes = np.minimum(sizes, MOST_CONFIGURATIONS)
    starts = np.cumsum(sizes) - sizes
    query = np.repeat(np.arange(queries), sizes)
    shares = rng.gamma(0.7, size=len(query))
    shares /= np.add.reduceat(shares, starts)[query]
    sessions = np.maximum(1, np.round(MEAN_SESSIONS * weights[query] * shares)).astype(np.int64)
    quality = _quality(weights, query, rng)
    noise = 0.7 * rng.standard_normal(queries)[query] + 0.3 * rng.standard_normal(len(query))
    chances = 1 / (1 + np.exp(-(0.8 * quality - 0.3 + noise)))
    return Pool(starts, sizes, sessions, chances, tuple(METRICS), _metrics(quality, rng))


def _weights(nature: Nature, queries: int, rng: np.random.Generator) -> Floats:
    if nature.weights == "pareto":
        weights = rng.random(queries) ** (-1 / nature.spread)
    elif nature.weights == "zipf":
        weights = rng.permutation(np.arange(1, queries + 1.0) ** -nature.spread)
    else:
        weights = np.exp(nature.spread * rng.standard_normal(queries))
    scaled: Floats = weights / weights.mean()
    return scaled


def _quality(weights: Floats, query: Integers, rng: np.random.Generator) -> Floats:
    """Return what both clicks and grades depend on: popular queries have better results."""
    popularity = np.log(weights)
    of_query = 0.25 * (popularity - popularity.mean()) / popularity.std()
    of_query = of_query + 0.6 * rng.standard_normal(len(weights))
    quality: Floats = of_query[query] + 0.6 * rng.standard_normal(len(query))
    return quality


def _metrics(quality: Floats, rng: np.random.Generator) -> Floats:
    """Return gains 2^g - 1 of grades 0..4 that see the quality with errors."""
    shared = rng.standard_normal(len(quality))
    errors = (common * shared + own * rng.standard_normal(len(quality)) for common, own in METRICS.values())
    return np.stack([np.exp2(np.clip(np.round(quality + error + 1.5), 0, 4)) - 1 for error in errors], axis=1)


def draw(pool: Pool, queries: int, rng: np.random.Generator) -> Sample:
    """Draw a world: so many queries of the pool with replacement, and the clicks of their sessions."""
    chosen = rng.integers(0, len(pool.sizes), queries)
    sizes = pool.sizes[chosen]
    firsts = np.cumsum(sizes) - sizes
    rows = np.repeat(pool.starts[chosen] - firsts, sizes) + np.arange(sizes.sum())
    sessions = pool.sessions[rows]
    means = rng.binomial(sessions, pool.chances[rows]) / sessions
    # of single clicks, 0 or 1: n/(n-1) y (1 - y), unbiased
    variances = np.divide(sessions * means * (1 - means), sessions - 1,
                          out=np.full(len(rows), np.nan), where=sessions > 1)  # fmt: skip
    return Sample(
        key=SampleKey(EVERY, 1, EVERY),
        queries=tuple(f"{number:06}" for number in range(queries)),
        query_index=np.repeat(np.arange(queries), sizes),
        sessions=sessions,
        click_names=("UCTR",),
        click_values=means[:, None],
        click_variances=variances[:, None],
        null_success=np.zeros(len(rows)),
        editorial_names=pool.names,
        editorial_values=pool.metrics[rows],
        configuration_ids=pl.Series(rows).cast(pl.String),
        click_entropy=np.zeros(queries),
    )


def with_metrics(sample: Sample, *names: str) -> Sample:
    """Keep only these editorial metrics, in this order."""
    places = [sample.editorial_names.index(name) for name in names]
    return replace(sample, editorial_names=names, editorial_values=sample.editorial_values[:, places])


def exchanged(sample: Sample, rng: np.random.Generator) -> Sample:
    """Exchange the metrics' values of each query at random: every order has the same chance.

    A world that is treated so is drawn from the pool that holds every query once for each order of the
    metrics. There all metrics correlate equally with clicks: true differences are exactly 0.
    """
    places = np.tile(np.arange(len(sample.editorial_names)), (len(sample.queries), 1))
    orders = rng.permuted(places, axis=1)
    values = np.take_along_axis(sample.editorial_values, orders[sample.query_index], axis=1)
    return replace(sample, editorial_values=values)


@dataclass(frozen=True)
class Truth:
    """Correlations of the E metrics with clicks over a whole pool; (E,) each.

    Attributes
    ----------
    correlation, corrected
        Weighted, as sampled sessions and as endless sessions would show it.
    within, within_corrected
        The same of the limit of Algorithm 3.
    """

    correlation: Floats
    corrected: Floats
    within: Floats
    within_corrected: Floats


def truth(pool: Pool) -> Truth:
    """Return the exact values that intervals must hold.

    A mean y of n sessions with chance c has E[y] = c and E[y²] = c² + c (1 - c)/n.
    """
    chance_variance = pool.chances * (1 - pool.chances)
    weights = pool.sessions / pool.sessions.sum()
    clicks = pool.chances - weights @ pool.chances
    metrics = pool.metrics - weights @ pool.metrics
    products, squares = (weights * clicks) @ metrics, weights @ metrics**2
    real = weights @ clicks**2
    seen = real + chance_variance.sum() / pool.sessions.sum()  # sum n c (1 - c)/n
    of_query = [_of_query(pool, values) for values in (pool.chances, *pool.metrics.T)]
    within_clicks, within_metrics = of_query[0], np.stack(of_query[1:], axis=1)
    share = np.where(pool.sizes >= 2, 1 / np.maximum(pool.sizes - 1, 1), 0)
    share = np.repeat(share, pool.sizes)
    within_products = (share * within_clicks) @ within_metrics
    within_squares, within_real = share @ within_metrics**2, share @ within_clicks**2
    # the mean over a query's configurations of c (1 - c)/n
    several = np.repeat(np.where(pool.sizes >= 2, 1 / pool.sizes, 0), pool.sizes)
    within_seen = within_real + several @ (chance_variance / pool.sessions)
    return Truth(
        products / np.sqrt(seen * squares),
        products / np.sqrt(real * squares),
        within_products / np.sqrt(within_seen * within_squares),
        within_products / np.sqrt(within_real * within_squares),
    )


def _of_query(pool: Pool, values: Floats) -> Floats:
    """Return values less their plain mean over the query."""
    means = np.add.reduceat(values, pool.starts) / pool.sizes
    centred: Floats = values - np.repeat(means, pool.sizes)
    return centred
