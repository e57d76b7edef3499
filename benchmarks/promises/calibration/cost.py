"""What the statistics of a data set of the paper's size cost."""

import time

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample, SampleKey
from clickassay.core.seeds import child
from clickassay.correlation.classes import query_splits
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.tables import correlations, differences
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS

QUERIES, CONFIGURATIONS = 16_000, 70_000
DEPTHS = (5, 10)
ITERATIONS = 1000
EDITORIAL = (*EDITORIAL_METRICS, "AP(rel=2)", "RR(rel=2)", *BASELINES)


def measured(seed: int, *, queries: int = QUERIES, configurations: int = CONFIGURATIONS) -> pl.DataFrame:
    """Return one row per depth and table: CPU seconds of this process, and the rows that it made."""
    rows = []
    for depth in DEPTHS:
        sample = made_sample(depth, queries, configurations, seed)
        for table in ("correlations", "differences", "comparisons"):
            start = time.process_time()
            made = made_table(table, sample, seed).height
            rows.append((depth, table, made, time.process_time() - start))
    schema = {"depth": pl.Int64, "table": pl.String, "rows": pl.Int64, "cpu_seconds": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def made_table(name: str, sample: Sample, seed: int) -> pl.DataFrame:
    """Make one table of a run as jobs/analyse.py does."""
    if name == "correlations":
        return correlations(sample, query_splits(sample)[0])
    if name == "differences":
        return differences(sample, iterations=ITERATIONS, rng=np.random.default_rng(seed))[0]
    return comparisons(sample)


def made_sample(depth: int, queries: int, configurations: int, seed: int) -> Sample:
    """Make up a sample with all metrics of a report; its cost depends on its size, not on its values."""
    rng = child(np.random.default_rng(seed), "cost", str(depth))
    sizes = 1 + rng.multinomial(configurations - queries, np.full(queries, 1 / queries))
    index = np.repeat(np.arange(queries), sizes)
    sessions = 1 + np.exp(1.15 * rng.standard_normal(queries)[index] + 2).astype(np.int64)
    quality = rng.standard_normal(configurations)[:, None]
    shape = configurations, len(CLICK_METRICS) + len(EDITORIAL)
    values = 1 / (1 + np.exp(-quality - rng.standard_normal(shape)))
    clicks, editorial = np.split(values, [len(CLICK_METRICS)], axis=1)
    lengths = rng.integers(1, 6, queries)
    texts = (" ".join([f"{number:06}", *["word"] * (words - 1)]) for number, words in enumerate(lengths))
    return Sample(
        key=SampleKey(EVERY, depth, EVERY),
        queries=tuple(texts),
        query_index=index,
        sessions=sessions,
        click_names=CLICK_METRICS,
        click_values=clicks,
        click_variances=np.where(sessions[:, None] > 1, clicks * (1 - clicks), np.nan),
        null_success=rng.random(configurations),
        editorial_names=EDITORIAL,
        editorial_values=editorial,
        configuration_ids=pl.Series(np.arange(configurations)).cast(pl.String),
        click_entropy=rng.random(queries),
    )
