"""Coverage and correlations when results without a judgment get a grade, by rule."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import number, percent, sentence, span
from clickassay.findings.estimates import estimate, not_computed
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row, Share
from clickassay.report.model import ReportTable, Section, shown_samples

RULES = {
    "drop": "lists left out",
    "zero": "the worst grade",
    "best": "the highest grade",
    "model": "grades predicted from clicks",
}
"""Treatment of results without a judgment, by rule."""

HEADS = ("Coverage", "Grades filled in", "Queries")
MODEL_NOTE = (
    "Grades are drawn from judged results of similar attraction, relevance and impressions, as estimated "
    "from the clicks of the users of even folds. These clicks are used for nothing else: all other numbers "
    "of this report are from the other users."
)
EXTREMES_NOTE = (
    "The worst and the highest grade are given to all results without a judgment alike. These are two "
    "extremes and no bounds: with other grades a correlation can lie outside them, and often does."
)


def filled_share(run: Run, sample: SampleKey) -> float | None:
    """Return the share of the sample's grades that are filled in; None where only judgments are used."""
    rule = run.settings.unjudged
    rows = sample.rows(run.frames["unjudged"]).filter(rule=rule)
    return None if rule not in {"zero", "model"} or rows.is_empty() else rows["filled"][0]


def unjudged_sections(run: Run) -> tuple[Section, ...]:
    """Return the section, or nothing when no rule but dropping was tried."""
    frame = run.frames["unjudged"]
    if frame.is_empty():
        return ()
    rows = tuple(row for sample in shown_samples(run) for row in _rows(run, sample))
    rules = set(frame["rule"].unique())
    notes = tuple(note for rule, note in (("model", MODEL_NOTE), ("best", EXTREMES_NOTE)) if rule in rules)
    table = ReportTable(
        "unjudged",
        f"Correlation with {run.click} by treatment of results without a judgment",
        "Treatment",
        (*HEADS, *run.editorial),
        rows,
        spanners=(("Correlation", len(HEADS), len(run.editorial)),),
        notes=notes,
        data=frame,
    )
    return (Section("unjudged", "Results without a judgment", _reading(run), tables=(table,)),)


def _rows(run: Run, sample: SampleKey) -> list[Row]:
    own = sample.rows(run.frames["unjudged"]).filter(click_metric=run.click)
    return [
        Row(sample.label, RULES[rule], _cells(run, own.filter(rule=rule)))
        for rule in RULES
        if own.filter(rule=rule).height
    ]


def _cells(run: Run, rows: pl.DataFrame) -> tuple[Cell, ...]:
    first = rows.row(0, named=True)
    cells = {row["editorial_metric"]: estimate(row) for row in rows.iter_rows(named=True)}
    values = (cells.get(name, not_computed()) for name in run.editorial)
    return (Share(first["coverage"]), Share(first["filled"]), first["n_queries"], *values)


def _reading(run: Run) -> tuple[str, ...]:
    if run.headline is None:
        return ("No configuration was kept under the rule of this run.",)
    own = run.headline.rows(run.frames["unjudged"]).filter(click_metric=run.click)
    rules = [rule for rule in RULES if own.filter(rule=rule).height]
    ranked = own.filter(rule=rules[0]).sort("correlation", descending=True, nulls_last=True)
    best = ranked["editorial_metric"][0]
    rows = [own.filter(rule=rule, editorial_metric=best).row(0, named=True) for rule in rules]
    return (f"At {run.headline.label}, for {best}:", *map(_rule_sentence, rows))


def _rule_sentence(row: Mapping[str, Any]) -> str:
    cell = estimate(row)
    value = cell.reason if cell.value is None else f"{number(cell.value)} ({span(cell.low, cell.high)})"
    return sentence(
        f"{RULES[row['rule']]}: coverage {percent(row['coverage'])}, {percent(row['filled'])} of the grades "
        f"filled in, correlation with {row['click_metric']} {value}"
    )
