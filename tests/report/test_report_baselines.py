"""Yardsticks against statsmodels, plain loops and full enumeration."""

import itertools

import numpy as np
import polars as pl
import pytest
from report.report_tables import run_info, run_tables
from statsmodels.stats.weightstats import DescrStatsW

from pipeline.report.baselines import (
    BASELINES,
    baselines,
    random_success,
    success_noise,
    weighted_correlation,
)
from pipeline.report.model import Run, SampleKey, read_run


@pytest.fixture(scope="module")
def run() -> Run:
    return read_run(run_tables(), run_info())


def test_weighted_correlation_is_that_of_statsmodels():
    rng = np.random.default_rng(5)
    x, y, weights = rng.normal(size=50), rng.normal(size=50), rng.integers(1, 90, size=50).astype(float)
    expected = DescrStatsW(np.column_stack([x, y]), weights=weights).corrcoef[0, 1]
    assert weighted_correlation(x, y, weights).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "reason"),
    [([0.1, 0.1, 0.1], "no variance"), ([0.1, np.nan, 0.3], "a configuration without a value")],
)
def test_a_value_that_cannot_be_computed_has_a_reason_instead(x, reason):
    found = weighted_correlation(np.array(x), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert (found.value, found.reason) == (None, reason)


def test_one_configuration_has_no_correlation():
    assert weighted_correlation(np.ones(1), np.ones(1), np.ones(1)).reason == "fewer than two configurations"


def test_random_success_is_the_chance_that_a_pattern_of_the_log_meets_a_good_result():
    grades = [[0, 2, 0], [4, 0, 0], [0, 1, 3], [1, 1, 1]]
    patterns = {
        0b001: 5,
        0b010: 3,
        0b110: 2,
        0b1000: 10,
        0b1001: 1,
    }  # the fourth position lies below the depth
    expected = [
        sum(n for mask, n in patterns.items() if any(mask >> p & 1 and g >= 2 for p, g in enumerate(row)))
        / sum(patterns.values())
        for row in grades
    ]
    frame = pl.DataFrame({"grades": grades}, schema={"grades": pl.List(pl.Int8)})
    table = pl.DataFrame({"click_mask": list(patterns), "sessions": list(patterns.values())})
    assert random_success(frame, table, 3, 2).tolist() == pytest.approx(expected, abs=1e-12)


def test_the_noise_of_single_sessions_is_the_expected_growth_of_the_sum_of_squares():
    chances, sessions = [0.3, 0.8, 0.5], [1, 3, 2]
    owner = [i for i, n in enumerate(sessions) for _ in range(n)]

    def squares(values):
        mean = sum(n * v for n, v in zip(sessions, values, strict=True)) / sum(sessions)
        return sum(n * (v - mean) ** 2 for n, v in zip(sessions, values, strict=True))

    expected = 0.0
    for outcome in itertools.product((0, 1), repeat=len(owner)):
        chance = np.prod(
            [chances[i] if hit else 1 - chances[i] for i, hit in zip(owner, outcome, strict=True)]
        )
        means = [
            sum(h for i, h in zip(owner, outcome, strict=True) if i == c) / n for c, n in enumerate(sessions)
        ]
        expected += chance * squares(means)
    noise = success_noise(np.array(chances), np.array(sessions, dtype=float))
    assert squares(chances) + noise == pytest.approx(expected, abs=1e-12)


def test_order_blind_baselines_use_mean_and_first_grade(run):
    sample = SampleKey("m2", 5, "llm")
    rows = run.frames["configurations"].filter(market="m2", depth=5, judge="llm").to_dicts()
    weights = np.array([row["n_sessions"] for row in rows], dtype=float)
    clicks = [row["MeanRR"] for row in rows]
    plain = {
        "mean grade": [sum(row["grades"]) / len(row["grades"]) for row in rows],
        "grade of the first result": [row["grades"][0] for row in rows],
    }
    found = baselines(run, sample)
    assert tuple(found.order_blind) == BASELINES
    for name, values in plain.items():
        expected = DescrStatsW(np.column_stack([values, clicks]), weights=weights).corrcoef[0, 1]
        assert found.order_blind[name].value == pytest.approx(expected, abs=1e-9)


def test_ss_correlates_with_every_metric_even_when_clicks_are_dealt_at_random(run):
    found = baselines(run, run.headline)
    assert all(value.value > 0.1 for value in found.random_ss.values())


def test_a_sample_without_configurations_has_no_yardsticks(run):
    assert baselines(run, SampleKey("nowhere", 5, "nobody")) is None
