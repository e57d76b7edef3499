"""Means over sessions, and correlations of signals across halves of the users: against plain loops."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from clickassay.correlation.estimates import Halves, across_halves, levels
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


def plain(halves):
    """Return the correlations by loops over lists."""
    size = halves.first.shape[1]
    n = halves.weights

    def product(a, b):
        x, y = halves.first[:, a], halves.second[:, b]
        mean_x, mean_y = (sum(n * one) / sum(n) for one in (x, y))
        return sum(w * (p - mean_x) * (q - mean_y) for w, p, q in zip(n, x, y, strict=True))

    shared = {
        (a, b): (product(a, b) + product(b, a)) / 2 for a, b in itertools.product(range(size), repeat=2)
    }
    return np.array(
        [[shared[a, b] / np.sqrt(shared[a, a] * shared[b, b]) for b in range(size)] for a in range(size)]
    )


def drawn(rng, *, queries=250, lists=4, sessions=12, truth=0.8, rates=(0.4, 0.3)):
    """Draw two signals of the same sessions whose chances correlate so."""
    n = queries * lists
    common = rng.standard_normal((n, 2))
    latent = np.stack([common[:, 0], truth * common[:, 0] + np.sqrt(1 - truth**2) * common[:, 1]], axis=1)
    chances = np.clip(np.array(rates) + 0.1 * latent, 0, 1)
    share = np.clip(chances[:, 1] / np.maximum(chances[:, 0], 1e-9), 0, 1)
    halves = []
    for _ in range(2):
        clicked = rng.random((sessions, n)) < chances[:, 0]
        # the second needs the first: their noise is shared
        second = clicked & (
            rng.random((sessions, n)) < np.clip(chances[:, 1] / np.maximum(chances[:, 0], 1e-9), 0, 1)
        )
        halves.append(np.stack([clicked.mean(axis=0), second.mean(axis=0)], axis=1))
    unit = np.repeat(np.arange(queries), lists)
    planted = np.stack([chances[:, 0], chances[:, 0] * share], axis=1)
    return Halves(*halves, np.full(n, 2 * sessions), unit), planted


def test_values_are_those_of_plain_loops():
    rng = np.random.default_rng(3)
    n = 60
    base = rng.standard_normal((n, 3))
    noisy = (base + 0.3 * rng.standard_normal((n, 3)) for _ in range(2))
    halves = Halves(*noisy, rng.integers(1, 50, n), np.repeat(np.arange(20), 3))
    found = across_halves(halves)
    assert found.values == pytest.approx(plain(halves), rel=1e-9)
    assert np.diagonal(found.values) == pytest.approx(1)
    assert found.values == pytest.approx(found.values.T)
    assert ((found.low <= found.values) & (found.values <= found.high))[~np.eye(3, dtype=bool)].all()


def test_shared_noise_does_not_raise_the_correlation():
    rng = np.random.default_rng(5)
    values, raw, truths = [], [], []
    for _ in range(40):
        halves, chances = drawn(rng, truth=0.2)
        values.append(across_halves(halves).values[0, 1])
        together = (halves.first + halves.second) / 2
        raw.append(np.corrcoef(together.T)[0, 1])
        truths.append(np.corrcoef(chances.T)[0, 1])
    assert abs(np.mean(values) - np.mean(truths)) < 0.04
    assert abs(np.mean(raw) - np.mean(truths)) > 0.06


@pytest.mark.thorough
def test_intervals_hold_the_truth():
    rng = np.random.default_rng(7)
    held = known = 0
    for _ in range(200):
        halves, chances = drawn(rng, queries=150)
        found = across_halves(halves)
        if np.isfinite(found.low[0, 1]):
            known += 1
            held += found.low[0, 1] <= np.corrcoef(chances.T)[0, 1] <= found.high[0, 1]
    assert known > 190
    assert 0.91 <= held / known <= 0.99


def test_noise_alone_has_no_value():
    rng = np.random.default_rng(1)
    n = 200
    halves = Halves(*(rng.standard_normal((n, 2)) for _ in range(2)), np.full(n, 10), np.arange(n) // 2)
    found = across_halves(halves)
    assert not np.isfinite(found.low[0, 1])


def test_one_query_has_no_value():
    halves = Halves(np.ones((2, 2)), np.ones((2, 2)), np.ones(2, np.int64), np.zeros(2, np.int64))
    assert np.isnan(across_halves(halves).values).all()
