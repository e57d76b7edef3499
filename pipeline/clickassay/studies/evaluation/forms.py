"""The tables of an evaluation: columns, types, grain and meaning."""

from collections.abc import Mapping

import polars as pl

from clickassay.core.contracts.form import Column, Table

_RUN = Column("run", pl.String, "name of the run (TREC's word for a file of rankings)")
_PAIR = (
    Column("baseline", pl.String, "the first run"),
    Column("run", pl.String, "the run that is compared with it"),
)
_QUERY = Column("query", pl.String, "name of the query")
_MEASURE = Column("measure", pl.String, "the measure, all its parameters spelled out")
_LOW = Column("ci_low", pl.Float64, "lower end of the 95% CI; null without two queries")
_HIGH = Column("ci_high", pl.Float64, "upper end of the 95% CI; null without two queries")

PER_QUERY = Table(
    "per_query",
    "one row per run, query and measure",
    ("run", "query", "measure"),
    _RUN,
    _QUERY,
    _MEASURE,
    Column("value", pl.Float64, "value of the measure"),
    Column(
        "low",
        pl.Float64,
        "least value over the grades of unjudged results; null unless bounds were asked for",
    ),
    Column("high", pl.Float64, "largest value over them; null unless bounds were asked for"),
)
MEANS = Table(
    "means",
    "one row per run and measure",
    ("run", "measure"),
    _RUN,
    _MEASURE,
    Column("mean", pl.Float64, "mean over the queries"),
    _LOW,
    _HIGH,
    Column("n_queries", pl.Int64, "queries averaged"),
    Column("low", pl.Float64, "mean of the least values; null unless bounds were asked for"),
    Column("high", pl.Float64, "mean of the largest values; null unless bounds were asked for"),
)
COMPARISONS = Table(
    "comparisons",
    "one row per two runs and measure",
    ("baseline", "run", "measure"),
    *_PAIR,
    _MEASURE,
    Column("difference", pl.Float64, "mean of the run - mean of the baseline"),
    _LOW,
    _HIGH,
    Column("p_value", pl.Float64, "paired t test; null where the differences do not vary"),
    Column("p_randomised", pl.Float64, "paired randomisation test"),
    Column("p_holm", pl.Float64, "p_value corrected for all rows of the table"),
    Column("better", pl.Int64, "queries where the run has the larger value"),
    Column("worse", pl.Int64, "queries where it has the smaller value"),
    Column("equal", pl.Int64, "queries where both have the same"),
)
RUNS = Table(
    "runs",
    "one row per run",
    ("run",),
    _RUN,
    Column("queries_judged", pl.Int64, "queries that have judgments"),
    Column("queries_averaged", pl.Int64, "queries that the means are over"),
    Column("queries_missing", pl.Int64, "judged queries that the run lacks"),
    Column("queries_unjudged", pl.Int64, "queries of the run without any judgment: excluded"),
    Column("results", pl.Int64, "results of the queries averaged"),
    Column("results_judged", pl.Int64, "those of them that have a grade"),
)
RECALL_PRECISION = Table(
    "recall_precision",
    "one row per run and level of recall",
    ("run", "recall"),
    _RUN,
    Column("recall", pl.Float64, "level of recall: 0, 0.1, ... 1"),
    Column("precision", pl.Float64, "interpolated precision there, mean over the queries"),
)
GAIN_CURVES = Table(
    "gain_curves",
    "one row per run and rank",
    ("run", "rank"),
    _RUN,
    Column("rank", pl.Int64, "rank, from 1"),
    Column("cg", pl.Float64, "sum of the grades up to the rank, mean over the queries"),
    Column("dcg", pl.Float64, "the same with each grade divided by max(1, log2 of its rank)"),
    Column("ideal_cg", pl.Float64, "cg of the ideal lists: the judged results of a query by falling grade"),
    Column("ideal_dcg", pl.Float64, "dcg of the ideal lists"),
    Column("ncg", pl.Float64, "cg / ideal_cg"),
    Column("ndcg", pl.Float64, "dcg / ideal_dcg"),
)
R_PRECISIONS = Table(
    "r_precision_differences",
    "one row per query, where there are two runs",
    ("baseline", "run", "query"),
    *_PAIR,
    _QUERY,
    Column("difference", pl.Float64, "R-precision of the run - R-precision of the baseline"),
)
_ALONE = {"judge": "by the judge alone, over all its queries", "people": "by people alone, over theirs"}
_SIDES = tuple(
    Column(name, pl.Float64, meaning)
    for side, alone in _ALONE.items()
    for name, meaning in (
        (side, f"the same {alone}"),
        (f"{side}_low", "lower end of its 95% CI"),
        (f"{side}_high", "upper end of its 95% CI"),
    )
)
_CORRECTION = (
    *_SIDES,
    Column("weight", pl.Float64, "slope of values by people against values by the judge"),
    Column("worth", pl.Float64, "queries judged by people alone whose interval would be as wide"),
    Column("n_queries", pl.Int64, "queries that the judge judged"),
    Column("n_both", pl.Int64, "those that people judged too"),
    Column("reason", pl.String, "why nothing is corrected: value, interval, p-values and worth are null"),
)
CORRECTED_MEANS = Table(
    "corrected_means",
    "one row per run and measure, where a judge of more queries is given",
    ("run", "measure"),
    _RUN,
    _MEASURE,
    Column("value", pl.Float64, "mean over the queries of the judge, corrected by people"),
    _LOW,
    _HIGH,
    *_CORRECTION,
)
CORRECTED_COMPARISONS = Table(
    "corrected_comparisons",
    "one row per two runs and measure, where a judge of more queries is given",
    ("baseline", "run", "measure"),
    *_PAIR,
    _MEASURE,
    Column("value", pl.Float64, "mean of the run - mean of the baseline, corrected by people"),
    _LOW,
    _HIGH,
    Column("p_value", pl.Float64, "of no difference"),
    Column("p_holm", pl.Float64, "p_value corrected for all rows of the table"),
    *_CORRECTION,
)
LEADERBOARD = Table(
    "leaderboard",
    "one row per measure and run, the best mean first; where there are three runs or more",
    ("measure", "place"),
    _MEASURE,
    Column("place", pl.Int64, "1 = the best mean"),
    _RUN,
    Column("mean", pl.Float64, "mean over the queries"),
    _LOW,
    _HIGH,
    Column("below_best", pl.Float64, "distance from the best mean; 0 or more"),
    Column("p_best", pl.Float64, "test against the run with the best mean, as in `comparisons`"),
    Column("group", pl.String, "letters; runs that share one are not significantly different"),
)
_CLASS = (
    Column("by", pl.String, "the column of classes"),
    Column("class", pl.String, "the class; `unknown`: queries without one"),
)
_OF_CLASS = Column("n_queries", pl.Int64, "queries of the class")
CLASS_MEANS = Table(
    "class_means",
    "one row per class of queries, run and measure, where classes are given",
    ("by", "class", "run", "measure"),
    *_CLASS,
    _RUN,
    _MEASURE,
    Column("mean", pl.Float64, "mean over its queries"),
    _LOW,
    _HIGH,
    _OF_CLASS,
)
CLASS_COMPARISONS = Table(
    "class_comparisons",
    "one row per class of queries, two runs and measure, where classes are given",
    ("by", "class", "baseline", "run", "measure"),
    *_CLASS,
    *_PAIR,
    _MEASURE,
    Column("difference", pl.Float64, "mean of the run - mean of the baseline, over its queries"),
    _LOW,
    _HIGH,
    Column("p_value", pl.Float64, "paired t test; null where the differences do not vary"),
    Column("p_holm", pl.Float64, "p_value corrected for all rows of the table"),
    _OF_CLASS,
)
ONLY_IF_ASKED = ((LEADERBOARD,), (CLASS_MEANS, CLASS_COMPARISONS), (CORRECTED_MEANS, CORRECTED_COMPARISONS))
"""Tables that are left out together where the first of them has no rows."""

ASKED = tuple(table for group in ONLY_IF_ASKED for table in group)
EVALUATION_TABLES = (RUNS, MEANS, PER_QUERY, COMPARISONS, *ASKED, RECALL_PRECISION, GAIN_CURVES, R_PRECISIONS)


def asked_for(frames: Mapping[str, pl.DataFrame]) -> tuple[Table, ...]:
    """Return the tables of `ONLY_IF_ASKED` that are not left out."""
    return tuple(table for group in ONLY_IF_ASKED if frames[group[0].name].height for table in group)


def in_form(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Put a frame into a table's columns and types; rows stay in the order of runs and measures given."""
    return frame.select(pl.col(column.name).cast(column.dtype) for column in table.columns)
