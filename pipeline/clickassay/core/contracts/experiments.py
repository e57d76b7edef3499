"""Tables of past A/B tests: what each did to users, what offline metrics said, and which tell tests apart."""

import polars as pl

from clickassay.core.contracts.columns import CAUTION, EDITORIAL, JUDGE, MARKET, QUERY, REASON, with_interval
from clickassay.core.contracts.form import Column, Table

_TEST = (
    Column("experiment", pl.String, "name of the test"),
    Column("variant", pl.String, "its treatment; null in a sheet"),
)

EXPERIMENTS = Table(
    "experiments",
    "one row per test and metric: the difference of treatment and control",
    ("experiment", "variant", "depth", "judge", "kind", "metric"),
    *_TEST,
    Column("control", pl.String, "arm compared with; null in a sheet"),
    Column("group", pl.String, "its idea; else its own name"),
    Column("depth", pl.Int32, "k, the cut of results and clicks; null in a sheet"),
    JUDGE,
    Column("kind", pl.String, "`click`: what users did; `editorial`: an offline metric; `baseline`"),
    Column("metric", pl.String, "name of the metric, or of a column"),
    Column("mean_control", pl.Float64, "mean in control, weighted as the difference"),
    Column("mean", pl.Float64, "the same in treatment"),
    Column("difference", pl.Float64, "treatment minus control (method 12); null if not given"),
    Column("error", pl.Float64, "standard error of what users did; null if unusable"),
    Column("ci_low", pl.Float64, "lower end of its 95% CI"),
    Column("ci_high", pl.Float64, "upper end of its 95% CI"),
    *with_interval("matched", "difference of a click metric on judged rankings"),
    Column("p_value", pl.Float64, "two-sided p-value of no difference; 0..1"),
    Column("p_adjusted", pl.Float64, "the same over all tests (Benjamini-Hochberg); 0..1"),
    Column("moved", pl.Boolean, "whether p_adjusted is below 0.05"),
    Column("users_control", pl.Int64, "users of control, above 65,536 estimated"),
    Column("users", pl.Int64, "users of treatment"),
    Column("sessions_control", pl.Int64, "sessions of control"),
    Column("sessions", pl.Int64, "sessions of treatment"),
    Column("judged_share_control", pl.Float64, "share of sessions on judged rankings; 0..1"),
    Column("judged_share", pl.Float64, "the same of treatment"),
    Column("changed", pl.Float64, "share of rankings that the test changed; 0..1"),
    Column("counts", pl.Boolean, "whether it has a verdict: no A/A test, no failed check"),
    Column("verdict", pl.String, "of the current metric: [kinds](../how-to/tests-in-the-log.md#verdicts)"),
    Column("reason", pl.String, "what the verdict rests on, or why there is none"),
    CAUTION,
)

EXPERIMENT_CHECKS = Table(
    "experiment_checks",
    "one row per test and check",
    ("experiment", "variant", "check"),
    *_TEST,
    Column("check", pl.String, "`sample_ratio`, `two_variants`, `folds`, `short_lists`, `split` or `ends`"),
    Column("value", pl.Float64, "number checked"),
    Column("limit", pl.Float64, "its limit"),
    Column("status", pl.String, "ok, caution, finding (no verdict) or too few"),
    Column("remedy", pl.String, "what to do; '' if nothing"),
)

EXPERIMENT_JUDGES = Table(
    "experiment_judges",
    "one row per test, pair of judges and offline metric: on rankings that both judged",
    ("experiment", "variant", "depth", "judge_a", "judge_b", "editorial_metric"),
    *_TEST,
    Column("depth", pl.Int32, "k, the cut of results"),
    Column("judge_a", pl.String, "first judge"),
    Column("judge_b", pl.String, "second judge"),
    EDITORIAL,
    Column("difference_a", pl.Float64, "treatment minus control with the first judge's grades"),
    Column("difference_b", pl.Float64, "with the second's"),
    *with_interval("favours", "the second minus the first; above 0, the second favours treatment"),
    Column("p_value", pl.Float64, "two-sided p-value of no such difference; 0..1"),
    CAUTION,
)

EXPERIMENT_TO_JUDGE = Table(
    "experiment_to_judge",
    "one row per test, judge and ranking: a ranking to judge first, of the arm that is judged less",
    ("experiment", "variant", "judge", "configuration_id"),
    *_TEST,
    JUDGE,
    Column("configuration_id", pl.String, "id of its results up to the cut"),
    MARKET,
    QUERY,
    Column("results", pl.List(pl.String), "its results up to the cut, best first"),
    Column("sessions", pl.Int64, "sessions of the arm"),
)

EXPERIMENT_ORDER = Table(
    "experiment_order",
    "one row per offline metric: does it tell better tests from worse?",
    ("editorial_metric",),
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
)
