"""Checks of the scale of judgments: the grades that are used, and which way they run."""

from collections.abc import Iterator, Sequence

import polars as pl

from clickassay.core.text.words import count, listed, number, percent, plural, span, visible
from clickassay.health.checks import Measured, too_few

_FEW_JUDGMENTS = 20
"""Fewer do not show which grades there are."""
_FEW_JUDGED = 20
"""Of fewer queries, two that are alike are no share of them."""


def judgment_checks(grades: pl.Series, max_grade: int) -> Iterator[Measured]:
    """Yield the numbers of the checks of judgments.

    grades: (0..max_grade) of usable judgments.
    max_grade: the highest grade of the scale.
    """
    seen = grades.unique().sort().to_list()
    if len(seen) > 1:
        yield _bottom(seen, max_grade)
    if len(grades) < _FEW_JUDGMENTS:
        yield from too_few(len(grades), _FEW_JUDGMENTS, "judgments", "one_grade", "top_grade_unused")
        return
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


def _bottom(seen: Sequence[int], max_grade: int) -> Measured:
    """Measure whether the lowest grade is used: two judgments show that a scale may begin at 1."""
    lowest = seen[0]
    values = range(lowest, max_grade + 1)
    scale, numbers = ",".join(map(str, values)), ",".join(f"{one}={one - lowest}" for one in values)
    return Measured(
        "bottom_grade_unused", lowest,
        f"The grades seen are {listed(map(str, seen))}; the scale begins at 0, the only grade without gain.",
        f"If {lowest} is the worst grade, set --scale {scale}, or write grades from 0 by `import judgments "
        f"--grade-map {numbers}`.",
    )  # fmt: skip


def alike_check(queries: int, groups: pl.DataFrame) -> Iterator[Measured]:
    """Yield the number of the check of near-duplicates.

    queries: queries with a judgment.
    groups: query, group: of `judgments.alike.groups_of_queries`.
    """
    if queries < _FEW_JUDGED:
        yield from too_few(queries, _FEW_JUDGED, "judged queries", "near_duplicate_queries")
        return
    number_of = groups["group"].n_unique()
    yield Measured(
        "near_duplicate_queries", groups.height / queries,
        f"{percent(groups.height / queries)} of the judged queries ({count(groups.height)} of "
        f"{count(queries)}) share most of their judged results with another one: they make "
        f"{plural(number_of, 'group')}. Intervals take them for independent, and are too short.",
        "Write a column of groups by `clickassay groups`, and give its table as --queries.",
    )  # fmt: skip


def order_words(grades: pl.Series, scale: Sequence[str]) -> str:
    """Return a clause on the grades seen in the order that is assumed, with their labels if all have one."""
    seen = grades.unique().sort().to_list()
    named = [f"{grade} ({visible(scale[grade])})" if seen[-1] < len(scale) else str(grade) for grade in seen]
    return f"the grades seen are {listed(named)}, taken as worst to best"


def order_check(
    value: float | None, low: float | None, high: float | None, labels: str
) -> Iterator[Measured]:
    """Yield the number of the check whether better grades go with fewer clicks.

    value, low, high: correlation of the grade of the first result with clicks, and its 95 % interval; None =
      unknown.
    labels: the grades and their order, as a clause.
    """
    if value is None or high is None:
        return
    yield Measured(
        "reversed_grades", value if high < 0 else max(value, 0.0),
        f"The better the grade of the first result, the fewer clicks: their correlation is {number(value)} "
        f"(95 % interval {span(low, high)}); {labels}.",
        "If that is not their order, turn the scale round: `--scale` takes labels worst first, "
        "`import judgments --grade-map` gives grades other numbers.",
    )  # fmt: skip
