"""The tables of results without a judgment: correlations with their grades filled, and what to judge next."""

import polars as pl

from clickassay.core.contracts.columns import CORRELATION, COUNTS, METRICS, QUERY, REASON, SAMPLE
from clickassay.core.contracts.form import Column, Table

NEXT_JUDGMENTS = Table(
    "next_judgments",
    "one row per market, depth, judge, goal and rank: a query whose judgments are worth most a label",
    ("market", "depth", "judge", "goal", "rank"),
    *SAMPLE,
    Column("goal", pl.String, "coverage: most sessions; interval: narrower intervals of correlations"),
    Column("rank", pl.Int32, "1 = worth most a label; at most 200"),
    QUERY,
    Column("urls", pl.List(pl.String), "results to judge: of its most frequent lists"),
    Column("labels", pl.Int64, "their number"),
    Column("sessions", pl.Int64, "sessions then judged in full"),
    Column("labels_so_far", pl.Int64, "labels of this and lower ranks"),
    Column("coverage", pl.Float64, "share of the market's sessions judged after these; 0..1"),
    Column("width", pl.Float64, "width of intervals after these, relative to now; above 0"),
)


UNJUDGED = Table(
    "unjudged",
    "one row per market, depth, judge, rule, click metric and offline metric: the overall correlation "
    "when results without a grade get one; no rows unless a rule is asked for",
    ("market", "depth", "judge", "rule", "click_metric", "editorial_metric"),
    *SAMPLE,
    Column("rule", pl.String, "drop: rankings with unjudged results are excluded; zero, model, best: filled"),
    *METRICS,
    *CORRELATION,
    *COUNTS,
    Column("coverage", pl.Float64, "n_sessions / all sessions of the market; 0..1"),
    Column("filled", pl.Float64, "share of their results with a filled grade; 0..1"),
    REASON,
)
