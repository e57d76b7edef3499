"""Intervals that hold for a whole family: never narrower than one, never against Holm's tests."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from clickassay.core.special import stdtrit
from clickassay.correlation.comparisons import comparisons, difference_comparisons
from clickassay.correlation.uncertainty.intervals import holm, together_confidence
from support.one_correlation import overall, ranked

ROUNDING = 1e-9


def families(sample):
    """Rows of each of the four tables with the value if there is nothing: (table, value, null).

    One of the click metrics is SS, whose null is not 0, and which compares nothing.
    """
    sample = replace(sample, click_names=("MeanRR", "SS"))
    yield overall(sample), "correlation", pl.col("null_correlation")
    yield ranked(sample), "exact", pl.lit(0.0)
    yield comparisons(sample), "difference", pl.lit(0.0)
    yield difference_comparisons(sample), "difference", pl.lit(0.0)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    queries=st.integers(4, 30),
    editorial=st.integers(1, 6),
    more=st.integers(2, 40),
)
def test_what_is_not_significant_by_holm_has_its_null_in_the_interval(
    make_sample, seed, queries, editorial, more
):
    sample = make_sample(seed, queries=queries, configurations=queries + more, editorial=editorial)
    for rows, value, null in families(sample):
        known = rows.filter(pl.col("simultaneous_low").is_not_null()).with_columns(nothing=null)
        assert known.filter(pl.col("simultaneous_low") > pl.col("ci_low") + ROUNDING).is_empty()
        assert known.filter(pl.col("simultaneous_high") < pl.col("ci_high") - ROUNDING).is_empty()
        assert known.filter(~pl.col(value).is_between("simultaneous_low", "simultaneous_high")).is_empty()
        kept = known.filter(pl.col("p_adjusted") >= 0.05)
        low, high = (pl.col(f"simultaneous_{end}") for end in ("low", "high"))
        left_out = kept.filter((pl.col("nothing") < low - ROUNDING) | (pl.col("nothing") > high + ROUNDING))
        assert left_out.is_empty(), left_out


def test_the_confidence_shares_five_per_cent_among_the_tests_of_a_family():
    p_values = np.array([[0.5, 0.01, 0.2, math.nan], [math.nan] * 4, [0.1, 0.1, 0.1, 0.1]])
    expected = [[1 - 0.05 / 3], [0.95], [1 - 0.05 / 4]]
    np.testing.assert_allclose(together_confidence(p_values), expected, rtol=1e-15)
    np.testing.assert_allclose(together_confidence(np.array([0.7])), [0.95], rtol=1e-15)


@settings(max_examples=100)
@given(st.lists(st.floats(1e-8, 1), min_size=1, max_size=12), st.floats(1, 200))
def test_no_interval_of_this_confidence_contradicts_holm(p_values, degrees):
    """A test with Student's t: the interval leaves out the null where p is below 1 less the confidence."""
    family = np.array(p_values)
    confidence = together_confidence(family)
    distance = -stdtrit(degrees, family / 2)  # of the value from the null, in errors
    reach = stdtrit(degrees, (1 + confidence) / 2)
    kept = holm(family) >= 0.05
    assert (distance[kept] <= reach + 1e-6 * np.abs(reach)).all()


@pytest.mark.slow
@pytest.mark.parametrize("tests", range(1, 10))
def test_holms_adjustment_is_that_of_statsmodels_family_by_family(tests):
    rng = np.random.default_rng(tests)
    p_values = rng.choice([math.nan, 0.01, 0.02, 0.04, 1.0, *rng.random(4)], (3, tests))
    found = holm(p_values)
    for family, adjusted in zip(p_values, found, strict=True):
        tested = ~np.isnan(family)
        assert np.isnan(adjusted[~tested]).all()
        if tested.any():
            expected = multipletests(family[tested], method="holm")[1]
            np.testing.assert_allclose(adjusted[tested], expected, rtol=1e-12, atol=0)
