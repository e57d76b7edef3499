"""A small random sample whose click metrics follow its editorial metrics."""

import numpy as np
import polars as pl
import pytest

from clickassay.core.records import Sample, SampleKey


def random_sample(seed=0, *, queries=12, configurations=32, clicks=2, editorial=3, most_sessions=30):
    """Every query has a configuration, the first of several just one; values differ within queries too."""
    rng = np.random.default_rng(seed)
    extra = rng.integers(min(1, queries - 1), queries, configurations - queries)
    query_index = np.sort(np.concatenate([np.arange(queries), extra]))
    level = rng.normal(size=queries)[query_index]
    editorial_values = level[:, None] + rng.normal(size=(configurations, editorial))
    click_values = 0.5 * editorial_values[:, :1] + rng.normal(size=(configurations, clicks)) + 3
    sessions = rng.integers(1, most_sessions + 1, configurations)
    variances = rng.random((configurations, clicks))
    variances[sessions == 1] = np.nan
    return Sample(
        key=SampleKey("all", 5, "all"),
        queries=tuple(f"query {number:03d}" for number in range(queries)),
        query_index=query_index,
        sessions=sessions,
        click_names=tuple(f"C{number}" for number in range(clicks)),
        click_values=click_values,
        click_variances=variances,
        null_success=rng.random(configurations),
        editorial_names=tuple(f"E{number}" for number in range(editorial)),
        editorial_values=editorial_values,
        configuration_ids=pl.Series([f"{number:032x}" for number in range(configurations)]),
        click_entropy=rng.random(queries),
    )


@pytest.fixture(scope="session")
def make_sample():
    return random_sample
