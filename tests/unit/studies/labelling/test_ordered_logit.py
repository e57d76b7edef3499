"""Ordered logit against statsmodels, its own simulations, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.miscmodels.ordinal_model import OrderedModel

from clickassay.core.errors import ActiveError
from clickassay.studies.labelling.ordered_logit import MIN_JUDGED, OrderedLogit, fit_ordered_logit

TRUTH = OrderedLogit(1.5, np.array([-1.0, 0.0, 1.2, 2.5]))


def drawn(size, seed=0, truth=TRUTH):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=size)
    reach = np.cumsum(truth.probabilities(scores), axis=1)
    return scores, (rng.random(size)[:, None] > reach[:, :-1]).sum(axis=1)


def test_fits_are_those_of_statsmodels():
    scores, grades = drawn(3_000)
    found = fit_ordered_logit(scores, grades, grades_of_scale=5)
    model = OrderedModel(grades, scores[:, None], distr="logit")
    other = model.fit(method="bfgs", disp=False)
    assert found.slope == pytest.approx(other.params[0], abs=2e-3)
    assert found.thresholds == pytest.approx(model.transform_threshold_params(other.params)[1:-1], abs=4e-3)
    assert found.probabilities(scores) == pytest.approx(other.predict(scores[:, None]), abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_chances_add_up_and_do_not_depend_on_the_unit_of_scores(seed, shift, unit):
    scores, grades = drawn(60, seed)
    if grades.min() == grades.max():
        return
    found = fit_ordered_logit(scores, grades, grades_of_scale=5).probabilities(scores)
    moved = fit_ordered_logit(shift + unit * scores, grades, grades_of_scale=5).probabilities(
        shift + unit * scores
    )
    assert found.sum(axis=1) == pytest.approx(1)
    assert (found >= 0).all()
    assert moved == pytest.approx(found, abs=1e-3)


def test_grades_that_no_document_has_are_unlikely_and_separable_scores_are_borne():
    scores = np.linspace(-1, 1, 40)
    found = fit_ordered_logit(scores, np.where(scores > 0, 3, 0), grades_of_scale=5)
    probabilities = found.probabilities(scores)
    assert np.isfinite(probabilities).all()
    assert probabilities[-1, 3:].sum() > 0.9
    assert probabilities[0, 0] > 0.9
    assert probabilities[:, [1, 2, 4]].mean() < 0.1


@pytest.mark.parametrize(
    ("scores", "grades", "message"),
    [
        (np.arange(MIN_JUDGED - 1.0), np.arange(MIN_JUDGED - 1) % 3, "needs 20"),
        (np.ones(30), np.arange(30) % 3, "the same score or the same grade"),
        (np.arange(30.0), np.ones(30, dtype=int), "the same score or the same grade"),
        (np.append(np.arange(29.0), np.nan), np.arange(30) % 3, "a score is missing"),
    ],
)
def test_too_little_data_is_refused(scores, grades, message):
    with pytest.raises(ActiveError, match=message):
        fit_ordered_logit(scores, grades, grades_of_scale=5)
