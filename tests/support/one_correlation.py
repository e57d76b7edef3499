"""The weighted correlation of one pair of variables, where the package has that of many."""

from clickassay.correlation.weighted import correlation_matrix


def weighted_correlation(x, y, weights):
    """Return the correlation (-1..1) and None, or None and the reason why there is no value."""
    result = correlation_matrix(y[:, None], x[:, None], weights)
    reason = result.reasons[0][0]
    return (float(result.values[0, 0]) if reason is None else None), reason
