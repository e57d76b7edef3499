"""Click models of grades: fitted on lists of grades, they estimate how users react to a grade.

The parameters of a document that is seldom shown rest on few clicks, and pseudo-counts pull them to one half;
a mean over such documents would be pulled too. Where all results of a grade share their parameters, there are
clicks enough.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.click_models.click_log import ClickLog, Floats, Ints
from clickassay.click_models.model import ClickModel, Fit
from clickassay.core.special import expit, logit, stdtrit

CONFIDENCE = 0.95
"""Coverage of intervals."""

GROUPS = 10
"""Groups of queries, each of which is left out once."""


@dataclass(frozen=True)
class GradeLog:
    """Lists of grades, and how users clicked on them."""

    log: ClickLog  # Its documents are the grades 0..g_max.
    groups: Ints  # (L,) the group of queries that a list belongs to.


def grade_log(
    grades: NDArray[np.integer], queries: Ints, patterns: pl.DataFrame, *, max_grade: int
) -> GradeLog:
    """Count clicks by list of grades.

    grades: (L, K) grades of lists, 0..max_grade; no list is shorter.
    queries: (L,) code of the query of each list, from 0.
    patterns: rows (n, click_mask, sessions) by number of the list, in any order; further columns are added
      up.
    """
    n_groups = min(GROUPS, len(np.unique(queries)))
    keyed = np.column_stack([queries % max(n_groups, 1), grades])
    lists, which = np.unique(keyed, axis=0, return_inverse=True)  # far fewer than lists of documents
    same = pl.DataFrame({"n": np.arange(len(grades)), "list": which.ravel().astype(np.int64)})
    counted = (
        patterns.with_columns(pl.col("n").cast(pl.Int64))
        .join(same, on="n")
        .group_by("list", "click_mask")
        .agg(pl.col("sessions").sum())
        .sort("list", "click_mask")
    )
    rows, masks, sessions = (
        counted[name].cast(pl.Int64).to_numpy() for name in ("list", "click_mask", "sessions")
    )
    codes = pl.DataFrame({"grade": np.arange(max_grade + 1)})
    lists = lists.astype(np.int64)
    return GradeLog(ClickLog(np.ascontiguousarray(lists[:, 1:]), rows, masks, sessions, codes), lists[:, 0])


@dataclass(frozen=True)
class GradeValues:
    """Estimates of grades by a model that was fitted on lists of grades."""

    model: ClickModel  # The model.
    # low, high: (G,) ends of the 95% CI of its relevance; NaN where there is none.
    low: Floats
    high: Floats
    # (G,) sessions that showed a result of each grade, once for each; where 0, the pseudo-counts alone set
    # the model's value.
    impressions: Floats


def grade_values(log: GradeLog, fit: Callable[..., Fit]) -> GradeValues:
    """Fit a model of grades, with intervals.

    Intervals leave out one group of queries at a time (delete-a-group jackknife) on the scale of log-odds;
    Student's t with groups - 1 degrees of freedom.
    """
    whole, groups = fit(log.log, respond=True), np.unique(log.groups)
    model, near = whole.model, whole.response
    without = [
        logit(fit(log.log.some(log.groups[log.log.rows] != group), near=near).model.relevance)
        for group in groups[: len(groups) * (len(groups) > 1)]
    ]
    shown = log.log.impressions()
    centre = logit(model.relevance)
    values, number = np.array(without).reshape(-1, len(centre)), len(without)
    margin = np.full(len(centre), np.nan)
    if number > 1:
        squares = (values - values.mean(axis=0)) ** 2
        error = np.sqrt((number - 1) / number * squares.sum(axis=0))
        margin = np.where(shown > 0, stdtrit(number - 1, (1 + CONFIDENCE) / 2) * error, np.nan)
    return GradeValues(model, expit(centre - margin), expit(centre + margin), shown)
