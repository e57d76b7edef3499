"""What it takes to detect a difference: against simulation, and against the textbook formula."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from clickassay.core.errors import SettingsError
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.power import Pilot, pilot_of, required_sizes, smallest_difference

PLAIN = Pilot(0.05, 0.02, 1e9, queries=400, configurations=1000, sessions=30_000, noise=None)


def test_queries_follow_the_textbook_formula():
    (need,) = required_sizes(PLAIN, 0.05, (1.0,), alpha=0.05, power=0.8)
    expected = 400 * ((t.ppf(0.975, 399) + norm.ppf(0.8)) * 0.02 / 0.05) ** 2
    assert need.queries == math.ceil(expected)
    assert need.configurations == math.ceil(need.queries * 1000 / 400)
    assert need.sessions == math.ceil(need.queries * 30_000 / 400)


def test_without_knowledge_of_noise_only_the_pilots_sessions_are_planned_for():
    assert [need.factor for need in required_sizes(PLAIN, 0.05, (0.5, 1, 2), alpha=0.05, power=0.8)] == [1]


def test_more_sessions_save_the_part_of_queries_that_is_due_to_noise():
    half = replace(PLAIN, noise=0.5)
    queries = [need.queries for need in required_sizes(half, 0.05, (0.5, 1, 2), alpha=0.05, power=0.8)]
    assert queries[0] / queries[1] == pytest.approx(1.5, rel=0.01)
    assert queries[2] / queries[1] == pytest.approx(0.75, rel=0.01)


def test_the_smallest_difference_is_that_which_needs_just_the_pilots_queries():
    smallest = smallest_difference(PLAIN, alpha=0.05, power=0.9)
    (need,) = required_sizes(PLAIN, smallest, (1.0,), alpha=0.05, power=0.9)
    assert need.queries == pytest.approx(400, abs=1)


# ---- simulated ----------------------------------------------------------------------------------


def drawn(make_sample, rng, queries, per_configuration):
    """Two configurations a query; the second metric is a noisier view of what users want than the first."""
    size = 2 * queries
    sample = make_sample(0, queries=queries, configurations=size, clicks=1, editorial=2)
    wanted = rng.normal(size=queries).repeat(2) + rng.normal(size=size)
    chance = 1 / (1 + np.exp(-0.6 * wanted))
    sessions = np.maximum(2, rng.poisson(per_configuration, size))
    clicked = rng.binomial(sessions, chance) / sessions
    variance = clicked * (1 - clicked) * sessions / (sessions - 1)
    metrics = wanted[:, None] + rng.normal(size=(size, 2)) * (0.8, 1.2)
    return replace(
        sample,
        query_index=np.arange(queries).repeat(2),
        sessions=sessions,
        click_values=clicked[:, None],
        click_variances=variance[:, None],
        editorial_values=metrics,
    )


@pytest.mark.parametrize("factor", [1, 4])
def test_the_stated_power_is_reached_with_the_required_queries(make_sample, factor):
    rng = np.random.default_rng(12)
    pilots = [pilot_of(drawn(make_sample, rng, 400, 5), "C0", "E0", "E1", seed=1) for _ in range(12)]
    mean = replace(
        pilots[0],
        difference=float(np.mean([pilot.difference for pilot in pilots])),
        error=float(np.mean([pilot.error for pilot in pilots])),
        noise=float(np.mean([pilot.noise for pilot in pilots])),
    )
    (need,) = required_sizes(mean, mean.difference, (factor,), alpha=0.05, power=0.8)
    tests = [
        comparisons(drawn(make_sample, rng, need.queries, 5 * factor)).row(0, named=True) for _ in range(200)
    ]
    detected = np.mean([row["p_value"] < 0.05 and row["difference"] > 0 for row in tests])
    assert 0.68 <= detected <= 0.92  # 0.8 with its own error, and that of the pilots


def test_the_pilot_has_the_difference_of_the_table_and_its_error(make_sample):
    sample = drawn(make_sample, np.random.default_rng(3), 150, 20)
    pilot = pilot_of(sample, "C0", "E0", "E1", seed=0)
    row = comparisons(sample).row(0, named=True)
    assert pilot.difference == pytest.approx(row["difference"], abs=1e-12)
    assert 1.9 * pilot.error < row["ci_high"] - row["difference"] < 2.2 * pilot.error
    assert (pilot.queries, pilot.configurations) == (150, 300)
    turned = pilot_of(sample, "C0", "E1", "E0", seed=0)
    assert turned.difference == pytest.approx(-pilot.difference)


@pytest.mark.parametrize("names", [("C9", "E0", "E1"), ("C0", "E9", "E1"), ("C0", "E0", "E9")])
def test_an_unknown_metric_is_refused_with_those_that_there_are(make_sample, names):
    sample = drawn(make_sample, np.random.default_rng(3), 30, 20)
    with pytest.raises(SettingsError, match="is not in this run; it has"):
        pilot_of(sample, *names, seed=0)


def test_a_difference_without_spread_is_refused(make_sample):
    sample = drawn(make_sample, np.random.default_rng(3), 30, 20)
    same = replace(sample, editorial_values=sample.editorial_values[:, [0, 0]])
    with pytest.raises(SettingsError, match="no standard error"):
        pilot_of(same, "C0", "E0", "E1", seed=0)
