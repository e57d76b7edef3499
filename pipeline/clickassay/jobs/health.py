"""The health of a log and its judgments: the numbers of its checks, gathered from the tables of a run."""

from collections.abc import Callable

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.settings import Settings
from clickassay.correlation.classes import has_groups
from clickassay.findings.run import largest_samples
from clickassay.health import measures
from clickassay.health.checks import HealthCheck, Numbers, checked, checks_with, fired, health_table
from clickassay.health.examples import click_examples, merged_example
from clickassay.inputs.types import UTC
from clickassay.judgments.alike import groups_of_queries
from clickassay.judgments.join import clicks_by_position, named_results, rows_of_judge, rows_of_numbers
from clickassay.judgments.prepare import Judgments
from clickassay.logs.log import LocalHalf, Log
from clickassay.metrics.clicks import counted_clicks
from clickassay.patterns.funnel import MERGED
from clickassay.patterns.lists import LogLists
from clickassay.patterns.table import StagedTable

Checked = Callable[[tuple[HealthCheck, ...]], object]
"""Is handed the checks of a log that fire, once its pattern table is made."""
HEALTH_FILE = "health.json"
"""File of a run folder: the rows of its table `health`."""
_FIRST_GRADE = "MeanGrade@1"
_FEW_QUERIES = 20
"""Correlations over fewer queries do not show which way a scale runs."""
_OF_CLICKS = {"lost_clicks", "unmatched_clicks", "late_clicks", "clicks_elsewhere"}


def log_measures(table: StagedTable, settings: Settings, log: Log[LocalHalf] | None = None) -> Numbers:
    """Return the numbers of a log alone: of its clicks, days, minutes and users.

    log: the log, if it is open: where a check of clicks or lists fires, rows that show it are looked for.
    """
    numbers = dict(measures.log_numbers(table.funnel, table.health))
    if table.info.get("settings", {}).get("time_zone", settings.time_zone) == UTC:  # another was given
        numbers |= measures.zone_numbers(table.info.get("mixed_times", {}))
    if log is None:
        return numbers
    fires = {one.check for one in in_order(numbers, settings) if one.fires}
    if fires & _OF_CLICKS:
        frames = log.searches.frame, log.clicks.frame
        numbers |= click_examples(*frames, numbers["clicks"], settings.idle_ms, by_url=log.by_url)
    if "repeated_results" in fires and table.funnel.filter(reason=MERGED).height:
        numbers["merged_example"] = merged_example(log.searches.frame)
    return numbers


def log_findings(
    table: StagedTable, settings: Settings, log: Log[LocalHalf] | None = None
) -> tuple[HealthCheck, ...]:
    """Return the checks of a log alone that fire, findings first; see `log_measures`."""
    return fired(health_table(in_order(log_measures(table, settings, log), settings)))


def in_order(numbers: Numbers, settings: Settings) -> tuple[HealthCheck, ...]:
    """Return what became of the checks, in the order of reports, with the thresholds of the settings."""
    return checked(numbers, checks_with(settings.health_limit))


def run_health(
    log: Numbers,
    table: StagedTable,
    lists: LogLists,
    graded: Judgments,
    named: measures.JudgedLog,
    correlations: pl.DataFrame,
    attributes: pl.DataFrame | None,
    settings: Settings,
) -> tuple[HealthCheck, ...]:
    """Return all checks of a run: those of `whole_health`, and which way the scale runs.

    graded, named: usable judgments, and what they and the log name: see `judged_log`.
    """
    labels = settings.scale if len(settings.scale) == settings.max_grade + 1 else ()
    words = measures.order_words(graded.grades["grade"], labels) if graded.grades.height else ""
    numbers = {
        **log,
        **_list_measures(table, lists),
        **measures.join_numbers(named, lists),
        **measures.judgment_numbers(graded.grades["grade"], settings.max_grade),
        **_order_measures(correlations, words, counted_clicks(settings)[0]),
    }
    if not has_groups(attributes):
        numbers |= _alike_measures(named)
    if attributes is not None:
        numbers |= measures.attribute_numbers(attributes, pl.concat(table.queries), lists)
    return in_order(numbers, settings)


def whole_health(
    log: Numbers,
    table: StagedTable,
    lists: LogLists,
    judgments: tuple[Judgments, pl.DataFrame] | None,
    settings: Settings,
) -> tuple[HealthCheck, ...]:
    """Return the checks of a log, its lists and its judgments, but for those that need correlations.

    log: the numbers of the log alone: `log_measures`.
    judgments: usable judgments, and the queries that they name, as of `judged_queries`; None without any.
    """
    numbers = {**log, **_list_measures(table, lists)}
    if judgments is not None:
        named = judged_log(table, lists, *judgments)
        numbers |= measures.join_numbers(named, lists)
        numbers |= measures.judgment_numbers(judgments[0].grades["grade"], settings.max_grade)
        numbers |= _alike_measures(named)
    return in_order(numbers, settings)


def _list_measures(table: StagedTable, lists: LogLists) -> Numbers:
    positions = list(clicks_by_position(lists, table.stored_depth))
    of_lists = measures.list_numbers(lists, positions, table.stored_depth)
    return {**of_lists, **measures.fold_numbers(pl.concat(table.queries))}


def _alike_measures(named: measures.JudgedLog) -> Numbers:
    judged = named.judged.select("query", url="text")
    return measures.alike_numbers(judged["query"].n_unique(), groups_of_queries(judged))


def judged_log(
    table: StagedTable, lists: LogLists, graded: Judgments, judged: pl.DataFrame
) -> measures.JudgedLog:
    """Return what a log and its judgments name; `judged` has the queries of all judgments, usable or not."""
    key = graded.query_key
    # the results that any judge has judged, and their rows as of `rows_of_numbers`
    if len(graded.judges) == 1:
        pairs = graded.grades.select(*key, text="url")
        rows = rows_of_judge(lists, graded, graded.judges[0])
    else:
        pairs = graded.grades.select(*key, "url").unique()
        rows = rows_of_numbers(lists.configurations, lists.results, pairs, key)
        pairs = pairs.rename({"url": "text"})
    of_judged = pairs.select(key).unique()
    # a list with a judged query is kept in full, down to the stored depth
    every = named_results(lists.configurations, lists.results, key).with_columns(row=rows[:-1])
    shown = every.rename({"url": "text"}).join(of_judged, on=key, how="semi")
    if "market" not in key and lists.configurations["market"].n_unique() > 1:
        shown = shown.unique((*key, "text"))
    is_shown = np.zeros(pairs.height + 1, bool)
    is_shown[rows] = True
    return measures.JudgedLog(
        key=key,
        queries=pl.concat(table.queries).select(key).unique(),
        judged_queries=judged.select(key).unique(),
        shown=shown.select(*key, "text"),
        judged=pairs,
        unjudged=shown.filter(pl.col("row") < 0).select(*key, "text").sort(*key, "text"),
        unshown=pairs.filter(~is_shown[:-1]).sort(*key, "text"),
    )


def _order_measures(correlations: pl.DataFrame, labels: str, click_metric: str) -> Numbers:
    rows = correlations.filter(
        split=EVERY, editorial_metric=_FIRST_GRADE, click_metric=click_metric
    ).drop_nulls("correlation")
    queries = int(rows["n_queries"].max() or 0)  # type: ignore[arg-type]
    if queries < _FEW_QUERIES:
        return measures.order_numbers(queries, 0.0, None, 0.0, labels)  # too few to say anything
    rows = rows.filter(pl.col("n_queries") >= _FEW_QUERIES)
    row = largest_samples(rows)[0].rows(rows).row(0, named=True)
    return measures.order_numbers(queries, row["correlation"], row["ci_low"], row["ci_high"], labels)
