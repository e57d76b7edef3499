"""Makes labelling plans, and extends them with a larger budget."""

from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import ActiveError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats, Integers
from clickassay.core.settings import Settings
from clickassay.studies.labelling import plan_folder
from clickassay.studies.labelling.inputs import PoolSources, read_pool
from clickassay.studies.labelling.moments import measure_moments
from clickassay.studies.labelling.sampling import (
    CORRECTED,
    check_budget,
    expected_error,
    sampling_distribution,
)

BLOCK = 4096
"""Number of draws made at once."""

MAX_DRAWS_PER_QUERY = 100
"""Most draws for each query of the pool."""


@dataclass(frozen=True)
class Draws:
    """Queries in the order in which they were drawn, with replacement."""

    queries: Integers  # (n,) places in the pool.
    # (n,) whether a draw is the first of its query: its labels are bought, later ones look them up.
    paid: NDArray[np.bool_]
    spent: float  # What the paid ones cost together; never above the budget.


def draw(costs: Floats, q: Floats, budget: float, rng: np.random.Generator) -> Draws:
    """Draw queries with probabilities q (m,) until the budget is spent on their costs (m,).

    It ends before the first draw whose labels would exceed it, with the draw that pays for the last query
    with q above 0, or after 100 draws a query. A generator gives the same draws, a larger budget more at the
    end. Raises ActiveError for a budget of 0 or below.
    """
    check_budget(budget)
    most = MAX_DRAWS_PER_QUERY * len(costs)
    reach = np.cumsum(q)
    reach = reach / reach[-1]  # its end is exactly 1, which no random number reaches
    unpaid, waiting, spent = np.array(costs), int(np.count_nonzero(q)), 0.0
    queries: list[Integers] = []
    paid: list[NDArray[np.bool_]] = []
    ended = False
    while not ended:
        block = np.searchsorted(reach, rng.random(BLOCK), side="right")[:most]
        first = np.zeros(len(block), dtype=bool)
        first[np.unique(block, return_index=True)[1]] = True
        first &= unpaid[block] > 0
        after = np.cumsum(np.append(spent, np.where(first, unpaid[block], 0.0)))
        within = int(np.searchsorted(after, budget, side="right")) - 1
        last_paid = int(np.searchsorted(np.cumsum(first), waiting)) + 1
        upto = min(within, last_paid, len(block))
        block, first = block[:upto], first[:upto]
        unpaid[block] = 0
        most, waiting, spent = most - upto, waiting - int(first.sum()), float(after[upto])
        queries.append(block)
        paid.append(first)
        ended = upto < BLOCK or most == 0 or waiting == 0
    return Draws(np.concatenate(queries), np.concatenate(paid), spent)


_NO_SPREAD = "All queries have the same expected value, so they are drawn by traffic."


def make_plan(
    sources: PoolSources, options: plan_folder.PlanOptions, settings: Settings, progress: Progress = silent
) -> plan_folder.LabelPlan:
    """Read the inputs of a plan, and draw queries; ActiveError if they do not fit, or nothing is paid."""
    if options.variant == CORRECTED and sources.relevance is None:
        raise ActiveError("variant corrected: labels correct a model's grades; give these with --relevance")
    progress(Event("reading rankings"))
    pool, documents, notes = read_pool(sources, settings, depth=options.depth)
    progress(Event("weighing queries"))
    moments = measure_moments(pool, options.measure)
    sampling = sampling_distribution(
        pool, options.measure, options.variant, defensive_share=options.defensive_share, moments=moments
    )
    expected = expected_error(pool, moments, sampling.q, options.budget, options.variant)
    queries = plan_folder.PLAN_QUERIES.canonical(
        pl.DataFrame(
            {
                "query": pool.queries, "weight": pool.weights, "draw_probability": sampling.q,
                "cost": pool.costs, "documents": np.diff(pool.offsets), "expected": moments.mean,
                "spread": sampling.spreads,
            }
        )
    )  # fmt: skip
    if "rank_2" not in documents.columns:
        documents = documents.with_columns(rank_2=pl.lit(None, pl.Int32))
    finite = {name: value for name, value in asdict(expected).items() if np.isfinite(value)}
    plan = plan_folder.LabelPlan(
        queries, plan_folder.PLAN_DOCUMENTS.canonical(documents), plan_folder.PLAN_DRAWS.empty(), options,
        settings.max_grade, finite,
        0.0, (*notes, *((_NO_SPREAD,) if sampling.no_spread else ())),
    )  # fmt: skip
    return _with_draws(plan, pool.costs, sampling.q)


def _with_draws(plan: plan_folder.LabelPlan, costs: Floats, q: Floats) -> plan_folder.LabelPlan:
    drawn = draw(costs, q, plan.options.budget, np.random.default_rng(plan.options.seed))
    if not len(drawn.queries):
        raise ActiveError(
            f"a budget of {plan.options.budget:g} buys no query: the first one drawn costs more, the "
            f"cheapest {costs[q > 0].min():g}; raise --budget"
        )
    rows = plan.queries[drawn.queries]
    draws = plan_folder.PLAN_DRAWS.canonical(
        rows.select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("draw"),
            "query",
            pl.Series("paid", drawn.paid),
            (pl.col("weight") / pl.col("draw_probability")).alias("importance_weight"),
        )
    )
    return replace(plan, draws=draws, spent=drawn.spent)


def extend_plan(plan: plan_folder.LabelPlan, budget: float) -> plan_folder.LabelPlan:
    """Continue a plan with a larger budget (else ActiveError): its draws stay first, none is paid twice."""
    if budget <= plan.options.budget:
        raise ActiveError(
            f"a budget of {budget:g} is not above that of the plan, {plan.options.budget:g}; give the cost "
            "of all labels, with those of the plan"
        )
    q = plan.queries["draw_probability"].to_numpy()
    scale = budget / plan.options.budget
    expected = dict(plan.expected)
    for name, power in (("draws", 1.0), ("error", -0.5), ("passive_budget", 1.0)):
        if name in expected:
            expected[name] *= scale**power
    larger = replace(plan, options=replace(plan.options, budget=budget), expected=expected)
    return _with_draws(larger, plan.queries["cost"].to_numpy(), q)
