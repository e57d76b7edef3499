"""Whether a correlation depends mostly on its most influential queries; what it is if they count for less."""

from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.core.records import Sample, SampleKey
from clickassay.correlation.classes import unsplit
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.tables import correlations
from clickassay.findings.arrays import graded_sample
from clickassay.findings.run import Run

N_INFLUENTIAL = 5
"""Most influential queries that are counted together, as in contracts.correlation.INFLUENCE."""

MAX_INFLUENTIAL_SHARE = 2 / 3
"""A correlation depends mostly on its influential queries above this share of its squared error; 0..1."""


CHANCE_DRAWS, CHANCE_QUANTILE = 400, 0.95
"""Draws of `chance_shares`, and the part of them that a share must exceed to be more than chance."""


def influence_rows(run: Run, metric: str) -> pl.DataFrame:
    """Return the rows of `influence` of a metric with the headline click metric, in the headline sample."""
    return run.headline_rows("influence").filter(click_metric=run.click, editorial_metric=metric)


def chance_shares(run: Run, rng: np.random.Generator) -> tuple[float, float] | None:
    """Return the share of the most influential queries by chance: its mean and upper limit, 0..1.

    The pull of a query is its sessions times a product of two independent normal deviates, one for each
    metric: as if no query differed from the others but by its sessions. None without a headline sample.
    """
    lists = run.of_click(run.headline_rows("configurations"), run.click)
    rows = lists.group_by("query").agg(pl.col("n_sessions").sum())
    weights = rows.sort("query")["n_sessions"].to_numpy().astype(np.float64)
    if not len(weights):
        return None
    shares = []
    for _ in range(CHANCE_DRAWS):
        squares = (weights * rng.normal(size=len(weights)) * rng.normal(size=len(weights))) ** 2
        place = max(0, len(squares) - N_INFLUENTIAL)
        shares.append(np.partition(squares, place)[place:].sum() / squares.sum())
    return float(np.mean(shares)), float(np.quantile(shares, CHANCE_QUANTILE))


def depends_mostly(share: float | None, chance: tuple[float, float] | None) -> bool:
    """Tell whether a share of the squared error is large, and larger than chance makes it."""
    limit = 0.0 if chance is None else chance[1]
    return share is not None and share > max(MAX_INFLUENTIAL_SHARE, limit)


def influential_share(rows: pl.DataFrame) -> float | None:
    """Return the share of a correlation's squared error due to its most influential queries; 0..1."""
    shares = rows["error_share"].drop_nulls().sort(descending=True).head(N_INFLUENTIAL)
    return float(shares.sum()) if len(shares) else None


MOST_WEIGHT = 0.01
"""The largest part of all sessions that a query weighs."""


def with_capped_weights(sample: Sample) -> Sample:
    """Return the sample in which no query has more than `MOST_WEIGHT` of all its sessions, but for rounding.

    The sessions of each list of a query are lowered by one factor; a list keeps one at least.
    """
    of_query = np.add.reduceat(sample.sessions, sample.starts)
    factors = np.minimum(1, MOST_WEIGHT * sample.sessions.sum() / of_query)[sample.query_index]
    return replace(sample, sessions=np.maximum(1, np.rint(sample.sessions * factors)).astype(np.int64))


def capped_run(run: Run, key: SampleKey) -> Run:
    """Return the run with the weighted correlations of one sample alone, made with capped weights."""
    tables = dict(run.tables)
    whole = graded_sample(run, key).sample
    every = [with_capped_weights(one) for one in (whole, *whole.each_rating())]
    tables["correlations"] = pl.concat([correlations(one, [unsplit(one)]) for one in every])
    tables["comparisons"] = pl.concat([comparisons(one) for one in every])
    return replace(run, tables=tables)
