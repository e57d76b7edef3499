"""The least and the largest value of a measure over every way to grade the results without a grade."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.metrics.editorial import satisfaction
from clickassay.metrics.lists import Lists, measure_values
from clickassay.studies.evaluation.bounds.holes import HoleGrades, Holes, find_holes
from clickassay.studies.evaluation.bounds.pairs import fewest_wrong, most_wrong
from clickassay.studies.evaluation.bounds.ratios import best_for_ideal, climb
from clickassay.studies.evaluation.bounds.stops import best_stops


@dataclass(frozen=True)
class Bounds:
    """The (Q,) least and largest values that a measure can have, both attained."""

    low: Floats
    high: Floats


def measure_bounds(measure: Measure, lists: Lists, settings: Settings) -> Bounds:
    """Return the least and the largest value of a measure over every way to grade what the lists show.

    Each result of a list that has no grade gets one of 0..top, and joins the judged results of its query;
    the results below the cut do too, as recall, AP and ideal lists count them. Documents that no list shows
    stay as they are. The top is that of the measure's scale: `max_rel` or the number of `gains`, else
    the setting max_grade, or the largest grade of the judgments where that is above it.

    The bounds are exact: for every measure, the grades that are tried have some among them that give the
    least value, and some that give the largest (docs/reference/evaluate.md, Bounds).

    Raises
    ------
    SettingsError, JudgmentError
        As `measure_values`.
    """
    asked = _Asked(measure, settings, find_holes(lists, measure.depth), _top(measure, lists, settings))
    if not len(asked.holes.rows):
        values = measure_values(measure, lists, settings)
        return Bounds(values, values)
    return _BOUNDS.get(measure.metric.name, _by_number)(asked)


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
        for found in values:
            low, high = np.minimum(low, found), np.maximum(high, found)
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
"""How the bounds of a measure are found, by its name; those of the others by `_by_number`."""
