"""How much of the budget of passive plans other plans save at the same error."""

import polars as pl

KEYS = ("data", "comparison", "measure")
PLAN = ("variant", "defensive_share")

PAPER = {
    "forest": "20%",
    "ordered logit": "10%",
    "forest regression or classification": "30-55%",
    "ordered logit or linear": "30-55%",
    "ordered logit or forest": "30-55%",
    "index update": "75%",
    "twice the training data": "45%",
}
"""Labels that active plans save in Sawade et al. 2012, section 5."""

CRITERION = {name: "selection_error" if " or " in name else "error" for name in PAPER}
"""What is held equal: pairs are chosen from, all others estimated."""


def averaged(points: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over folds of each point, with the standard error over the repetitions in them."""
    means = ("truth", "error", "selection_error")
    errors = ("error_se", "selection_error_se")
    return points.group_by(*KEYS, *PLAN, "budget", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("folds"),
        pl.col("repetitions").sum(),
        *(pl.col(name).mean() for name in means),
        *((pl.col(name).pow(2).sum().sqrt() / pl.len()).alias(name) for name in errors),
    )


def saved(errors: pl.DataFrame) -> pl.DataFrame:
    """Return one row per comparison, measure and plan: what it saves at its largest budget.

    `plan_needs` is the budget with which the plan comes down to the error of passive at the largest budget,
    `passive_needs` that with which passive comes down to the error of the plan. The saving is
    1 - plan_needs / largest; where the plan has the larger error, 1 - largest / passive_needs, which is
    negative. Null is what lies outside the budgets that were tried, or has no error to compare.
    """
    rows = []
    for keys, curves in errors.group_by(*KEYS, maintain_order=True):
        most = curves.filter(variant="active")["budget"].max()
        passive = curves.filter(variant="passive")
        criterion = CRITERION[keys[1]]
        for plan, curve in curves.filter(pl.col("variant") != "passive").group_by(*PLAN, maintain_order=True):
            own, other = _at(curve, criterion, most), _at(passive, criterion, most)
            plan_needs = needed(curve, criterion, other)
            passive_needs = needed(passive, criterion, own)
            rows.append(
                dict(zip(KEYS, keys, strict=True))
                | dict(zip(PLAN, plan, strict=True))
                | {"criterion": criterion, "budget": most, "plan_error": own, "passive_error": other}
                | {"plan_needs": plan_needs, "passive_needs": passive_needs}
                | {"saved": _saving(plan_needs, passive_needs, most), "paper": PAPER[keys[1]]}
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _at(curve: pl.DataFrame, criterion: str, budget: float) -> float:
    return float(curve.filter(budget=budget)[criterion].item())


def _saving(plan_needs: float | None, passive_needs: float | None, most: float) -> float | None:
    if plan_needs is not None:
        return 1 - plan_needs / most
    return None if passive_needs is None else 1 - most / passive_needs


def needed(curve: pl.DataFrame, criterion: str, target: float) -> float | None:
    """Return the least budget with an error of `target`, along straight lines between those tried.

    Null where the first budget is below it already, all are above it, or the target is 0.
    """
    budgets, errors = curve["budget"].to_list(), curve[criterion].to_list()
    if target <= 0 or errors[0] < target:
        return None
    if errors[0] == target:
        return float(budgets[0])
    for before, after in zip(range(len(errors)), range(1, len(errors)), strict=False):
        if errors[after] <= target:
            share = (errors[before] - target) / (errors[before] - errors[after])
            return float(budgets[before] + share * (budgets[after] - budgets[before]))
    return None
