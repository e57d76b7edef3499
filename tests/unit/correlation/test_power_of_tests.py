"""How many users and judged queries a test needs: textbook formulas, and tests that are simulated."""

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.power import NormalIndPower, TTestPower

from clickassay.core.errors import SettingsError
from clickassay.core.records import ByFold
from clickassay.correlation.uncertainty.power import PilotOfTest, pilot_of_rankings, pilot_of_users
from clickassay.studies.experiments.effects import by_days, by_queries
from support.runs import given_sample

FOLDS = 16


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_users_of_one_session_need_what_the_textbook_says(power, alpha):
    sigma, units = 0.4, 5_000
    pilot = PilotOfTest("UCTR", 0.5, units, units, sigma * (2 / units) ** 0.5, 1e7, 1e7)
    for difference in (0.005, 0.05):
        expected = NormalIndPower().solve_power(difference / sigma, power=power, alpha=alpha)
        needed, fewest, most = pilot.needed(difference, alpha=alpha, power=power)
        assert needed == pytest.approx(expected, rel=0.002)
        assert fewest <= needed <= most


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_queries_of_equal_weight_need_what_the_paired_t_test_says(power):
    sigma, units = 0.2, 300
    pilot = PilotOfTest("NDCG", 0.5, units, units, sigma / units**0.5, 1e7, units, grows=True)
    for difference in (0.02, 0.08, 0.2):
        expected = TTestPower().solve_power(difference / sigma, power=power, alpha=0.05)
        assert pilot.needed(difference, alpha=0.05, power=power)[0] == pytest.approx(
            expected, rel=0.02, abs=2
        )


def sample_of(query, sessions, clicks, values, by_fold=None):
    """Return a sample of rankings with one click metric and one offline metric."""
    variances = (clicks * (1 - clicks) * sessions / np.maximum(sessions - 1, 1))[:, None]
    made = given_sample.sample_of(clicks[:, None], values[:, None], sessions, query, variances, ("UCTR",))
    return replace(made, editorial_names=("NDCG",), by_fold=by_fold)


def users_drawn(number, added, rng):
    """Return sessions and clicked sessions of users who differ, by fold: (F,) each."""
    n = 1 + rng.poisson(2, number)
    chance = (0.9 * rng.beta(2, 3, number) + added).clip(0, 1)
    fold = rng.integers(0, FOLDS, number)
    clicked = rng.binomial(n, chance)
    return (np.bincount(fold, part, FOLDS).astype(np.float64) for part in (n, clicked))


@pytest.mark.parametrize("judged", [1.0, 0.5])
def test_the_promised_power_is_reached_by_users(judged):
    """Pilots of 3,000 users, of whose sessions a part is judged; tests with the users that each says."""
    rng, difference, found, tests = np.random.default_rng(4), 0.03, 0, 0
    for _ in range(60):
        sessions, clicked = users_drawn(3_000, 0.0, rng)
        kept = rng.binomial(clicked.astype(int), judged)
        known = kept + rng.binomial((sessions - clicked).astype(int), judged)
        cells = ByFold(np.zeros(FOLDS, np.int64), np.arange(FOLDS), known, (kept / known)[:, None])
        whole = np.array([known.sum()]), np.array([kept.sum() / known.sum()])
        sample = sample_of(np.zeros(1, np.int64), *whole, np.zeros(1), cells)
        pilot = pilot_of_users([sample], "UCTR", int(sessions.sum()), 3_000.0)
        needed = pilot.needed(difference, alpha=0.05, power=0.8)[0]
        for _ in range(25):
            arms = [np.stack(list(users_drawn(needed, added, rng))) for added in (0.0, difference)]
            both = np.stack(arms)[:, :, None, :, None]  # (2, what, 1, F, 1)
            effects = by_days(both[:, 0], both[:, 1])
            found, tests = found + (effects.low[0] > 0), tests + 1
    assert found / tests == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_the_promised_power_is_reached_by_judged_queries(spread):
    """Pilots of 150 queries with two to four rankings; tests whose arms differ as two of these do."""
    rng, difference, found, tests = np.random.default_rng(5), 0.03, 0, 0
    for _ in range(60):
        count = rng.integers(2, 5, 150)
        query = np.repeat(np.arange(150), count)
        weight = np.exp(spread * rng.standard_normal(150))
        share = rng.exponential(size=len(query))
        share = share / np.bincount(query, share)[query]
        sessions = np.maximum((400 * weight[query] * share).astype(int), 1)
        values = 0.5 + 0.1 * rng.standard_normal(150)[query] + 0.15 * rng.standard_normal(len(query))
        pilot = pilot_of_rankings([sample_of(query, sessions, np.zeros(len(query)), values)], "NDCG", 1.0)
        needed = pilot.needed(difference, alpha=0.05, power=0.8)[0]
        for _ in range(10):
            n = 400 * np.exp(spread * rng.standard_normal(needed))
            values = 0.5 + 0.15 * rng.standard_normal((2, needed)) + np.array([[0], [difference]])
            arms = np.stack([n, n])
            effects = by_queries(
                arms[..., None], (arms * values)[..., None, None], np.arange(needed), users=False
            )
            found, tests = found + (effects.low[0] > 0), tests + 1
    assert found / tests == pytest.approx(0.8, abs=0.06)


def test_half_of_the_queries_changed_need_half_of_them():
    rng = np.random.default_rng(6)
    query = np.repeat(np.arange(200), 2)
    sample = sample_of(query, np.full(400, 50), np.zeros(400), rng.standard_normal(400))
    all_, half = (pilot_of_rankings([sample], "NDCG", changed) for changed in (1.0, 0.5))
    assert half.error == pytest.approx(all_.error / 2**0.5)
    assert half.needed(0.1, alpha=0.05, power=0.8)[0] < 0.52 * all_.needed(0.1, alpha=0.05, power=0.8)[0]


def test_rankings_that_do_not_differ_tell_nothing():
    query = np.array([0, 0, 1, 2])
    alike = sample_of(query, np.ones(4, np.int64), np.zeros(4), np.array([0.1, 0.1, 0.7, 0.9]))
    assert pilot_of_rankings([alike], "NDCG", 1.0) is None
    with pytest.raises(SettingsError, match="users are not told apart"):
        pilot_of_users([alike], "UCTR", 4, 4.0)
    with pytest.raises(SettingsError, match="click metric MeanRR is not in this run"):
        pilot_of_users([alike], "MeanRR", 4, 4.0)
