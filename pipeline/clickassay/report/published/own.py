"""What of a run stands beside a published value: its headline sample at that depth, and there which row."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.report.model import Run
from clickassay.report.published.read import Key, OtherLog, OtherTable

BINARY = ("AP", "RR")
"""Editorial metrics that depend on the border of relevance."""

KEY = ("split", "class", "click_metric", "editorial_metric")
"""The columns of a run's tables that make up a `Key`."""

Rows = Mapping[Key, Mapping[str, Any]]


def own_sample(run: Run, depth: int) -> SampleKey | None:
    """Return the headline's market and judge at a depth, if the run has them there."""
    if run.headline is None:
        return None
    sample = replace(run.headline, depth=depth)
    return sample if sample.rows(run.frames["statistics"]).height else None


def own_sizes(run: Run, depth: int) -> Mapping[str, Any] | None:
    """Return the row of `statistics` of that sample, if there is one."""
    sample = own_sample(run, depth)
    return None if sample is None else sample.rows(run.frames["statistics"]).row(0, named=True)


def own_rows(run: Run, table: OtherTable, depth: int) -> Rows:
    """Return the run's rows that a published table may name at a depth, by key."""
    sample = own_sample(run, depth)
    if sample is None:
        return {}
    if table.measures == "correlation":
        splits = {value.key.split for value in table.values}
        frame = sample.rows(run.frames["correlations"]).filter(pl.col("split").is_in(splits))
    else:  # nobody splits the queries of Algorithm 3
        every = (pl.lit(EVERY).alias(name) for name in KEY[:2])
        frame = sample.rows(run.frames["differences"]).with_columns(*every)
    return {Key(*(row[name] for name in KEY)): row for row in frame.iter_rows(named=True)}


def own_key(run: Run, log: OtherLog, key: Key) -> Key:
    """Return the key under which the run has what the other log calls `key`.

    On the same scale AP and RR are the same when their borders are, whatever border the run's plain AP
    has. On another scale a grade means something else: there the names alone must do.
    """
    base, _, border = key.editorial_metric.removesuffix(")").partition("(rel=")
    ours, theirs = (one.get("relevant_grade") for one in (run.settings, log.settings))
    same_scale = run.settings.get("max_grade") == log.settings.get("max_grade")
    if base in BINARY and same_scale and ours is not None and theirs is not None:
        grade = int(border or theirs)
        return key._replace(editorial_metric=base if grade == ours else f"{base}(rel={grade})")
    return key


def no_sample(run: Run, depth: int) -> str:
    """Say why the run has no sample at a depth."""
    return "no session of this log was kept" if run.headline is None else f"this log has no depth {depth}"


def why_none(run: Run, depth: int, key: Key, rows: Rows) -> str:
    """Say why the run has no row of `key` among its `rows` at a depth."""
    sizes = own_sizes(run, depth)
    if sizes is None:
        return no_sample(run, depth)
    if sizes["n_sessions"] == 0:
        return f"no session of this log was kept at depth {depth}"
    if key.split != EVERY and key.split not in {one.split for one in rows}:
        return f"the queries of this log are not split by {key.split}"
    if key.split != EVERY and key[:2] not in {one[:2] for one in rows}:
        return "this log has no query of this class"
    return "not computed"
