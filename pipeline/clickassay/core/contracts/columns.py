"""Columns that several tables have, and the value of a label where a table is not split by it."""

import polars as pl

from clickassay.core.contracts.form import Column

EVERY = "all"
"""The value of market, judge, split or class where a table is not split by it."""


MARKET = Column("market", pl.String, "market label, or 'all' when the log has none")
DEPTH = Column("depth", pl.Int32, "k, the cut of results and clicks; 1..62")
JUDGE = Column("judge", pl.String, "source of the judgments, or 'all' when they have none")
CLICK = Column("click_metric", pl.String, "name of a click metric")
EDITORIAL = Column("editorial_metric", pl.String, "name of an offline metric")
SAMPLE = (MARKET, DEPTH, JUDGE)
METRICS = (CLICK, EDITORIAL)
QUERY = Column("query", pl.String, "normalised query")
REASON = Column("reason", pl.String, "why there is no value; else null")
N_QUERIES = Column("n_queries", pl.Int64, "queries behind the value")
N_CONFIGURATIONS = Column("n_configurations", pl.Int64, "configurations behind the value")
N_SESSIONS = Column("n_sessions", pl.Int64, "sessions behind the value")
COUNTS = (N_CONFIGURATIONS, N_QUERIES, N_SESSIONS)


def with_interval(name: str, what: str, *, ends: str = "") -> tuple[Column, Column, Column]:
    """Return the columns of a value and of the ends of its interval; `ends` adds to their meaning."""
    return (
        Column(name, pl.Float64, what),
        Column(f"{name}_low", pl.Float64, f"lower end of its 95% CI{ends}"),
        Column(f"{name}_high", pl.Float64, f"upper end of its 95% CI{ends}"),
    )


INTERVAL = (
    Column("ci_low", pl.Float64, "lower end of the 95% CI of the value before, by excluding queries"),
    Column("ci_high", pl.Float64, "upper end of the same interval"),
)


def noise_corrected(what: str) -> tuple[Column, Column, Column]:
    """Return the columns of a noise-corrected value and its interval."""
    meaning = f"{what} with infinitely many sessions; may lie beyond -1 or 1"
    return with_interval("noise_corrected", meaning, ends="; null without bound")


CORRELATION = (
    Column("correlation", pl.Float64, "weighted Pearson correlation over configurations; -1..1"),
    *INTERVAL,
)
CAUTION = Column("caution", pl.String, "why the interval is unreliable; else null")

P_VALUES = (
    Column("p_value", pl.Float64, "two-sided p-value of no difference; 0..1"),
    Column("p_adjusted", pl.Float64, "the same after Holm's adjustment over the family; 0..1"),
)

SIMULTANEOUS = (
    Column(
        "simultaneous_low", pl.Float64, "lower end of the simultaneous 95% CI over the family (Bonferroni)"
    ),
    Column("simultaneous_high", pl.Float64, "upper end of the same interval"),
)

SPREAD = (
    Column("error", pl.Float64, "its standard error over queries"),
    Column("degrees", pl.Float64, "degrees of freedom of its square"),
)
TESTED = (
    *P_VALUES,
    Column("queries_needed", pl.Float64, "queries that would detect it with 80% power"),
    N_QUERIES,
    CAUTION,
)
