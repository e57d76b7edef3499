"""The tables of judges compared: agreement, confusion, whose grades and whose order clicks support."""

import polars as pl

from clickassay.core.contracts import columns
from clickassay.core.contracts.form import Column, Table

JUDGES = (
    Column("judge_a", pl.String, "a judge"),
    Column("judge_b", pl.String, "another judge, in a run later in the alphabet; `all` twice: all judges"),
)

AGREEMENT = Table(
    "agreement",
    "one row per market, pair of judges and measure, and one per alpha of all judges, if there are three or "
    "more: how far they agree on what both judged",
    ("market", "judge_a", "judge_b", "measure"),
    columns.MARKET,
    *JUDGES,
    Column("measure", pl.String, "name of the measure"),
    Column("value", pl.Float64, "its value; null where all grades are the same"),
    *columns.INTERVAL,
    Column("n_results", pl.Int64, "results that both judged, or two or more judges"),
    Column("n_queries", pl.Int64, "their queries"),
    columns.CAUTION,
)

CONFUSION = Table(
    "confusion",
    "one row per market, pair of judges and pair of grades: how often one gave this and the other that",
    ("market", "judge_a", "judge_b", "grade_a", "grade_b"),
    columns.MARKET,
    *JUDGES,
    Column("grade_a", pl.Int8, "grade of judge_a"),
    Column("grade_b", pl.Int8, "grade of judge_b"),
    Column("rows", pl.Int64, "number of results"),
)

JUDGE_COMPARISONS = Table(
    "judge_comparisons",
    "one row per market, depth, click metric, offline metric and pair of judges: whose grades make the "
    "metric predict clicks better, on the configurations that both judged",
    ("market", "depth", "click_metric", "editorial_metric", "judge_a", "judge_b"),
    columns.MARKET,
    columns.DEPTH,
    *columns.METRICS,
    *JUDGES,
    Column("correlation_a", pl.Float64, "correlation with grades of judge_a; -1..1"),
    Column("correlation_b", pl.Float64, "correlation with grades of judge_b; -1..1"),
    Column("difference", pl.Float64, "correlation_a minus correlation_b"),
    *columns.INTERVAL,
    *columns.TESTED,
    columns.N_CONFIGURATIONS,
    columns.N_SESSIONS,
)

JUDGE_DISAGREEMENTS = Table(
    "judge_disagreements",
    "one row per market, depth and pair of judges: whose order clicks support, where the two order "
    "neighbouring results oppositely",
    ("market", "depth", "judge_a", "judge_b"),
    columns.MARKET,
    columns.DEPTH,
    *JUDGES,
    Column("upper_a", pl.Float64, "share of clicks on the upper result where judge_a puts it first"),
    Column("upper_b", pl.Float64, "the same where judge_b puts it first, at the same positions"),
    Column("difference", pl.Float64, "upper_a minus upper_b; -1..1"),
    Column("ci_low", pl.Float64, "lower end of its 95% CI, by excluding queries; null without bound"),
    Column("ci_high", pl.Float64, "upper end of its 95% CI; null without bound"),
    *columns.TESTED,
    Column("n_pairs", pl.Int64, "pairs of results, at a position, ordered oppositely"),
    Column("n_clicks", pl.Int64, "sessions that clicked just one of such a pair"),
    Column("supported", pl.String, "judge whose order clicks support (p_adjusted below 0.05), or null"),
)
