"""A small random sample whose click metrics follow its offline metrics."""

from dataclasses import replace

import numpy as np
import pytest

from support.runs.given_sample import sample_of


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
    sample = sample_of(click_values, editorial_values, sessions, query_index, variances)
    return replace(sample, null_success=rng.random(configurations), click_entropy=rng.random(queries))


@pytest.fixture(scope="session")
def make_sample():
    return random_sample
