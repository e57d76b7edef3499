"""Examination, how far down users look, and the relevance of each grade, as estimated by click models."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed, number, percent, plural, visible
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row
from clickassay.report.charts.discounts import discount_lines
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.model import Figure, ReportTable, Section, shown_samples

TITLE = "How far down users look (examination)"
MODEL_HEADS = ("Perplexity", "Log-likelihood per session", "Parameters", "p of the nearest RBP")
MEANING = (
    "Click models separate what users examine from what attracts them. A model is better if it predicts "
    "sessions that it was not fitted on: a higher log-likelihood, a lower perplexity (2 = tossing a coin)."
)
MAX_REASON = 200
"""Characters of a reason that are shown: a whole sentence with its advice."""

TESTED_ON = {"users": "of other users", "sessions": "drawn at random"}
ASSUMED = "R(g), which ERR and RBP assume"
GRADES_NOTE = (
    "Fitted on lists of grades in place of documents. Relevance is the probability that an examined result "
    "is what the user looked for: attraction times satisfaction in DBN and SDBN, attraction in other "
    "models."
)


def examination_section(run: Run) -> Section:
    """Return examination by position next to the discounts of metrics, and the relevance of grades."""
    frames = run.frames
    sample = _sample(run)
    best = None if sample is None else _best_model(_of(frames["click_models"], sample))
    tables = (_models_table(run), _positions_table(run, sample, best), _grades_table(run, sample))
    if sample is None or best is None:
        return Section("examination", TITLE, (_why_none(run),), tables=tables[:1], folded=tables[1:])
    examination = _examination_sentences(run, sample, best)
    model, values = _relevance_by_grade(run, sample, best)
    relevance = _relevance_sentences(run, model, values)
    figures = (
        _examination_figure(run, sample, best, examination),
        *_relevance_figure(run, sample, model, values, relevance),
    )
    reading = (MEANING, examination, *relevance)
    legend = (
        ("line", f"{best['model']}, which predicts sessions best"),
        ("line-quiet", "the other models"),
        ("diamond", ASSUMED),
    )
    return Section(
        "examination", TITLE, reading, figures, tables=tables[:1], legend=legend, folded=tables[1:]
    )


def _of(frame: pl.DataFrame, sample: SampleKey) -> pl.DataFrame:
    """Return the rows of the market and depth of a sample: click models do not depend on the judge."""
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


def _best_model(models: pl.DataFrame) -> dict[str, Any] | None:
    """Return the row of the model of largest log-likelihood that estimates examination."""
    candidates = models.filter(
        pl.col("best_persistence").is_not_null() & pl.col("log_likelihood").is_not_null()
    ).sort("log_likelihood", "perplexity", descending=[True, False])
    return None if candidates.is_empty() else candidates.row(0, named=True)


def _why_none(run: Run) -> str:
    reasons = run.frames["click_models"]["reason"].drop_nulls().unique().sort().to_list()
    if reasons:
        why = listed(visible(one.removeprefix("click models: "), limit=MAX_REASON) for one in reasons)
        return f"No click model estimates examination: {why}."
    if run.frames["click_models"].is_empty():
        return "No click model was fitted."
    return "No click model of this run estimates examination."


def _models_table(run: Run) -> ReportTable:
    frame = run.frames["click_models"]
    shown = {(sample.market, sample.depth) for sample in shown_samples(run)}
    rows = [
        Row(SampleKey(row["market"], row["depth"], EVERY).label, visible(row["model"]), _model_cells(row))
        for row in frame.iter_rows(named=True)
        if (row["market"], row["depth"]) in shown
    ]
    return ReportTable(
        "click_models",
        "Click models on held-out sessions, which they were not fitted on",
        "Model",
        MODEL_HEADS,
        tuple(rows),
        data=frame,
    )


def _model_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    reason = visible(row["reason"] or "the model does not estimate examination", limit=160)
    numbers = (Estimate(row[name], reason=reason) for name in ("perplexity", "log_likelihood"))
    persistence = Estimate(row["best_persistence"], reason=reason)
    return (*numbers, "" if row["n_parameters"] is None else row["n_parameters"], persistence)


def _examined(run: Run, sample: SampleKey) -> dict[str, list[float]]:
    """Return the share of sessions that examine each position, by model; NaN where no result is shown."""
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


def _examination_figure(run: Run, sample: SampleKey, best: Mapping[str, Any], alt: str) -> Figure:
    lines = _discount_lines(sample.depth, best["best_persistence"])
    drawing = discount_lines(_examined(run, sample), lines, best["model"])
    title = f"Figure 1: share of sessions that examine a position, {sample.market_and_depth}"
    return Figure("examination", title, alt, drawing, "click_positions")


def _positions_table(run: Run, sample: SampleKey | None, best: Mapping[str, Any] | None) -> ReportTable:
    lines: dict[str, list[float]] = {}
    if sample is not None and best is not None:
        lines = _examined(run, sample) | _discount_lines(sample.depth, best["best_persistence"])
    rows = [
        Row("", str(place), tuple(_position_cell(line[place - 1]) for line in lines.values()))
        for place in range(1, (sample.depth if sample and lines else 0) + 1)
    ]
    where = "" if sample is None else f", {sample.market_and_depth}"
    return ReportTable(
        "click_positions",
        f"Figure 1 in numbers: examination by position, and discounts{where}",
        "Position",
        tuple(lines),
        tuple(rows),
        data=run.frames["click_positions"],
    )


def _position_cell(value: float) -> Estimate:
    return Estimate(None, reason="no result is shown there") if math.isnan(value) else Estimate(value)


def _examination_sentences(run: Run, sample: SampleKey, best: Mapping[str, Any]) -> str:
    """Return which model is best, how far down users look according to it, and which discounts are near."""
    examined = _examined(run, sample)[best["model"]]
    halfway = [place for place, share in enumerate(examined, 1) if share >= 0.5]
    own = run.settings.persistence
    return (
        f"At {sample.market_and_depth}, {best['model']} predicts sessions best. According to it, "
        f"{percent(examined[-1], 0)} of sessions examine position {len(examined)}, and half of them or more "
        f"look down to position {max(halfway, default=1)}. The discount of RBP is nearest to this with p = "
        f"{number(best['best_persistence'], 2)} (this run's RBP has p = {number(own, 2)}). The "
        f"discount of DCG, {number(1 / math.log2(len(examined) + 1), 2)} at position {len(examined)}, "
        f"{_against_dcg(examined)}. Fitted on {plural(best['n_fitted'], 'session')}, tested on "
        f"{count(best['n_sessions'])} {TESTED_ON[best['held_out']]}."
    )


def _against_dcg(examined: list[float]) -> str:
    discount = [1 / math.log2(place + 1) for place in range(1, len(examined) + 1)]
    steeper = sum(share < weight * examined[0] for share, weight in zip(examined, discount, strict=True))
    rest = len(examined) - 1
    if steeper == rest:
        return "is above examination at every position after the first"
    if steeper == 0:
        return "is nowhere above examination"
    return "is above examination at some positions and not at others"


def _grade_rows(run: Run, sample: SampleKey) -> pl.DataFrame:
    return _of(run.frames["click_grades"], sample).filter(judge=sample.judge)


def _grades_table(run: Run, sample: SampleKey | None) -> ReportTable:
    frame = run.frames["click_grades"]
    own = frame.head(0) if sample is None else _grade_rows(run, sample)
    models = own["model"].unique().sort().to_list()
    rows = [
        Row("", run.grade_label(grade), tuple(_grade_cells(own, models, grade)))
        for grade in own["grade"].unique().sort()
    ]
    where = "" if sample is None else f", {sample.label}"
    return ReportTable(
        "click_grades",
        f"Relevance of a result by its grade, as estimated by click models{where}",
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


def _relevance_by_grade(
    run: Run, sample: SampleKey, best: Mapping[str, Any]
) -> tuple[str, dict[int, Estimate]]:
    """Return the model whose relevance is reported, and its values by grade.

    It is one that separates satisfaction from attraction, if any does: the best one if it is among them.
    """
    own = _grade_rows(run, sample)
    separating = own.filter(pl.col("relevance") != pl.col("attraction"))
    names = (own if separating.is_empty() else separating)["model"].unique().sort().to_list()
    model = best["model"] if best["model"] in names or not names else names[0]
    known = own.filter(pl.col("relevance").is_not_null(), model=model)
    return model, {grade: _value(known, model, grade) for grade in known["grade"].sort()}


def _relevance_figure(
    run: Run, sample: SampleKey, model: str, values: Mapping[int, Estimate], alt: Sequence[str]
) -> tuple[Figure, ...]:
    if not values:
        return ()
    known = {run.grade_label(grade): one for grade, one in values.items()}
    own = _grade_rows(run, sample)
    assumed = {run.grade_label(grade): _assumed(own, grade).value for grade in values}
    domain = common_domain(list(known.values()), list(assumed.values()))
    texts = IntervalHeads("Probability of satisfying the user", name="Grade", diamond="R(g)")
    drawing = intervals(list(known), known, texts, domain=(min(0.0, domain[0]), domain[1]), diamonds=assumed)
    title = f"Relevance by grade according to {model}, {sample.label}"
    return (Figure("grade_values", title, " ".join(alt), drawing, "click_grades"),)


def _relevance_sentences(run: Run, model: str, values: Mapping[int, Estimate]) -> tuple[str, ...]:
    if len(values) < 2:
        return ()
    low, *_, high = map(run.grade_label, values)
    least, *_, most = numbers = [one.value or 0.0 for one in values.values()]
    rises = all(lower <= higher for lower, higher in pairwise(numbers))
    order = "rises from grade to grade" if rises else "does not rise with every grade"
    return (
        f"According to {model}, an examined result satisfies the user with a probability of {number(least)} "
        f"if it is {low} and {number(most)} if it is {high}; this probability {order}. ERR assumes (2^g - "
        "1) / 2^g_max.",
    )
