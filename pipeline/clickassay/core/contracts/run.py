"""The tables of a run folder (method 10): columns, types, grain and meaning."""

import polars as pl

from clickassay.core.contracts import clicks, correlation
from clickassay.core.contracts.columns import MARKET, N_CONFIGURATIONS, N_QUERIES, N_SESSIONS, QUERY, SAMPLE
from clickassay.core.contracts.conventions import CONVENTIONS
from clickassay.core.contracts.experiments import (
    EXPERIMENT_CHECKS,
    EXPERIMENT_JUDGES,
    EXPERIMENT_PREFERENCES,
    EXPERIMENT_TO_JUDGE,
    EXPERIMENTS,
)
from clickassay.core.contracts.findings import CLAIMS, RANKING, SIGNAL_CORRELATIONS, VERDICT
from clickassay.core.contracts.form import Column, Table
from clickassay.core.contracts.judges import AGREEMENT, CONFUSION, JUDGE_COMPARISONS, JUDGE_DISAGREEMENTS
from clickassay.core.contracts.judgments import NEXT_JUDGMENTS, UNJUDGED
from clickassay.core.contracts.patterns import FUNNEL, OUTCOMES, PATTERNS, SHOWN, SIGNALS

STATISTICS = Table(
    "statistics",
    "one row per market, depth and judge",
    ("market", "depth", "judge"),
    *SAMPLE,
    N_QUERIES,
    N_CONFIGURATIONS,
    N_SESSIONS,
    Column("n_all_sessions", pl.Int64, "all sessions of the market, judged or not"),
    Column("coverage", pl.Float64, "n_sessions / n_all_sessions; 0..1"),
    Column("first_day", pl.Date, "first day of the log (UTC)"),
    Column("last_day", pl.Date, "its last day"),
)

CONFIGURATIONS = Table(
    "configurations",
    "one row per market, depth, judge and configuration",
    ("market", "depth", "judge", "configuration_id"),
    *SAMPLE,
    Column("configuration_id", pl.String, "md5 of market, query and the top-k results"),
    QUERY,
    Column("results", pl.List(pl.String), "top-k normalised URLs, best first"),
    Column("grades", pl.List(pl.Int8), "grade of each result; 0..g_max"),
    N_SESSIONS,
    more_floats=True,
)


HEALTH_CHECKS = Table(
    "health",
    "one row per check of the log and its judgments",
    ("check",),
    Column("check", pl.String, "name of the check"),
    Column("status", pl.String, "ok; caution, finding or stop if the check fails; too few: not enough rows"),
    Column("value", pl.Float64, "number that is checked; null with too few rows"),
    Column("threshold", pl.Float64, "the threshold"),
    Column("sentence", pl.String, "the problem, or why there are too few rows; '' if neither"),
    Column("remedy", pl.String, "what to do; '' if nothing"),
    Column("example", pl.String, "data that show it; '' if none is known"),
)


RUN_QUERIES = Table(
    "queries",
    "one row per market and query: with a judged configuration, or among those to judge next",
    ("market", "query"),
    MARKET,
    QUERY,
    Column(
        "users_at_least",
        pl.Int32,
        "lower bound of the distinct users who issued it: set bits of user_buckets; 0..64",
    ),
    Column("query_group", pl.String, "its group in the table of queries, or null"),
    Column("digest", pl.String, "its name in reports that may not show it; 6 hex digits"),
)


ANALYSED_TABLES = (
    STATISTICS, FUNNEL, HEALTH_CHECKS, CONFIGURATIONS, PATTERNS, SHOWN, SIGNALS, OUTCOMES, RUN_QUERIES,
    correlation.CORRELATIONS, correlation.DIFFERENCES, correlation.DRAWS, correlation.COMPARISONS,
    correlation.DIFFERENCE_COMPARISONS, correlation.WITHIN, correlation.WITHIN_COMPARISONS,
    correlation.INFLUENCE, correlation.WITHIN_INFLUENCE, clicks.CASCADE_EFFECTS,
    AGREEMENT, CONFUSION, JUDGE_COMPARISONS, JUDGE_DISAGREEMENTS,
    clicks.CLICK_MODELS, clicks.CLICK_POSITIONS, clicks.CLICK_HELD_OUT,
    clicks.CLICK_CALIBRATION, clicks.CLICK_GRADES, clicks.POSITION_BIAS,
    UNJUDGED, NEXT_JUDGMENTS, CONVENTIONS,
)  # fmt: skip
"""The tables of a run that come from its log and its judgments."""

RUN_TABLES = (*ANALYSED_TABLES, RANKING, CLAIMS, VERDICT, SIGNAL_CORRELATIONS)
"""The tables of a run folder: each as ``<name>.parquet`` and in ``run.duckdb`` (method 10)."""

TABLES_OF_TESTS = (
    EXPERIMENTS, EXPERIMENT_CHECKS, EXPERIMENT_JUDGES, EXPERIMENT_TO_JUDGE, EXPERIMENT_PREFERENCES,
)  # fmt: skip
"""The tables that a run has besides, if its log has A/B tests; read without rows if it has none."""

LAYOUT = 13
"""Number of the layout of a run folder, in its settings.json: one more when a table, a column or a setting
comes or gets another name, so that nothing reads a run by names that it does not have. Layout 1 recorded
no number; 2 had no table `health`, 3 no `judge_disagreements`, 4 no
simultaneous intervals, 5 no findings, 6 no correlations within queries, 7 no errors of differences,
8 no groups of queries, 9 no signals, 10 no position bias, 12 no held-out rankings."""

ANOTHER_LAYOUT = (
    "was made by another version of clickassay: "
    "make the run again with `clickassay run` or `clickassay report`"
)
"""What a refusal says of a run of another layout."""
