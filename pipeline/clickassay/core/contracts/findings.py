"""The tables of what a run found: who is ahead, the claims about it, and the verdict."""

import polars as pl

from clickassay.core.contracts import columns
from clickassay.core.contracts.form import Column, Table

QUANTITY = Column(
    "quantity",
    pl.String,
    "correlation (with clicks), of differences (between two rankings), or within queries",
)

RANKING = Table(
    "ranking",
    "one row per market, depth, judge, quantity, click metric and offline metric",
    ("market", "depth", "judge", "quantity", "click_metric", "editorial_metric"),
    *columns.SAMPLE,
    QUANTITY,
    columns.CLICK,
    columns.EDITORIAL,
    Column("place", pl.Int32, "1 for the highest value"),
    Column("is_baseline", pl.Boolean, "whether it is a baseline"),
    Column("value", pl.Float64, "its correlation; -1..1"),
    *columns.INTERVAL,
    Column("p_adjusted", pl.Float64, "p-value of no difference from chance, after Holm; 0..1"),
    Column("above_null", pl.Boolean, "whether it significantly beats chance"),
    Column("among_best", pl.Boolean, "whether no metric or baseline is significantly better"),
    Column(
        "beats_baselines",
        pl.Boolean,
        "whether it is a metric that significantly beats chance and every baseline",
    ),
    Column("lead", pl.Float64, "highest value minus its own"),
    Column("lead_p_adjusted", pl.Float64, "p-value of no lead, after Holm; 0..1"),
    *columns.SIMULTANEOUS,
    columns.CAUTION,
)

CLAIMS = Table(
    "claims",
    "one row per market, depth, judge, quantity and click metric",
    ("market", "depth", "judge", "quantity", "click_metric"),
    *columns.SAMPLE,
    QUANTITY,
    columns.CLICK,
    Column("kind", pl.String, "[kind](summary.md#kinds) of claim"),
    Column("subject", pl.String, "metric that it is about; null without a value"),
    Column("ceiling", pl.Float64, "highest possible value with such noise; null if unknown"),
    columns.REASON,
)

VERDICT = Table(
    "verdict",
    "one row per market, depth and judge: with judged configurations; `all` where markets decide together",
    ("market", "depth", "judge"),
    *columns.SAMPLE,
    Column("place", pl.Int32, "1 for the headline; then by sessions"),
    Column("question", pl.String, "rankings (comparing two) or queries (telling them apart)"),
    Column("kind", pl.String, "the claim for the first click metric, or depends_on_click"),
    Column("decision", pl.String, "[kind](summary.md#kinds-of-decision) of decision"),
    Column("subject", pl.String, "metric or baseline that the decision is about, or null"),
    Column("current", pl.String, "metric in use, or null"),
    Column("compared_with", pl.String, "what the subject is compared with, or null"),
    Column("difference", pl.Float64, "how far it is ahead, in correlation"),
    Column("bound", pl.Float64, "largest possible difference; null if unknown"),
    Column("caution", pl.String, "why the tests may find too many differences; else null"),
)

_SIGNAL = "click, or a signal of the log: an action, or satisfied"
SIGNAL_CORRELATIONS = Table(
    "signal_correlations",
    "one row per market, depth, judge and two signals: how they correlate over lists, across halves of users",
    ("market", "depth", "judge", "signal_a", "signal_b"),
    *columns.SAMPLE,
    Column("signal_a", pl.String, _SIGNAL),
    Column("signal_b", pl.String, _SIGNAL),
    Column("correlation", pl.Float64, "of one click metric of both, without noise of sessions"),
    *columns.INTERVAL,
    *columns.COUNTS,
    Column("left_out", pl.Float64, "share of sessions whose ranking one half alone saw; 0..1"),
    columns.REASON,
)
