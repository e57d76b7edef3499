"""Whether so few queries have most of the sessions that an interval cannot be relied on (method 7.1).

A weighted correlation is decided by the queries with most sessions. Where sessions per query follow a power
law, with P(n > x) falling as x^-index, queries far larger than any in the sample are never far away: a sample
without them gives an interval that is too short, and contains no sign of them. What it does contain is the
shape of its tail, and that shape is what this module looks at.
"""

import numpy as np

from clickassay.core.records import Floats

CORRELATION_INDEX = 3.0
"""Below this index a correlation has a caution: sessions have no third moment, so t is skewed for long."""

DIFFERENCE_INDEX = 2.0
"""Below this index a paired difference has a caution: sessions have no variance.

The queries that are missing move both correlations alike, so that their difference bears heavier tails.
"""

POWER_LAW_VARIATION = 0.87
"""Logarithms above a threshold vary by this much, relative to their mean, or more: a power law.

It is 1 for a power law, and 0.76 for a lognormal law of any sigma, above its median.
"""

FEWEST_SESSIONS, FEWEST_QUERIES = 5.0, 50
"""Small counts say little of a shape: the tail has queries of 5 sessions or more, if there are 50 of them."""


def tail_index(sessions: Floats) -> float:
    """Return the index of the power law that the upper half of sessions per query follows.

    Hill's estimator (1975), 1 / mean of log(n / threshold) over the queries with at least the median number
    of sessions. Counts are whole, so the threshold is half a session below the smallest of them (Clauset,
    Shalizi and Newman 2009, 3.5).

    sessions: (Q,) sessions of each query, > 0.

    Returns the index, > 0; infinite where the tail falls faster than a power law, or all queries are alike.
    """
    tail = _upper_half(sessions)
    if len(tail) < 2 or tail.min() == tail.max():
        return np.inf
    logs = np.log(tail / (tail.min() - 0.5))
    return float(1 / logs.mean()) if logs.std() >= POWER_LAW_VARIATION * logs.mean() else np.inf


def is_heavy(sessions: Floats, least_index: float) -> bool:
    """Return whether sessions per query follow a power law of a lower index than this."""
    return tail_index(sessions) < least_index


def _upper_half(sessions: Floats) -> Floats:
    ordered = np.sort(sessions)
    median = ordered[len(ordered) // 2] if len(ordered) else 0.0
    enough = int((sessions >= FEWEST_SESSIONS).sum()) >= FEWEST_QUERIES
    upper: Floats = ordered[ordered >= (max(median, FEWEST_SESSIONS) if enough else median)]
    return upper
