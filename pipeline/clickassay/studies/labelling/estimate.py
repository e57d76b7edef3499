"""Estimates from labelled draws: a ratio of weighted sums, its error and interval; of a plan with labels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.core.special import stdtr, stdtrit
from clickassay.studies.labelling.inputs import KEY, places, read_judgments
from clickassay.studies.labelling.moments import performance
from clickassay.studies.labelling.plan_folder import LabelPlan
from clickassay.studies.labelling.pool import Pool
from clickassay.studies.labelling.sampling import CORRECTED

MIN_EFFECTIVE_DRAWS = 30
"""Effective number of draws below which an interval carries a caution."""

MAX_WEIGHT_SHARE = 0.2
"""Share of all weight in one draw above which an interval carries a caution."""


@dataclass(frozen=True)
class WeightedEstimate:
    """A value estimated from draws with unequal probabilities."""

    value: float  # The ratio estimate (Sawade et al. 2012, 6).
    error: float  # Its standard error.
    # ci_low, ci_high: Ends of the interval.
    ci_low: float
    ci_high: float
    # Confidence that the true value is above 0, 0..1: of a difference, that the first ranking is better.
    above_zero: float
    draws: int  # n.
    # (sum w)^2 / sum w^2: Kish's effective sample size, the number of draws with equal weights that would
    # give the same error; 1..n.
    effective_draws: float
    largest_share: float  # Largest share of one draw in the sum of weights, 1/n..1.
    cautions: tuple[str, ...]  # Sentences on why the interval may be unreliable; none in most cases.


def estimate(values: Floats, ratios: Floats, *, known: float = 0.0) -> WeightedEstimate:
    """Estimate the mean over the pool from draws with replacement.

    `values` (n,) are L or L1 - L2 of each draw by its labels, `ratios` (n,) its p / q. The error is that of
    the jackknife for a ratio; the 95% CI is Student's t with `effective_draws` - 1 degrees of freedom, at
    least 1. `known` is added: a mean over the pool that the values are differences from.
    benchmarks/promises/labelling/honest.py measures how often it holds the true value. Raises ActiveError for
    fewer than two draws, ratios that are no numbers, values that are all the same, or one draw that has all
    the weight.
    """
    if len(values) < 2:
        raise ActiveError(f"labelled draws: {len(values)}. An estimate needs two: raise the budget")
    if not (np.isfinite(ratios) & (ratios > 0)).all():
        raise ActiveError("a ratio p / q is not above 0: give that of the distribution that was drawn from")
    if (values == values[0]).all():
        raise ActiveError("all draws have the same value, which gives no error: raise the budget")
    share = np.asarray(ratios / ratios.sum())
    rest = float(share @ values)
    value = known + rest
    effective_draws, largest_share = float(1 / (share @ share)), float(share.max())
    if largest_share == 1:
        raise ActiveError("one draw has all the weight, which gives no error: raise the defensive share")
    # the root of (n - 1) / n times the sum of squared changes of the ratio without each draw
    moves = share * (values - rest) / (1 - share)
    error = float(np.sqrt((1 - 1 / len(share)) * (moves @ moves)))
    freedom = max(effective_draws - 1, 1.0)
    reach = float(stdtrit(freedom, 0.975)) * error
    cautions = []
    if effective_draws < MIN_EFFECTIVE_DRAWS:
        few = f"{effective_draws:.1f}, fewer than {MIN_EFFECTIVE_DRAWS}"
        cautions.append(f"The effective number of draws is {few}.")
    if largest_share > MAX_WEIGHT_SHARE:
        cautions.append(f"One draw has {largest_share:.0%} of the weight, more than {MAX_WEIGHT_SHARE:.0%}.")
    return WeightedEstimate(
        value=value,
        error=error,
        ci_low=value - reach,
        ci_high=value + reach,
        above_zero=float(stdtr(freedom, value / error)),
        draws=len(values),
        effective_draws=effective_draws,
        largest_share=largest_share,
        cautions=tuple(cautions),
    )


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

    Draws count up to the first whose query is not labelled in full: later labels are not missing at random.
    Raises ActiveError if fewer than two draws are labelled, all have the same value, or the sheet has another
    document at a label's number; NothingInCommonError if no label is of a document of the plan.
    """
    sheet = plan.to_label
    grades, labels = read_judgments(judgments, plan.documents, settings, sheet=sheet)
    joined = plan.documents.join(grades, on=KEY, how="left", maintain_order="left")
    pool, places_graded = _pool(plan), joined["grade"].fill_null(-1).to_numpy().astype(np.int64)
    # (m,) performance, or the difference of two, from labels; NaN where one is missing
    values, *second = [performance(pool, one, places_graded, plan.options.measure) for one in pool.rankings]
    values = values - second[0] if second else values
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
    counts = joined.group_by("query").agg(
        pl.col("grade").count().alias("labelled"), pl.len().cast(pl.Int64).alias("documents")
    )
    some = counts.filter((pl.col("labelled") > 0) & (pl.col("labelled") < pl.col("documents")))
    return PlanEstimate(
        estimate=None if exact is not None else _estimate(plan, of_draws.head(upto)),
        exact=exact,
        draws=upto,
        planned_draws=len(value),
        waiting=int(labelled[upto:].sum()),
        first_missing=None if upto == len(value) else str(of_draws["query"][upto]),
        in_part=tuple(some["query"].sort()),
        labels=labels,
        labels_of_plan=joined["grade"].count(),
        to_label=sheet.height,
        to_label_labelled=sheet.join(grades, on=KEY, how="semi").height,
    )


def answer(plan: LabelPlan, found: PlanEstimate) -> str:
    """Return which ranking is better, or how good the only one is; without a full stop."""
    one = found.estimate
    value = found.exact if one is None else one.value
    if value is None:  # either is there
        raise ValueError("an estimate without a value")
    low, high = (value, value) if one is None else (one.ci_low, one.ci_high)
    ends = "exact: every query is labelled" if one is None else f"95% CI {low:.4f} to {high:.4f}"
    said = f"{plan.what}{' (first minus second)' if plan.compares else ''} {value:.4f} ({ends})"
    if not plan.compares:
        return said
    if low <= 0 <= high:
        return f"No {'' if one is None else 'significant '}difference between the rankings: {said}"
    return f"The {'first' if low > 0 else 'second'} ranking is better: {said}"


def _estimate(plan: LabelPlan, draws: pl.DataFrame) -> WeightedEstimate:
    """Estimate the mean over the pool; of the variant `corrected`, the model's mean plus its mean error."""
    value, ratio = (draws[name].to_numpy() for name in ("value", "importance_weight"))
    if plan.options.variant != CORRECTED:
        return estimate(value, ratio)
    expected = plan.queries["expected"].to_numpy()
    of_draws = draws.join(plan.queries.select("query", "expected"), on="query", maintain_order="left")
    model = float(plan.queries["weight"].to_numpy() @ expected)
    return estimate(value - of_draws["expected"].to_numpy(), ratio, known=model)


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
