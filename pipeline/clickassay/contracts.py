"""The tables between the stages: columns, types, grain and meaning. No engine here."""

import polars as pl

from clickassay.contract_columns import (
    CAUTION,
    CLICK,
    DEPTH,
    EDITORIAL,
    JUDGE,
    MARKET,
    N_CONFIGURATIONS,
    N_QUERIES,
    N_SESSIONS,
    QUERY,
    REASON,
    TESTED,
    interval,
    noise_corrected,
)
from clickassay.contracts_active import NEXT_JUDGMENTS
from clickassay.contracts_audit import CONVENTIONS
from clickassay.contracts_clicks import CLICK_GRADES, CLICK_MODELS, CLICK_POSITIONS, UNJUDGED
from clickassay.table_form import Column, Table

EVERY = "all"
"""The value of market, judge, split or class where a table is not split by it."""

CLICK_METRICS = ("UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS", "QCTR")
"""Click metrics in the order of reports; QCTR last (contract 5)."""

EDITORIAL_METRICS = ("DCG", "NDCG", "AP", "RR", "ERR", "RBP")
"""Editorial metrics in the order of reports (contract 6); variants such as ``AP(rel=2)`` follow them."""

BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
"""Plain metrics that any other must beat: the first knows no order, the others only the first result."""

FUNNEL = Table(
    "funnel",
    "one row per source, market, depth, judge, step and reason",
    (
        Column("source", pl.String, "what the rows are: searches, clicks, sessions or judgments"),
        MARKET,
        Column("depth", pl.Int32, "k, or 0 where the step does not depend on it"),
        JUDGE,
        Column("step", pl.String, "step of the funnel, in the words of docs/funnel"),
        Column("reason", pl.String, "why rows leave at this step; '' for rows that go on"),
        Column("rows", pl.Int64, "number of rows"),
    ),
    ("source", "market", "depth", "judge", "step", "reason"),
)

PATTERN_CONFIGURATIONS = Table(
    "configurations",
    "one row per configuration of the log, judged or not",
    (
        Column("configuration_id", pl.String, "md5 (32 hex digits) of market, query and ordered results"),
        MARKET,
        QUERY,
        Column("results", pl.List(pl.String), "normalised URLs, best first, at most the stored depth"),
    ),
    ("configuration_id",),
)

PATTERNS = Table(
    "patterns",
    "one row per configuration, fold and click pattern",
    (
        Column("configuration_id", pl.String, "id of the configuration"),
        Column("fold", pl.Int32, "digest(user) mod F; 0 when the run keeps no folds"),
        Column("click_mask", pl.Int64, "bit (p-1) set = position p clicked"),
        Column("sessions", pl.Int64, "sessions with this pattern"),
    ),
    ("configuration_id", "fold", "click_mask"),
)

PATTERN_QUERIES = Table(
    "queries",
    "one row per market and query of the log",
    (
        MARKET,
        QUERY,
        Column("user_buckets", pl.UInt64, "bit-or over sessions of 1 << (digest(user) mod 64)"),
    ),
    ("market", "query"),
)

STATISTICS = Table(
    "statistics",
    "one row per market, depth and judge (Table 1 of Chapelle et al. 2009)",
    (
        MARKET,
        DEPTH,
        JUDGE,
        N_QUERIES,
        N_CONFIGURATIONS,
        N_SESSIONS,
        Column("n_all_sessions", pl.Int64, "all sessions of the market, judged or not"),
        Column("coverage", pl.Float64, "n_sessions / n_all_sessions; 0..1"),
    ),
    ("market", "depth", "judge"),
)

CONFIGURATIONS = Table(
    "configurations",
    "one row per market, depth, judge and judged configuration",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("configuration_id", pl.String, "md5 of market, query and the top-k results"),
        QUERY,
        Column("results", pl.List(pl.String), "top-k normalised URLs, best first"),
        Column("grades", pl.List(pl.Int8), "grade of each result; 0..g_max"),
        N_SESSIONS,
    ),
    ("market", "depth", "judge", "configuration_id"),
    more_floats=True,
)

CORRELATIONS = Table(
    "correlations",
    "one row per market, depth, judge, split, class, click metric and editorial metric",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("split", pl.String, "how queries are split: all, length, frequency, navigational, ..."),
        Column("class", pl.String, "class of the split; 'all' for the overall rows"),
        CLICK,
        EDITORIAL,
        Column("correlation", pl.Float64, "weighted Pearson correlation over configurations; -1..1"),
        *interval("the correlation"),
        *noise_corrected("the correlation"),
        Column("null_correlation", pl.Float64, "the correlation if masks ignored grades: 0 but for SS"),
        N_CONFIGURATIONS,
        N_QUERIES,
        N_SESSIONS,
        REASON,
        CAUTION,
    ),
    ("market", "depth", "judge", "split", "class", "click_metric", "editorial_metric"),
)

DIFFERENCES = Table(
    "differences",
    "one row per market, depth, judge, click metric and editorial metric (Algorithm 3)",
    (
        MARKET,
        DEPTH,
        JUDGE,
        CLICK,
        EDITORIAL,
        Column("monte_carlo", pl.Float64, "Pearson correlation of (dE, dC) over the iterations; -1..1"),
        Column("monte_carlo_se", pl.Float64, "its standard error, (1 - r^2) / sqrt(iterations)"),
        Column("exact", pl.Float64, "closed form: the limit of endless iterations; -1..1"),
        *interval("the closed form"),
        *noise_corrected("the closed form"),
        Column("sign_agreement", pl.Float64, "1/2 + asin(exact)/pi; 0..1"),
        N_QUERIES,
        N_CONFIGURATIONS,
        REASON,
        CAUTION,
    ),
    ("market", "depth", "judge", "click_metric", "editorial_metric"),
)

COMPARISONS = Table(
    "comparisons",
    "one row per market, depth, judge, click metric and pair of editorial metrics",
    (
        MARKET,
        DEPTH,
        JUDGE,
        CLICK,
        Column("metric_a", pl.String, "an editorial metric"),
        Column("metric_b", pl.String, "another editorial metric"),
        Column("difference", pl.Float64, "correlation of metric_a minus correlation of metric_b"),
        *interval("the difference"),
        *TESTED,
    ),
    ("market", "depth", "judge", "click_metric", "metric_a", "metric_b"),
)

INFLUENCE = Table(
    "influence",
    "one row per market, depth, judge, click metric, editorial metric, side and rank: the queries that "
    "move a correlation most",
    (
        MARKET,
        DEPTH,
        JUDGE,
        CLICK,
        EDITORIAL,
        Column("side", pl.String, "'raises' or 'lowers': what the query does to the correlation"),
        Column("rank", pl.Int32, "1 = the query that does so most; at most 5 of each side"),
        QUERY,
        N_SESSIONS,
        Column("without", pl.Float64, "the correlation without this query; null if there is none"),
        Column("without_these", pl.Float64, "the same without this and all of lower rank of its side"),
        Column("error_share", pl.Float64, "part of the correlation's squared error due to it; 0..1"),
    ),
    ("market", "depth", "judge", "click_metric", "editorial_metric", "side", "rank"),
)

RUN_QUERIES = Table(
    "queries",
    "one row per market and query with a judged configuration, or among those to judge next",
    (
        MARKET,
        QUERY,
        Column(
            "users_at_least",
            pl.Int32,
            "set bits of user_buckets: a lower bound of the distinct users who issued it; 0..64",
        ),
        Column("digest", pl.String, "what stands for it in a report that may not name it; 6 hex digits"),
    ),
    ("market", "query"),
)

DRAWS = Table(
    "draws",
    "one row per market, depth, judge and iteration of Algorithm 3",
    (MARKET, DEPTH, JUDGE, Column("iteration", pl.Int32, "number of the iteration; 1 = first")),
    ("market", "depth", "judge", "iteration"),
    more_floats=True,
)


def _place(side: str, where: str) -> tuple[Column, ...]:
    """Return what is said of a result's clicks in one of the places that are compared."""
    return (
        Column(f"position_{side}", pl.Int32, f"its position {where}; 1..k"),
        Column(f"sessions_{side}", pl.Int64, "sessions of all configurations that show it so; at least 20"),
        Column(f"ctr_{side}", pl.Float64, "clicks on it / these sessions; 0..1"),
        Column(f"average_ctr_{side}", pl.Float64, "CTR of this position over all judged configurations"),
        Column(f"configuration_{side}", pl.String, "id of that of these with most sessions"),
    )


COLLAPSES = Table(
    "collapses",
    "one row per market, depth, judge and rank: a result whose clicks collapse under a better one",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("rank", pl.Int32, "1 = the largest least_excess; at most 20, each of another query"),
        QUERY,
        Column("url", pl.String, "normalised URL of the result"),
        Column("grade", pl.Int8, "its grade; 0..g_max"),
        *_place("alone", "where no result above it has a higher grade"),
        Column("better_url", pl.String, "the result of highest grade above it elsewhere, the first of these"),
        Column("better_grade", pl.Int8, "grade of the better result; above `grade`"),
        Column("better_position", pl.Int32, "position of the better result; 1..position_below - 1"),
        *_place("below", "below the better result"),
        Column("least_excess", pl.Float64, "times its CTR falls more than the average's, at least; above 1"),
    ),
    ("market", "depth", "judge", "rank"),
)

_JUDGES = (
    Column("judge_a", pl.String, "a source of judgments"),
    Column("judge_b", pl.String, "another source, later in the alphabet"),
)

AGREEMENT = Table(
    "agreement",
    "one row per market and pair of judges: how far they agree on what both judged",
    (
        MARKET,
        *_JUDGES,
        Column("n_queries", pl.Int64, "queries of the log with results that both judged"),
        Column("n_results", pl.Int64, "pairs of query and URL that both judged"),
        Column("equal", pl.Float64, "share of them with the same grade; 0..1"),
        Column("mean_difference", pl.Float64, "mean of grade of judge_a minus grade of judge_b"),
        Column("kappa", pl.Float64, "Cohen's kappa: agreement beyond chance; at most 1"),
        Column("kappa_linear", pl.Float64, "the same, a miss counting by its distance"),
        Column("kappa_quadratic", pl.Float64, "the same, a miss counting by its squared distance"),
        *interval("kappa_quadratic"),
        CAUTION,
    ),
    ("market", "judge_a", "judge_b"),
)

CONFUSION = Table(
    "confusion",
    "one row per market, pair of judges and pair of grades: how often one gave this and the other that",
    (
        MARKET,
        *_JUDGES,
        Column("grade_a", pl.Int8, "grade of judge_a"),
        Column("grade_b", pl.Int8, "grade of judge_b"),
        Column("rows", pl.Int64, "pairs of query and URL"),
    ),
    ("market", "judge_a", "judge_b", "grade_a", "grade_b"),
)

JUDGE_COMPARISONS = Table(
    "judge_comparisons",
    "one row per market, depth, click metric, editorial metric and pair of judges: whose grades make the "
    "metric predict clicks better, on the configurations that both judged",
    (
        MARKET,
        DEPTH,
        CLICK,
        EDITORIAL,
        *_JUDGES,
        Column("correlation_a", pl.Float64, "correlation with grades of judge_a; -1..1"),
        Column("correlation_b", pl.Float64, "correlation with grades of judge_b; -1..1"),
        Column("difference", pl.Float64, "correlation_a minus correlation_b"),
        *interval("the difference"),
        *TESTED,
        N_CONFIGURATIONS,
        N_SESSIONS,
    ),
    ("market", "depth", "click_metric", "editorial_metric", "judge_a", "judge_b"),
)

RUN_TABLES = (
    STATISTICS,
    FUNNEL,
    CONFIGURATIONS,
    PATTERNS,
    RUN_QUERIES,
    CORRELATIONS,
    DIFFERENCES,
    DRAWS,
    COMPARISONS,
    INFLUENCE,
    COLLAPSES,
    AGREEMENT,
    CONFUSION,
    JUDGE_COMPARISONS,
    CLICK_MODELS,
    CLICK_POSITIONS,
    CLICK_GRADES,
    UNJUDGED,
    NEXT_JUDGMENTS,
    CONVENTIONS,
)
"""The tables of a run folder, each as ``<name>.parquet`` and in ``run.duckdb`` (contract 10)."""
