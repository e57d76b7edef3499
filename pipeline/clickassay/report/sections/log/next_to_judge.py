"""What to judge next: the queries that raise coverage, or narrow intervals, most per judgment."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import number, percent, plural, visible
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import Run
from clickassay.report.cells import Cell, Row, Share
from clickassay.report.model import ReportTable, Section, title_suffix

TITLE = "What to judge next"
SHOWN = 10
"""Queries that are shown for each goal."""

GOALS = {"coverage": "to raise coverage", "interval": "to narrow intervals"}
HEADS = (
    "Results to judge",
    "Sessions completed",
    "Results so far",
    "Coverage so far",
    "Interval width so far",
)
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
    table = ReportTable(
        "next_judgments",
        f"Queries with the largest gain per judgment{title_suffix(run, *run.headline_samples)}",
        "Query",
        HEADS,
        tuple(
            _row(row) for goal in GOALS for row in named.filter(goal=goal).head(SHOWN).iter_rows(named=True)
        ),
        notes=(NOTE,) if own.height else (),
        data=run.labels.relabel(frame.drop("urls")),
        group_head="Goal",
    )
    return Section("next_judgments", TITLE, _reading(run, own), tables=(table,) if frame.height else ())


def _row(row: Mapping[str, Any]) -> Row:
    width = Estimate(row["width"], reason="nothing is judged yet")
    cells: tuple[Cell, ...] = (
        row["labels"], row["sessions"], row["labels_so_far"], Share(row["coverage"]), width,
    )  # fmt: skip
    return Row(GOALS[row["goal"]], visible(row["query"]), cells)


def _reading(run: Run, own: pl.DataFrame) -> tuple[str, ...]:
    if run.headline is None or own.is_empty():
        return ("No shown result is left to judge in the queries of this log.",)
    by_goal = {goal: own.filter(goal=goal) for goal in GOALS}
    sentences = [
        _goal_sentence(run.headline, run, rows, goal) for goal, rows in by_goal.items() if rows.height
    ]
    return (*sentences, HOW)


def _goal_sentence(sample: SampleKey, run: Run, rows: pl.DataFrame, goal: str) -> str:
    last = rows.head(SHOWN).row(-1, named=True)
    now = sample.rows(run.frames["statistics"])["coverage"][0]
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
