"""Ranked lists with their grades, as arrays, and the values of measures on them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.inputs.text.trec import Sizes
from clickassay.metrics.definition import Measure, given_arguments

Grades = NDArray[np.int16]

NO_GRADE = -100
"""Grade of a result that the judgments lack; other negative grades: selected to judge, but not judged."""

MOST_CELLS = 20_000_000
"""Most array elements of a block of lists: limits the memory of a block."""


@dataclass(frozen=True)
class Lists:
    """Ranked lists of Q queries, best result first."""

    queries: tuple[str, ...]  # (Q,) names of the queries, sorted.
    # (rows,) grade of each result, list after list: 0 or more; `NO_GRADE` for a result that the judgments
    # lack; another negative number for one that was selected to judge, but not judged.
    grades: Grades
    starts: Sizes  # (Q + 1,) first row of each list; a query without results has none.
    pool: Sizes  # (Q, g_max + 1) number of judged results of the query by grade.
    # The same lists where scores are read in single precision; None if their grades are the same.
    single: "SinglePrecision | None" = None
    # known, known_relevant, expected: (rows,) whether the user knew the result; by lowest relevant grade,
    # (Q,) relevant results that the user knew; (Q,) relevant results that the user expects. None where the
    # input was not given.
    known: NDArray[np.bool_] | None = None
    known_relevant: dict[int, Sizes] | None = None
    expected: Sizes | None = None

    @property
    def returned(self) -> Sizes:
        """(Q,) number of results of each list."""
        return np.diff(self.starts)

    @property
    def max_grade(self) -> int:
        """The largest grade that the pool counts."""
        return int(self.pool.shape[1]) - 1

    def judged_only(self) -> "Lists":
        """Return the lists without the results that have no grade."""
        kept = self.grades >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        known = None if self.known is None else self.known[kept]
        return replace(self, grades=self.grades[kept], starts=starts, known=known, single=None)

    def with_unjudged(self, grade: int) -> "Lists":
        """Return the lists with this grade for results that have none; the pool stays."""
        filled = np.where(self.grades < 0, np.int16(grade), self.grades).astype(np.int16)
        return replace(self, grades=filled)

    def blocks(self, cut: int | None, *, exact: bool) -> Iterator["Block"]:
        """Yield the lists as arrays, some queries at a time; `exact`: lists of a block have equal length."""
        returned = self.returned if cut is None else np.minimum(self.returned, cut)
        length = int(self.returned.max(initial=0))
        if len(self.grades) == length * len(self.queries) <= MOST_CELLS and self.known is None:
            side_by_side = self.grades.reshape(len(self.queries), length)[:, :cut]
            yield Block(np.arange(len(self.queries)), _never_empty(side_by_side), returned, cut, None)
            return
        order = np.argsort(returned, kind="stable")
        sorted_lengths = returned[order]
        first = 0
        while first < len(order):
            last = _block_end(sorted_lengths, first, exact=exact)
            yield self._block(order[first:last], returned, cut)
            first = last

    def _block(self, rows: Sizes, returned: Sizes, cut: int | None) -> "Block":
        length = int(returned[rows].max(initial=0))
        places = self.starts[rows, None] + np.arange(length)
        there = np.arange(length) < returned[rows, None]
        if there.all():
            grades = self.grades[places]
        else:
            places = np.where(there, places, 0)
            grades = np.where(there, self.grades[places] if self.grades.size else 0, np.int16(NO_GRADE))
        known = None if self.known is None else there & self.known[places]
        return Block(rows, _never_empty(grades.astype(np.int16, copy=False)), returned[rows], cut, known)


def _never_empty(grades: Grades) -> Grades:
    """Return the grades, or one column without results where no list has any: measures read the first."""
    if grades.shape[1]:
        return grades
    return np.full((len(grades), 1), NO_GRADE, dtype=np.int16)


def _block_end(lengths: Sizes, first: int, *, exact: bool) -> int:
    if exact:
        return int(np.searchsorted(lengths, lengths[first], side="right"))
    # lengths rise: the last list of a block is its longest
    last = first + 1
    step = len(lengths) - first
    while step:
        if last + step <= len(lengths) and (last + step - first) * lengths[last + step - 1] <= MOST_CELLS:
            last += step
        else:
            step //= 2
    return last


@dataclass(frozen=True)
class SinglePrecision:
    """Lists whose order is another one where scores are read in single precision, as older tools do."""

    grades: Grades  # (rows,) grades in that order.
    lists: int  # How many lists have other grades at some rank.
    scores: tuple[float, float]  # Two scores of one list that differ, and are equal there.


@dataclass(frozen=True)
class Block:
    """Lists of n queries side by side."""

    rows: Sizes  # (n,) places of the queries in `Lists.queries`.
    grades: Grades  # (n, k) grades as in `Lists`, `NO_GRADE` where a list has ended.
    returned: Sizes  # (n,) results of each list, to the cut.
    cut: int | None  # The cut; None = none.
    # (n, k) whether the user knew the result; None where that input was not given.
    known: NDArray[np.bool_] | None


def measure_values(measure: Measure, lists: Lists, settings: Settings) -> Floats:
    """Return the (Q,) values of a measure, with its rule on results without a grade, one for each query.

    settings: relevant_grade, max_grade and persistence, where the measure's name does not give them.
    Raises SettingsError if an input or a gain is missing; JudgmentError for a grade above the scale.
    """
    rules, given = dict(measure.rules), dict[str, Any](given_arguments(measure, settings))
    _check(measure, lists, given)
    if rules.get("judged_only"):
        lists = lists.judged_only()
    if "unjudged" in rules:
        lists = lists.with_unjudged(int(str(rules["unjudged"])))
    values = np.zeros(len(lists.queries))
    gains = given.get("gains")  # where grade 0 has one, positions after the end of a list must not be counted
    exact = measure.metric.name == "MeanGrade" or (gains is not None and gains[0] != 0)
    for block in lists.blocks(measure.depth, exact=exact):
        needed: list[Any] = []
        for name in measure.metric.needs:
            if name in _OF_BLOCK:
                needed.append(_OF_BLOCK[name](block))
            elif name == "known_relevant":
                needed.append((lists.known_relevant or {})[given["rel"]][block.rows])
            else:
                needed.append(getattr(lists, name)[block.rows])
        values[block.rows] = measure.metric.function(*needed, **given)
    return values


_OF_BLOCK: dict[str, Callable[[Block], Any]] = {
    "grades": lambda block: np.maximum(block.grades, 0),
    "judged": lambda block: block.grades >= 0,
    "pooled": lambda block: (block.grades < 0) & (block.grades > NO_GRADE),
    "returned": lambda block: block.returned,
    "size": lambda block: block.returned if block.cut is None else block.cut,
    "deepest": lambda block: block.cut,
    "known": lambda block: block.known,
}
"""Arrays that a measure can take as arguments, by name (`clickassay.metrics.ranked`)."""


def _check(measure: Measure, lists: Lists, given: dict[str, Any]) -> None:
    """Refuse a measure whose inputs are not there, or whose scale the grades leave."""
    top = max(lists.max_grade, int(str(dict(measure.rules).get("unjudged", 0))))
    for need, verb in (("known", "know"), ("expected", "expect")):
        if need in measure.metric.needs and getattr(lists, need) is None:
            raise SettingsError(f"measure {measure} needs --{need}: what users {verb} of each query")
    gains, max_rel = given.get("gains"), given.get("max_rel")
    if gains is not None and len(gains) < top + 1:
        raise SettingsError(
            f"measure {measure}: gains has {len(gains)} values, but grades go up to {top}; give {top + 1} "
            "gains, one for each grade from 0"
        )
    if max_rel is not None and gains is None and given.get("rel") is None and top > max_rel:
        raise JudgmentError(
            f"measure {measure}: results have grade {top}, above max_rel {max_rel}; set the top of the "
            f"scale with --max-grade {top} or {measure.metric.name}(max_rel={top})"
        )
