"""Draws of queries to label, until the budget is spent (Sawade et al. 2012, Algorithm 1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats, Integers
from clickassay.studies.labelling.sampling import check_budget

BLOCK = 4096
"""Number of draws made at once."""

MAX_DRAWS_PER_QUERY = 100
"""Most draws for each query of the pool, unless the caller says otherwise."""


@dataclass(frozen=True)
class Draws:
    """Queries in the order in which they were drawn, with replacement.

    Attributes
    ----------
    queries
        (n,) places in the pool.
    paid
        (n,) whether a draw is the first of its query: its labels are bought, later ones look them up.
    spent
        What the paid ones cost together; never above the budget.
    complete
        Whether every query with q above 0 is paid. If q is above 0 wherever p is, the mean over the pool is
        then known without sampling.
    """

    queries: Integers
    paid: NDArray[np.bool_]
    spent: float
    complete: bool


def draw(
    costs: Floats, q: Floats, budget: float, rng: np.random.Generator, *, max_draws: int | None = None
) -> Draws:
    """Draw queries with probabilities q (m,) until the budget is spent on their costs (m,).

    It ends before the first draw whose labels would exceed the budget, with the draw that pays for the last
    query with q above 0, or after `max_draws` (default: 100 for each query of the pool), whichever is first.
    The same generator gives the same draws; a larger budget adds draws at the end. Raises ActiveError for a
    budget of 0 or below, or `max_draws` below 1.
    """
    check_budget(budget)
    most = MAX_DRAWS_PER_QUERY * len(costs) if max_draws is None else max_draws
    if most < 1:
        raise ActiveError(f"at most {most} draws were asked for: give 1 or more")
    reach = np.cumsum(q)
    reach = reach / reach[-1]  # its end is exactly 1, which no random number reaches
    unpaid, waiting, spent = np.array(costs), int(np.count_nonzero(q)), 0.0
    queries: list[Integers] = []
    paid: list[NDArray[np.bool_]] = []
    ended = False
    while not ended:
        block = np.searchsorted(reach, rng.random(BLOCK), side="right")[:most]
        first = _first_of_each(block) & (unpaid[block] > 0)
        upto, after = _affordable(np.where(first, unpaid[block], 0.0), first, spent, budget, waiting)
        block, first = block[:upto], first[:upto]
        unpaid[block] = 0
        most, waiting, spent = most - upto, waiting - int(first.sum()), after
        queries.append(block)
        paid.append(first)
        ended = upto < BLOCK or most == 0 or waiting == 0
    return Draws(np.concatenate(queries), np.concatenate(paid), spent, complete=waiting == 0)


def _first_of_each(queries: Integers) -> NDArray[np.bool_]:
    first = np.zeros(len(queries), dtype=bool)
    first[np.unique(queries, return_index=True)[1]] = True
    return first


def _affordable(
    costs: Floats, first: NDArray[np.bool_], spent: float, budget: float, waiting: int
) -> tuple[int, float]:
    """Return how many draws of a block are made, and what is spent after them."""
    after = np.cumsum(np.append(spent, costs))
    within = int(np.searchsorted(after, budget, side="right")) - 1
    last_paid = int(np.searchsorted(np.cumsum(first), waiting)) + 1
    upto = min(within, last_paid, len(costs))
    return upto, float(after[upto])
