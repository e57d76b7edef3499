"""The grades of holes that make ERR with utilities largest or smallest."""

import numpy as np

from clickassay.core.records import Floats
from clickassay.inputs.trec import Sizes
from clickassay.metrics.gains import Values
from clickassay.metrics.lists import Grades
from clickassay.studies.evaluation.bounds.holes import HoleGrades, Holes


def best_stops(
    holes: Holes, cut: int | None, chances: Floats, utilities: Values, *, largest: bool
) -> HoleGrades:
    """Return grades, each 0 or the top, that make the expected utility of each list largest or smallest.

    Let V(r) be the utility that a user expects who has reached rank r. V(r) = R(g) u(r) + (1 - R(g)) V(r + 1)
    rises with V(r + 1), so that the last rank is decided first, and is linear in R(g), so that the least or
    the largest R(g) is best.

    Parameters
    ----------
    chances
        (top + 1,) R(g) by grade, never falling.
    utilities
        u by rank from 1; stopping below them is worth nothing.
    """
    lists, deepest = holes.lists, len(utilities) if cut is None else min(cut, len(utilities))
    grades = np.zeros(len(holes.rows), dtype=np.int64)
    for query, first in enumerate(holes.ends[:-1]):
        shown = lists.grades[lists.starts[query] : lists.starts[query + 1]][:deepest]
        chosen = _best_of_list(shown, chances, utilities, largest=largest)
        inside = shown < 0
        grades[first : first + np.count_nonzero(inside)] = chosen[inside]
    return grades


def _best_of_list(shown: Grades, chances: Floats, utilities: Values, *, largest: bool) -> Sizes:
    grades = shown.astype(np.int64)
    value = 0.0
    for place in reversed(range(len(grades))):
        if grades[place] < 0:
            grades[place] = len(chances) - 1 if (utilities[place] > value) is largest else 0
        satisfied = float(chances[grades[place]])
        value = satisfied * utilities[place] + (1 - satisfied) * value
    return grades
