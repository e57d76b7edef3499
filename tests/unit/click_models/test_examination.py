"""Examination by position, and the discounts of metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.comparison import best_persistence, dcg_discount, examination, rbp_discount
from support.logs.click_logs import log_of


def test_examination_is_the_average_over_sessions_that_show_a_result():
    # a user skips on always, and ends with a click: document 0 attracts half, 1 and 2 none
    model = CascadeModel(np.array([0.5, 0.0, 0.0]), np.ones(3), np.zeros((1, 3)), 1.0, {}, 3)
    log = log_of([[0, 1, 2], [1, 0, -1]], {(0, 0): 3, (1, 0): 1}, 3)
    # second: half of 3 sessions, and all of 1; third: half of the 3 that have one
    assert examination(model, log) == pytest.approx([1.0, (3 * 0.5 + 1) / 4, 0.5])


def test_a_position_that_is_never_shown_has_no_examination():
    model = CascadeModel(np.array([0.5]), np.ones(1), np.zeros((1, 2)), 1.0, {}, 1)
    assert np.isnan(examination(model, log_of([[0, -1]], {(0, 1): 3}, 1))[1])


def test_discounts():
    assert dcg_discount(3) == pytest.approx([1.0, 1 / np.log2(3), 0.5])
    assert rbp_discount(0.5, 3) == pytest.approx([1.0, 0.5, 0.25])


@given(persistence=st.floats(0, 1), first=st.floats(0.1, 1))
def test_the_discount_of_rbp_itself_is_recovered(persistence, first):
    found = best_persistence(first * rbp_discount(persistence, 10))
    assert found == pytest.approx(persistence, abs=1e-5)


def test_positions_without_examination_do_not_count():
    examined = rbp_discount(0.7, 5)
    examined[3] = np.nan
    assert best_persistence(examined) == pytest.approx(0.7, abs=1e-6)
    assert best_persistence(np.array([1.0])) is None
    assert best_persistence(np.array([np.nan, 0.5])) is None
    assert best_persistence(np.array([0.0, 0.0])) is None


def test_no_other_persistence_is_nearer():
    examined = np.array([1.0, 0.62, 0.51, 0.4, 0.38, 0.21])
    found = best_persistence(examined)
    distance = lambda p: float(np.sum((rbp_discount(p, 6) - examined) ** 2))  # noqa: E731
    assert distance(found) <= min(distance(p) for p in np.linspace(0, 1, 10_001)) + 1e-12
