"""The health of a log and its judgments: the numbers of its checks, gathered from the tables of a run."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import ClickassayError
from clickassay.core.settings import Settings
from clickassay.core.text import listed
from clickassay.health.checks import HealthCheck, Measured, checks_with, compared
from clickassay.health.examples import click_examples
from clickassay.health.judgment_checks import judgment_checks, order_check
from clickassay.health.list_checks import list_checks
from clickassay.health.log_checks import log_checks
from clickassay.jobs.patterns import read_log
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.shown import clicks_by_position
from clickassay.logs.log import LocalHalf, Log
from clickassay.metrics.clicks import counted_clicks
from clickassay.patterns.lists import LogLists
from clickassay.patterns.table import StagedTable

HEALTH_FILE = "health.json"
"""File of a run folder: the rows of its table `health`."""
_FIRST_GRADE = "MeanGrade@1"
_FEW_QUERIES = 20
"""Correlations over fewer queries do not show which way a scale runs."""
_OF_CLICKS = ("lost_clicks", "unmatched_clicks", "late_clicks", "clicks_elsewhere")


def log_health(
    table: StagedTable, settings: Settings, examples: Mapping[str, str] | None = None
) -> tuple[HealthCheck, ...]:
    """Return the checks of a log alone: of its clicks, days, minutes and users."""
    return compared(
        log_checks(table.funnel, table.health, examples or {}), checks_with(settings.health_limit)
    )


def run_health(
    table: StagedTable,
    lists: LogLists,
    graded: Judgments,
    judged: pl.DataFrame,
    correlations: pl.DataFrame,
    settings: Settings,
    examples: Mapping[str, str],
) -> tuple[HealthCheck, ...]:
    """Return all checks of a run.

    Parameters
    ----------
    table, lists
        The pattern table, and its lists.
    graded, judged
        Usable judgments, and the queries that they name, as of `judged_queries`.
    correlations
        The run's table of this name.
    examples
        What shows a check's number, as of `examples_of`.
    """
    positions = list(clicks_by_position(lists, table.stored_depth))
    queries = pl.concat(table.queries)
    in_log = graded.grades.select(graded.query_key).unique().height
    named = judged.select(graded.query_key).unique().height
    found = [
        *log_checks(table.funnel, table.health, examples),
        *list_checks(lists, positions, table.stored_depth),
        *judgment_checks(graded.grades, settings.max_grade, named if queries.height else 0, in_log),
        *_order_check(correlations, graded.grades["grade"], counted_clicks(settings)[0]),
    ]
    return compared(found, checks_with(settings.health_limit))


def _order_check(correlations: pl.DataFrame, grades: pl.Series, click_metric: str) -> list[Measured]:
    rows = correlations.filter(
        pl.col("split") == EVERY,
        pl.col("editorial_metric") == _FIRST_GRADE,
        pl.col("click_metric") == click_metric,
    ).drop_nulls("correlation")
    rows = rows.filter(pl.col("n_queries") >= _FEW_QUERIES)
    if rows.is_empty():
        return []
    row = rows.sort("n_sessions", descending=True, maintain_order=True).row(0, named=True)
    seen = listed(map(str, grades.unique().sort().to_list()))
    labels = f"the grades seen are {seen}, taken as worst to best"
    return list(order_check(row["correlation"], row["ci_low"], row["ci_high"], labels))


def examples_of(
    searches: str | Path, clicks: str | Path, table: StagedTable, settings: Settings
) -> dict[str, str]:
    """Look for rows of the log that show what is wrong, if a check of its clicks fires; else nothing is read.

    A log that only an engine reaches has no examples.
    """
    if not _clicks_are_lost(table, settings):
        return {}
    try:
        log = read_log(searches, clicks)
    except ClickassayError:  # files that only an engine reaches
        return {}
    return examples_in(log, table, settings)


def examples_in(log: Log[LocalHalf], table: StagedTable, settings: Settings) -> dict[str, str]:
    """Do the same with a log that is open."""
    if not _clicks_are_lost(table, settings):
        return {}
    rows = int(table.funnel.filter(source="clicks", step="read")["rows"].sum())
    idle_ms = settings.idle_ms
    return click_examples(log.searches.frame, log.clicks.frame, rows, idle_ms, by_url=log.by_url)


def _clicks_are_lost(table: StagedTable, settings: Settings) -> bool:
    return any(one.fires and one.check in _OF_CLICKS for one in log_health(table, settings))
