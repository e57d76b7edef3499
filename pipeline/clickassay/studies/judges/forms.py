"""Tables of judges compared that a run does not have: columns, types, grain and meaning."""

import polars as pl

from clickassay.core.contracts.columns import CAUTION, INTERVAL, with_interval
from clickassay.core.contracts.form import Column, Table
from clickassay.core.contracts.judges import JUDGES

SHARES = Table(
    "grades",
    "one row per judge and grade: how often the judge gave it",
    ("judge", "grade"),
    Column("judge", pl.String, "a judge"),
    Column("grade", pl.Int8, "the grade"),
    Column("rows", pl.Int64, "results with it"),
    Column("share", pl.Float64, "their share of the results of the judge; 0..1"),
)

BIAS = Table(
    "bias",
    "one row per pair of judges and group of results: by mean grade, by place in the file, by class of query",
    ("judge_a", "judge_b", "by", "part"),
    *JUDGES,
    Column("by", pl.String, "what groups results: mean_grade, quarter, or a class of queries"),
    Column("part", pl.String, "the group; of mean_grade, the least mean of both grades: 1 has 1 and 1.5"),
    Column("mean_difference", pl.Float64, "mean grade of judge_b minus judge_a"),
    *INTERVAL,
    Column("p_adjusted", pl.Float64, "test against the other groups (Holm); null by mean_grade"),
    *with_interval("kappa_quadratic", "quadratic kappa in the group; null by mean_grade"),
    Column("n_results", pl.Int64, "results that both judged"),
    Column("n_queries", pl.Int64, "their queries"),
    CAUTION,
)
_MEASURE = Column("measure", pl.String, "the measure, all its parameters spelled out")
RANKINGS = Table(
    "rankings",
    "one row per pair of judges and measure: whether they put runs in the same order",
    ("judge_a", "judge_b", "measure"),
    *JUDGES,
    _MEASURE,
    *with_interval("tau", "Kendall's tau of the means under both; -1..1", ends=" (every pair at once)"),
    *with_interval("tau_ap", "tau_AP: the same, the top counting more", ends=" (every pair at once)"),
    Column("pairs", pl.Int64, "pairs of runs"),
    Column("same", pl.Int64, "pairs that differ significantly under both, in the same direction"),
    Column("opposite", pl.Int64, "pairs that differ significantly under both, in opposite directions"),
    Column("only_a", pl.Int64, "pairs that differ significantly under judge_a alone"),
    Column("only_b", pl.Int64, "pairs that differ significantly under judge_b alone"),
    Column("changed", pl.Int64, "pairs whose difference changes significantly with the judge"),
    Column("n_runs", pl.Int64, "runs"),
    Column("n_queries", pl.Int64, "queries with results that both judged"),
    CAUTION,
)
RANKING_PAIRS = Table(
    "ranking_pairs",
    "one row per pair of judges, measure and two runs",
    ("judge_a", "judge_b", "measure", "baseline", "run"),
    *JUDGES,
    _MEASURE,
    *(
        Column("baseline", pl.String, "the first run"),
        Column("run", pl.String, "the run that is compared with it"),
    ),
    Column("difference_a", pl.Float64, "mean of the run - mean of the baseline, by judge_a"),
    Column("p_holm_a", pl.Float64, "its paired t test, after Holm's correction over the pairs of runs"),
    Column("difference_b", pl.Float64, "the same difference by judge_b"),
    Column("p_holm_b", pl.Float64, "its test"),
    Column("change", pl.Float64, "difference_b - difference_a"),
    Column("ci_low", pl.Float64, "lower end of the 95% CI of the change, over queries"),
    Column("ci_high", pl.Float64, "upper end of it"),
    Column("p_holm", pl.Float64, "test of no change, after Holm's correction over the pairs of runs"),
)
