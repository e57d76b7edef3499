"""Holm's adjustment against statsmodels."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.multitest import multipletests

from clickassay.correlation.uncertainty.intervals import holm

P_VALUES = st.one_of(st.just(math.nan), st.floats(0, 1), st.sampled_from([0.01, 0.02, 0.04, 1.0]))


@settings(max_examples=25)
@given(arrays(np.float64, st.tuples(st.integers(1, 2), st.integers(1, 9)), elements=P_VALUES))
def test_holms_adjustment_is_that_of_statsmodels_family_by_family(p_values):
    found = holm(p_values)
    for family, adjusted in zip(p_values, found, strict=True):
        tested = ~np.isnan(family)
        assert np.isnan(adjusted[~tested]).all()
        if tested.any():
            expected = multipletests(family[tested], method="holm")[1]
            np.testing.assert_allclose(adjusted[tested], expected, rtol=1e-12, atol=0)
