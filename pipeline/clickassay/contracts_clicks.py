"""The tables of click models, and of what they fill in: columns, types, grain and meaning."""

import polars as pl

from clickassay.contract_columns import (
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
    interval,
)
from clickassay.table_form import Column, Table

_MODEL = Column("model", pl.String, "short name of the click model")
_POSITION = Column("position", pl.Int32, "1 = first result")

CLICK_MODELS = Table(
    "click_models",
    "one row per market, depth and click model: how well it foretells clicks that it was not fitted on",
    (
        MARKET,
        DEPTH,
        _MODEL,
        Column("n_parameters", pl.Int64, "numbers that were fitted"),
        Column("rounds", pl.Int32, "rounds of expectation maximisation; 0 for closed forms"),
        Column("converged", pl.Boolean, "whether the last round gained less than the tolerance"),
        Column("n_fitted", pl.Int64, "sessions it was fitted on"),
        Column("n_sessions", pl.Int64, "sessions it was tried on"),
        Column("held_out", pl.String, "users: of other users; sessions: drawn"),
        Column("perplexity", pl.Float64, "average over positions; 1 = every click foretold, 2 = a coin"),
        Column("log_likelihood", pl.Float64, "of a session on average, natural logarithm"),
        Column("best_persistence", pl.Float64, "p of RBP whose discount is nearest to examination; 0..1"),
        Column("reason", pl.String, "why there is no log-likelihood, or what clicks do not tell; else null"),
    ),
    ("market", "depth", "model"),
)

CLICK_POSITIONS = Table(
    "click_positions",
    "one row per market, depth, click model and position",
    (
        MARKET,
        DEPTH,
        _MODEL,
        _POSITION,
        Column("perplexity", pl.Float64, "on sessions held out; null where nothing is shown"),
        Column("examination", pl.Float64, "share of sessions in which it is examined; null if not told"),
    ),
    ("market", "depth", "model", "position"),
)

CLICK_DOCUMENTS = Table(
    "click_documents",
    "one row per market, query and URL that was shown",
    (
        MARKET,
        QUERY,
        Column("url", pl.String, "normalised URL"),
        Column("impressions", pl.Int64, "sessions that showed it"),
        Column("clicks", pl.Int64, "sessions that clicked it"),
        Column("attraction", pl.Float64, "chance of a click once it is examined; 0..1"),
        Column("relevance", pl.Float64, "chance that it gives what was sought once it is examined; 0..1"),
    ),
    ("market", "query", "url"),
)

CLICK_PARAMETERS = Table(
    "click_parameters",
    "one row per parameter that no document owns",
    (
        Column("number", pl.Int32, "place in the order of the model's paper, from 1"),
        Column("parameter", pl.String, "its name in the model's paper"),
        Column("value", pl.Float64, "0..1"),
        Column("reason", pl.String, "why it is not to be relied on; null when it is"),
    ),
    ("number",),
)

CLICK_GRADES = Table(
    "click_grades",
    "one row per market, depth, judge, click model and grade: what clicks say that a grade does to readers",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("model", pl.String, "short name of the click model, fitted on grades in place of documents"),
        Column("grade", pl.Int8, "grade of the results; 0..g_max"),
        Column("attraction", pl.Float64, "chance of a click on a result of the grade that is examined; 0..1"),
        Column("relevance", pl.Float64, "chance that such a result gives what was sought; 0..1"),
        *interval("the relevance"),
        Column("assumed", pl.Float64, "R(g), what ERR and RBP take; 0..1"),
        Column("impressions", pl.Int64, "sessions that showed a result of the grade, once for each result"),
        REASON,
    ),
    ("market", "depth", "judge", "model", "grade"),
)

UNJUDGED = Table(
    "unjudged",
    "one row per market, depth, judge, rule, click metric and editorial metric: what becomes of the overall "
    "correlation when results without a grade get one; no rows unless a rule is asked for",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("rule", pl.String, "drop: lists with an unjudged result stay out; zero, model, best: filled"),
        CLICK,
        EDITORIAL,
        Column("correlation", pl.Float64, "weighted Pearson correlation over configurations; -1..1"),
        *interval("the correlation"),
        N_CONFIGURATIONS,
        N_QUERIES,
        N_SESSIONS,
        Column("coverage", pl.Float64, "n_sessions / all sessions of the market; 0..1"),
        Column("filled", pl.Float64, "share of the results of these sessions with a filled grade; 0..1"),
        REASON,
    ),
    ("market", "depth", "judge", "rule", "click_metric", "editorial_metric"),
)
