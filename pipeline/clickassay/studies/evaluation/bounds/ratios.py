"""The grades of holes that make nDCG or NCG largest, for any scale, gains and discount."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickassay.core.records import Floats
from clickassay.inputs.trec import Sizes
from clickassay.metrics.definition import Measure
from clickassay.metrics.gains import discount
from clickassay.studies.evaluation.bounds.holes import HoleGrades, Holes


def climb(
    value: Callable[[HoleGrades], Floats], choose: Callable[[Floats], HoleGrades], start: Floats
) -> Floats:
    """Return the (Q,) largest values of a ratio D / I over the grades of holes (Dinkelbach 1967).

    Parameters
    ----------
    value
        The (Q,) ratios under some grades; 0 where I is 0.
    choose
        Grades that make D - x I largest in every query, for (Q,) numbers x. They have a larger ratio than x
        wherever any grades have.
    start
        (Q,) ratios under any grades.
    """
    best = start
    while True:
        found = value(choose(best))
        if not (found > best).any():
            return best
        best = np.maximum(best, found)


@dataclass(frozen=True)
class _List:
    """One list: the `holes` inside the cut, (n + 1,) A and (top, n + 1) S of `best_for_ideal`."""

    query: int
    holes: Sizes
    of_list: Floats
    of_ideal: Floats


def best_for_ideal(
    holes: Holes, measure: Measure, given: dict[str, Any], top: int
) -> Callable[[Floats], HoleGrades]:
    """Return the function that chooses grades of 0..`top` for nDCG or NCG, see `climb`.

    D - x I is a sum over the grades g from 1 up of (gain of g - gain of g - 1) times A(n) - x S(m + n),
    where n holes have grade g or more, and m other results. A(n) is the sum of 1 / discount over these
    holes, largest if they are the first n; S(j) is that over the first j ranks of the ideal list. Each n
    can be chosen by itself: as S is concave, the best n rises with m, and m is larger for lower grades, so
    that the choices fit together. Holes below the cut get 0: they would only raise I.
    """
    every = _by_list(holes, measure, given, top)

    def choose(ratio: Floats) -> HoleGrades:
        grades = np.zeros(len(holes.rows), dtype=np.int64)
        for one in every:
            number = np.argmax(one.of_list - ratio[one.query] * one.of_ideal, axis=1)
            grades[one.holes] = (number[:, None] > np.arange(len(one.holes))).sum(axis=0)
        return grades

    return choose


def _by_list(holes: Holes, measure: Measure, given: dict[str, Any], top: int) -> list[_List]:
    ideal, form, ends = given.get("ideal", "judged"), given.get("dcg", "none"), holes.ends
    counts = _shown_by_grade(holes, measure.depth) if ideal == "shown" else holes.lists.pool
    others = _at_least(counts, top)
    longest = int(max(holes.rank.max(initial=0), others.max(initial=0) + holes.most))
    worth = np.array([1 / discount(form, rank) for rank in range(1, longest + 1)])
    cut = measure.depth if ideal == "judged" else None
    of_ideal = np.concatenate([[0.0], np.cumsum(np.where(np.arange(longest) < (cut or longest), worth, 0))])
    found = []
    for query in range(len(others)):
        inside = ends[query] + np.flatnonzero(holes.inside[ends[query] : ends[query + 1]])
        if len(inside):
            of_list = np.concatenate([[0.0], np.cumsum(worth[holes.rank[inside] - 1])])
            places = others[query][:, None] + np.arange(len(inside) + 1)
            found.append(_List(query, inside, of_list, of_ideal[places]))
    return found


def _at_least(counts: Sizes, top: int) -> Sizes:
    """Return the (Q, top) numbers of results of grade 1, 2, ... `top` or more."""
    grades = np.zeros((len(counts), top + 1), dtype=np.int64)
    grades[:, : counts.shape[1]] = counts
    return np.cumsum(grades[:, ::-1], axis=1)[:, ::-1][:, 1:]


def _shown_by_grade(holes: Holes, cut: int | None) -> Sizes:
    """Return the (Q, g_max + 1) numbers of results that the lists show with each grade."""
    lists = holes.lists
    counts = np.zeros_like(lists.pool)
    for block in lists.blocks(cut, exact=False):
        for grade in range(counts.shape[1]):
            counts[block.rows, grade] = np.count_nonzero(block.grades == grade, axis=1)
    return counts
