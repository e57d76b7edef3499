"""Checks of judgments: their scale, and whether they are about what the log has."""

from collections.abc import Iterator

import polars as pl

from clickassay.core.text import count, listed, number, span
from clickassay.health.checks import Measured

_FEW_JUDGMENTS = 20
"""Fewer do not show which grades there are."""


def judgment_checks(grades: pl.DataFrame, max_grade: int, judged: int, in_log: int) -> Iterator[Measured]:
    """Yield the numbers of the checks of judgments.

    Parameters
    ----------
    grades
        Column grade (0..max_grade): the usable judgments of queries that the log has.
    max_grade
        The highest grade of the scale.
    judged, in_log
        Judged queries, and those of them that the log has.
    """
    if judged:
        yield Measured(
            "unseen_queries", 1 - in_log / judged,
            f"Of {count(judged)} judged queries the log has {count(in_log)}.",
            "Check that the judgments are of this log, and that queries are written alike.",
        )  # fmt: skip
    if grades.height < _FEW_JUDGMENTS:
        return
    seen = grades["grade"].unique().sort().to_list()
    yield Measured(
        "one_grade", len(seen),
        f"Every judgment has the grade {seen[0]}: no metric can tell results apart by it.",
        "Check the column that is read as grade.",
    )  # fmt: skip
    yield Measured(
        "top_grade_unused", seen[-1] / max_grade,
        f"The grades seen are {listed(map(str, seen))}; the scale goes up to {max_grade}. ERR takes its "
        "chance of satisfaction from the highest grade of the scale.",
        f"If {seen[-1]} is the best grade, set --max-grade {seen[-1]}.",
    )  # fmt: skip


def order_check(
    value: float | None, low: float | None, high: float | None, labels: str
) -> Iterator[Measured]:
    """Yield the number of the check whether better grades go with fewer clicks.

    Parameters
    ----------
    value, low, high
        Correlation of the grade of the first result with clicks, and its 95 % interval; None = unknown.
    labels
        The grades and their order, as a clause.
    """
    if value is None or high is None:
        return
    yield Measured(
        "reversed_grades", value if high < 0 else max(value, 0.0),
        f"The better the grade of the first result, the fewer clicks: their correlation is {number(value)} "
        f"(95 % interval {span(low, high)}); {labels}.",
        "If the best grade has the lowest number, turn the scale round (`import judgments --grade-map`).",
    )  # fmt: skip
