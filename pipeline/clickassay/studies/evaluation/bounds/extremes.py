"""The least and the largest value of a measure over every way to grade the results without a grade."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.inputs.text.trec import Sizes
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.metrics.editorial import Values, discount, satisfaction
from clickassay.metrics.lists import Grades, Lists, measure_values
from clickassay.studies.evaluation.bounds.holes import HoleGrades, Holes, find_holes
from clickassay.studies.evaluation.bounds.pairs import fewest_wrong, most_wrong


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
    bounds = []
    for query in range(len(others)):
        inside = ends[query] + np.flatnonzero(holes.inside[ends[query] : ends[query + 1]])
        if len(inside):
            of_list = np.concatenate([[0.0], np.cumsum(worth[holes.rank[inside] - 1])])
            places = others[query][:, None] + np.arange(len(inside) + 1)
            bounds.append(_List(query, inside, of_list, of_ideal[places]))
    return bounds


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
    asked = _Asked(measure, settings, find_holes(lists, measure.depth), _top(measure, lists, settings))
    values = measure_values(measure, lists, settings)
    if not len(asked.holes.rows):
        return Bounds(values, values)
    graded = _BOUNDS.get(measure.metric.name, _by_number)(asked)
    return Bounds(np.minimum(graded.low, values), np.maximum(graded.high, values))


def _top(measure: Measure, lists: Lists, settings: Settings) -> int:
    given: dict[str, Any] = given_arguments(measure, settings)
    if given.get("gains") is not None:
        return len(given["gains"]) - 1
    return max(lists.max_grade, given.get("max_rel") or settings.max_grade)


@dataclass(frozen=True)
class _Asked:
    """A measure, and the holes that may have grades of 0..`top`."""

    measure: Measure
    settings: Settings
    holes: Holes
    top: int

    @property
    def given(self) -> dict[str, Any]:
        return given_arguments(self.measure, self.settings)

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

    def from_end(self) -> Iterator[HoleGrades]:
        """Yield the top for the last n holes of each list, for every n."""
        below = self.holes.from_end
        yield from (self.at_top(below < number) for number in range(self.holes.most + 1))

    def from_top(self) -> Iterator[HoleGrades]:
        """Yield the top for the first n holes of each list, for every n."""
        above = self.holes.from_top
        yield from (self.at_top(above < number) for number in range(self.holes.most + 1))


def _by_side(asked: _Asked) -> Bounds:
    """Bounds where every grade inside the cut helps, and none below it: or the other way round."""
    inside = asked.holes.inside
    return asked.among([asked.at_top(inside), asked.at_top(~inside)])


def _by_number(asked: _Asked) -> Bounds:
    """Bounds where a result is relevant or not: for every number of relevant holes, the first or the last."""
    return asked.among([*asked.from_top(), *asked.from_end()])


def _novelty(asked: _Asked) -> Bounds:
    """Bounds of the share of relevant results that users did not know."""
    known = asked.holes.lists.known
    of_hole = np.zeros(len(asked.holes.rows), dtype=np.bool_) if known is None else known[asked.holes.rows]
    return asked.among([asked.at_top(of_hole), asked.at_top(~of_hole)])


def _of_ideal(asked: _Asked) -> Bounds:
    """Bounds of nDCG and NCG."""
    low = asked.among(asked.from_end()).low
    choose = best_for_ideal(asked.holes, asked.measure, asked.given, asked.top)
    return Bounds(low, climb(asked.value, choose, low))


def _inversions(asked: _Asked) -> Bounds:
    number, nothing = asked.measure.depth, np.zeros(len(asked.holes.lists.queries))
    chosen = (pairs(asked.holes, number, asked.top)(nothing) for pairs in (fewest_wrong, most_wrong))
    return asked.among(chosen)


def _tau_distance(asked: _Asked) -> Bounds:
    # all alike: no pair of different grades, which counts 0
    alike = asked.among(np.full(len(asked.holes.rows), grade) for grade in range(asked.top + 1))
    holes, cut = asked.holes, asked.measure.depth
    fewest, most = (pairs(holes, cut, asked.top) for pairs in (fewest_wrong, most_wrong))
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
