"""Click models of grades: fitted on lists of grades, they say what a grade does to readers.

A document that is seldom shown tells little of itself, and smoothing pulls it to one half; a mean over such
documents would be pulled too. Where all results of a grade share their parameters, clicks tell them well.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from clickassay.click_models.click_log import ClickLog, Floats, Ints
from clickassay.click_models.model import ClickModel, Fit

LEVEL = 0.95
"""Coverage of intervals."""

PARTS = 10
"""Parts of the queries, each of which is left out once."""


@dataclass(frozen=True)
class GradeLog:
    """Lists of grades, and how readers clicked on them.

    Attributes
    ----------
    log
        Its documents are the grades 0..g_max.
    parts
        (L,) the part of the queries that a list belongs to.
    """

    log: ClickLog
    parts: Ints


def grade_log(
    grades: NDArray[np.integer], queries: Ints, patterns: pl.DataFrame, *, max_grade: int
) -> GradeLog:
    """Count clicks by list of grades.

    Parameters
    ----------
    grades
        (L, K) grades of lists, 0..max_grade; no list is shorter.
    queries
        (L,) code of the query of each list, from 0.
    patterns
        Rows (n, click_mask, sessions) by number of the list, in any order; further columns are added up.
    """
    n_parts = min(PARTS, len(np.unique(queries)))
    keyed = np.column_stack([queries % max(n_parts, 1), grades])
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
    """What a model fitted on grades says of them.

    Attributes
    ----------
    model
        The model.
    low, high
        (G,) ends of the 95 % interval of its relevance; NaN where there is none.
    impressions
        (G,) sessions that showed a result of each grade, once for each; where 0, the model's value is
        the smoothing's.
    """

    model: ClickModel
    low: Floats
    high: Floats
    impressions: Floats


def grade_values(found: GradeLog, fit: Callable[[ClickLog], Fit]) -> GradeValues:
    """Fit a model of grades, with intervals.

    Intervals leave out one part of the queries at a time (delete-a-group jackknife) on the scale of log-odds;
    Student's t with parts - 1 degrees of freedom.
    """
    model, parts = fit(found.log).model, np.unique(found.parts)
    without = [
        logit(fit(found.log.some(found.parts[found.log.rows] != part)).model.relevance)
        for part in parts[: len(parts) * (len(parts) > 1)]
    ]
    shown = found.log.impressions()
    centre = logit(model.relevance)
    reach = _reach(np.array(without).reshape(-1, len(centre)))
    reach = np.where(shown > 0, reach, np.nan)
    return GradeValues(model, expit(centre - reach), expit(centre + reach), shown)


def _reach(without: Floats) -> Floats:
    """Return half the width of each interval, from (parts, G) values without each part; NaN for one part."""
    parts = len(without)
    if parts < 2:
        return np.full(without.shape[1], np.nan)
    squares = (without - without.mean(axis=0)) ** 2
    error = np.sqrt((parts - 1) / parts * squares.sum(axis=0))
    return np.asarray(stdtrit(parts - 1, (1 + LEVEL) / 2) * error)
