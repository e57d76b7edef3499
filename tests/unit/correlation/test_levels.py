"""Means over sessions and their intervals, against plain loops."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from clickassay.correlation.estimates import levels
from support.one_correlation import jackknife

NAMES = ("NDCG", "MeanRR")


def configurations(seed=0, queries=60):
    """Rows of configurations: the more sessions, the higher the first metric."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        for _ in range(int(rng.integers(1, 4))):
            sessions = int(rng.integers(1, 30))
            values = (rng.random() + sessions / 30, rng.random())
            rows.append(
                {"query": f"q{query}", "n_sessions": sessions, **dict(zip(NAMES, values, strict=True))}
            )
    return rows


def mean(rows, name):
    """Every session counts once: a plain loop over sessions."""
    values = [row[name] for row in rows for _ in range(row["n_sessions"])]
    return math.fsum(values) / len(values)


def test_a_mean_is_that_of_sessions_with_the_interval_of_leaving_out_queries():
    rows = configurations()
    found = levels(pl.DataFrame(rows), NAMES)
    assert tuple(found) == NAMES
    for name, level in found.items():
        left = [mean([row for row in rows if row["query"] != f"q{query}"], name) for query in range(60)]
        error, degrees = jackknife(left)
        margin = student.ppf(0.975, degrees) * error
        assert level.mean == pytest.approx(mean(rows, name), abs=1e-12)
        assert (level.low, level.high) == pytest.approx((level.mean - margin, level.mean + margin), abs=1e-8)
        assert level.caution is None


def test_few_queries_have_a_caution_and_one_has_no_interval():
    assert levels(pl.DataFrame(configurations(queries=20)), NAMES)["NDCG"].caution == "fewer than 50 queries"
    one = levels(pl.DataFrame(configurations(queries=1)), NAMES)["NDCG"]
    assert math.isfinite(one.mean)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert one.caution.startswith("no interval")


def test_without_configurations_or_names_there_is_nothing():
    assert levels(pl.DataFrame(configurations()).head(0), NAMES) == {}
    assert levels(pl.DataFrame(configurations()), ()) == {}
