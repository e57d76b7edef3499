"""What sampling adds to the variance of a click metric, against loops and against worlds that are known."""

import numpy as np
import pytest

from clickassay.correlation.uncertainty import noise
from clickassay.correlation.uncertainty.noise import weighted_noise, weighted_reliability
from support.one_correlation import overall, ranked
from support.runs.given_sample import sample_of


def weighted_squares(sample, click):
    y, n = sample.click_values[:, click], sample.sessions
    centre = sum(n * y) / sum(n)
    return sum(n * (y - centre) ** 2)


@pytest.fixture
def sample(make_sample):
    """Some configurations have one session; noise explains a part of both variances."""
    found = make_sample(2, queries=30, configurations=70, most_sessions=6)
    assert 3 < (found.sessions == 1).sum() < 30
    return found


def test_only_the_configurations_with_the_fewest_sessions_speak_for_single_ones(sample, monkeypatch):
    monkeypatch.setattr(noise, "POOLED_CONFIGURATIONS", 5)
    repeated = sorted(sample.sessions[sample.sessions >= 2])
    few = (sample.sessions >= 2) & (sample.sessions <= repeated[4])  # ties all count
    assert 5 <= few.sum() < (sample.sessions >= 2).sum()
    pooled = sample.click_variances[few].mean(axis=0)
    total, single = sample.sessions.sum(), sample.sessions == 1
    variances = np.where(single[:, None], pooled, sample.click_variances)
    added = (variances * (1 - sample.sessions[:, None] / total)).sum(axis=0)
    squares = np.array([weighted_squares(sample, click) for click in range(2)])
    found = weighted_reliability(squares, np.array([total]), weighted_noise(sample).sum(axis=0), 2)
    assert found == pytest.approx(1 - added / squares, rel=1e-12)


def world(seed, *, queries=400, each=3, most_sessions=6):
    """Clicks drawn with chances that follow an offline metric; the sample seen, and its truth."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(queries), each)
    x = rng.normal(size=queries)[index] + rng.normal(size=len(index))
    chances = 1 / (1 + np.exp(-0.7 * x - rng.normal(size=len(index))))
    sessions = rng.integers(1, most_sessions + 1, len(index))
    clicked = rng.binomial(sessions, chances) / sessions
    unbiased = clicked * (1 - clicked) * sessions / np.maximum(sessions - 1, 1)
    variances = np.where(sessions > 1, unbiased, np.nan)[:, None]
    seen = sample_of(clicked[:, None], x[:, None], sessions, index, variances)
    return seen, sample_of(chances[:, None], x[:, None], sessions, index)


@pytest.mark.slow
def test_19_of_20_corrected_intervals_cover_the_correlation_of_endless_sessions():
    # of the world itself, from a very large sample of it without noise
    _, large = world(99, queries=60_000)
    real = {"correlation": overall(large)["correlation"][0], "exact": ranked(large)["exact"][0]}
    held = dict.fromkeys(real, 0)
    naive = dict.fromkeys(real, 0)
    for seed in range(150):
        seen, _ = world(1000 + seed, queries=150)
        for tabled, value in ((overall, "correlation"), (ranked, "exact")):
            row = tabled(seen).row(0, named=True)
            held[value] += row["noise_corrected_low"] <= real[value] <= row["noise_corrected_high"]
            naive[value] += row["ci_low"] <= real[value] <= row["ci_high"]
    assert all(0.89 <= number / 150 <= 0.99 for number in held.values()), held
    assert all(number / 150 < 0.8 for number in naive.values()), naive
