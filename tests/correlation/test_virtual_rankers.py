"""Algorithm 3 and its limit against plain loops, big Monte Carlo runs, and known sampling noise."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from pipeline.correlation import rankers
from pipeline.correlation.rankers import (
    covariance_contributions,
    drawn_pairs,
    exact_correlations,
    monte_carlo,
    query_covariances,
    ranker_correlations,
    ranker_differences,
    sampling_noise,
    within_queries,
)
from pipeline.correlation.resampling import resampled_sums


def of_queries(sample):
    """The rows of each query with two configurations or more."""
    groups = [np.flatnonzero(sample.query_index == query) for query in range(len(sample.queries))]
    return [rows for rows in groups if len(rows) >= 2]


def exact_by_loops(sample, click, editorial, noise=0.0):
    """Contract 8's closed form: three loops over queries, configurations and both variables."""
    y, x = sample.click_values[:, click], sample.editorial_values[:, editorial]
    s_ec = s_ee = s_cc = 0.0
    for rows in of_queries(sample):
        n = len(rows)
        m_y, m_x = sum(y[rows]) / n, sum(x[rows]) / n
        for row in rows:
            s_ec += (y[row] - m_y) * (x[row] - m_x) / (n - 1)
            s_ee += (x[row] - m_x) ** 2 / (n - 1)
            s_cc += (y[row] - m_y) ** 2 / (n - 1)
    return s_ec / math.sqrt(s_ee * (s_cc - noise))


def run(sample, *, iterations=50, resamples=50, seed=0):
    sums = resampled_sums(covariance_contributions(sample), resamples, np.random.default_rng(seed + 1))
    resampled = exact_correlations(sums, len(sample.click_names))
    draws = np.random.default_rng(seed)
    return ranker_correlations(sample, resampled, iterations=iterations, rng=draws)


def test_the_closed_form_is_that_of_plain_loops(make_sample):
    sample = make_sample(2)
    found = run(sample)
    expected = [[exact_by_loops(sample, click, editorial) for editorial in range(3)] for click in range(2)]
    np.testing.assert_allclose(found.exact, expected, rtol=1e-12)
    assert found.n_queries == len(of_queries(sample)) < len(sample.queries)
    assert found.n_configurations == sum(len(rows) for rows in of_queries(sample))


def test_many_iterations_tend_to_the_closed_form(make_sample):
    sample = make_sample(2)
    iterations = 60_000
    found = run(sample, iterations=iterations)
    error = (1 - found.exact**2) / math.sqrt(iterations)
    assert (np.abs(found.monte_carlo - found.exact) < 4.5 * error).all()
    np.testing.assert_allclose(found.monte_carlo_se, error, rtol=0.1)


def test_an_algorithm_3_written_as_loops_tends_to_the_same_value(make_sample):
    sample = make_sample(9, queries=3, configurations=9)
    rng = np.random.default_rng(0)
    y, x = sample.click_values[:, 0], sample.editorial_values[:, 0]
    deltas = []
    for _ in range(8000):
        pairs = [rng.choice(rows, 2, replace=False) for rows in of_queries(sample)]
        deltas.append([sum(v[a] - v[b] for a, b in pairs) / len(pairs) for v in (x, y)])
    looped = pearsonr(*np.transpose(deltas)).statistic
    found = run(sample, iterations=8000)
    error = found.monte_carlo_se[0, 0]
    assert looped == pytest.approx(found.exact[0, 0], abs=4.5 * error)
    assert looped == pytest.approx(found.monte_carlo[0, 0], abs=4.5 * math.sqrt(2) * error)


def test_the_variance_of_the_differences_is_twice_the_summed_variances_over_squared_queries(make_sample):
    within = within_queries(make_sample(3))
    deltas = ranker_differences(within, iterations=40_000, rng=np.random.default_rng(1))
    variances = query_covariances(within)[:, :5].sum(axis=0)
    np.testing.assert_allclose(deltas.var(axis=0), 2 * variances / len(within.sizes) ** 2, rtol=0.05)
    np.testing.assert_allclose(deltas.mean(axis=0), 0, atol=0.02)


def test_every_query_gives_two_different_configurations_all_ordered_pairs_equally_often():
    sizes = np.array([2, 3, 5])
    a, b = drawn_pairs(sizes, iterations=60_000, rng=np.random.default_rng(3))
    for query, size in enumerate(sizes):
        pairs = a[:, query] * size + b[:, query]
        found = np.bincount(pairs, minlength=size * size).reshape(size, size) / len(pairs)
        assert np.diag(found).tolist() == [0.0] * size
        np.testing.assert_allclose(found[~np.eye(size, dtype=bool)], 1 / (size * (size - 1)), atol=0.009)


@pytest.mark.parametrize(
    "constants", [{"CELLS": 2000}, {"MOST_PLACES": 1}, {"MOST_PLACES": 3, "CELLS": 300}, {}]
)
def test_the_differences_are_those_of_a_loop_over_the_same_pairs(make_sample, monkeypatch, constants):
    for name, value in constants.items():
        monkeypatch.setattr(rankers, name, value)
    sample = make_sample(2)
    within = within_queries(sample)
    found = ranker_differences(within, iterations=100, rng=np.random.default_rng(5))
    rng, looped = np.random.default_rng(5), np.zeros((100, 5))
    order = sorted(range(len(within.sizes)), key=lambda query: within.sizes[query])
    block = max(1, rankers.CELLS // 100)
    values = np.concatenate([sample.click_values, sample.editorial_values], axis=1)
    for first in range(0, len(order), block):
        queries = order[first : first + block]
        a, b = drawn_pairs(within.sizes[queries], iterations=100, rng=rng)
        for iteration in range(100):
            for place, query in enumerate(queries):
                rows = within.rows[within.starts[query] :]
                looped[iteration] += values[rows[a[iteration, place]]] - values[rows[b[iteration, place]]]
    np.testing.assert_allclose(found, looped / len(order), rtol=1e-9, atol=1e-13)


def test_queries_with_one_configuration_and_numbers_of_sessions_play_no_part(make_sample):
    sample = make_sample(2)
    alone = np.bincount(sample.query_index)[sample.query_index] < 2
    assert alone.any()
    values = sample.click_values.copy()
    values[alone] = 99
    changed = dataclasses.replace(sample, click_values=values, sessions=sample.sessions * 3)
    np.testing.assert_allclose(run(changed).exact, run(sample).exact, rtol=1e-12)
    np.testing.assert_allclose(run(changed).monte_carlo, run(sample).monte_carlo, rtol=1e-12)


def test_shifting_all_values_of_a_query_plays_no_part(make_sample):
    sample = make_sample(2)
    shift = np.linspace(-50, 50, len(sample.queries))[sample.query_index, None]
    changed = dataclasses.replace(sample, editorial_values=sample.editorial_values + shift)
    np.testing.assert_allclose(run(changed).exact, run(sample).exact, rtol=1e-11)
    np.testing.assert_allclose(run(changed).monte_carlo, run(sample).monte_carlo, rtol=1e-11)


def test_the_interval_is_that_of_a_loop_over_the_same_queries(make_sample):
    sample = make_sample(2)
    found = run(sample, resamples=80, seed=5)
    queries = len(sample.queries)
    draws = np.random.default_rng(6).integers(0, queries, size=(80, queries))
    within = within_queries(sample)
    of_query = dict(
        zip(sample.query_index[within.rows[within.starts]], query_covariances(within), strict=True)
    )
    looped = [
        exact_correlations(sum(of_query[query] for query in drawn if query in of_query), 2) for drawn in draws
    ]
    np.testing.assert_allclose(found.ci_low, np.percentile(looped, 2.5, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.ci_high, np.percentile(looped, 97.5, axis=0), rtol=1e-12)


def test_sign_agreement_is_how_often_normal_differences_agree():
    rng = np.random.default_rng(0)
    for rho in (-0.7, 0.0, 0.5):
        pairs = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=40_000)
        agree = (np.sign(pairs[:, 0]) == np.sign(pairs[:, 1])).mean()
        assert 0.5 + math.asin(rho) / math.pi == pytest.approx(agree, abs=0.012)


def test_sign_agreement_follows_from_the_exact_value(make_sample):
    found = run(make_sample(2))
    for exact, agreement in zip(found.exact.ravel(), found.sign_agreement.ravel(), strict=True):
        assert agreement == pytest.approx(0.5 + math.asin(exact) / math.pi, rel=1e-14)


def test_the_noise_subtracted_is_the_mean_of_variance_over_sessions_of_each_query(make_sample):
    sample = make_sample(2, most_sessions=4)
    assert (sample.sessions == 1).any()
    y, n = sample.click_variances[:, 0], sample.sessions
    repeated = [row for row in range(len(n)) if n[row] >= 2]
    pooled = sum((n[row] - 1) * y[row] for row in repeated) / sum(n[row] - 1 for row in repeated)
    variance = [y[row] if n[row] >= 2 else pooled for row in range(len(n))]
    noise = sum(sum(variance[row] / n[row] for row in rows) / len(rows) for rows in of_queries(sample))
    assert sampling_noise(sample, within_queries(sample))[0] == pytest.approx(noise, rel=1e-12)
    expected = exact_by_loops(sample, 0, 1, noise)
    assert run(sample).noise_corrected[0, 1] == pytest.approx(expected, rel=1e-11)


def test_the_noise_correction_finds_the_correlation_of_endless_sessions(make_sample):
    """Clicks are drawn with known chances: the corrected value is near that of the chances themselves."""
    truth = make_sample(5, queries=300, configurations=1500, clicks=1, editorial=1)
    rng = np.random.default_rng(1)
    chances = 1 / (1 + np.exp(-truth.click_values + 3))
    sessions = rng.integers(1, 6, len(chances))
    clicked = rng.binomial(sessions[:, None], chances) / sessions[:, None]
    variances = np.full(clicked.shape, np.nan)
    many = sessions > 1
    variances[many] = (clicked * (1 - clicked))[many] * (sessions / np.maximum(sessions - 1, 1))[many, None]
    world = dataclasses.replace(truth, click_values=chances)
    seen = dataclasses.replace(truth, click_values=clicked, click_variances=variances, sessions=sessions)
    real, found = run(world).exact[0, 0], run(seen)
    assert found.exact[0, 0] < 0.75 * real  # noise hides much of it
    assert found.noise_corrected[0, 0] == pytest.approx(real, abs=0.06)


def test_there_is_no_corrected_value_when_noise_explains_everything(make_sample):
    sample = make_sample(2)
    noisy = dataclasses.replace(sample, click_variances=np.full(sample.click_variances.shape, 1e6))
    found = run(noisy)
    assert np.isnan(found.noise_corrected).all()
    assert np.isfinite(found.exact).all()


def test_a_corrected_value_beyond_1_is_not_clipped(make_sample):
    sample = make_sample(2, clicks=1, editorial=1)
    follows = dataclasses.replace(sample, click_values=sample.editorial_values)
    assert run(follows).exact[0, 0] == pytest.approx(1)
    assert run(follows).noise_corrected[0, 0] > 1


def test_there_is_no_corrected_value_when_no_configuration_has_two_sessions(make_sample):
    sample = make_sample(2)
    single = dataclasses.replace(
        sample,
        sessions=np.ones_like(sample.sessions),
        click_variances=np.full(sample.click_variances.shape, np.nan),
    )
    found = run(single)
    assert np.isnan(found.noise_corrected).all()
    assert np.isfinite(found.exact).all()


def test_queries_with_one_configuration_each_give_no_value_and_the_reason(make_sample):
    found = run(make_sample(1, queries=10, configurations=10))
    assert {reason for row in found.reasons for reason in row} == {"no query has two configurations"}
    for array in (found.monte_carlo, found.exact, found.ci_low, found.noise_corrected, found.sign_agreement):
        assert array.shape == (2, 3)
        assert np.isnan(array).all()


def test_a_metric_that_is_constant_within_queries_has_no_value(make_sample):
    sample = make_sample(2)
    by_query = np.random.default_rng(0).random(len(sample.queries))[sample.query_index]
    clicks, editorial = sample.click_values.copy(), sample.editorial_values.copy()
    clicks[:, 0], editorial[:, 2] = by_query, by_query * 3 / 3
    found = run(dataclasses.replace(sample, click_values=clicks, editorial_values=editorial))
    missing = [[True, True, True], [False, False, True]]
    for array in (found.monte_carlo, found.exact, found.ci_high, found.noise_corrected):
        assert np.isnan(array).tolist() == missing
    assert "click metric" in found.reasons[0][2]
    assert "editorial metric" in found.reasons[1][2]
    assert found.reasons[1][0] is None


def test_one_query_has_a_value_but_no_interval(make_sample):
    found = run(make_sample(1, queries=1, configurations=6))
    assert np.isfinite(found.exact).all()
    assert np.isnan(found.ci_low).all()


def test_draws_that_never_differ_have_no_correlation(make_sample):
    sample = make_sample(1, queries=1, configurations=2)
    within = within_queries(sample)
    seeds = [
        seed for seed in range(50) if len(set((np.random.default_rng(seed).random(2) < 0.5).tolist())) == 1
    ]
    found = monte_carlo(within, iterations=2, rng=np.random.default_rng(seeds[0]))
    assert np.isnan(found.values).all()
    assert "every draw" in found.reasons[0][0]


def test_adding_a_metric_leaves_the_draws_of_the_others_alone(make_sample):
    sample = make_sample(2)
    fewer = dataclasses.replace(
        sample, editorial_values=sample.editorial_values[:, :1], editorial_names=sample.editorial_names[:1]
    )
    np.testing.assert_allclose(run(fewer).monte_carlo[:, 0], run(sample).monte_carlo[:, 0], rtol=1e-12)
