"""Whether a correlation depends mostly on its most influential queries."""

import polars as pl

from clickassay.report.model import Run

N_INFLUENTIAL = 5
"""Most influential queries that are counted together, as in contracts.correlation.INFLUENCE."""

MAX_INFLUENTIAL_SHARE = 2 / 3
"""A correlation depends mostly on its influential queries above this share of its squared error; 0..1."""


def influence_rows(run: Run, metric: str) -> pl.DataFrame:
    """Return the rows of `influence` of a metric with the headline click metric, in the headline sample."""
    return run.headline_rows("influence").filter(click_metric=run.click, editorial_metric=metric)


def influential_share(rows: pl.DataFrame) -> float | None:
    """Return the share of a correlation's squared error due to its most influential queries; 0..1."""
    shares = rows["error_share"].drop_nulls().sort(descending=True).head(N_INFLUENTIAL)
    return float(shares.sum()) if len(shares) else None
