"""The estimate from a plan and its labels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.studies.labelling.estimate import WeightedEstimate, estimate
from clickassay.studies.labelling.inputs import KEY, places, read_judgments
from clickassay.studies.labelling.moments import performance
from clickassay.studies.labelling.plan_folder import LabelPlan
from clickassay.studies.labelling.pool import Pool
from clickassay.studies.labelling.sampling import CORRECTED

MIN_DRAWS = 2
"""Labelled draws that an estimate needs."""


@dataclass(frozen=True)
class PlanEstimate:
    """The result of a plan with the labels so far."""

    estimate: WeightedEstimate | None  # The estimate; None where every query is labelled.
    exact: float | None  # The mean over the pool where every query is labelled; else None.
    # draws, planned_draws: Number of draws that are labelled without a gap from the first on, and of all
    # draws of the plan.
    draws: int
    planned_draws: int
    waiting: int  # Number of later draws that are labelled too, which do not count yet.
    first_missing: str | None  # Query of the first draw that lacks a label; None if all draws are labelled.
    in_part: tuple[str, ...]  # Queries of which some documents are labelled and some are not.
    # labels, labels_of_plan: Number of labels, and of documents of the plan that have one.
    labels: int
    labels_of_plan: int
    # to_label, to_label_labelled: Number of documents on the sheet, and how many of them have a label.
    to_label: int
    to_label_labelled: int


def estimate_plan(plan: LabelPlan, judgments: Path, settings: Settings) -> PlanEstimate:
    """Estimate the performance of a ranking, or the difference of two, from a plan and labels (equation 6).

    Draws count up to the first whose query is not labelled in full: labels missing after it are not missing
    at random.

    Raises ActiveError if fewer than two draws are labelled, all labelled draws have the same value, or the
    sheet has another document at the number of a label; NothingInCommonError if no label is of a document of
    the plan.
    """
    sheet = plan.to_label
    grades, labels = read_judgments(judgments, plan.documents, settings, sheet=sheet)
    joined = plan.documents.join(grades, on=KEY, how="left", maintain_order="left")
    values = _values(plan, joined["grade"].fill_null(-1).to_numpy().astype(np.int64))
    of_draws = plan.draws.join(
        plan.queries.select("query", pl.Series("value", values)), on="query", maintain_order="left"
    )
    value = of_draws["value"].to_numpy()
    labelled = ~np.isnan(value)
    upto = len(value) if labelled.all() else int(np.argmin(labelled))
    if upto < MIN_DRAWS and upto < len(value):
        raise ActiveError(
            f"only {upto} draws are labelled without a gap: draw {upto + 1} (query "
            f"{of_draws['query'][upto]!r:.80}) lacks labels; label the sheet from the top"
        )
    exact = float(plan.queries["weight"].to_numpy() @ values) if not np.isnan(values).any() else None
    return PlanEstimate(
        estimate=None if exact is not None else _estimate(plan, of_draws.head(upto)),
        exact=exact,
        draws=upto,
        planned_draws=len(value),
        waiting=int(labelled[upto:].sum()),
        first_missing=None if upto == len(value) else str(of_draws["query"][upto]),
        in_part=_in_part(joined),
        labels=labels,
        labels_of_plan=joined["grade"].count(),
        to_label=sheet.height,
        to_label_labelled=sheet.join(grades, on=KEY, how="semi").height,
    )


def _estimate(plan: LabelPlan, draws: pl.DataFrame) -> WeightedEstimate:
    """Estimate the mean over the pool; of the variant `corrected`, the model's mean plus its mean error."""
    value, ratio = (draws[name].to_numpy() for name in ("value", "importance_weight"))
    if plan.options.variant != CORRECTED:
        return estimate(value, ratio)
    expected = plan.queries["expected"].to_numpy()
    of_draws = draws.join(plan.queries.select("query", "expected"), on="query", maintain_order="left")
    model = float(plan.queries["weight"].to_numpy() @ expected)
    return estimate(value - of_draws["expected"].to_numpy(), ratio, known=model)


def _in_part(joined: pl.DataFrame) -> tuple[str, ...]:
    counts = joined.group_by("query").agg(
        pl.col("grade").count().alias("labelled"), pl.len().cast(pl.Int64).alias("documents")
    )
    some = counts.filter((pl.col("labelled") > 0) & (pl.col("labelled") < pl.col("documents")))
    return tuple(some["query"].sort())


def _values(plan: LabelPlan, grades: np.ndarray) -> Floats:
    """Return (m,) performance, or the difference of two, from labels; NaN where one is missing."""
    pool = _pool(plan)
    values = [performance(pool, ranking, grades, plan.options.measure) for ranking in pool.rankings]
    return values[0] if len(values) == 1 else np.asarray(values[0] - values[1])


def _pool(plan: LabelPlan) -> Pool:
    queries = plan.queries
    sizes = queries["documents"].to_numpy()
    grades = plan.max_grade + 1
    return Pool(
        queries=tuple(queries["query"]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        probabilities=np.full((plan.documents.height, grades), 1 / grades),
        costs=queries["cost"].to_numpy(),
        weights=queries["weight"].to_numpy(),
        rankings=tuple(
            places(plan.documents, number, queries.height) for number in ((1, 2) if plan.compares else (1,))
        ),
    )
