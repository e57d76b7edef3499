"""The one rule of the headline sample: by which market, depth and judge a run is told."""

import polars as pl

from clickassay.core.records import CLICK_JUDGE, SAMPLE_COLUMNS, SampleKey

_LARGEST_FIRST = {"n_sessions": True, "depth": False, "n_queries": True, "market": False, "judge": False}
"""By which columns samples are ordered, and whether the larger value comes first."""


def largest_samples(rows: pl.DataFrame) -> tuple[SampleKey, ...]:
    """Return the samples of a run, the one with most sessions kept first: it is the headline.

    Of equal ones the smaller depth comes first, then more queries, then the name of market and judge. Since a
    list that is judged down to a depth is judged above it, the headline has the smallest depth of the run. A
    judge that is made of clicks is no headline while there is another.

    Parameters
    ----------
    rows
        Rows of ``statistics``, or of another table that has `SAMPLE_COLUMNS`, n_sessions and n_queries.
    """
    of_people = (pl.col("n_sessions") > 0) & ~pl.col("judge").str.starts_with(CLICK_JUDGE)
    ordered = rows.sort(~of_people, *_LARGEST_FIRST, descending=[False, *_LARGEST_FIRST.values()])
    return tuple(SampleKey(*row) for row in ordered.select(SAMPLE_COLUMNS).iter_rows())


def kept_samples(statistics: pl.DataFrame) -> tuple[SampleKey, ...]:
    """Return the samples that have judged configurations, the headline first."""
    return largest_samples(statistics.filter(pl.col("n_sessions") > 0))
