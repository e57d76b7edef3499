"""Which market, depth and judge a report is about, and which others it shows."""

import polars as pl

from clickassay.core.records import SAMPLE_COLUMNS, SampleKey

SAMPLES_SHOWN = 8
"""Samples that the page draws; the CSV files hold all of them."""


def shown_samples(statistics: pl.DataFrame, headline: SampleKey | None) -> tuple[SampleKey, ...]:
    """Return the samples with the most sessions, the headline first."""
    ordered = statistics.sort(["n_sessions", *SAMPLE_COLUMNS], descending=[True, False, False, False])
    largest = [SampleKey(*row) for row in ordered.select(SAMPLE_COLUMNS).head(SAMPLES_SHOWN).iter_rows()]
    others = sorted(sample for sample in largest if sample != headline)
    first = () if headline is None else (headline,)
    return (*first, *others)[:SAMPLES_SHOWN]


def headline_sample(statistics: pl.DataFrame) -> SampleKey | None:
    """Smallest depth, then the market with most kept sessions there, then the first judge."""
    kept = statistics.filter(pl.col("n_sessions") > 0)
    kept = kept.filter(pl.col("depth") == pl.col("depth").min())
    if kept.is_empty():
        return None
    by_market = kept.group_by("market").agg(pl.col("n_sessions").max(), pl.col("n_all_sessions").max())
    by_size = by_market.sort(["n_sessions", "n_all_sessions", "market"], descending=[True, True, False])
    largest = by_size["market"][0]
    first = kept.filter(market=largest).sort("judge")
    return SampleKey(largest, int(first["depth"][0]), first["judge"][0])
