"""Tables of past A/B tests: what each did to users, what offline metrics said, and which tell tests apart."""

import polars as pl

from clickassay.core.contracts.columns import CAUTION, EDITORIAL, REASON
from clickassay.core.contracts.form import Column, Table

EXPERIMENTS = Table(
    "experiments",
    "one row per test and metric: the difference of treatment and control",
    (
        Column("experiment", pl.String, "name of the test"),
        Column("group", pl.String, "idea that the test belongs to; its own name where none is given"),
        Column("kind", pl.String, "`click`: what users did; `editorial`: an offline metric; `baseline`"),
        Column("metric", pl.String, "name of the column"),
        Column("difference", pl.Float64, "treatment minus control; null where it is not given"),
        Column("error", pl.Float64, "standard error of what users did; null without a usable one"),
        Column("ci_low", pl.Float64, "lower end of its 95% CI"),
        Column("ci_high", pl.Float64, "upper end of the same interval"),
        Column("p_value", pl.Float64, "two-sided p-value of no difference; 0..1"),
        Column("p_adjusted", pl.Float64, "the same adjusted over the tests (Benjamini-Hochberg); 0..1"),
        Column("moved", pl.Boolean, "whether p_adjusted is below 0.05; null where it is not known"),
    ),
    ("experiment", "kind", "metric"),
)

EXPERIMENT_ORDER = Table(
    "experiment_order",
    "one row per offline metric: does it tell better tests from worse?",
    (
        EDITORIAL,
        Column("tests", pl.Int64, "tests with a difference of users and of the metric"),
        Column("groups", pl.Int64, "ideas that these tests belong to: the units of intervals"),
        Column("left_out", pl.Int64, "tests that lack one of the two differences"),
        Column("moved", pl.Int64, "tests that significantly changed what users did"),
        Column("better_right", pl.Int64, "of those, called better by the metric, and better"),
        Column("better_wrong", pl.Int64, "called better, and worse"),
        Column("worse_right", pl.Int64, "called worse, and worse"),
        Column("worse_wrong", pl.Int64, "called worse, and better"),
        Column("always_better", pl.Int64, "of those that moved, the better ones: what always saying so gets"),
        Column("in_order", pl.Float64, "share of pairs of tests that the metric puts in order; a coin: 0.5"),
        Column("ci_low", pl.Float64, "lower end of its 95% CI, by excluding groups of tests"),
        Column("ci_high", pl.Float64, "upper end of the same interval"),
        Column("against_current", pl.Float64, "in_order minus that of the current metric, on common tests"),
        Column("against_low", pl.Float64, "lower end of its 95% CI, by excluding groups of tests"),
        Column("against_high", pl.Float64, "upper end of the same interval"),
        Column("p_adjusted", pl.Float64, "p-value of no such difference after Holm's adjustment; 0..1"),
        Column("against", pl.String, "`better`, `worse`, `equivalent` (within the margin) or `inconclusive`"),
        Column("kind", pl.String, "`follows`, `opposes`, `chance`, `cannot_tell` or `too_few`"),
        REASON,
        CAUTION,
    ),
    ("editorial_metric",),
)
