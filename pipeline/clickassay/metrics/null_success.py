"""SS when clicks ignore the grades (method 7.3).

SS is 1 if a clicked result has a good grade. So it uses the grades itself, and correlates with editorial
metrics even when masks are drawn from all masks of the sample, whatever the configuration shows.
"""

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Integers

MASKS_USED = 20_000
"""The most frequent masks that are used: bounds the work at great depths."""

_PAIRS_AT_ONCE = 10_000_000


def null_success(good: NDArray[np.int64], masks: Integers, sessions: Integers) -> Floats:
    """Compute the SS that configurations would have if masks were drawn regardless of grades.

    Parameters
    ----------
    good
        (N,) masks of the positions with a good grade.
    masks, sessions
        (M,) click patterns of all configurations, in any order and perhaps repeated, and their sessions.

    Returns
    -------
    (N,) shares of the sessions with a click on a good position, 0..1.
    """
    distinct, place = np.unique(masks, return_inverse=True)
    weights = np.bincount(place, weights=sessions, minlength=len(distinct))
    kept = np.argsort(-weights, kind="stable")[:MASKS_USED]
    distinct, weights = distinct[kept], weights[kept]
    shown, place = np.unique(good, return_inverse=True)
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(distinct)))
    met = [
        ((shown[first : first + rows, None] & distinct) != 0) @ weights
        for first in range(0, len(shown), rows)
    ]
    shares: Floats = np.concatenate([np.zeros(0), *met]) / max(1.0, weights.sum())
    return shares[place]
