"""Likelihoods, marginals, expected metrics and perplexities against sums over everything hidden."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.comparison import log_likelihoods, score
from clickassay.click_models.expected import expected_clicks, expected_mean_rr
from clickassay.click_models.factorised import FactorisedModel
from clickassay.click_models.model import marginal
from support.logs import click_oracle as oracle
from support.logs.click_logs import as_sessions, random_lists, random_log
from support.oracle.oracle_metrics import click_metric

POOL, DEPTH = 8, 4
SEEDS = st.integers(0, 2**32 - 1)


def cascade_models(rng, a):
    """Return a model of each form of cascade model, with its oracle."""
    s = rng.uniform(0.05, 0.95, POOL)
    gamma, lambdas, alphas = rng.uniform(0.1, 0.95), rng.uniform(0.05, 0.95, DEPTH), rng.uniform(0.1, 0.9, 3)
    ones = np.ones(POOL)
    ccm = alphas[1] * (1 - a) + alphas[2] * a
    return {
        "dcm": (CascadeModel(a, ones, lambdas[None, :], 1.0, {}, 0), lambda d, r: lambdas[r], 1.0),
        "sdbn": (CascadeModel(a, s, (1 - s)[:, None], 1.0, {}, 0), lambda d, r: 1 - s[d], 1.0),
        "dbn": (
            CascadeModel(a, s, (gamma * (1 - s))[:, None], gamma, {}, 0),
            lambda d, r: gamma * (1 - s[d]),
            gamma,
        ),
        "ccm": (CascadeModel(a, ones, ccm[:, None], alphas[0], {}, 0), lambda d, r: ccm[d], alphas[0]),
    }


def models(rng, attraction=None):
    """Return (model, function of a session that gives its probability) by name."""
    a = rng.uniform(0.05, 0.95, POOL) if attraction is None else attraction
    found = {
        name: (
            model,
            lambda session, model=model, after=after, skip=skip: oracle.chain_probability(
                session, model.attraction, after, skip
            ),
        )
        for name, (model, after, skip) in cascade_models(rng, a).items()
    }
    gamma = rng.uniform(0.05, 1.0, (DEPTH, DEPTH))
    gamma[0, 0] = 1.0
    found["ubm"] = (
        FactorisedModel(a, gamma, 0),
        lambda session: oracle.product_probability(session, a, lambda r, last: gamma[r, last]),
    )
    return found


@given(seed=SEEDS)
def test_the_likelihood_of_a_pattern_is_the_sum_over_what_is_hidden(seed):
    rng = np.random.default_rng(seed)
    log = random_log(rng, pool=POOL, depth=DEPTH)
    for name, (model, probability) in models(rng).items():
        found = log_likelihoods(model, log)
        wanted = [math.log(probability(session[:2])) for session in as_sessions(log)]
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9), name


@given(seed=SEEDS)
def test_marginals_are_sums_over_all_patterns(seed):
    rng = np.random.default_rng(seed)
    log = random_log(rng, pool=POOL, depth=DEPTH)
    for name, (model, probability) in models(rng).items():
        found = marginal(model, log.lists)
        for row, shown in enumerate(log.lists):
            there = tuple(int(code) for code in shown if code >= 0)
            wanted = oracle.marginals(there, probability)
            assert found[row, : len(there)] == pytest.approx(wanted, abs=1e-12), name
            assert not found[row, len(there) :].any()


@given(seed=SEEDS)
def test_expected_click_metrics_are_sums_over_all_patterns(seed):
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, number=5, pool=POOL, depth=DEPTH, shorter=2)
    for name, (model, probability) in models(rng, rng.choice([0, 0.3, 0.7, 1], POOL)).items():
        found = expected_clicks(model, lists)
        for row, shown in enumerate(lists):
            there = tuple(int(code) for code in shown if code >= 0)
            chances = {
                clicked: probability((there, clicked)) for clicked in product((0, 1), repeat=len(there))
            }
            for metric, values in found.items():
                wanted = math.fsum(
                    chance * click_metric(metric, tuple(np.flatnonzero(clicked) + 1), clicked, 1)
                    for clicked, chance in chances.items()
                )
                assert values[row] == pytest.approx(wanted, abs=1e-12), (name, metric)
        assert np.array_equal(expected_mean_rr(model, lists), found["MeanRR"])


def test_lists_that_are_alike_have_the_same_value_whatever_their_number():
    rng = np.random.default_rng(0)
    lists = random_lists(rng, number=3, pool=POOL, depth=DEPTH)
    for model, _ in models(rng).values():
        one = expected_mean_rr(model, lists)
        assert np.array_equal(expected_mean_rr(model, np.repeat(lists, 4000, axis=0)), np.repeat(one, 4000))
        assert expected_mean_rr(model, lists[:0]).shape == (0,)


def test_a_model_of_no_known_kind_is_refused():
    with pytest.raises(TypeError, match="object"):
        expected_mean_rr(object(), np.zeros((1, 2), dtype=np.int64))


@given(seed=SEEDS)
def test_a_click_is_an_examined_document_that_attracts(seed):
    rng = np.random.default_rng(seed)
    log = random_log(rng, pool=POOL, depth=DEPTH, shorter=0)
    for model, _ in models(rng).values():
        examined = model.examined(log.lists)
        assert examined[:, 0] == pytest.approx(1.0)
        assert ((examined >= 0) & (examined <= 1 + 1e-12)).all()
        assert examined * model.attraction[log.lists] == pytest.approx(marginal(model, log.lists))


@given(seed=SEEDS)
def test_scores_are_averages_over_sessions(seed):
    rng = np.random.default_rng(seed)
    log = random_log(rng, pool=POOL, depth=DEPTH)
    sessions = as_sessions(log)
    total = sum(times for _, _, times in sessions)
    for model, probability in models(rng).values():
        found = score(model, log)
        wanted = oracle.log_likelihood(sessions, probability) / total
        assert (found.sessions, found.excluded) == (total, 0)
        assert found.log_likelihood == pytest.approx(wanted, abs=1e-9)
        for place in range(DEPTH):
            bits, seen = 0.0, 0
            for documents, clicks, times in sessions:
                if place < len(documents):
                    chance = oracle.marginals(documents, probability)[place]
                    bits += times * math.log2(chance if clicks[place] else 1 - chance)
                    seen += times
            wanted_there = 2 ** (-bits / seen) if seen else math.nan
            assert found.perplexities[place] == pytest.approx(wanted_there, rel=1e-9, nan_ok=True)
        assert found.perplexity == pytest.approx(float(np.nanmean(found.perplexities)))


def test_what_is_impossible_is_counted_and_has_no_likelihood():
    log = random_log(np.random.default_rng(1), pool=POOL, depth=DEPTH)
    cascade = CascadeModel(np.full(POOL, 0.4), np.ones(POOL), np.zeros((1, DEPTH)), 1.0, {}, 0)
    found = score(cascade, log)
    twice = sum(times for _, clicks, times in as_sessions(log) if sum(clicks) > 1)
    assert twice > 0
    assert (found.excluded, found.log_likelihood) == (twice, -math.inf)
    assert np.isfinite(found.perplexities).all()


def test_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    log = random_log(rng, pool=POOL, depth=DEPTH)
    whole = [score(model, log) for model, _ in models(rng).values()]
    monkeypatch.setattr("clickassay.click_models.click_log._CHUNK", 3)
    rng = np.random.default_rng(2)
    random_log(rng, pool=POOL, depth=DEPTH)
    for one, (model, _) in zip(whole, models(rng).values(), strict=True):
        again = score(model, log)
        assert again.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-12)
        assert (again.perplexities == one.perplexities).all()
