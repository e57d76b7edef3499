"""Estimates against plain means, a loop of the jackknife, and pools whose truth is known."""

import math
import sys
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling.estimate import estimate
from clickassay.studies.labelling.moments import MEASURES, measure_moments
from clickassay.studies.labelling.sampling import CORRECTED, VARIANTS, sampling_distribution
from support.places import ROOT

VALUES = st.lists(st.integers(-50, 50), min_size=2, max_size=40).filter(lambda values: len(set(values)) > 1)


@given(values=VALUES)
def test_with_q_equal_to_p_it_is_the_plain_mean_and_its_t_interval(values):
    found = estimate(np.array(values) / 7, np.ones(len(values)))
    mean, error = np.mean(values) / 7, stats.sem(np.array(values) / 7)
    low, high = stats.t.interval(0.95, max(len(values) - 1, 1), mean, error)
    assert found.value == pytest.approx(mean, abs=1e-12)
    assert found.error == pytest.approx(error)
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high))
    against = stats.ttest_1samp(np.array(values) / 7, 0, alternative="greater")
    assert found.above_zero == pytest.approx(1 - against.pvalue)
    assert found.effective_draws == pytest.approx(len(values))
    assert found.largest_share == pytest.approx(1 / len(values))


@given(values=VALUES, data=st.data(), scale=st.sampled_from([0.01, 1, 7]))
def test_it_is_a_ratio_of_weighted_sums_with_the_error_of_leaving_one_out(values, data, scale):
    size = len(values)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    found = estimate(np.array(values, dtype=float), scale * weights)
    ratio = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    left_out = []
    for gone in range(size):
        rest = [(w, v) for at, (w, v) in enumerate(zip(weights, values, strict=True)) if at != gone]
        left_out.append(sum(w * v for w, v in rest) / sum(w for w, _ in rest))
    error = math.sqrt((size - 1) / size * sum((one - ratio) ** 2 for one in left_out))
    assert found.value == pytest.approx(ratio, abs=1e-12)
    assert found.error == pytest.approx(error)


def test_cautions_name_few_draws_and_a_heavy_one():
    values = np.arange(40.0)
    assert estimate(values, np.ones(40)).cautions == ()
    few = estimate(values[:29], np.ones(29)).cautions
    assert few == ("The effective number of draws is 29.0, fewer than 30.",)
    heavy = estimate(values, np.append(np.ones(39), 13)).cautions  # 13 of 52; 52^2 / (39 + 169) = 13
    assert heavy == (
        "The effective number of draws is 13.0, fewer than 30.",
        "One draw has 25% of the weight, more than 20%.",
    )


FAULTS = {
    "one draw": (([1], [1]), "labelled draws: 1. An estimate needs two: raise the budget"),
    "no draw": (([], []), "labelled draws: 0"),
    "no spread": (([1, 1], [1, 2]), "all draws have the same value"),
    "a ratio of 0": (([1, 2], [1, 0]), "a ratio p / q is not above 0"),
    "an endless ratio": (([1, 2], [1, math.inf]), "a ratio p / q is not above 0"),
    "one weight": (([1, 2], [1e-20, 1]), "one draw has all the weight"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_estimated_is_refused(fault):
    (values, ratios), message = FAULTS[fault]
    with pytest.raises(ActiveError, match=message):
        estimate(np.array(values, dtype=float), np.array(ratios, dtype=float))


def test_two_very_unequal_draws_still_have_an_interval():
    found = estimate(np.array([0.0, 1.0]), np.array([1e-3, 1.0]))
    assert np.isfinite([found.error, found.ci_low, found.ci_high, found.above_zero]).all()


@pytest.fixture(scope="module")
def honest():
    sys.path.insert(0, str(ROOT))
    try:
        yield import_module("benchmarks.promises.labelling.honest")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def labelled(honest):
    return {rankings: honest.labelled_pool(rankings, 600) for rankings in (1, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rankings", [1, 2])
def test_estimates_are_unbiased_and_intervals_hold_the_truth(honest, labelled, rankings, measure, variant):
    pool, values = labelled[rankings]
    q = sampling_distribution(pool, measure, variant, defensive_share=0.1).q
    expected = measure_moments(pool, measure).mean
    known = expected if variant == CORRECTED else np.zeros_like(expected)
    found = honest.repeated(pool, (values[measure], known), q, 120, 400)
    # 400 intervals of 95%: 3.5 errors of 1.1 points either way
    assert 0.912 <= found.held <= 0.988
    assert abs(found.bias) < 4 * found.bias_error + 0.02 * found.error
