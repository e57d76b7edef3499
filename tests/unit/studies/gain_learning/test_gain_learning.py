"""Learned maps: gradients, agreement against the package's own correlations, planted values found again."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from clickassay.api.studies.learn import LearnResult
from clickassay.core.errors import LearningError
from clickassay.metrics.editorial import err
from clickassay.studies.gain_learning import validation
from clickassay.studies.gain_learning.gain_map import (
    OBJECTIVES,
    GainMap,
    Observations,
    _Parameters,
    learn,
    paper_map,
    ranker_correlation,
    weighted_correlation,
)
from clickassay.studies.gain_learning.validation import LearnOptions, study

DEPTH, LEVELS = 5, 5
SEEDS = st.integers(0, 2**32 - 1)
PLANTED = GainMap(np.array([0.0, 0.1, 0.35, 0.4, 0.8]), np.array([1.0, 0.6, 0.45, 0.3, 0.25]))


def observed(seed, *, size=400, queries=60, noise=0.0, truth=PLANTED):
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, LEVELS, (size, DEPTH))
    clicks = truth.values(grades) + noise * rng.standard_normal(size)
    return Observations(
        grades, np.sort(rng.integers(0, queries, size)), rng.integers(1, 99, size) * 1.0, clicks
    )


def studied(rows, objective="correlation", positions="fixed", folds=20):
    return study(rows, paper_map(4, DEPTH), LearnOptions("MeanRR", objective, positions, folds))


def naive_weighted(one, other, weights):
    """The weighted correlation as the paper prints it."""
    total = math.fsum(weights)
    means = [math.fsum(w * x for w, x in zip(weights, xs, strict=True)) / total for xs in (one, other)]
    products = [
        math.fsum(
            w * (x - means[i]) * (y - means[j])
            for w, x, y in zip(weights, (one, other)[i], (one, other)[j], strict=True)
        )
        for i, j in ((0, 1), (0, 0), (1, 1))
    ]
    return products[0] / math.sqrt(products[1] * products[2])


def naive_two_rankers(one, other, queries):
    """Sums over queries of unbiased covariances: the closed form of method 8."""
    sums = [0.0, 0.0, 0.0]
    for query in set(queries):
        rows = [row for row, of in enumerate(queries) if of == query]
        if len(rows) > 1:
            x, y = [one[row] for row in rows], [other[row] for row in rows]
            for place, (a, b) in enumerate(((x, y), (x, x), (y, y))):
                sums[place] += np.cov(a, b)[0, 1]
    return sums[0] / math.sqrt(sums[1] * sums[2])


def test_the_map_of_the_paper_gives_err_and_that_of_a_gamma_the_extended_cascade_metric():
    grades = np.random.default_rng(0).integers(0, 5, (50, 7))
    assert paper_map(4, 7).values(grades) == pytest.approx(err(grades, max_rel=4), rel=1e-12)
    paper = paper_map(4, 7)
    extended = GainMap(paper.probabilities, 0.85 ** np.arange(7), 0.85)
    assert extended.values(grades) == pytest.approx(err(grades, max_rel=4, gamma=0.85), rel=1e-12)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_agreements_are_the_correlations_of_the_report(seed):
    rows = observed(seed, size=60, queries=12, noise=0.2)
    values = np.random.default_rng(seed + 1).random(60)
    _, agreement = weighted_correlation(rows)
    assert agreement.rho(values)[0] == pytest.approx(
        naive_weighted(values, rows.clicks, rows.sessions), abs=1e-9
    )
    kept, agreement = ranker_correlation(rows)
    several = np.isin(rows.queries, kept.queries)
    found = agreement.rho(values[several])[0]
    assert found == pytest.approx(naive_two_rankers(values, rows.clicks, rows.queries.tolist()), abs=1e-9)


@settings(max_examples=20)
@given(
    seed=SEEDS,
    objective=st.sampled_from(sorted(OBJECTIVES)),
    positions=st.sampled_from(["fixed", "free", "gamma"]),
)
def test_gradients_are_those_of_finite_differences(seed, objective, positions):
    rows, agreement = OBJECTIVES[objective](observed(seed, size=80, queries=15, noise=0.3))
    free = _Parameters(rows.grades, agreement, paper_map(4, DEPTH), positions)
    start = free.starts()[0]
    point = start + np.random.default_rng(seed).normal(0, 0.3, len(start))
    slope = approx_fprime(point, lambda at: free.loss(at)[0], 1e-6)
    assert free.loss(point)[1] == pytest.approx(slope, abs=1e-5)


TO_FIND = {
    "free": PLANTED,
    "fixed": GainMap(np.array([0.05, 0.2, 0.25, 0.6, 0.9]), 1 / np.arange(1, DEPTH + 1)),
    "gamma": GainMap(PLANTED.probabilities, 0.7 ** np.arange(DEPTH), 0.7),
}


@pytest.mark.slow
@pytest.mark.parametrize("positions", TO_FIND)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_planted_map_is_found_again_without_noise(objective, positions):
    truth, near = TO_FIND[positions], 0.01 if positions == "gamma" else 2e-3
    rows, agreement = OBJECTIVES[objective](observed(1, size=4000, truth=truth))
    found = learn(rows.grades, agreement, paper_map(4, DEPTH), positions=positions)
    assert found.rho == pytest.approx(1.0, abs=1e-6)
    assert found.map.probabilities == pytest.approx(truth.probabilities, abs=near)
    assert found.map.utilities == pytest.approx(truth.utilities, abs=0 if positions == "fixed" else near)
    assert found.map.gamma == (truth.gamma and pytest.approx(truth.gamma, abs=near))


@settings(max_examples=10)
@given(seed=SEEDS)
def test_what_is_learned_fits_no_worse_than_the_start_and_never_falls_with_the_grade(seed):
    rows, agreement = weighted_correlation(observed(seed, size=150, noise=0.5))
    start = paper_map(4, DEPTH)
    found = learn(rows.grades, agreement, start)
    assert found.rho >= agreement.rho(start.values(rows.grades))[0] - 0.01  # what the prior may cost
    assert (np.diff(found.map.probabilities) >= 0).all()
    assert found.map.probabilities[0] >= 0
    assert found.map.probabilities[-1] <= 1


def test_an_interval_holds_a_planted_gamma():
    truth = GainMap(PLANTED.probabilities, 0.8 ** np.arange(DEPTH), 0.8)
    rows = observed(6, size=6000, queries=600, noise=0.05, truth=truth)
    found = studied(rows, positions="gamma", folds=8)
    assert found.gamma.low <= 0.8 <= found.gamma.high
    assert found.gamma.high - found.gamma.low < 0.3
    assert len(found.utilities) == DEPTH
    assert studied(rows, folds=2).gamma is None


def test_intervals_hold_the_planted_values_and_the_gain_is_seen():
    truth = GainMap(np.array([0.02, 0.2, 0.25, 0.6, 0.9]), 1 / np.arange(1, DEPTH + 1))
    found = studied(observed(4, size=6000, queries=600, noise=0.1, truth=truth), folds=8)
    for one, value in zip(found.probabilities, truth.probabilities, strict=True):
        assert one.low <= value <= one.high
        assert one.high - one.low < 0.2
    assert found.gain.low > 0
    assert found.held_out.value > found.held_out_fixed
    assert found.fitted >= found.fixed
    assert not found.warnings


def null_log(seed, queries=60):
    rows = observed(seed, size=5 * queries, queries=queries)
    return replace(rows, clicks=np.random.default_rng(seed).standard_normal(5 * queries))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("positions", ["fixed", "free", "gamma"])
def test_a_log_that_tells_nothing_gives_no_value_no_interval_and_no_metric(positions):
    found = studied(null_log(6), positions=positions)
    assert "cannot identify the gains" in found.reason
    assert found.held_out.low <= 0
    assert (found.probabilities, found.utilities, found.gamma) == ((), (), None)
    options = LearnOptions("MeanRR", "correlation", positions)
    assert LearnResult(None, found, {}, options, "a run").metric is None
    assert 0 < found.map.probabilities[-1] < 1
    assert found.map.utilities.max() < 10  # nothing runs off
    assert found.gain.low < 0 < found.gain.high


def test_each_part_is_learned_as_if_there_were_no_other(monkeypatch):
    """What is held out must not even give the start of the search: the map of all queries knows it."""
    starts, plain = [], validation.learn
    monkeypatch.setattr(
        validation, "learn", lambda *args, **rest: starts.append(args[2]) or plain(*args, **rest)
    )
    studied(null_log(3))
    assert len(starts) == 21
    assert all(np.array_equal(one.probabilities, paper_map(4, DEPTH).probabilities) for one in starts)


def test_errors_by_the_prior_are_its_own_without_clicks_and_vanish_with_many():
    """Two steps of R with one pseudo-observation each: logits (0, x), R(1) = 1 - expit(x)."""
    rows = replace(observed(2), clicks=np.random.default_rng(0).standard_normal(400))
    _, agreement = weighted_correlation(rows)
    flat = replace(agreement, clicks=np.zeros(400))
    found = learn(rows.grades, flat, paper_map(4, DEPTH), positions="gamma")
    # Beta(2, 2) on log-odds has the curvature 2 * 1/4 at 1/2, and gamma the slope 1/4 there
    assert found.map.gamma == pytest.approx(0.5, abs=1e-4)
    assert found.prior_errors[-1] == pytest.approx(0.25 * math.sqrt(2), rel=1e-3)
    rows, agreement = weighted_correlation(observed(2, size=4000, noise=0.05))
    assert learn(rows.grades, agreement, paper_map(4, DEPTH), positions="gamma").prior_errors[-1] < 0.1


def test_a_grade_that_no_list_shows_has_a_warning():
    rows = observed(7, size=2000, queries=200)
    found = studied(replace(rows, grades=np.where(rows.grades == 3, 2, rows.grades)), folds=4)
    assert "no configuration shows grade 3: R(3) is any number between its neighbours" in found.warnings
    assert found.configurations[3] == 0
    assert (found.probabilities[3].low, found.probabilities[3].high) == (None, None)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_clicks_that_do_not_suffice_are_refused(objective):
    few = observed(8, size=60, queries=10)
    with pytest.raises(LearningError, match=r"queries.* are too few for 20 folds"):
        studied(few, objective)
    flat = replace(observed(9), clicks=np.ones(400))
    with pytest.raises(LearningError, match="neither clicks nor grades may be the same everywhere"):
        studied(flat, objective)
