"""Many tests at once: p-values and intervals corrected for their number."""

import numpy as np

from clickassay.core.records import Floats

ALPHA = 0.05
"""Level of all tests."""


def holm(p_values: Floats) -> Floats:
    """Adjust the p-values of one family (Holm 1979): the chance of any false alarm is at most alpha.

    p_values: (..., m) p-values, a family along the last axis; NaN = not tested, not counted.

    Returns (..., m) adjusted p-values, 0..1; NaN stays.
    """
    order = np.argsort(p_values, axis=-1)  # NaN last
    ordered = np.take_along_axis(p_values, order, axis=-1)
    tests = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    left = np.maximum(tests - np.arange(ordered.shape[-1]), 1)
    raised = np.maximum.accumulate(np.minimum(1, np.where(np.isnan(ordered), 0, ordered * left)), axis=-1)
    adjusted = np.empty_like(raised)
    np.put_along_axis(adjusted, order, np.where(np.isnan(ordered), np.nan, raised), axis=-1)
    return adjusted


def together_confidence(p_values: Floats) -> Floats:
    """Return the confidence of single intervals that together cover a family in 95 % of samples (Bonferroni).

    p_values: (..., m) p-values, a family along the last axis; NaN = not tested, not counted.

    Returns (..., 1) confidences, 0.95 or more. What `holm` leaves at 0.05 or more has an interval that
    contains the null value: it multiplies the smallest p-value by as much, and the others by less.
    """
    tests = np.maximum(np.isfinite(p_values).sum(axis=-1, keepdims=True), 1)
    confidence: Floats = 1 - ALPHA / tests
    return confidence
