"""Correlations of one kind, where the package has many, and their jackknife errors in plain terms."""

import math

import numpy as np

from clickassay.correlation.classes import unsplit
from clickassay.correlation.tables import correlations, differences
from clickassay.correlation.weighted import correlation_matrix


def weighted_correlation(x, y, weights):
    """Return the correlation (-1..1) and None, or None and the reason why there is no value."""
    result = correlation_matrix(y[:, None], x[:, None], weights)
    reason = result.reasons[0][0]
    return (float(result.values[0, 0]) if reason is None else None), reason


def overall(sample):
    """Return the correlations of all queries together."""
    return correlations(sample, (unsplit(sample),))


def ranked(sample, iterations=10, seed=0):
    """Return the correlations of two virtual rankers."""
    return differences(sample, iterations=iterations, rng=np.random.default_rng(seed))[0]


def jackknife(values):
    """Return error and Satterthwaite's degrees of freedom of the Q values without one query each."""
    q = len(values)
    squares = (np.array(values) - np.mean(values)) ** 2
    variance = (squares**2).sum() / squares.sum() ** 2 - 1 / q
    return math.sqrt((q - 1) / q * squares.sum()), 2 / max(variance, 2 / (q - 1))
