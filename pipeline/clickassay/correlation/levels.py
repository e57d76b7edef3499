"""Means of metrics over the sessions of a log, with intervals by leaving out one query at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.core.special import stdtrit
from clickassay.correlation.jackknife import CONFIDENCE, Deviations, cautions, left_out
from clickassay.correlation.tails import DIFFERENCE_INDEX, is_heavy


@dataclass(frozen=True)
class Level:
    """The mean of a metric over sessions; NaN ends where a query cannot be left out.

    Attributes
    ----------
    mean, low, high
        The mean and its 95 % interval, in units of the metric.
    caution
        Why the interval is not reliable; None when it is.
    """

    mean: float
    low: float
    high: float
    caution: str | None


def levels(configurations: pl.DataFrame, names: Sequence[str]) -> dict[str, Level]:
    """Return the mean of metrics over the sessions of judged configurations.

    Each configuration counts with its sessions, as in the weighted correlation (method 7).

    Parameters
    ----------
    configurations
        Rows of `contracts.run.CONFIGURATIONS` of one sample: query, n_sessions, and a column for each metric.
    names
        The metrics.
    """
    if configurations.is_empty() or not names:
        return {}
    contributions = _contributions(configurations, names)
    means = _means(contributions.sum(axis=0))
    deviations = Deviations()
    for without in left_out(contributions, _means):
        deviations.add(without - means)
    spread = deviations.spread()
    margin = stdtrit(spread.degrees, (1 + CONFIDENCE) / 2) * spread.error
    margin = np.where(spread.error == 0, 0.0, margin)
    heavy_tail = is_heavy(contributions[:, 0], DIFFERENCE_INDEX)
    why = cautions(means, means - margin, spread.queries, heavy_tail=heavy_tail)
    rows = zip(names, means, margin, why, strict=True)
    return {name: Level(mean, mean - half, mean + half, caution) for name, mean, half, caution in rows}


def _contributions(configurations: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Return (Q, 1 + K) sessions of each query, and the sums of values over them."""
    weighted = [(pl.col(name) * pl.col("n_sessions")).sum().alias(name) for name in names]
    by_query = configurations.group_by("query").agg(pl.col("n_sessions").sum(), *weighted).sort("query")
    return by_query.select("n_sessions", *names).to_numpy().astype(np.float64)


def _means(sums: Floats) -> Floats:
    """Turn (..., 1 + K) sums of sessions and of weighted values into (..., K) means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = sums[..., 1:] / sums[..., :1]
    return means
