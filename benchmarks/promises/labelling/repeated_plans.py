"""Plans drawn many times over at once: the estimates that budgets give."""

import numpy as np

from benchmarks.promises.labelling.pools import Floats
from clickassay.studies.labelling.plan import MAX_DRAWS_PER_QUERY


def repeated_estimates(
    values: Floats, costs: Floats, q: Floats, budgets: Floats, rng: np.random.Generator, *, repetitions: int
) -> Floats:
    """Return (repetitions, budgets) ratio estimates of the mean of values (m,); budgets ascend.

    Each repetition draws with probabilities q (m,) as `studies.labelling.plan.draw` does, on and on: a query
    drawn again costs nothing, and a budget ends before the first draw that would pass it, or with the draw
    that pays for the last query of q above 0. Raises ValueError for a budget below the largest cost, with
    which there may be no draw.
    """
    if min(budgets) < costs[q > 0].max():
        raise ValueError(f"a budget of {min(budgets):g} is below the largest cost {costs[q > 0].max():g}")
    reach = np.cumsum(q)
    ratios = np.divide(1.0, q * len(q), out=np.zeros_like(q), where=q > 0)
    paid = np.zeros(repetitions * len(q), dtype=bool)
    waiting = np.full(repetitions, np.count_nonzero(q))
    spent, weighted, weights = np.zeros((3, repetitions))
    found = np.full((repetitions, len(budgets)), np.nan)
    starts = np.arange(repetitions) * len(q)
    for _ in range(MAX_DRAWS_PER_QUERY * len(q)):
        drawn = np.searchsorted(reach / reach[-1], rng.random(repetitions), side="right")
        again = paid[starts + drawn]
        spent += np.where(again, 0.0, costs[drawn])
        _settle(found, spent[:, None] > budgets, weighted, weights)
        paid[starts + drawn] = True
        weighted += ratios[drawn] * values[drawn]
        weights += ratios[drawn]
        waiting -= ~again
        if not waiting.all():
            _settle(found, np.repeat(waiting[:, None] == 0, len(budgets), axis=1), weighted, weights)
        if not np.isnan(found[:, -1]).any():
            return found
    _settle(found, np.isnan(found), weighted, weights)
    return found


def _settle(found: Floats, ended: Floats, weighted: Floats, weights: Floats) -> None:
    """Note the estimates of what has just ended."""
    now = ended & np.isnan(found)
    if now.any():
        found[now] = np.broadcast_to((weighted / weights)[:, None], found.shape)[now]
