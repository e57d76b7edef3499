"""The row of a run that corresponds to a published value: in its headline sample, at the same depth."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.report.model import Run
from clickassay.report.published.read import CorrelationKey, PublishedLog, PublishedTable

BINARY = ("AP", "RR")
"""Editorial metrics that depend on the relevance threshold."""

KEY = ("split", "class", "click_metric", "editorial_metric")
"""The columns of a run's tables that make up a `CorrelationKey`."""

Rows = Mapping[CorrelationKey, Mapping[str, Any]]


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


def own_rows(run: Run, table: PublishedTable, depth: int) -> Rows:
    """Return the run's rows that a published table may name at a depth, by key."""
    sample = own_sample(run, depth)
    if sample is None:
        return {}
    if table.measures == "correlation":
        splits = {value.key.split for value in table.values}
        frame = sample.rows(run.frames["correlations"]).filter(pl.col("split").is_in(splits))
    else:  # differences are not split by class of query
        every = (pl.lit(EVERY).alias(name) for name in KEY[:2])
        frame = sample.rows(run.frames["differences"]).with_columns(*every)
    return {CorrelationKey(*(row[name] for name in KEY)): row for row in frame.iter_rows(named=True)}


def own_key(run: Run, log: PublishedLog, key: CorrelationKey) -> CorrelationKey:
    """Return the key of the run that corresponds to `key` of a published log.

    On the same scale, AP and RR correspond if their relevance thresholds are equal, whatever threshold the
    run's AP without a parameter has. On another scale a grade means something else: only the names count.
    """
    base, _, threshold = key.editorial_metric.removesuffix(")").partition("(rel=")
    ours, theirs = (one.get("relevant_grade") for one in (run.settings, log.settings))
    same_scale = run.settings.get("max_grade") == log.settings.get("max_grade")
    if base in BINARY and same_scale and ours is not None and theirs is not None:
        grade = int(threshold or theirs)
        return key._replace(editorial_metric=base if grade == ours else f"{base}(rel={grade})")
    return key


def no_sample_reason(run: Run, depth: int) -> str:
    """Return why the run has no sample at a depth."""
    return "no session of this log was kept" if run.headline is None else f"this log has no depth {depth}"


def missing_reason(run: Run, depth: int, key: CorrelationKey, rows: Rows) -> str:
    """Return why the run has no row of `key` among its `rows` at a depth."""
    sizes = own_sizes(run, depth)
    if sizes is None:
        return no_sample_reason(run, depth)
    if sizes["n_sessions"] == 0:
        return f"no session of this log was kept at depth {depth}"
    if key.split != EVERY and key.split not in {one.split for one in rows}:
        return f"the queries of this log are not split by {key.split}"
    if key.split != EVERY and key[:2] not in {one[:2] for one in rows}:
        return "this log has no query of this class"
    return "not computed"
