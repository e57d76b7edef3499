"""Labelling plans: made, and continued with a larger budget."""

from dataclasses import asdict, replace

import numpy as np
import polars as pl

from clickassay.core.errors import ActiveError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.studies.labelling.draws import draw
from clickassay.studies.labelling.inputs import Sources, Told, read_pool
from clickassay.studies.labelling.moments import measure_moments
from clickassay.studies.labelling.plan_folder import PLAN_DOCUMENTS, PLAN_DRAWS, PLAN_QUERIES, Aim, LabelPlan
from clickassay.studies.labelling.sampling import Expected, expected_error, sampling_distribution


def make_plan(sources: Sources, aim: Aim, settings: Settings, progress: Progress = silent) -> LabelPlan:
    """Read rankings and what is known of their documents, and draw queries to label.

    Raises
    ------
    ActiveError
        If the parts do not fit each other, or the budget buys no query.
    """
    progress(Event("reading rankings"))
    told = read_pool(sources, settings, depth=aim.depth)
    progress(Event("weighing queries"))
    moments = measure_moments(told.pool, aim.measure)
    sampling = sampling_distribution(
        told.pool, aim.measure, aim.variant, defence=aim.defence, moments=moments
    )
    expected = expected_error(told.pool, moments, sampling.q, aim.budget)
    sizes = np.diff(told.pool.offsets)
    queries = PLAN_QUERIES.canonical(
        pl.DataFrame(
            {
                "query": told.pool.queries, "weight": told.pool.weights, "chance": sampling.q,
                "cost": told.pool.costs, "documents": sizes, "expected": moments.mean,
                "spread": sampling.spreads,
            }
        )
    )  # fmt: skip
    plan = LabelPlan(
        queries, _documents(told), PLAN_DRAWS.empty(), aim, settings.max_grade, _finite(expected), 0.0,
        (*told.notes, *(("All queries are expected to say the same: they are drawn as they are asked.",)
                        if sampling.flat else ())),
    )  # fmt: skip
    return _drawn(plan, told.pool.costs, sampling.q)


def _documents(told: Told) -> pl.DataFrame:
    frame = told.documents
    return PLAN_DOCUMENTS.canonical(
        frame if "rank_2" in frame.columns else frame.with_columns(pl.lit(None, pl.Int32).alias("rank_2"))
    )


def _finite(expected: Expected) -> dict[str, float]:
    return {name: value for name, value in asdict(expected).items() if np.isfinite(value)}


def _drawn(plan: LabelPlan, costs: Floats, q: Floats) -> LabelPlan:
    found = draw(costs, q, plan.aim.budget, np.random.default_rng(plan.aim.seed))
    if not len(found.queries):
        raise ActiveError(
            f"a budget of {plan.aim.budget:g} buys no query: the first drawn costs more, and the cheapest "
            f"{costs[q > 0].min():g}; raise --budget"
        )
    rows = plan.queries[found.queries]
    draws = PLAN_DRAWS.canonical(
        rows.select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("draw"),
            "query",
            pl.Series("paid", found.paid),
            (pl.col("weight") / pl.col("chance")).alias("ratio"),
        )
    )
    return replace(plan, draws=draws, spent=found.spent)


def continued(plan: LabelPlan, budget: float) -> LabelPlan:
    """Go on drawing with a larger budget: the draws so far stay, and what was paid is not paid again.

    Raises
    ------
    ActiveError
        If the budget is not above that of the plan.
    """
    if budget <= plan.aim.budget:
        raise ActiveError(
            f"a budget of {budget:g} is not above that of the plan, {plan.aim.budget:g}; give what all "
            "labels may cost, those of the plan with them"
        )
    q = plan.queries["chance"].to_numpy()
    scale = budget / plan.aim.budget
    expected = dict(plan.expected)
    for name, power in (("draws", 1.0), ("error", -0.5), ("passive_budget", 1.0)):
        if name in expected:
            expected[name] *= scale**power
    grown = replace(plan, aim=replace(plan.aim, budget=budget), expected=expected)
    return _drawn(grown, plan.queries["cost"].to_numpy(), q)
