"""The tables of correlations, of two rankers, of comparisons and of influence."""

import polars as pl

from clickassay.core.contracts import columns
from clickassay.core.contracts.form import Column, Table

SPLIT = Column("split", pl.String, "how queries are split: all, length, frequency, navigational, ...")
CLASS = Column("class", pl.String, "class of the split; 'all' for the overall rows")
NULL_CORRELATION = Column(
    "null_correlation", pl.Float64, "the correlation if masks ignored grades: 0 but for SS"
)

CORRELATIONS = Table(
    "correlations",
    "one row per market, depth, judge, split, class, click metric and offline metric",
    ("market", "depth", "judge", "split", "class", "click_metric", "editorial_metric"),
    *columns.SAMPLE,
    SPLIT,
    CLASS,
    *columns.METRICS,
    *columns.CORRELATION,
    *columns.noise_corrected("the correlation"),
    *columns.P_VALUES,
    *columns.SIMULTANEOUS,
    NULL_CORRELATION,
    *columns.COUNTS,
    columns.REASON,
    columns.CAUTION,
)

DIFFERENCES = Table(
    "differences",
    "one row per market, depth, judge, click metric and offline metric",
    ("market", "depth", "judge", "click_metric", "editorial_metric"),
    *columns.SAMPLE,
    *columns.METRICS,
    Column("monte_carlo", pl.Float64, "Pearson correlation of (dE, dC) over the iterations; -1..1"),
    Column("monte_carlo_se", pl.Float64, "its standard error, (1 - r^2) / sqrt(iterations)"),
    Column("exact", pl.Float64, "closed form: the limit of infinitely many iterations; -1..1"),
    *columns.INTERVAL,
    *columns.noise_corrected("the closed form"),
    *columns.P_VALUES,
    *columns.SIMULTANEOUS,
    Column("sign_agreement", pl.Float64, "1/2 + asin(exact)/pi; 0..1"),
    columns.N_QUERIES,
    columns.N_CONFIGURATIONS,
    columns.REASON,
    columns.CAUTION,
)


def _compared(name: str, difference: str, *more: Column) -> Table:
    return Table(
        name,
        "one row per market, depth, judge, click metric and pair of offline metrics",
        ("market", "depth", "judge", "click_metric", "metric_a", "metric_b"),
        *columns.SAMPLE,
        columns.CLICK,
        Column("metric_a", pl.String, "an offline metric"),
        Column("metric_b", pl.String, "another offline metric"),
        Column("difference", pl.Float64, difference),
        *columns.INTERVAL,
        *columns.SIMULTANEOUS,
        *columns.SPREAD,
        *columns.TESTED,
        *more,
    )


COMPARISONS = _compared("comparisons", "correlation of metric_a minus that of metric_b")
DIFFERENCE_COMPARISONS = _compared("difference_comparisons", "closed form of metric_a minus that of metric_b")

WITHIN = Table(
    "within",
    "one row per market, depth, judge, split, class, click metric and offline metric",
    CORRELATIONS.key,
    *columns.SAMPLE,
    SPLIT,
    CLASS,
    *columns.METRICS,
    Column("correlation", pl.Float64, "correlation within queries; -1..1"),
    *columns.INTERVAL,
    *columns.noise_corrected("the correlation"),
    *columns.P_VALUES,
    *columns.SIMULTANEOUS,
    NULL_CORRELATION,
    Column(
        "ceiling",
        pl.Float64,
        "highest possible correlation with such noise; null where a correlation is above",
    ),
    Column("sign_agreement", pl.Float64, "1/2 + asin(correlation)/pi; 0..1"),
    Column("periods", pl.Int32, "periods whose effect is removed"),
    Column("user_folds", pl.Int32, "folds of users whose effect is removed"),
    Column("taken_out", pl.Int32, "independent shares of lists whose effect is removed"),
    Column("moments", pl.Float64, "in how many ways lists changed over time; 1: all at one moment"),
    Column("side_by_side", pl.Float64, "part of the metric's spread within a period; 0..1"),
    *columns.COUNTS,
    columns.REASON,
    columns.CAUTION,
)

ADDED = (
    *columns.with_interval(
        "partial", "correlation of the metric with clicks, controlling for a baseline; null without one"
    ),
    Column("partial_p_value", pl.Float64, "its two-sided p-value; 0..1"),
)

WITHIN_COMPARISONS = _compared(
    "within_comparisons", "within-query correlation of metric_a minus that of metric_b", *ADDED
)

_INFLUENTIAL = (
    *columns.SAMPLE,
    *columns.METRICS,
    Column("side", pl.String, "'raises' or 'lowers': what the query does to the correlation"),
    Column("rank", pl.Int32, "1 = does so most; at most 5 of each side"),
    columns.QUERY,
    columns.N_SESSIONS,
    Column("without", pl.Float64, "the correlation without this query"),
    Column("without_these", pl.Float64, "the same without this and lower ranks of its side"),
    Column("error_share", pl.Float64, "its part of the correlation's squared error; 0..1"),
)
_INFLUENCE_KEY = ("market", "depth", "judge", "click_metric", "editorial_metric", "side", "rank")

INFLUENCE = Table(
    "influence",
    "one row per market, depth, judge, click metric, offline metric, side and rank: the queries that "
    "move a correlation most; for a group stands its query with most sessions",
    _INFLUENCE_KEY,
    *_INFLUENTIAL,
)

WITHIN_INFLUENCE = Table(
    "within_influence",
    "the same of correlations within queries, of each market and of all together",
    _INFLUENCE_KEY,
    *_INFLUENTIAL,
    Column("query_market", pl.String, "the market of the query"),
)


DRAWS = Table(
    "draws",
    "one row per market, depth, judge and iteration",
    ("market", "depth", "judge", "iteration"),
    *columns.SAMPLE,
    Column("iteration", pl.Int32, "1 = first"),
    more_floats=True,
)
