"""What to judge next: the queries whose judgments raise coverage, or narrow intervals, most for a label."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text import number, percent, plural, visible
from clickassay.report.cells import Cell, Estimate, Row, Share
from clickassay.report.model import Run, Section, Table

TITLE = "What to judge next"
SHOWN = 10
"""Queries of each aim that are shown."""

AIMS = {"coverage": "to raise coverage", "interval": "to narrow intervals"}
HEADS = ("Results to judge", "Sessions completed", "Results so far", "Coverage so far", "Interval so far")
NOTE = (
    "Interval so far: width of the intervals of correlations, relative to now, if queries are alike but for "
    "their sessions. Few queries with very many sessions raise coverage and widen intervals."
)
HOW = (
    "The command plan --from writes the results to judge as a sheet, as many as a budget allows. They are "
    "chosen for what they add, not drawn: to evaluate a ranking, draw queries with plan --ranking."
)


def next_judgments_section(run: Run) -> Section:
    """Return the first queries to judge at the headline sample, for both aims."""
    frame, own = run.frames["next_judgments"], run.own_rows("next_judgments")
    named = run.labels.relabel(own)
    table = Table(
        "next_judgments",
        f"Queries that are worth most a label{run.at(*run.own)}",
        "Query",
        HEADS,
        tuple(_row(row) for aim in AIMS for row in named.filter(aim=aim).head(SHOWN).iter_rows(named=True)),
        notes=(NOTE, run.labels.rule) if own.height else (),
        data=run.labels.relabel(frame.drop("urls")),
        group_head="Aim",
    )
    return Section("next_judgments", TITLE, _reading(run, own), tables=(table,) if frame.height else ())


def _row(row: Mapping[str, Any]) -> Row:
    width = Estimate(row["width"], reason="nothing is judged yet")
    cells: tuple[Cell, ...] = (
        row["labels"], row["sessions"], row["labels_so_far"], Share(row["coverage"]), width,
    )  # fmt: skip
    return Row(AIMS[row["aim"]], visible(row["query"]), cells)


def _reading(run: Run, own: pl.DataFrame) -> tuple[str, ...]:
    if run.headline is None or own.is_empty():
        return ("Nothing that is shown is left to judge in the queries of this log.",)
    told = [_told(run.headline, run, own.filter(aim=aim), aim) for aim in AIMS if own.filter(aim=aim).height]
    return (*told, HOW)


def _told(sample: SampleKey, run: Run, rows: pl.DataFrame, aim: str) -> str:
    last = rows.head(SHOWN).row(-1, named=True)
    now = sample.rows(run.frames["statistics"])["coverage"][0]
    results, queries = plural(last["labels_so_far"], "result"), plural(last["rank"], "query", "queries")
    if aim == "coverage":
        return (
            f"At {sample.label}, judging {results} of {queries} would raise coverage from {percent(now)} to "
            f"{percent(last['coverage'])}."
        )
    return (
        f"To narrow intervals, {results} of {queries} would make them {number(last['width'], 2)} times as "
        "wide as they are now."
    )
