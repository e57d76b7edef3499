"""Many tests at once: p-values corrected for their number."""

import numpy as np

from clickassay.core.records import Floats


def holm(p_values: Floats) -> Floats:
    """Adjust the p-values of one family (Holm 1979): the chance of any false alarm is at most alpha.

    Parameters
    ----------
    p_values
        (..., m) p-values, a family along the last axis; NaN = not tested, not counted.

    Returns
    -------
    (..., m) adjusted p-values, 0..1; NaN stays.
    """
    order = np.argsort(p_values, axis=-1)  # NaN last
    ordered = np.take_along_axis(p_values, order, axis=-1)
    tests = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    left = np.maximum(tests - np.arange(ordered.shape[-1]), 1)
    raised = np.maximum.accumulate(np.minimum(1, np.where(np.isnan(ordered), 0, ordered * left)), axis=-1)
    adjusted = np.empty_like(raised)
    np.put_along_axis(adjusted, order, np.where(np.isnan(ordered), np.nan, raised), axis=-1)
    return adjusted
