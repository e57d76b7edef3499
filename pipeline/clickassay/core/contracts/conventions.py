"""The tables of the convention audit: columns, types, grain and meaning."""

import polars as pl

from clickassay.core.contracts.columns import CAUTION, CLICK, DEPTH, JUDGE, MARKET, REASON, interval
from clickassay.core.contracts.form import Column, Table

_QUANTITY = Column("quantity", pl.String, "the name under which tools report it")
_CONVENTION = Column("convention", pl.String, "what is computed")

CONVENTIONS = Table(
    "conventions",
    "one row per market, depth, judge, click metric and convention of a tool: the same metric elsewhere",
    (
        MARKET,
        DEPTH,
        JUDGE,
        CLICK,
        _QUANTITY,
        _CONVENTION,
        Column("place", pl.Int32, "order of the conventions, from 1"),
        Column("own", pl.Boolean, "whether the run computes the quantity so"),
        Column("choice", pl.String, "what is chosen, in words"),
        Column("tools", pl.String, "who reports it so"),
        Column("same_as", pl.String, "a convention above with the same values on this run; else null"),
        Column("mean", pl.Float64, "mean over configurations, weighted by sessions"),
        Column("mean_gap", pl.Float64, "mean - mean under the run's own convention"),
        Column("mean_gap_low", pl.Float64, "lower end of its 95 % interval"),
        Column("mean_gap_high", pl.Float64, "upper end of its 95 % interval"),
        Column("correlation", pl.Float64, "weighted Pearson correlation over configurations; -1..1"),
        *interval("the correlation"),
        Column("gap", pl.Float64, "correlation - correlation under the run's own convention"),
        Column("gap_low", pl.Float64, "lower end of its 95 % interval"),
        Column("gap_high", pl.Float64, "upper end of its 95 % interval"),
        REASON,
        CAUTION,
    ),
    ("market", "depth", "judge", "click_metric", "place"),
)

CHANGED = Table(
    "changed",
    "one row per market, depth, judge, click metric, convention and other quantity: what the convention "
    "makes of the difference between the two",
    (
        MARKET,
        DEPTH,
        JUDGE,
        CLICK,
        _QUANTITY,
        _CONVENTION,
        Column("other", pl.String, "the quantity it is compared with, under the run's own convention"),
        Column("before", pl.Float64, "correlation under the run's own convention - that of the other"),
        Column("before_low", pl.Float64, "lower end of its 95 % interval"),
        Column("before_high", pl.Float64, "upper end of its 95 % interval"),
        Column("after", pl.Float64, "the same under this convention"),
        Column("after_low", pl.Float64, "lower end of its 95 % interval"),
        Column("after_high", pl.Float64, "upper end of its 95 % interval"),
        Column(
            "change", pl.String, "reversed; beyond noise now; no longer beyond noise; reversed, within noise"
        ),
    ),
    ("market", "depth", "judge", "click_metric", "quantity", "convention", "other"),
)
