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

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.click_log import ClickLog, Floats, Ints, shown_values
from clickassay.click_models.factorised import FactorisedModel
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


# ---- the MeanRR that a fit expects of a list: the mean of 1/r over its clicks (method 5) -----------
#
# Clicks of a session depend on each other, so the expectation of their mean is no sum over positions. Both
# recursions go down the list and carry, for each number of clicks so far, the chance of that number and the
# expectation of the sum of 1/r in it; where a session ends, the sum is divide by the number.


_LISTS = 1 << 13


def expected_mean_rr(model: ClickModel, lists: Ints) -> Floats:
    """Return (L,) the expected MeanRR of (L, K) lists; 0..1, 0 where nothing is clicked.

    Raises TypeError if the model is of neither kind that is known here.
    """
    distinct, which = np.unique(lists, axis=0, return_inverse=True)
    values = np.zeros(len(distinct))
    for first in range(0, len(distinct), _LISTS):
        part = slice(first, first + _LISTS)
        if isinstance(model, CascadeModel):
            values[part] = _of_cascade(model, distinct[part])
        elif isinstance(model, FactorisedModel):
            values[part] = _of_factorised(model, distinct[part])
        else:
            raise TypeError(f"no expectation of {type(model).__name__}")
    return np.asarray(values[which.ravel()])


def _of_cascade(model: CascadeModel, lists: Ints) -> Floats:
    size, depth = lists.shape
    counts = np.maximum(np.arange(depth + 1), 1)
    chance, total = np.zeros((2, size, depth + 1))  # of users who examine the place, by clicks so far
    chance[:, 0] = 1.0
    expected = np.zeros(size)
    for place in range(depth):
        attracted, continuation = (values[:, None] for values in model.at(lists[:, place], place))
        clicked, of_clicked = np.zeros((2, size, depth + 1))
        clicked[:, 1:] = (attracted * chance)[:, :-1]
        of_clicked[:, 1:] = (attracted * total)[:, :-1]
        of_clicked += clicked / (place + 1)
        skipped, of_skipped = (1 - attracted) * chance, (1 - attracted) * total
        ended = (1 - continuation) * of_clicked + (1 - model.after_skip) * of_skipped
        expected += (ended / counts).sum(axis=1)
        chance = continuation * clicked + model.after_skip * skipped
        total = continuation * of_clicked + model.after_skip * of_skipped
    return np.asarray(expected + (total / counts).sum(axis=1))


def _of_factorised(model: FactorisedModel, lists: Ints) -> Floats:
    size, depth = lists.shape
    chance, total = np.zeros((2, size, depth + 1, depth + 1))  # by last click, and by clicks so far
    chance[:, 0, 0] = 1.0
    for place in range(depth):
        attracted = shown_values(model.attraction, lists[:, place])
        click = (attracted[:, None] * model.examination[place, : place + 1])[:, :, None]
        clicked, of_clicked = (click * values[:, : place + 1] for values in (chance, total))
        chance[:, : place + 1] -= clicked
        total[:, : place + 1] -= of_clicked
        chance[:, place + 1, 1:] = clicked.sum(axis=1)[:, :-1]
        total[:, place + 1, 1:] = of_clicked.sum(axis=1)[:, :-1] + chance[:, place + 1, 1:] / (place + 1)
    return np.asarray((total.sum(axis=1) / np.maximum(np.arange(depth + 1), 1)).sum(axis=1))
