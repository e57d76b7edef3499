"""The expected click metrics of click models against the sum over every pattern of clicks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.click_log import ClickLog
from clickassay.click_models.comparison import log_likelihoods
from clickassay.click_models.expected import expected_clicks, expected_mean_rr
from clickassay.click_models.factorised import FactorisedModel
from support.logs.click_logs import documents, random_lists
from support.oracle.oracle_metrics import CLICK_METRICS, click_metric

POOL, DEPTH = 6, 4


def models(rng):
    """Return a model of each kind, with chances of 0 and 1 among its parameters."""
    a, s = rng.choice([0, 0.3, 0.7, 1], POOL), rng.uniform(0, 1, POOL)
    gamma = rng.uniform(0, 1, (DEPTH, DEPTH))
    lambdas = rng.uniform(0, 1, (1, DEPTH))
    return {
        "dbn": CascadeModel(a, s, (0.8 * (1 - s))[:, None], 0.8, {}, 0),
        "dcm": CascadeModel(a, np.ones(POOL), lambdas, 1.0, {}, 0),
        "ubm": FactorisedModel(a, gamma, 0),
        "pbm": FactorisedModel(a, np.repeat(gamma[:, :1], DEPTH, axis=1), 0),
    }


def summed_up(model, shown):
    """Add up click metrics over all patterns of one list, each with its probability."""
    masks = np.arange(1 << sum(code >= 0 for code in shown))
    rows = np.zeros(len(masks), dtype=np.int64)
    log = ClickLog(np.array([shown]), rows, masks, np.ones_like(masks), documents(POOL))
    chances = np.exp(log_likelihoods(model, log))
    assert math.fsum(chances) == pytest.approx(1)
    places = [tuple(place + 1 for place in range(DEPTH) if mask >> place & 1) for mask in masks]
    return {
        name: math.fsum(p * click_metric(name, own, shown, 0) for p, own in zip(chances, places, strict=True))
        for name in CLICK_METRICS
        if name != "SS"
    }


@given(st.integers(0, 2**32 - 1))
def test_expectations_are_sums_over_all_patterns(seed):
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, number=5, pool=POOL, depth=DEPTH, shorter=2)
    for name, model in models(rng).items():
        expected = [summed_up(model, shown) for shown in lists]
        found = expected_clicks(model, lists)
        for metric in found:
            assert found[metric] == pytest.approx([one[metric] for one in expected], abs=1e-12), (
                name,
                metric,
            )
        assert np.array_equal(expected_mean_rr(model, lists), found["MeanRR"])


def test_lists_that_are_alike_have_the_same_value_whatever_their_number():
    rng = np.random.default_rng(0)
    lists = random_lists(rng, number=3, pool=POOL, depth=DEPTH)
    for model in models(rng).values():
        one = expected_mean_rr(model, lists)
        assert np.array_equal(expected_mean_rr(model, np.repeat(lists, 4000, axis=0)), np.repeat(one, 4000))
        assert expected_mean_rr(model, lists[:0]).shape == (0,)


def test_a_model_of_no_known_kind_is_refused():
    with pytest.raises(TypeError, match="object"):
        expected_mean_rr(object(), np.zeros((1, 2), dtype=np.int64))
