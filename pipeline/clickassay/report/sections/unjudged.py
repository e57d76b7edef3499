"""Results without a judgment: what treating them by a rule does, and what to judge next."""

from collections.abc import Mapping
from typing import Any

from clickassay.core.records import SampleKey
from clickassay.core.text.words import number, percent, plural, sentence, span, visible
from clickassay.findings.estimates import estimate, not_computed
from clickassay.findings.run import Run
from clickassay.report.model import Section, headline_suffix, shown_samples
from clickassay.report.tables import Column, ReportTable, Row, Share, field, share, shown_table, value

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
    rows = []
    for sample in shown_samples(run):
        for rule, name in RULES.items():
            own = list(sample.rows(frame).filter(click_metric=run.click, rule=rule).iter_rows(named=True))
            if own:
                cells = {row["editorial_metric"]: estimate(row) for row in own}
                values = (cells.get(metric, not_computed()) for metric in run.editorial)
                first = (Share(own[0]["coverage"]), Share(own[0]["filled"]), own[0]["n_queries"])
                rows.append(Row(sample.label, name, (*first, *values)))
    rules = set(frame["rule"].unique())
    table = ReportTable(
        "unjudged", f"Correlation with {run.click} by treatment of results without a judgment", "Treatment",
        (*HEADS, *run.editorial), tuple(rows), data=frame,
        spanners=(("Correlation", len(HEADS), len(run.editorial)),),
        notes=tuple(note for rule, note in (("model", MODEL_NOTE), ("best", EXTREMES_NOTE)) if rule in rules),
    )  # fmt: skip
    return (Section("unjudged", "Results without a judgment", _unjudged_reading(run), tables=(table,)),)


def _unjudged_reading(run: Run) -> tuple[str, ...]:
    if run.headline is None:
        return ("No configuration was kept under the rule of this run.",)
    own = run.headline.rows(run.frames["unjudged"]).filter(click_metric=run.click)
    rules = [rule for rule in RULES if own.filter(rule=rule).height]
    ranked = own.filter(rule=rules[0]).sort("correlation", descending=True, nulls_last=True)
    best = ranked["editorial_metric"][0]
    texts = [f"At {run.headline.label}, for {best}:"]
    for rule in rules:
        row = own.filter(rule=rule, editorial_metric=best).row(0, named=True)
        cell = estimate(row)
        value = cell.reason if cell.value is None else f"{number(cell.value)} ({span(cell.low, cell.high)})"
        text = f"{RULES[rule]}: coverage {percent(row['coverage'])}, {percent(row['filled'])} of the grades "
        texts.append(sentence(f"{text}filled in, correlation with {row['click_metric']} {value}"))
    return tuple(texts)


# ---- what to judge next -------------------------------------------------------------------------


SHOWN = 10
"""Queries that are shown for each goal."""

GOALS = {"coverage": "to raise coverage", "interval": "to narrow intervals"}
NEXT = (
    field("Results to judge", "labels"), field("Sessions completed", "sessions"),
    field("Results so far", "labels_so_far"), share("Coverage so far", "coverage"),
    value("Interval width so far", "width", "nothing is judged yet"),
)  # fmt: skip
NOTE = (
    "So far: down to this row. Interval width: expected, relative to the width now, if queries differ only "
    "in their number of sessions. A few queries with very many raise coverage but widen intervals."
)
HOW = (
    "The command plan --run writes a sheet of the results to judge, as many as a budget allows. They are "
    "chosen for what they add, not drawn at random: to evaluate a ranking, draw queries with plan --ranking."
)


def next_judgments_section(run: Run) -> Section:
    """Return the first queries to judge in the headline sample, for both goals."""
    frame, own = run.frames["next_judgments"], run.headline_rows("next_judgments")
    named = run.labels.relabel(own)
    table = shown_table(
        "next_judgments", f"Queries with the largest gain per judgment{headline_suffix(run)}",
        [row for goal in GOALS for row in named.filter(goal=goal).head(SHOWN).iter_rows(named=True)],
        Column("Query", lambda row: visible(row["query"])), NEXT, group=lambda row: GOALS[row["goal"]],
        notes=(NOTE,) if own.height else (), data=run.labels.relabel(frame.drop("urls")), group_head="Goal",
    )  # fmt: skip
    reading: tuple[str, ...] = ("No shown result is left to judge in the queries of this log.",)
    if run.headline is not None and own.height:
        now = run.headline.rows(run.frames["statistics"])["coverage"][0]
        last = {goal: own.filter(goal=goal).head(SHOWN).tail(1).to_dicts() for goal in GOALS}
        sentences = [
            _goal_sentence(run.headline, now, row, goal) for goal, rows in last.items() for row in rows
        ]
        reading = (*sentences, HOW)
    return Section("next_judgments", "What to judge next", reading, tables=(table,) if frame.height else ())


def _goal_sentence(sample: SampleKey, now: float, last: Mapping[str, Any], goal: str) -> str:
    results, queries = plural(last["labels_so_far"], "result"), plural(last["rank"], "query", "queries")
    if goal == "coverage":
        return (
            f"At {sample.label}, judging {results} of {queries} would raise coverage from {percent(now)} to "
            f"{percent(last['coverage'])}."
        )
    return (
        f"To narrow intervals, {results} of {queries} would make them {number(last['width'], 2)} times as "
        "wide as they are now."
    )
