"""How users read results: how far down they look, what satisfies them, and the cascade effect."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed, number, percent, plural, visible
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import IPS
from clickassay.report.charts.lines import discount_lines
from clickassay.report.charts.marks import IntervalHeads, click_rates, common_domain, intervals
from clickassay.report.model import Figure, Section, shown_samples
from clickassay.report.sections.click_models import (
    held_out_answer,
    held_out_figure,
    held_out_sentences,
    held_out_table,
)
from clickassay.report.tables import Fields, ReportTable, Row, Share, ShownColumn, shown_table, value

TITLE = "How far down do users look? (examination)"
MEANING = (
    "Click models separate what users examine from what attracts them. A better model predicts held-out "
    "sessions better: higher log-likelihood, lower perplexity (2 = a coin toss)."
)
MAX_REASON = 200
"""Characters of a reason that are shown: a whole sentence with its advice."""

TESTED_ON = {"users": "of other users", "sessions": "drawn at random"}


def examination_section(run: Run) -> Section:
    """Return examination by position next to the discounts of metrics, and the relevance of grades."""
    sample, best = _best_model(run)
    lines: dict[str, list[float]] = {}
    if sample is None or best is None:
        tables = (_models_table(run), _positions_table(run, sample, lines), _grades_table(run, sample))
        models = run.frames["click_models"]
        why = "No click model of this run estimates examination."
        if reasons := models["reason"].drop_nulls().unique().sort().to_list():
            texts = (visible(one.removeprefix("click models: "), limit=MAX_REASON) for one in reasons)
            why = f"No click model estimates examination: {listed(texts)}."
        elif models.is_empty():
            why = "No click model was fitted."
        return Section("examination", TITLE, (why,), tables=tables[:1], folded=tables[1:])
    # the share of sessions that examine each position, by model; NaN where no result is shown
    rows = _of(run.frames["click_positions"], sample).sort("position")
    known = rows.filter(pl.col("examination").is_not_null().any().over("model"))
    by_model = known.group_by("model", maintain_order=True).agg("examination")
    examined = {
        model: [math.nan if value is None else value for value in values]
        for model, values in by_model.sort("model").iter_rows()
    }
    places, persistence = range(1, sample.depth + 1), best["best_persistence"]
    lines = {
        "DCG": [1 / math.log2(place + 1) for place in places],
        f"RBP(p={persistence:.2f})": [persistence ** (place - 1) for place in places],
    }
    tables = (_models_table(run), _positions_table(run, sample, examined | lines), _grades_table(run, sample))
    text = _examination_text(run, sample, best, examined[best["model"]])
    # relevance is of a model that separates satisfaction from attraction, if any does: the best if it does
    own = _grade_rows(run, sample)
    separating = own.filter(pl.col("relevance") != pl.col("attraction"))
    names = (own if separating.is_empty() else separating)["model"].unique().sort().to_list()
    model = best["model"] if best["model"] in names or not names else names[0]
    valued = own.filter(pl.col("relevance").is_not_null(), model=model)
    values = {grade: _relevance(valued, model, grade) for grade in valued["grade"].sort()}
    relevance = _relevance_sentences(run, model, values)
    title = f"Figure 1: share of sessions that examine a position, {sample.market_and_depth}"
    drawing = discount_lines(examined, lines, best["model"])
    figures = (
        Figure("examination", title, text, drawing, "click_positions"),
        *_relevance_figure(run, sample, model, values, " ".join(relevance)),
    )
    legend = (
        ("line", f"{best['model']}, which predicts sessions best"),
        ("line-quiet", "the other models"),
        ("diamond", "R(g), which ERR and RBP assume"),
    )
    held_out, calibration = (
        _of(run.frames[name], sample).filter(click_metric="MeanRR")
        for name in ("click_held_out", "click_calibration")
    )
    supported: tuple[str, ...] = ()
    unseen: tuple[ReportTable, ...] = ()
    if held_out.height:
        supported = (f"{held_out_answer(held_out)}.", *held_out_sentences(held_out))
        unseen = (held_out_table(held_out, f", {sample.market_and_depth}"),)
    return Section(
        "examination", TITLE, (MEANING, *supported, text, *relevance),
        (*held_out_figure(calibration), *figures),
        tables=tables[:1], legend=legend, folded=(*unseen, *tables[1:]),
    )  # fmt: skip


def _of(frame: pl.DataFrame, sample: SampleKey) -> pl.DataFrame:
    return frame.filter(market=sample.market, depth=sample.depth)


def _best_model(run: Run) -> tuple[SampleKey, dict[str, Any] | None] | tuple[None, None]:
    """Return market and judge of the headline at the greatest depth with a model, and its most likely row."""
    models = run.frames["click_models"]
    if run.headline is None:
        return None, None
    depth: Any = models.filter(pl.col("perplexity").is_not_null(), market=run.headline.market)["depth"].max()
    if depth is None:
        return None, None
    sample = SampleKey(run.headline.market, int(depth), run.headline.judge)
    known = _of(models, sample).drop_nulls(["best_persistence", "log_likelihood"])
    best = known.sort("log_likelihood", "perplexity", descending=[True, False]).head(1).to_dicts()
    return sample, best[0] if best else None


def _models_table(run: Run) -> ReportTable:
    frame = run.frames["click_models"]
    shown = {(sample.market, sample.depth) for sample in shown_samples(run)}

    def reason(row: Fields) -> str:
        return visible(row["reason"] or "the model does not estimate examination", limit=160)

    return shown_table(
        "click_models", "Click models on held-out sessions",
        [row for row in frame.iter_rows(named=True) if (row["market"], row["depth"]) in shown],
        ShownColumn("Model", lambda row: visible(row["model"])),
        (
            value("Perplexity", "perplexity", reason),
            value("Log-likelihood per session", "log_likelihood", reason),
            ShownColumn("Parameters", lambda row: "" if row["n_parameters"] is None else row["n_parameters"]),
            value("p of the nearest RBP", "best_persistence", reason),
        ),
        group=lambda row: SampleKey(row["market"], row["depth"], EVERY).label, data=frame,
    )  # fmt: skip


def _positions_table(run: Run, sample: SampleKey | None, lines: Mapping[str, list[float]]) -> ReportTable:
    def cell(value: float) -> Estimate:
        return Estimate(None, reason="no result is shown there") if math.isnan(value) else Estimate(value)

    rows = tuple(
        Row("", str(place), tuple(cell(line[place - 1]) for line in lines.values()))
        for place in range(1, (sample.depth if sample and lines else 0) + 1)
    )
    title = "Figure 1 in numbers: examination by position, and discounts"
    where = "" if sample is None else f", {sample.market_and_depth}"
    data = run.frames["click_positions"]
    return ReportTable("click_positions", title + where, "Position", tuple(lines), rows, data=data)


def _examination_text(run: Run, sample: SampleKey, best: Mapping[str, Any], examined: list[float]) -> str:
    """Return which model is best, how far down users look according to it, and which discounts are near."""
    halfway = [place for place, share in enumerate(examined, 1) if share >= 0.5]
    discount = [1 / math.log2(place + 1) for place in range(1, len(examined) + 1)]
    steeper = sum(share < weight * examined[0] for share, weight in zip(examined, discount, strict=True))
    against = "is above examination at some positions and not at others"
    if steeper == len(examined) - 1:
        against = "is above examination at every position after the first"
    elif steeper == 0:
        against = "is never above examination"
    return (
        f"At {sample.market_and_depth}, {best['model']} predicts sessions best. According to it, "
        f"{percent(examined[-1], 0)} of sessions examine position {len(examined)}, and half of them or more "
        f"look down to position {max(halfway, default=1)}. The discount of RBP is nearest to this with p = "
        f"{number(best['best_persistence'], 2)} (this run's RBP has p = "
        f"{number(run.settings.persistence, 2)}). The discount of DCG, {number(discount[-1], 2)} at position "
        f"{len(examined)}, {against}. Fitted on {plural(best['n_fitted'], 'session')}, tested on "
        f"{count(best['n_sessions'])} {TESTED_ON[best['held_out']]}."
    )


# ---- the relevance of grades --------------------------------------------------------------------


def _grade_rows(run: Run, sample: SampleKey) -> pl.DataFrame:
    return _of(run.frames["click_grades"], sample).filter(judge=sample.judge)


def _relevance(own: pl.DataFrame, model: str, grade: int) -> Estimate:
    row = own.filter(model=model, grade=grade).row(0, named=True)
    return Estimate(row["relevance"], row["ci_low"], row["ci_high"], reason=row["reason"])


def _assumed(own: pl.DataFrame, grade: int) -> float:
    return float(own.filter(grade=grade)["assumed"][0])


def _grades_table(run: Run, sample: SampleKey | None) -> ReportTable:
    frame = run.frames["click_grades"]
    own = frame.head(0) if sample is None else _grade_rows(run, sample)
    models = own["model"].unique().sort().to_list()
    rows = []
    for grade in own["grade"].unique().sort():
        cells = (*(_relevance(own, model, grade) for model in models), Estimate(_assumed(own, grade)))
        rows.append(Row("", run.grade_label(grade), cells))
    where = "" if sample is None else f", {sample.label}"
    return ReportTable(
        "click_grades", f"Relevance of a result by its grade, as estimated by click models{where}", "Grade",
        (*models, "R(g)") if models else (), tuple(rows), notes=((
            "Fitted on lists of grades instead of documents. Relevance is the probability that an examined "
            "result satisfies: attraction times satisfaction in DBN and SDBN, attraction in other "
            "models."
        ),) if rows else (), data=frame,
    )  # fmt: skip


def _relevance_figure(
    run: Run, sample: SampleKey, model: str, values: Mapping[int, Estimate], alt: str
) -> tuple[Figure, ...]:
    if not values:
        return ()
    known = {run.grade_label(grade): one for grade, one in values.items()}
    own = _grade_rows(run, sample)
    assumed = {run.grade_label(grade): _assumed(own, grade) for grade in values}
    domain = common_domain(list(known.values()), list(assumed.values()))
    texts = IntervalHeads("Probability of satisfying the user", name="Grade", diamond="R(g)")
    drawing = intervals(list(known), known, texts, domain=(min(0.0, domain[0]), domain[1]), diamonds=assumed)
    title = f"Relevance by grade according to {model}, {sample.label}"
    return (Figure("grade_values", title, alt, drawing, "click_grades"),)


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


# ---- clicks free of position bias ---------------------------------------------------------------


IPS_TITLE = "Clicks free of position bias (IPS)"
IPS_MEANING = (
    "IPS counts a click as 1 / examination of its position, estimated from results that the other half "
    "of the users saw at several positions. It has a value only if examination depends on the position "
    "alone, as rankings held out from click models must show; then IPS depends on which results a ranking "
    "shows, not on their order."
)
LIMIT = (
    "IPS has no value within queries, no rank and no part in the decision. Users who stop at a good "
    "result look further down a ranking that starts badly; IPS overweights their clicks there and "
    "prefers the worse order."
)
ERRORS = "Relative to the first position, the same for all rankings; intervals of IPS include its error."


def position_bias_sections(run: Run) -> tuple[Section, ...]:
    """Show correlations with IPS next to the headline click metric; no section where it was not asked for."""
    if run.tables["position_bias"].is_empty() or run.headline is None:
        return ()
    every = run.headline.rows(run.competing("correlations")).filter(split=EVERY)
    of_ips, of_clicks = (
        {row["editorial_metric"]: estimate(row) for row in every.filter(click_metric=click).to_dicts()}
        for click in (IPS, run.click)
    )
    rows = tuple(
        Row("", visible(name), (of_ips[name], of_clicks.get(name, not_computed())))
        for name in dict.fromkeys((*run.editorial, *BASELINES))
        if name in of_ips
    )
    title = f"Correlation over all queries with IPS, and with {run.click}"
    tables: tuple[ReportTable, ...] = (ReportTable("ips", title, "Metric", (IPS, run.click), rows),)
    reading: tuple[str, ...] = (LIMIT, IPS_MEANING)
    if all(one.value is None for one in of_ips.values()):
        why = next((one.reason for one in of_ips.values()), None) or "it was not computed"
        tables, reading = (), (f"IPS has no value: {why}.", IPS_MEANING, LIMIT)
    own, market = run.tables["position_bias"], run.headline.market
    chosen = market if market in own["market"] else own["market"][0]
    halves = own.filter(market=chosen)["users"].unique().sort().to_list()
    examined = []
    for (place,), found in sorted(own.filter(market=chosen).partition_by("position", as_dict=True).items()):
        by_half = {row["users"]: row for row in found.iter_rows(named=True)}
        examined.append(Row("", str(place), tuple(_examination(by_half[half]) for half in halves)))
    where = "" if chosen == EVERY else f", market {visible(chosen)}"
    by_position = ReportTable(
        "position_bias", f"Examination of positions by users of even folds and of odd folds{where}",
        "Position", tuple(f"{half} folds" for half in halves), tuple(examined), notes=(ERRORS,), data=own,
    )  # fmt: skip
    return (Section("position_bias", IPS_TITLE, reading, tables=tables, folded=(by_position,)),)


def _examination(row: Mapping[str, Any]) -> Estimate:
    value, error = row["examination"], row["log_error"]
    if value is None or error is None:
        return Estimate(None, reason=visible(row["reason"] or "not estimated from clicks", limit=160))
    if not error:  # the first position is 1 by definition
        return Estimate(value)
    return Estimate(value, *(pl.Series([-1.96 * error, 1.96 * error]).exp() * value))


# ---- the cascade effect --------------------------------------------------------------------------


MAX_FOUND = 20
"""Largest number of queries that a run keeps for each sample."""

EXAMPLES = 3
"""Largest number of examples that are drawn."""

HEADS = (
    *("Grade", "Position", "Better result above", "Its grade", "Sessions", "CTR"), "Average of the position",
)  # fmt: skip
NONE = (
    "No example of the cascade effect: over all results, clicks are not significantly rarer below a "
    "better result, or no single result was shown often enough both ways (20 sessions each)."
)
POINT = (
    "A click model that knows only the position cannot explain this cascade effect, and neither can a "
    "metric that discounts by position alone. A model in which a satisfied user stops looking can "
    "explain it; ERR is based on one. The effect is tested over all queries together. The ratio of an "
    "example assumes independent sessions and equally attractive rankings."
)
LEGEND = (
    ("bar-on", "no better result above"),
    ("bar-warm", "a better result above"),
    ("tick", "average of the position"),
)

Example = Mapping[str, Any]


def cascade_effects_section(run: Run) -> Section:
    """Show the clearest examples of the cascade effect whose query may be named."""
    name, title = "cascade_effects", "Cascade effect: clicks below a better result"
    data = run.frames["cascade_effects"]

    def nameable(own: pl.DataFrame) -> list[dict[str, Any]]:
        return run.labels.label(own).filter(~pl.col("hidden")).to_dicts()

    there = (one for one in shown_samples(run) if nameable(one.rows(data)))
    sample = next(there, run.headline)  # the first shown sample with an example that may be named
    own = data.head(0) if sample is None else sample.rows(data)
    named, where = nameable(own), "" if sample is None else f", {sample.label}"
    table = ReportTable(
        "figure2_cascade_effects",
        f"Figure 2 in numbers: the same result without and with a better one above it{where}", "Result",
        HEADS, tuple(row for example in named for row in _rows(run, example)), group_head="Query",
        data=run.labels.relabel(data, "url", "better_url", "configuration_alone", "configuration_below"),
    )  # fmt: skip
    if sample is None or not named:
        why = NONE if data.is_empty() else _not_shown(run, data if own.is_empty() else own)
        return Section(name, title, (why,), tables=(table,))
    found = f"At {sample.label}, {plural(own.height, 'query has', 'queries have')} such a result"
    if own.height == MAX_FOUND:
        found = f"Examples come from the {MAX_FOUND} queries with the clearest effect at {sample.label}"
    rare = own.height - len(named)
    found += f", {count(rare)} of them too rare to be named" if rare else ""
    found += f"; the first {EXAMPLES} are drawn" if len(named) > EXAMPLES else ""
    return Section(
        name, title, (_reading(run, named[0]), POINT, f"{found}. {run.labels.rule}"),
        tuple(_figure(place, example) for place, example in enumerate(named[:EXAMPLES])),
        legend=LEGEND, folded=(table,),
    )  # fmt: skip


def _not_shown(run: Run, effects: pl.DataFrame) -> str:
    """Return why no example can be shown although there are some."""
    rare = int(run.labels.label(effects)["hidden"].sum())
    examples = plural(rare, "example of a rare query", "examples of rare queries")
    texts = [f"{examples} cannot be shown. {run.labels.rule}"] if rare else []
    if effects.height > rare:
        more = plural(effects.height - rare, "example lies", "examples lie")
        texts.append(f"{more} in samples not on this page; see the CSV file.")
    return " ".join(texts)


def _reading(run: Run, row: Example) -> str:
    return (
        f"For the query {visible(row['query'])}, {visible(row['url'])} ({run.grade_label(row['grade'])}) is "
        f"clicked in {percent(row['ctr_alone'])} of the sessions at position {row['position_alone']}, with "
        f"nothing better above it, and in {percent(row['ctr_below'])} at position {row['position_below']}, "
        f"below {visible(row['better_url'])} ({run.grade_label(row['better_grade'])}). "
        f"The averages of the positions are {percent(row['average_ctr_alone'])} and "
        f"{percent(row['average_ctr_below'])}: relative to these, "
        f"its clicks fall to at most 1/{number(row['min_excess_ctr_ratio'], 1)}."
    )


def _rows(run: Run, row: Example) -> Iterator[Row]:
    better = (visible(row["better_url"]), run.grade_label(row["better_grade"]))
    for side, above in (("alone", ("none", "")), ("below", better)):
        place = (run.grade_label(row["grade"]), row[f"position_{side}"], *above, row[f"sessions_{side}"])
        rates = (Share(row[f"ctr_{side}"]), Share(row[f"average_ctr_{side}"]))
        yield Row(visible(row["query"]), visible(row["url"]), (*place, *rates))


def _figure(place: int, row: Example) -> Figure:
    places = {
        "alone": f"at position {row['position_alone']}, nothing better above",
        "below": f"at position {row['position_below']}, {visible(row['better_url'])} above",
    }
    values = [
        {
            "label": label, "share": row[f"ctr_{side}"], "average": row[f"average_ctr_{side}"],
            "alone": side == "alone", "result": visible(row["url"]), "rate": percent(row[f"ctr_{side}"]),
            "usual": percent(row[f"average_ctr_{side}"]), "sessions": count(row[f"sessions_{side}"]),
        }
        for side, label in places.items()
    ]  # fmt: skip
    titles = {
        "result": "Result", "label": "Shown", "rate": "CTR", "usual": "Average of the position",
        "sessions": "Sessions",
    }  # fmt: skip
    rates = ", ".join(f"{value['rate']} {value['label']} (average {value['usual']})" for value in values)
    alt = f"Click-through rate of {visible(row['url'])}: {rates}."
    title = f"{visible(row['query'])}: {visible(row['url'])}"
    drawing = click_rates(values, titles)
    return Figure(f"cascade_effects-{place}", title, alt, drawing, "figure2_cascade_effects")
