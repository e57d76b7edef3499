"""What a metric adds to another within queries: its partial correlation with clicks (method 8.1).

Clicks are regressed, within queries and with the weights of lists, on both metrics together. The coefficient
of one is 0 where it says nothing beside the other; the partial correlation is this coefficient in standard
units of what the other leaves of clicks and of it.
"""

from collections.abc import Sequence

import numpy as np

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats
from clickassay.correlation.uncertainty.jackknife import Deviations, fisher_interval, left_out, p_value
from clickassay.correlation.weighted import ratio
from clickassay.correlation.within import QueryGroups

SAME = 1e-9
"""Two metrics are one where so small a part of the square of either is not the other's."""


def partial_correlations(place: QueryGroups, held: Sequence[str]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what metrics add to each of B that are held, over all queries; a place has a group.

    Returns (C, B, E) partial correlations, NaN where none exists; both ends of their 95 % intervals, which
    leave out units one at a time as those of correlations do; and p-values of 0.
    """
    at = [place.editorial_names.index(name) for name in held]
    n_clicks, n_editorial = len(place.click_names), len(place.editorial_names)
    between = []
    for part in place.parts:
        metrics, starts = part.values[n_clicks : n_clicks + n_editorial], part.lists.starts
        weighted = metrics * part.lists.weights
        between += [
            np.concatenate([np.add.reduceat(weighted[one] * metrics, starts, axis=1).T for one in at], 1)
        ]
    chosen = place.classes[EVERY, EVERY]
    more = place.groups.by_unit(chosen, np.concatenate(between))
    sums = np.concatenate([place.groups.by_unit(chosen), more], axis=1)

    def partials(some: Floats) -> Floats:
        parts = place.split(some[..., : -more.shape[1]])
        both = some[..., -more.shape[1] :].reshape(*some.shape[:-1], len(at), n_editorial)
        shared = ratio(both, parts.squares_x[..., at], parts.squares_x)[..., None, :, :]
        of_held, of_metrics = parts.correlations[..., at, None], parts.correlations[..., None, :]
        left = (1 - of_held**2) * (1 - shared**2)
        values: Floats = (of_metrics - of_held * shared) / np.sqrt(np.where(left > SAME, left, np.nan))
        return np.where(np.abs(values) < 1 - SAME, values, np.nan)

    values, gathered = partials(sums.sum(axis=0)), Deviations()
    for without in left_out(sums, partials):
        gathered.add(np.arctanh(without) - np.arctanh(values))
    spread = gathered.spread().widened(place.taken_out.factor)
    return values, *fisher_interval(values, spread), p_value(np.arctanh(values), spread)
