"""The grades of holes that make pairs in the wrong order most or fewest, for any scale."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats
from clickassay.inputs.text.trec import Sizes
from clickassay.metrics.lists import Grades
from clickassay.studies.evaluation.bounds.holes import HoleGrades, Holes


@dataclass(frozen=True)
class _List:
    """One list: its query, its n holes inside the cut, and how they stand to the results with a grade.

    `wrong` is (n, top + 1): pairs in the wrong order that a hole of a grade makes with those; `different` is
    (top + 1,): pairs of different grades.
    """

    query: int
    holes: Sizes
    wrong: Floats
    different: Floats


def most_wrong(holes: Holes, cut: int | None, top: int) -> Callable[[Floats], HoleGrades]:
    """Return the function that chooses grades which make wrong - x different largest, x in 0..1.

    `wrong` counts the pairs of results of a list in the wrong order, `different` those of different grades.
    Swapping the grades of two holes so that the lower one has the better grade makes no pair right, and
    changes `different` by nothing: the grades of holes rise from the top down. So those of grade 0 come
    first, then those of grade 1: where each grade ends is found by dynamic programming.
    """
    every = _by_list(holes, cut, top)

    def choose(ratio: Floats) -> HoleGrades:
        grades = np.zeros(len(holes.rows), dtype=np.int64)
        for one in every:
            x = ratio[one.query]
            grades[one.holes] = _best_blocks(one.wrong - x * one.different, penalty=1 - x)
        return grades

    return choose


def fewest_wrong(holes: Holes, cut: int | None, top: int) -> Callable[[Floats], HoleGrades]:
    """Return the function that chooses grades which make x different - wrong largest, x in 0..1.

    As `most_wrong`, but for grades that fall: no pair of holes is then in the wrong order.
    """
    every = _by_list(holes, cut, top)

    def choose(ratio: Floats) -> HoleGrades:
        grades = np.zeros(len(holes.rows), dtype=np.int64)
        for one in every:
            x = ratio[one.query]
            falling = (x * one.different - one.wrong)[:, ::-1]
            grades[one.holes] = top - _best_blocks(falling, penalty=x)
        return grades

    return choose


def _best_blocks(score: Floats, *, penalty: float) -> Sizes:
    """Return the (n,) columns, never falling, that make a sum largest.

    The sum is that of the scores of n rows in their columns, less `penalty` for each pair of rows in the same
    column.
    """
    number, columns = score.shape
    pairs = penalty * np.array([size * (size - 1) / 2 for size in range(number + 1)])
    size = np.arange(number + 1)[:, None] - np.arange(number + 1)  # of a block by its end and its start
    fits = size >= 0
    cost = np.where(fits, pairs[np.maximum(size, 0)], np.inf)
    best = np.where(np.arange(number + 1) == 0, 0.0, -np.inf)
    starts = np.zeros((columns, number + 1), dtype=np.int64)
    for column in range(columns):
        total = np.concatenate([[0.0], np.cumsum(score[:, column])])
        reached = (best - total)[None, :] + total[:, None] - cost
        starts[column] = reached.argmax(axis=1)
        best = reached.max(axis=1)
    return _columns_of(starts)


def _columns_of(starts: Sizes) -> Sizes:
    columns, number = starts.shape[0], starts.shape[1] - 1
    places = np.zeros(number, dtype=np.int64)
    end = number
    for column in reversed(range(columns)):
        first = int(starts[column, end])
        places[first:end] = column
        end = first
    return places


def _by_list(holes: Holes, cut: int | None, top: int) -> list[_List]:
    lists, ends = holes.lists, holes.ends
    bounds = []
    for query in range(len(lists.queries)):
        inside = ends[query] + np.flatnonzero(holes.inside[ends[query] : ends[query + 1]])
        if len(inside):
            grades = lists.grades[lists.starts[query] : lists.starts[query + 1]][:cut]
            bounds.append(_List(query, inside, *_against_graded(grades, top)))
    return bounds


def _against_graded(grades: Grades, top: int) -> tuple[Floats, Floats]:
    scale, judged = np.arange(top + 1), (grades >= 0)[:, None]
    column = grades[:, None]
    worse_above = np.cumsum(judged & (column < scale), axis=0)
    better = judged & (column > scale)
    better_below = better.sum(axis=0) - np.cumsum(better, axis=0)
    different = (judged & (column != scale)).sum(axis=0)
    return (worse_above + better_below)[grades < 0].astype(np.float64), different.astype(np.float64)
