"""ERR over topics against equation 6 summed in fractions, and its laws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.errors import JudgmentError
from clickassay.metrics.editorial import err, topic_err

TOPICS = 3
LISTS = st.lists(st.tuples(*[st.integers(0, 4)] * TOPICS), min_size=1, max_size=8)
WEIGHTS = st.tuples(*[st.integers(1, 9)] * TOPICS)


def value(grades, topics, max_rel=4):
    return topic_err(np.array([grades]), np.array([topics], dtype=float), max_rel=max_rel)[0]


@given(grades=LISTS, weights=WEIGHTS)
def test_it_is_equation_6(grades, weights):
    topics = [Fraction(weight, sum(weights)) for weight in weights]
    total = Fraction(0)
    for rank in range(1, len(grades) + 1):
        for topic, share in enumerate(topics):
            term = share * Fraction(2 ** grades[rank - 1][topic] - 1, 16) / rank
            for above in range(rank - 1):
                term *= 1 - Fraction(2 ** grades[above][topic] - 1, 16)
            total += term
    assert value(grades, topics) == pytest.approx(float(total), rel=1e-12, abs=1e-15)
    assert 0 <= total < 1


@given(grades=st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_one_topic_is_err(grades):
    assert value([[grade] for grade in grades], [1.0]) == err(np.array([grades]), max_rel=4)[0]


@given(grades=LISTS, weights=WEIGHTS, order=st.permutations(range(TOPICS)))
def test_the_order_of_topics_does_not_matter(grades, weights, order):
    topics = np.array(weights) / sum(weights)
    turned = value([[row[topic] for topic in order] for row in grades], topics[list(order)])
    assert turned == pytest.approx(value(grades, topics), rel=1e-12)


@given(grades=LISTS)
def test_a_topic_that_nobody_means_does_not_matter(grades):
    assert value(grades, [0.5, 0.5, 0.0]) == pytest.approx(value([row[:2] for row in grades], [0.5, 0.5]))


def test_a_second_meaning_above_a_repeated_one_is_better():
    # first results serve topic 0; a result for topic 1 is worth more at rank 2 than another for topic 0
    assert value([(4, 0), (0, 4), (4, 0)], [0.5, 0.5]) > value([(4, 0), (4, 0), (0, 4)], [0.5, 0.5])


@pytest.mark.parametrize(
    ("grades", "topics", "message"),
    [
        ([[1, 2]], [1.0], r"expected \(lists, positions, topics\)"),
        ([[1, 2]], [0.5, 0.6], "add up to 1"),
        ([[1, 2]], [1.5, -0.5], "add up to 1"),
        ([[1, 2]], [float("nan"), 1.0], "add up to 1"),
        ([[1, -1]], [0.5, 0.5], "grade -1 is below 0"),
        ([[1, 5]], [0.5, 0.5], "grade 5 is above max_rel 4"),
    ],
)
def test_what_is_no_distribution_or_off_the_scale_is_refused(grades, topics, message):
    with pytest.raises(JudgmentError, match=message):
        value(grades, topics)
