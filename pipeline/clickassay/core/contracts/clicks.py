"""The tables of click models, and of cascade effects: results that lose clicks to a better one above."""

import polars as pl

from clickassay.core.contracts import columns
from clickassay.core.contracts.form import Column, Table

_MODEL = Column("model", pl.String, "short name of the click model")
_POSITION = Column("position", pl.Int32, "1 = first result")

CLICK_MODELS = Table(
    "click_models",
    "one row per market, depth and click model: how well it predicts clicks that it was not fitted on",
    ("market", "depth", "model"),
    columns.MARKET,
    columns.DEPTH,
    _MODEL,
    Column("n_parameters", pl.Int64, "fitted numbers"),
    Column("rounds", pl.Int32, "rounds of expectation maximisation; 0 for closed forms"),
    Column("converged", pl.Boolean, "last round gained less than the tolerance"),
    Column("n_fitted", pl.Int64, "sessions it was fitted on"),
    Column("n_sessions", pl.Int64, "sessions it was evaluated on"),
    Column("held_out", pl.String, "users: of other users; sessions: drawn"),
    Column("perplexity", pl.Float64, "average over positions; 1 = every click predicted, 2 = a coin"),
    Column("log_likelihood", pl.Float64, "of a session on average, natural logarithm"),
    Column("best_persistence", pl.Float64, "p of RBP whose discount is nearest to examination; 0..1"),
    Column("reason", pl.String, "why there is no log-likelihood, or what clicks do not identify; else null"),
)

CLICK_POSITIONS = Table(
    "click_positions",
    "one row per market, depth, click model and position",
    ("market", "depth", "model", "position"),
    columns.MARKET,
    columns.DEPTH,
    _MODEL,
    _POSITION,
    Column("perplexity", pl.Float64, "on sessions not used for fitting; null where nothing is shown"),
    Column("examination", pl.Float64, "share of sessions in which it is examined; null if not estimated"),
)

CLICK_HELD_OUT = Table(
    "click_held_out",
    "one row per market, depth, click metric and click model: how well it predicts rankings held out",
    ("market", "depth", "click_metric", "model"),
    columns.MARKET,
    columns.DEPTH,
    columns.CLICK,
    Column("model", pl.String, "short name of the click model; `choice`: the one other queries choose"),
    *columns.with_interval("correlation", "of predicted and observed means within queries; -1..1"),
    *columns.with_interval(
        "slope", "rise of observed means where predicted ones rise by 1; 1 = as predicted"
    ),
    *columns.with_interval(
        "in_order", "share of pairs of rankings of a query that are predicted in order; 0..1"
    ),
    *columns.with_interval("behind", "correlation of the best model less this one's"),
    Column("attainable", pl.Float64, "correlation that an exact prediction would have; 0..1"),
    Column("noise", pl.Float64, "part of the variance between rankings that is noise of their sessions"),
    Column("is_best", pl.Boolean, "whether its correlation is the highest, and the log can tell"),
    Column("as_good", pl.Boolean, "the best, or not significantly behind it"),
    columns.N_QUERIES,
    columns.N_CONFIGURATIONS,
    columns.N_SESSIONS,
    Column("reason", pl.String, "why the log cannot tell which model it supports; null if it can"),
)

CLICK_CALIBRATION = Table(
    "click_calibration",
    "one row per market, depth and tenth of the rankings held out, by what the best model predicts of them",
    ("market", "depth", "click_metric", "tenth"),
    columns.MARKET,
    columns.DEPTH,
    columns.CLICK,
    Column("model", pl.String, "short name of the model of highest correlation"),
    Column("tenth", pl.Int8, "1 = lowest predictions"),
    Column("predicted", pl.Float64, "mean prediction, less that of the query's other rankings held out"),
    Column("observed", pl.Float64, "mean over sessions, likewise"),
    columns.N_CONFIGURATIONS,
)

POSITION_BIAS = Table(
    "position_bias",
    "one row per market, half of the users and position: only if IPS is asked for",
    ("market", "users", "position"),
    columns.MARKET,
    Column("users", pl.String, "even or odd folds, whose clicks tell it"),
    _POSITION,
    Column("examination", pl.Float64, "relative to the first position; null where clicks do not tell"),
    Column("log_error", pl.Float64, "standard error of its logarithm; null as well"),
    Column("n_pairs", pl.Int64, "pairs of positions that a result was seen at"),
    Column("n_queries", pl.Int64, "queries with such a result"),
    Column("n_sessions", pl.Int64, "sessions of these users"),
    Column("reason", pl.String, "why IPS has no value down to this position; else null"),
)

CLICK_DOCUMENTS = Table(
    "click_documents",
    "one row per market, query and URL that was shown",
    ("market", "query", "url"),
    columns.MARKET,
    columns.QUERY,
    Column("url", pl.String, "normalised URL"),
    Column("impressions", pl.Int64, "sessions that showed it"),
    Column("clicks", pl.Int64, "sessions that clicked it"),
    Column("attraction", pl.Float64, "chance of a click once it is examined; 0..1"),
    Column("relevance", pl.Float64, "chance that it gives what was sought once it is examined; 0..1"),
)

CLICK_JUDGMENTS = Table(
    "click_judgments",
    "one row per market, query and URL that enough sessions showed",
    ("market", "query", "url"),
    columns.MARKET,
    columns.QUERY,
    Column("url", pl.String, "normalised URL"),
    Column("grade", pl.Int8, "number of the cuts that `relevance` reaches"),
    Column("relevance", pl.Float64, "what clicks say of it: of COEC clicks / expected clicks, else 0..1"),
    Column("ci_low", pl.Float64, "lower end of its 95% CI, by excluding folds of users"),
    Column("ci_high", pl.Float64, "upper end; null without interval"),
    Column("ctr", pl.Float64, "clicks / sessions; 0..1"),
    Column("coec", pl.Float64, "clicks / clicks that its positions have on average"),
    Column("sessions", pl.Int64, "sessions that showed it"),
    Column("clicks", pl.Int64, "sessions that clicked it"),
    columns.CAUTION,
)

CLICK_PARAMETERS = Table(
    "click_parameters",
    "one row per parameter that no document owns",
    ("number",),
    Column("number", pl.Int32, "place in the order of the model's paper, from 1"),
    Column("parameter", pl.String, "its name in the model's paper"),
    Column("value", pl.Float64, "0..1"),
    Column("reason", pl.String, "why it is not identified; null when it is"),
)

CLICK_GRADES = Table(
    "click_grades",
    "one row per market, depth, judge, click model and grade: how users react to a grade",
    ("market", "depth", "judge", "model", "grade"),
    *columns.SAMPLE,
    Column("model", pl.String, "short name of the click model, fitted on grades instead of documents"),
    Column("grade", pl.Int8, "grade of the results; 0..g_max"),
    Column("attraction", pl.Float64, "chance of a click on an examined result of the grade; 0..1"),
    Column("relevance", pl.Float64, "chance that such a result gives what was sought; 0..1"),
    *columns.INTERVAL,
    Column("assumed", pl.Float64, "R(g), as ERR and RBP assume; 0..1"),
    Column("impressions", pl.Int64, "sessions that showed it, once for each result of the grade"),
    columns.REASON,
)


def _place(side: str, where: str) -> tuple[Column, ...]:
    return (
        Column(f"position_{side}", pl.Int32, f"its position {where}; 1..k"),
        Column(f"sessions_{side}", pl.Int64, "sessions that showed it so; at least 20"),
        Column(f"ctr_{side}", pl.Float64, "clicks on it / these sessions; 0..1"),
        Column(f"average_ctr_{side}", pl.Float64, "CTR of this position over all judged configurations"),
        Column(f"configuration_{side}", pl.String, "id of the one with most sessions"),
    )


CASCADE_EFFECTS = Table(
    "cascade_effects",
    "one row per market, depth, judge and rank: a result that loses its clicks under a better one",
    ("market", "depth", "judge", "rank"),
    *columns.SAMPLE,
    Column("rank", pl.Int32, "1 = largest min_excess_ctr_ratio; at most 20, each of another query"),
    columns.QUERY,
    Column("url", pl.String, "normalised URL of the result"),
    Column("grade", pl.Int8, "its grade; 0..g_max"),
    *_place("alone", "where no result above it has a higher grade"),
    Column("better_url", pl.String, "the result of highest grade above it, the first of these"),
    Column("better_grade", pl.Int8, "grade of the better result; above `grade`"),
    Column("better_position", pl.Int32, "position of the better result; 1..position_below - 1"),
    *_place("below", "below the better result"),
    Column(
        "min_excess_ctr_ratio",
        pl.Float64,
        "how many times as much its CTR falls as the average CTR, at least; above 1",
    ),
)
