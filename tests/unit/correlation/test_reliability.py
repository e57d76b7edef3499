"""Alpha and AC1 against published examples, plain loops and laws."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.correlation.agreement import ac1, alphas, coincidences, kappa

KRIPPENDORFF = """
* * * * * 3 4 1 2 1 1 3 3 * 3
1 * 2 1 3 3 4 3 * * * * * * *
* * 2 1 3 4 4 * 2 1 1 3 3 * 4
"""
"""Three coders, fifteen units, values 1 to 4 (Krippendorff 2011)."""


def units(text):
    rows = [line.split() for line in text.strip().splitlines()]
    return [[int(value) for value in column if value != "*"] for column in zip(*rows, strict=True)]


def coincidences_of(grades, size):
    """Coincidences by the definition: every ordered pair of a unit's grades."""
    found = np.zeros((size, size))
    for given_grades in grades:
        for one, two in permutations(range(len(given_grades)), 2):
            found[given_grades[one], given_grades[two]] += 1 / (len(given_grades) - 1)
    return found.ravel()


def plain_alpha(grades, distance):
    """1 - Do / De, pair by pair."""
    pairable = [one for one in grades if len(one) > 1]
    values = [grade for one in pairable for grade in one]
    observed = sum(
        distance(one[a], one[b]) / (len(one) - 1)
        for one in pairable
        for a, b in permutations(range(len(one)), 2)
    )
    expected = sum(distance(values[a], values[b]) for a, b in permutations(range(len(values)), 2))
    return 1 - observed / (expected / (len(values) - 1))


def test_the_published_example_has_its_published_values():
    found = alphas(coincidences_of(units(KRIPPENDORFF), 5), 5)
    assert found[0] == pytest.approx(0.691, abs=5e-4)
    assert found[2] == pytest.approx(0.811, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=2, max_size=12))
def test_alpha_is_that_of_a_plain_loop_with_holes_and_several_judges(grades):
    values = [grade for one in grades if len(one) > 1 for grade in one]
    found = alphas(coincidences_of(grades, 5), 5)
    if len(set(values)) < 2:
        assert np.isnan(found).all()
        return
    counts = np.bincount(values, minlength=5)

    def ordinal(one, two):
        low, high = sorted((one, two))
        return (counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2

    plain = [plain_alpha(grades, of) for of in (lambda a, b: a != b, ordinal, lambda a, b: (a - b) ** 2)]
    assert found == pytest.approx(plain)


def test_ac1_has_the_value_of_gwets_example():
    # Gwet 2008: two raters, 125 subjects, of whom 118 are + by both, 5 and 2 by one, none by both
    table = np.array([118, 5, 2, 0.0])
    assert ac1(table, 2) == pytest.approx(0.9408, abs=5e-4)
    assert kappa(table, 2)[0] == pytest.approx(-0.0234, abs=5e-4)


@given(st.lists(st.integers(0, 30), min_size=9, max_size=9).filter(lambda cells: sum(cells) > 1))
def test_judges_may_be_exchanged_and_the_same_grades_agree_fully(cells):
    table = np.array(cells, float)
    turned = table.reshape(3, 3).T.ravel()
    assert ac1(turned, 3) == pytest.approx(ac1(table, 3))
    assert coincidences(turned, 3) == pytest.approx(coincidences(table, 3))
    same = np.diag(table.reshape(3, 3).sum(axis=1)).ravel()
    assert ac1(same, 3) == pytest.approx(1)
    assert set(np.round(alphas(coincidences(same, 3), 3), 9)) <= {1.0} or np.isnan(alphas(same, 3)).any()


def test_many_tables_at_once_have_the_values_of_each():
    tables = np.random.default_rng(0).integers(0, 9, (5, 16)).astype(float)
    assert ac1(tables, 4) == pytest.approx([ac1(one, 4) for one in tables])
    together = alphas(coincidences(tables, 4), 4)
    assert together == pytest.approx(np.stack([alphas(coincidences(one, 4), 4) for one in tables]))
