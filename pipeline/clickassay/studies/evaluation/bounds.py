"""The least and the largest value of a measure over every way to grade the results without a grade."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats, Integers
from clickassay.core.settings import Settings
from clickassay.inputs.text.trec import Sizes
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.metrics.editorial import Values, discount, satisfaction
from clickassay.metrics.lists import Lists, measure_values

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
    def by_list(self) -> list[tuple[int, Sizes]]:
        """The place of each query with holes inside the cut, and these."""
        parts = (np.arange(first, last) for first, last in pairwise(self.ends))
        within = ((query, part[self.inside[part]]) for query, part in enumerate(parts))
        return [(query, inside) for query, inside in within if len(inside)]

    def graded(self, grades: HoleGrades) -> Lists:
        """Return the lists in which the holes have these grades: judged results of the query from then on."""
        lists, width = self.lists, max(int(grades.max(initial=0)), self.lists.max_grade) + 1
        filled = lists.grades.copy()
        filled[self.rows] = grades
        pool = np.zeros((len(lists.queries), width), dtype=np.int64)
        pool[:, : lists.pool.shape[1]] = lists.pool
        np.add.at(pool, (self.query, grades), 1)
        known_relevant = lists.known_relevant
        if lists.known is not None and known_relevant is not None:
            known = lists.known[self.rows]
            known_relevant = {
                rel: counts + np.bincount(self.query[known & (grades >= rel)], minlength=len(counts))
                for rel, counts in known_relevant.items()
            }
        return replace(lists, grades=filled, pool=pool, known_relevant=known_relevant)


# ---- pairs in the wrong order -----------------------------------------------------------------------------


def most_or_fewest_wrong(
    holes: Holes, cut: int | None, top: int, *, most: bool
) -> Callable[[Floats], HoleGrades]:
    """Return the function that chooses grades which make wrong - x different largest, or smallest, x in 0..1.

    `wrong` counts the pairs of results of a list in the wrong order, `different` those of different grades.
    Swapping the grades of two holes so that the lower one has the better grade makes no pair right, and
    changes `different` by nothing: for the most, the grades of holes rise from the top down. So those of
    grade 0 come first, then those of grade 1: where each grade ends is found by dynamic programming. For the
    fewest they fall: no pair of holes is then in the wrong order.
    """
    lists, scale, every = holes.lists, np.arange(top + 1), []
    for query, inside in holes.by_list:
        grades = lists.grades[lists.starts[query] : lists.starts[query + 1]][:cut]
        judged, column = (grades >= 0)[:, None], grades[:, None]
        worse_above = np.cumsum(judged & (column < scale), axis=0)
        better = judged & (column > scale)
        better_below = better.sum(axis=0) - np.cumsum(better, axis=0)
        # of the n holes inside the cut and the results with a grade: (n, top + 1) pairs in the wrong order
        # that a hole of a grade makes, and (top + 1,) pairs of different grades
        wrong = (worse_above + better_below)[grades < 0].astype(np.float64)
        every.append((query, inside, wrong, (judged & (column != scale)).sum(axis=0).astype(np.float64)))

    def choose(ratio: Floats) -> HoleGrades:
        chosen = np.zeros(len(holes.rows), dtype=np.int64)
        for query, inside, wrong, different in every:
            x = ratio[query]
            if most:
                chosen[inside] = _best_blocks(wrong - x * different, penalty=1 - x)
            else:
                chosen[inside] = top - _best_blocks((x * different - wrong)[:, ::-1], penalty=x)
        return chosen

    return choose


def _best_blocks(score: Floats, *, penalty: float) -> Sizes:
    """Return (n,) columns, never falling, of largest summed score, less `penalty` for pairs in a column."""
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
    places = np.zeros(number, dtype=np.int64)
    end = number
    for column in reversed(range(columns)):
        first = int(starts[column, end])
        places[first:end] = column
        end = first
    return places


# ---- stops, and ideal lists -------------------------------------------------------------------------------


def best_stops(
    holes: Holes, cut: int | None, chances: Floats, utilities: Values, *, largest: bool
) -> HoleGrades:
    """Return grades, each 0 or the top, that make the expected utility of each list largest or smallest.

    Let V(r) be the utility that a user expects who has reached rank r. V(r) = R(g) u(r) + (1 - R(g)) V(r + 1)
    rises with V(r + 1), so that the last rank is decided first, and is linear in R(g), so that the least or
    the largest R(g) is best.

    chances: (top + 1,) R(g) by grade, never falling.
    utilities: u by rank from 1; stopping below them is worth nothing.
    """
    lists, deepest = holes.lists, len(utilities) if cut is None else min(cut, len(utilities))
    grades = np.zeros(len(holes.rows), dtype=np.int64)
    for query, first in enumerate(holes.ends[:-1]):
        shown = lists.grades[lists.starts[query] : lists.starts[query + 1]][:deepest]
        chosen, value = shown.astype(np.int64), 0.0
        for place in reversed(range(len(chosen))):
            if chosen[place] < 0:
                chosen[place] = len(chances) - 1 if (utilities[place] > value) is largest else 0
            satisfied = float(chances[chosen[place]])
            value = satisfied * utilities[place] + (1 - satisfied) * value
        inside = shown < 0
        grades[first : first + np.count_nonzero(inside)] = chosen[inside]
    return grades


def climb(
    value: Callable[[HoleGrades], Floats], choose: Callable[[Floats], HoleGrades], start: Floats
) -> Floats:
    """Return the (Q,) largest values of a ratio D / I over the grades of holes (Dinkelbach 1967).

    value: the (Q,) ratios under some grades; 0 where I is 0.
    choose: grades that make D - x I largest in every query, for (Q,) numbers x. They have a larger ratio than
      x wherever any grades have.
    start: (Q,) ratios under any grades.
    """
    best = start
    while True:
        reached = value(choose(best))
        if not (reached > best).any():
            return best
        best = np.maximum(best, reached)


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
    lists, ideal, form = holes.lists, given.get("ideal", "judged"), given.get("dcg", "none")
    counts = np.zeros((len(lists.queries), top + 1), dtype=np.int64)
    if ideal == "shown":
        for block in lists.blocks(measure.depth, exact=False):
            for grade in range(lists.pool.shape[1]):
                counts[block.rows, grade] = np.count_nonzero(block.grades == grade, axis=1)
    else:
        counts[:, : lists.pool.shape[1]] = lists.pool
    others = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]  # of grade 1, 2, ... top or more
    most = int(np.diff(holes.ends).max(initial=0))
    longest = int(max(holes.rank.max(initial=0), others.max(initial=0) + most))
    worth = np.array([1 / discount(form, rank) for rank in range(1, longest + 1)])
    cut = measure.depth if ideal == "judged" else None
    of_ideal = np.concatenate([[0.0], np.cumsum(np.where(np.arange(longest) < (cut or longest), worth, 0))])
    every = []
    for query, inside in holes.by_list:
        of_list = np.concatenate([[0.0], np.cumsum(worth[holes.rank[inside] - 1])])
        every.append((query, inside, of_list, of_ideal[others[query][:, None] + np.arange(len(inside) + 1)]))

    def choose(ratio: Floats) -> HoleGrades:
        grades = np.zeros(len(holes.rows), dtype=np.int64)
        for query, inside, of_list, below in every:
            number = np.argmax(of_list - ratio[query] * below, axis=1)
            grades[inside] = (number[:, None] > np.arange(len(inside))).sum(axis=0)
        return grades

    return choose


@dataclass(frozen=True)
class Bounds:
    """The (Q,) least and largest values that a measure can have, both attained."""

    low: Floats
    high: Floats


def measure_bounds(measure: Measure, lists: Lists, settings: Settings) -> Bounds:
    """Return the least and the largest value of a measure over every way to grade what the lists show.

    Each result of a list that has no grade gets one of 0..top, and joins the judged results of its query;
    the results below the cut do too, as recall, AP and ideal lists count them. Documents that no list shows
    stay as they are. The value as it is counts too: to some measures, no grade is not a low one. The top is
    that of the measure's scale: `max_rel` or the number of `gains`, else the setting max_grade, or the
    largest grade of the judgments where that is above it.

    The bounds are exact: for every measure, the grades that are tried have some among them that give the
    least value, and some that give the largest (docs/reference/evaluate.md, Bounds).

    Raises SettingsError, JudgmentError as `measure_values`.
    """
    given: dict[str, Any] = given_arguments(measure, settings)
    top = max(lists.max_grade, given.get("max_rel") or settings.max_grade)
    if given.get("gains") is not None:
        top = len(given["gains"]) - 1
    query = np.repeat(np.arange(len(lists.queries)), lists.returned)
    rows = np.flatnonzero(lists.grades < 0)
    rank = rows - lists.starts[query[rows]] + 1
    inside = np.ones(len(rows), dtype=np.bool_) if measure.depth is None else rank <= measure.depth
    asked = _Asked(measure, settings, Holes(lists, rows, query[rows], rank, inside), top, given)
    values = measure_values(measure, lists, settings)
    if not len(asked.holes.rows):
        return Bounds(values, values)
    graded = _BOUNDS.get(measure.metric.name, _by_number)(asked)
    return Bounds(np.minimum(graded.low, values), np.maximum(graded.high, values))


@dataclass(frozen=True)
class _Asked:
    """A measure, and the holes that may have grades of 0..`top`."""

    measure: Measure
    settings: Settings
    holes: Holes
    top: int
    given: dict[str, Any]  # The arguments of the measure, by name.

    def value(self, grades: HoleGrades) -> Floats:
        """Return the (Q,) values when the holes have these grades."""
        return measure_values(self.measure, self.holes.graded(grades), self.settings)

    def among(self, candidates: Iterable[HoleGrades]) -> Bounds:
        """Return the least and the largest values when the holes have the grades of the candidates."""
        values = map(self.value, candidates)
        low = high = next(values)
        for reached in values:
            low, high = np.minimum(low, reached), np.maximum(high, reached)
        return Bounds(low, high)

    def at_top(self, where: Any) -> HoleGrades:  # noqa: ANN401 - (H,) flags
        """Return the top for some holes, 0 for the others."""
        return np.where(where, self.top, 0)

    def of_every_number(self, *, last: bool) -> Iterator[HoleGrades]:
        """Yield the top for the first n holes of each list, or the last n, for every n."""
        ends, place = self.holes.ends, np.arange(len(self.holes.rows))
        query = self.holes.query
        beside = ends[query + 1] - 1 - place if last else place - ends[query]
        most = int(np.diff(ends).max(initial=0))
        yield from (self.at_top(beside < number) for number in range(most + 1))


def _by_side(asked: _Asked) -> Bounds:
    """Bounds where every grade inside the cut helps, and none below it: or the other way round."""
    inside = asked.holes.inside
    return asked.among([asked.at_top(inside), asked.at_top(~inside)])


def _by_number(asked: _Asked) -> Bounds:
    """Bounds where a result is relevant or not: for every number of relevant holes, the first or the last."""
    return asked.among([*asked.of_every_number(last=False), *asked.of_every_number(last=True)])


def _novelty(asked: _Asked) -> Bounds:
    known = asked.holes.lists.known
    of_hole = np.zeros(len(asked.holes.rows), dtype=np.bool_) if known is None else known[asked.holes.rows]
    return asked.among([asked.at_top(of_hole), asked.at_top(~of_hole)])


def _of_ideal(asked: _Asked) -> Bounds:
    low = asked.among(asked.of_every_number(last=True)).low
    choose = best_for_ideal(asked.holes, asked.measure, asked.given, asked.top)
    return Bounds(low, climb(asked.value, choose, low))


def _inversions(asked: _Asked) -> Bounds:
    holes, cut, nothing = asked.holes, asked.measure.depth, np.zeros(len(asked.holes.lists.queries))
    return asked.among(
        most_or_fewest_wrong(holes, cut, asked.top, most=most)(nothing) for most in (False, True)
    )


def _tau_distance(asked: _Asked) -> Bounds:
    # all alike: no pair of different grades, which counts 0
    alike = asked.among(np.full(len(asked.holes.rows), grade) for grade in range(asked.top + 1))
    fewest, most = (
        most_or_fewest_wrong(asked.holes, asked.measure.depth, asked.top, most=end) for end in (False, True)
    )
    high = climb(asked.value, most, alike.high)
    low = climb(lambda grades: -asked.value(grades), lambda ratio: fewest(-ratio), -alike.low)
    return Bounds(-low + 0.0, high)


def _err(asked: _Asked) -> Bounds:
    utilities = asked.given["utilities"]
    if utilities is None:
        return _by_side(asked)
    scale = np.arange(asked.top + 1)
    chances = satisfaction(scale, asked.given["max_rel"], asked.given["gains"])
    holes, cut = asked.holes, asked.measure.depth
    return asked.among(best_stops(holes, cut, chances, utilities, largest=end) for end in (False, True))


_SUMS = ("DCG", "CG", "RBP", "P", "R", "F", "E", "RR", "Success", "MeanGrade", "Coverage", "RelativeRecall")
_UNCHANGED = ("Judged", "RecallEffort")

_BOUNDS: dict[str, Callable[[_Asked], Bounds]] = {
    **dict.fromkeys((*_SUMS, *_UNCHANGED), _by_side),
    **dict.fromkeys(("NDCG", "NCG"), _of_ideal),
    "ERR": _err,
    "Novelty": _novelty,
    "Inversions": _inversions,
    "TauDistance": _tau_distance,
}
"""How the bounds of a measure are found, by its name; all others by `_by_number`."""
