"""The tables of the convention audit: columns, types, grain and meaning."""

import polars as pl

from clickassay.core.contracts.columns import CAUTION, CLICK, CORRELATION, REASON, SAMPLE, with_interval
from clickassay.core.contracts.form import Column, Table

QUANTITY = Column("quantity", pl.String, "the name under which tools report it")
CONVENTION = Column("convention", pl.String, "the formula, as a name")
CHOICE = Column("choice", pl.String, "the choice, in words")
TOOLS = Column("tools", pl.String, "tools that report it so")

CONVENTIONS = Table(
    "conventions",
    "one row per market, depth, judge, click metric and convention: the same metric in other tools",
    ("market", "depth", "judge", "click_metric", "place"),
    *SAMPLE,
    CLICK,
    QUANTITY,
    CONVENTION,
    Column("place", pl.Int32, "order of the conventions, from 1"),
    Column("own", pl.Boolean, "whether the run computes the quantity so"),
    CHOICE,
    TOOLS,
    Column("same_as", pl.String, "a convention above with the same values here; else null"),
    Column("mean", pl.Float64, "mean, weighted by sessions"),
    *with_interval("mean_gap", "mean minus that of the run's own convention"),
    *CORRELATION,
    *with_interval("gap", "correlation minus that of the run's own convention"),
    REASON,
    CAUTION,
)

CHANGED = Table(
    "changed",
    "one row per market, depth, judge, click metric, convention and other quantity: how the convention "
    "changes the difference between the two",
    ("market", "depth", "judge", "click_metric", "quantity", "convention", "other"),
    *SAMPLE,
    CLICK,
    QUANTITY,
    CONVENTION,
    Column("other", pl.String, "the quantity it is compared with, under the run's own convention"),
    *with_interval("before", "correlation under the run's own convention - that of the other"),
    *with_interval("after", "the same under this convention"),
    Column("change", pl.String, "reversed; beyond noise now; no longer beyond noise; reversed, within noise"),
)
