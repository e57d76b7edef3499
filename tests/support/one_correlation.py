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


def within(sample, kept, click, editorial):
    """Return the correlation within queries of some rows: n/(n + 4) times deviations from a query's means."""
    sums = np.zeros((2, 2))
    for query in range(len(sample.queries)):
        rows = kept & (sample.query_index == query)
        if rows.any():
            values = np.stack([sample.click_values[rows, click], sample.editorial_values[rows, editorial]])
            weights = sample.sessions[rows] / (sample.sessions[rows] + 4)
            left = values - np.average(values, axis=1, weights=weights)[:, None]
            sums += (weights * left) @ left.T
    return sums[0, 1] / math.sqrt(sums[0, 0] * sums[1, 1])
