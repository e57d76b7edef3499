"""Samples of given arrays."""

import numpy as np
import polars as pl

from clickassay.core.records import Sample, SampleKey


def sample_of(clicks, editorial, sessions=None, query_index=None, variances=None, names=None):
    """A sample of (N, C) and (N, E) values; every configuration is a query of its own unless told."""
    clicks, editorial = np.asarray(clicks, dtype=np.float64), np.asarray(editorial, dtype=np.float64)
    n = len(clicks)
    query_index = np.arange(n) if query_index is None else np.asarray(query_index)
    queries = int(query_index.max(initial=-1)) + 1
    return Sample(
        key=SampleKey("all", 5, "all"),
        queries=tuple(f"query {number:06d}" for number in range(queries)),
        query_index=query_index,
        sessions=np.full(n, 2) if sessions is None else np.asarray(sessions),
        click_names=tuple(f"C{number}" for number in range(clicks.shape[1])) if names is None else names,
        click_values=clicks,
        click_variances=np.zeros(clicks.shape) if variances is None else np.asarray(variances),
        null_success=np.full(n, 0.5),
        editorial_names=tuple(f"E{number}" for number in range(editorial.shape[1])),
        editorial_values=editorial,
        configuration_ids=pl.Series([f"{number:032x}" for number in range(n)], dtype=pl.String),
        click_entropy=np.zeros(queries),
    )
