"""Click metrics of one session, against hand-worked values and loops over lists of positions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clickassay.metrics.clicks import CLICKS, search_success

BY_NAME = {metric.name: metric.function for metric in CLICKS}
POSITIONS = st.sets(st.integers(1, 62), max_size=62)


def mask_of(positions):
    return sum(2 ** (position - 1) for position in positions)


def value(name, positions):
    return BY_NAME[name](np.array([mask_of(positions)], dtype=np.int64))[0]


def by_definition(positions):
    """Method 5, in exact fractions."""
    clicked = sorted(positions)
    if not clicked:
        return dict.fromkeys(("QCTR", "UCTR", "MaxRR", "MinRR", "MeanRR", "PLC"), Fraction(0))
    count = len(clicked)
    return {
        "QCTR": Fraction(count),
        "UCTR": Fraction(1),
        "MaxRR": Fraction(1, clicked[0]),
        "MinRR": Fraction(1, clicked[-1]),
        "MeanRR": sum(Fraction(1, position) for position in clicked) / count,
        "PLC": Fraction(count, clicked[-1]),
    }


@given(POSITIONS)
@example(set())
def test_every_metric_equals_its_definition_in_fractions_down_to_position_62(positions):
    for name, exact in by_definition(positions).items():
        assert value(name, positions) == pytest.approx(float(exact), rel=4e-15), name


@given(POSITIONS)
def test_the_reciprocal_ranks_are_in_order_and_below_uctr(positions):
    assert value("MinRR", positions) <= value("MeanRR", positions)
    assert value("MeanRR", positions) <= value("MaxRR", positions) <= value("UCTR", positions)
    assert value("MinRR", positions) <= value("PLC", positions) <= value("UCTR", positions)


@given(POSITIONS, st.integers(1, 62))
def test_one_more_click_never_lowers_the_number_of_clicks_and_the_first_reciprocal_rank(positions, more):
    for name in ("QCTR", "UCTR", "MaxRR"):
        assert value(name, positions | {more}) >= value(name, positions)
    assert value("MinRR", positions | {more}) <= value("MinRR", positions) or not positions


@given(POSITIONS, POSITIONS)
def test_search_success_means_that_a_clicked_result_is_good(clicked, good):
    success = search_success(np.array([mask_of(clicked)]), np.array([mask_of(good)]))[0]
    assert success == float(len(clicked & good) > 0)


def test_metrics_of_no_session_are_empty():
    for name in by_definition(set()):
        assert BY_NAME[name](np.zeros(0, dtype=np.int64)).shape == (0,)
