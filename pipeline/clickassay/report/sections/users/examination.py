"""How far down readers look, and what a grade is worth to them, as click models have it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text import count, listed, number, percent, plural, visible
from clickassay.report.cells import Cell, Estimate, Row
from clickassay.report.charts.discounts import discount_lines
from clickassay.report.charts.marks import common_domain, intervals
from clickassay.report.model import Figure, Run, Section, Table

TITLE = "How far down readers look"
MODEL_HEADS = ("Perplexity", "Log-likelihood of a session", "Numbers fitted", "p of the nearest RBP")
MEANING = (
    "Click models tell what readers examine from what attracts them. A model is better when it foretells "
    "sessions that it was not fitted on: a higher log-likelihood, a lower perplexity (2 = tossing a coin)."
)
TRIED_ON = {"users": "of other users", "sessions": "drawn at random"}
ASSUMED = "R(g) that ERR and RBP take"
GRADES_NOTE = (
    "Fitted on lists of grades in place of documents. Relevance is the chance that an examined result gives "
    "what was sought: attraction times satisfaction in DBN and SDBN, attraction in other models."
)


def readers_section(run: Run) -> Section:
    """Return examination by position beside the discounts of metrics, and the value of grades."""
    frames = run.frames
    sample = _sample(run)
    best = None if sample is None else _best(_of(frames["click_models"], sample))
    tables = (_models_table(run), _positions_table(run, sample, best), _grades_table(run, sample))
    if sample is None or best is None:
        return Section("readers", TITLE, (_none(run),), tables=tables[:1], folded=tables[1:])
    told = _reading(run, sample, best)
    model, values = _values(run, sample, best)
    of_grades = _grades_reading(run, model, values)
    figures = (_discounts(run, sample, best, told), *_grades(run, sample, model, values, of_grades))
    reading = (MEANING, told, *of_grades)
    legend = (
        ("line", f"{best['model']}, which foretells sessions best"),
        ("line-quiet", "the other models"),
        ("diamond", ASSUMED),
    )
    return Section("readers", TITLE, reading, figures, tables=tables[:1], legend=legend, folded=tables[1:])


def _of(frame: pl.DataFrame, sample: SampleKey) -> pl.DataFrame:
    """Return the rows of the market and depth of a sample: click models know no judges."""
    return frame.filter(market=sample.market, depth=sample.depth)


def _sample(run: Run) -> SampleKey | None:
    """Return the headline's market and judge at the greatest depth that has a model."""
    if run.headline is None:
        return None
    known = run.frames["click_models"].filter(pl.col("perplexity").is_not_null(), market=run.headline.market)
    if known.is_empty():
        return None
    depth: Any = known["depth"].max()
    return SampleKey(run.headline.market, int(depth), run.headline.judge)


def _best(models: pl.DataFrame) -> dict[str, Any] | None:
    """Return the row of the model of the largest log-likelihood among those that tell examination."""
    telling = models.filter(
        pl.col("best_persistence").is_not_null() & pl.col("log_likelihood").is_not_null()
    ).sort("log_likelihood", "perplexity", descending=[True, False])
    return None if telling.is_empty() else telling.row(0, named=True)


def _none(run: Run) -> str:
    reasons = run.frames["click_models"]["reason"].drop_nulls().unique().sort().to_list()
    if reasons:
        return f"No click model tells how far readers look: {listed(visible(one) for one in reasons)}."
    if run.frames["click_models"].is_empty():
        return "No click model was fitted."
    return "No model of this run tells how far readers look."


def _models_table(run: Run) -> Table:
    frame = run.frames["click_models"]
    shown = {(sample.market, sample.depth) for sample in run.shown}
    rows = [
        Row(SampleKey(row["market"], row["depth"], EVERY).label, visible(row["model"]), _model_cells(row))
        for row in frame.iter_rows(named=True)
        if (row["market"], row["depth"]) in shown
    ]
    return Table(
        "click_models",
        "Click models on sessions that they were not fitted on",
        "Model",
        MODEL_HEADS,
        tuple(rows),
        data=frame,
    )


def _model_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    reason = visible(row["reason"] or "it does not tell examination", limit=160)
    numbers = (Estimate(row[name], reason=reason) for name in ("perplexity", "log_likelihood"))
    persistence = Estimate(row["best_persistence"], reason=reason)
    return (*numbers, "" if row["n_parameters"] is None else row["n_parameters"], persistence)


def _examined(run: Run, sample: SampleKey) -> dict[str, list[float]]:
    """Return examination by position, by model; NaN where nothing is shown."""
    rows = _of(run.frames["click_positions"], sample).sort("position")
    known = rows.filter(pl.col("examination").is_not_null().any().over("model"))
    by_model = known.group_by("model", maintain_order=True).agg("examination")
    return {
        model: [math.nan if value is None else value for value in values]
        for model, values in by_model.sort("model").iter_rows()
    }


def _discount_lines(depth: int, persistence: float) -> dict[str, list[float]]:
    places = range(1, depth + 1)
    return {
        "DCG": [1 / math.log2(place + 1) for place in places],
        f"RBP(p={persistence:.2f})": [persistence ** (place - 1) for place in places],
    }


def _discounts(run: Run, sample: SampleKey, best: Mapping[str, Any], told: str) -> Figure:
    lines = _discount_lines(sample.depth, best["best_persistence"])
    drawing = discount_lines(_examined(run, sample), lines, best["model"])
    title = f"Figure 1: share of sessions that examine a position, {sample.market_and_depth}"
    return Figure("examination", title, told, drawing, "click_positions")


def _positions_table(run: Run, sample: SampleKey | None, best: Mapping[str, Any] | None) -> Table:
    lines: dict[str, list[float]] = {}
    if sample is not None and best is not None:
        lines = _examined(run, sample) | _discount_lines(sample.depth, best["best_persistence"])
    rows = [
        Row("", str(place), tuple(_known(line[place - 1]) for line in lines.values()))
        for place in range(1, (sample.depth if sample and lines else 0) + 1)
    ]
    where = "" if sample is None else f", {sample.market_and_depth}"
    return Table(
        "click_positions",
        f"Figure 1 in numbers: examination by position, and discounts{where}",
        "Position",
        tuple(lines),
        tuple(rows),
        data=run.frames["click_positions"],
    )


def _known(value: float) -> Estimate:
    return Estimate(None, reason="nothing is shown there") if math.isnan(value) else Estimate(value)


def _reading(run: Run, sample: SampleKey, best: Mapping[str, Any]) -> str:
    """Say which model is best, how far readers look by it, and which discounts are near."""
    looked = _examined(run, sample)[best["model"]]
    halfway = [place for place, share in enumerate(looked, 1) if share >= 0.5]
    own = run.settings.get("persistence", 0.8)
    return (
        f"At {sample.market_and_depth}, {best['model']} foretells sessions best. By it, "
        f"{percent(looked[-1], 0)} of sessions examine position {len(looked)}, and half of them or more look "
        f"down to position {max(halfway, default=1)}. The discount of RBP is nearest with "
        f"p = {number(best['best_persistence'], 2)} (this run's RBP takes {number(float(own), 2)}); that of "
        f"DCG, {number(1 / math.log2(len(looked) + 1), 2)} at position {len(looked)}, "
        f"{_against(looked)}. Fitted on {plural(best['n_fitted'], 'session')}, tried on "
        f"{count(best['n_sessions'])} {TRIED_ON[best['held_out']]}."
    )


def _against(looked: list[float]) -> str:
    discount = [1 / math.log2(place + 1) for place in range(1, len(looked) + 1)]
    steeper = sum(share < weight * looked[0] for share, weight in zip(looked, discount, strict=True))
    rest = len(looked) - 1
    if steeper == rest:
        return "falls more slowly than examination everywhere"
    return "falls faster than examination everywhere" if steeper == 0 else "is on both sides of it"


def _grade_rows(run: Run, sample: SampleKey) -> pl.DataFrame:
    return _of(run.frames["click_grades"], sample).filter(judge=sample.judge)


def _grades_table(run: Run, sample: SampleKey | None) -> Table:
    frame = run.frames["click_grades"]
    own = frame.head(0) if sample is None else _grade_rows(run, sample)
    models = own["model"].unique().sort().to_list()
    rows = [
        Row("", run.grade_label(grade), tuple(_grade_cells(own, models, grade)))
        for grade in own["grade"].unique().sort()
    ]
    where = "" if sample is None else f", {sample.label}"
    return Table(
        "click_grades",
        f"Relevance of a result by its grade, as click models have it{where}",
        "Grade",
        (*models, "R(g)") if models else (),
        tuple(rows),
        notes=(GRADES_NOTE,) if rows else (),
        data=frame,
    )


def _grade_cells(own: pl.DataFrame, models: Sequence[str], grade: int) -> Iterator[Estimate]:
    yield from (_value(own, model, grade) for model in models)
    yield _assumed(own, grade)


def _value(own: pl.DataFrame, model: str, grade: int) -> Estimate:
    row = own.filter(model=model, grade=grade).row(0, named=True)
    return Estimate(row["relevance"], row["ci_low"], row["ci_high"], reason=row["reason"])


def _assumed(own: pl.DataFrame, grade: int) -> Estimate:
    return Estimate(own.filter(grade=grade)["assumed"][0])


def _values(run: Run, sample: SampleKey, best: Mapping[str, Any]) -> tuple[str, dict[int, Estimate]]:
    """Return the model whose relevance is told, and its values by grade.

    It is one that tells satisfaction from attraction, if any does: the best one if it is among them.
    """
    own = _grade_rows(run, sample)
    apart = own.filter(pl.col("relevance") != pl.col("attraction"))
    names = (own if apart.is_empty() else apart)["model"].unique().sort().to_list()
    model = best["model"] if best["model"] in names or not names else names[0]
    known = own.filter(pl.col("relevance").is_not_null(), model=model)
    return model, {grade: _value(known, model, grade) for grade in known["grade"].sort()}


def _grades(
    run: Run, sample: SampleKey, model: str, values: Mapping[int, Estimate], told: Sequence[str]
) -> tuple[Figure, ...]:
    if not values:
        return ()
    known = {run.grade_label(grade): one for grade, one in values.items()}
    own = _grade_rows(run, sample)
    assumed = {run.grade_label(grade): _assumed(own, grade).value for grade in values}
    domain = common_domain(list(known.values()), list(assumed.values()))
    drawing = intervals(
        list(known), known, domain=(min(0.0, domain[0]), domain[1]), others=assumed, other_words="R(g)",
        head="Grade",
    )  # fmt: skip
    title = f"Relevance by grade according to {model}, {sample.label}"
    return (Figure("grade_values", title, " ".join(told), drawing, "click_grades"),)


def _grades_reading(run: Run, model: str, values: Mapping[int, Estimate]) -> tuple[str, ...]:
    if len(values) < 2:
        return ()
    low, *_, high = map(run.grade_label, values)
    least, *_, most = numbers = [one.value or 0.0 for one in values.values()]
    rises = all(lower <= higher for lower, higher in pairwise(numbers))
    order = "it rises from grade to grade" if rises else "it does not rise with every grade"
    return (
        f"By {model}, an examined result satisfies with chance {number(least)} if it is {low} and "
        f"{number(most)} if it is {high}; {order}. ERR assumes "
        "(2^g - 1) / 2^g_max.",
    )
