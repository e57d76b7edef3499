"""Results without a grade, and the same lists with grades for them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Integers
from clickassay.inputs.text.trec import Sizes
from clickassay.metrics.lists import Lists

HoleGrades = Integers
"""(H,) grades of the holes of some lists, in the order of the lists."""


@dataclass(frozen=True)
class Holes:
    """The H results of some lists that have no grade, list after list, best result first."""

    lists: Lists  # The lists.
    rows: Sizes  # (H,) their rows in `Lists.grades`.
    query: Sizes  # (H,) place of the query in `Lists.queries`.
    rank: Sizes  # (H,) rank in the list, from 1.
    inside: NDArray[np.bool_]  # (H,) whether the rank lies within the cut of a measure.

    @property
    def ends(self) -> Sizes:
        """(Q + 1,) first hole of each list."""
        ends: Sizes = np.searchsorted(self.query, np.arange(len(self.lists.queries) + 1))
        return ends

    @property
    def from_top(self) -> Sizes:
        """(H,) number of holes of the same list that are ranked higher."""
        above: Sizes = np.arange(len(self.rows)) - self.ends[self.query]
        return above

    @property
    def from_end(self) -> Sizes:
        """(H,) number of holes of the same list that are ranked lower."""
        below: Sizes = self.ends[self.query + 1] - 1 - np.arange(len(self.rows))
        return below

    @property
    def most(self) -> int:
        """The number of holes of the list that has most."""
        return int(np.diff(self.ends).max(initial=0))

    def graded(self, grades: HoleGrades) -> Lists:
        """Return the lists in which the holes have these grades: judged results of the query from then on."""
        lists, width = self.lists, max(int(grades.max(initial=0)), self.lists.max_grade) + 1
        filled = lists.grades.copy()
        filled[self.rows] = grades
        pool = np.zeros((len(lists.queries), width), dtype=np.int64)
        pool[:, : lists.pool.shape[1]] = lists.pool
        np.add.at(pool, (self.query, grades), 1)
        return replace(lists, grades=filled, pool=pool, known_relevant=self._known_relevant(grades))

    def _known_relevant(self, grades: HoleGrades) -> dict[int, Sizes] | None:
        lists = self.lists
        if lists.known is None or lists.known_relevant is None:
            return lists.known_relevant
        known = lists.known[self.rows]
        return {
            rel: counts + np.bincount(self.query[known & (grades >= rel)], minlength=len(counts))
            for rel, counts in lists.known_relevant.items()
        }


def find_holes(lists: Lists, cut: int | None) -> Holes:
    """Return the results without a grade; those below the cut too, as they count among the query's."""
    query = np.repeat(np.arange(len(lists.queries)), lists.returned)
    rows = np.flatnonzero(lists.grades < 0)
    rank = rows - lists.starts[query[rows]] + 1
    inside = np.ones(len(rows), dtype=np.bool_) if cut is None else rank <= cut
    return Holes(lists, rows, query[rows], rank, inside)
