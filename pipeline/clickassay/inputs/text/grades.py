"""From ratings as they are written to grades: whole numbers of a scale, or the values of a grade map.

Metrics use 2^grade - 1 (method 6). A rating that is itself a gain (0, 1, 10, 100), a fraction or a word
is no grade, and only the user knows which grade it stands for.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clickassay.core.errors import InputError, SettingsError

HIGHEST_GRADE = 30
"""As high as `max_grade` of a run may be."""

NOT_JUDGED = -1
"""Grade in qrels of a document that was pooled, and not judged."""

_PLAUSIBLE = 5
"""Up to this grade, a scale may have grades that do not occur."""
_MOST_LISTED = 30
_TOP_OF_SUGGESTED = 4
_KNOWN_WORDS = (
    ("bad", "fair", "good", "excellent", "perfect"),
    ("irrelevant", "complement", "substitute", "exact"),
    ("i", "c", "s", "e"),
    ("irrelevant", "partially relevant", "relevant"),
    ("no", "yes"),
    ("false", "true"),
)
"""Words of common scales, worst first: the order in a suggested map."""

_PART = re.compile(r"\s*(\S.*?)\s*=\s*([0-9]+)\s*(?:,|$)", re.DOTALL)
_SPELLED = r"[-+]?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_SPELLED})?\s*\.\.\s*({_SPELLED})?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,(?!000$)[0-9]+")
"""Not 1,000, which may be a thousand."""


def qrels_grade(number: int) -> int:
    """Return the grade of a number in qrels: `NOT_JUDGED` as it is, what is below (spam) 0."""
    return 0 if number < NOT_JUDGED else number


def value_key(text: str) -> str:
    """Return the key by which ratings are compared: ``10`` equals ``10.000`` and ``10,0``, Good good."""
    number = _number(text)
    if number is None:
        return " ".join(text.split()).casefold()
    return str(int(number)) if number == int(number) else repr(number)


@dataclass(frozen=True)
class GradeMap:
    """Grades of ratings."""

    values: Mapping[str, int]  # By `value_key`; they have precedence over ranges.
    # (lowest, highest number, grade), rising; a number at which two ranges meet belongs to the upper one.
    ranges: tuple[tuple[float, float, int], ...] = ()

    @property
    def highest(self) -> int:
        """The highest grade."""
        return max([*self.values.values(), *(grade for _, _, grade in self.ranges)])

    def grade(self, key: str) -> int | None:
        """Return the grade of a rating; None if the map lacks it."""
        if key in self.values:
            return self.values[key]
        number = _number(key)
        if number is None:
            return None
        return next((grade for low, high, grade in reversed(self.ranges) if low <= number <= high), None)


def parse_grade_map(text: str) -> GradeMap:
    """Read ``0=0,1=1,10=3,100=4``, or with ranges of numbers ``..0.5=0,0.5..1=1,1..=2``.

    Raises
    ------
    SettingsError
        If a part is not VALUE=GRADE, a grade is not a whole number 0..30, a value is named twice, or ranges
        overlap.
    """
    values: dict[str, int] = {}
    ranges: list[tuple[float, float, int]] = []
    for value, grade in _parts(text):
        ends = _RANGE.fullmatch(value)
        if ends and (ends[1] or ends[2]):
            ranges.append((float(ends[1] or "-inf"), float(ends[2] or "inf"), grade))
        elif value_key(value) in values:
            raise SettingsError(f"--grade-map names {value!r} twice; give each value one grade")
        else:
            values[value_key(value)] = grade
    ranges.sort()
    following = [low for low, _, _ in ranges[1:]] + [math.inf] * bool(ranges)
    for (low, high, _), after in zip(ranges, following, strict=True):
        if low >= high or after < high:
            raise SettingsError(f"--grade-map: the range {low:g}..{high:g} is empty, or overlaps another")
    return GradeMap(values, tuple(ranges))


def _parts(text: str) -> list[tuple[str, int]]:
    """Return (value, grade) of each part; a value may have commas, as 1,5 has."""
    found, place = [], 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or int(part[2]) > HIGHEST_GRADE:
            odd = (part[0] if part else text[place:]).strip(", ")
            raise SettingsError(
                f"--grade-map: found {odd!r}, expected VALUE=GRADE with a whole grade 0..{HIGHEST_GRADE}, "
                "e.g. 0=0,1=1,10=3,100=4, or LOW..HIGH=GRADE"
            )
        found.append((part[1], int(part[2])))
        place = part.end()
    return found


def parse_cuts(text: str) -> GradeMap:
    """Read ``0.25,0.5,0.75``: a number has as its grade how many of them it reaches.

    Raises
    ------
    SettingsError
        If they are not rising numbers, at most 30.
    """
    numbers = [_number(part) for part in text.split(",")]
    cuts = [number for number in numbers if number is not None]
    if len(cuts) < len(numbers) or len(cuts) > HIGHEST_GRADE or sorted(set(cuts)) != cuts:
        raise SettingsError(
            f"--cuts: found {text!r}, expected at most {HIGHEST_GRADE} rising numbers, e.g. 0.25,0.5,0.75"
        )
    ends = [-math.inf, *cuts, math.inf]
    return GradeMap({}, tuple((low, high, grade) for grade, (low, high) in enumerate(pairwise(ends))))


def grades_of(
    places: Mapping[str, str], *, grade_map: GradeMap | None = None, max_grade: int | None = None
) -> dict[str, int]:
    """Return the grade of each rating.

    Parameters
    ----------
    places
        For each rating, by `value_key`, the file and line where it occurs first.
    grade_map
        Result of `parse_grade_map` or `parse_cuts`.
    max_grade
        Highest grade of the scale; None = not given.

    Raises
    ------
    InputError
        If a rating is not in the map; or, without a map, if ratings are no whole numbers 0..`max_grade`, or
        of no plausible scale: higher than 5 with gaps, or higher than 30.
    """
    if grade_map is not None:
        return _by_map(places, grade_map)
    numbers = {key: _number(key) for key in places}
    for key, number in numbers.items():
        fault = _why_no_grade(number, max_grade)
        if fault:
            raise _refused(places, key, fault)
    grades = {key: int(number) for key, number in numbers.items() if number is not None}
    if max_grade is None:
        _check_plausible(places, grades)
    return grades


def _by_map(places: Mapping[str, str], grade_map: GradeMap) -> dict[str, int]:
    grades = {key: grade_map.grade(key) for key in places}
    for key, place in places.items():
        if grades[key] is None:
            lacks = f"{place}: found the rating {key!r}, which --grade-map lacks; add {key}=GRADE"
            no_number = f"{place}: found the rating {key!r}; expected a number for --cuts"
            is_map = grade_map.values or _number(key) is not None
            raise InputError(f"{lacks} (found: {_listed(places)})" if is_map else no_number)
    return {key: grade for key, grade in grades.items() if grade is not None}


def _why_no_grade(number: float | None, max_grade: int | None) -> str:
    if number is None:
        return "a word, expected a whole grade"
    if number != int(number):
        return "a fraction, expected a whole grade"
    if number < 0:
        return "below 0, expected a whole grade from 0"
    if max_grade is not None and number > max_grade:
        return f"beyond the scale, expected 0..{max_grade} (--max-grade)"
    return ""


def _check_plausible(places: Mapping[str, str], grades: Mapping[str, int]) -> None:
    met = sorted(grades.values())
    highest = met[-1]
    if highest <= _PLAUSIBLE or (highest <= HIGHEST_GRADE and highest - met[0] + 1 == len(met)):
        return
    raise _refused(
        places,
        str(highest),
        f"on a scale with gaps, expected grades such as 0..4: metrics take 2^grade - 1, so {highest} looks "
        "like a gain, not a grade",
    )


def _refused(places: Mapping[str, str], key: str, fault: str) -> InputError:
    guess = suggestion(list(places))
    return InputError(
        f"{places[key]}: found the rating {key!r}, {fault}; say which grade each rating stands for: {guess}"
    )


# ---- suggestions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suggestion:
    """An option that would make grades of ratings, as it is typed, and how it was guessed."""

    option: str
    guessed: str

    def __str__(self) -> str:
        return f"{self.option} ({self.guessed})"


def suggestion(keys: Sequence[str]) -> Suggestion:
    """Suggest ``--grade-map``, or ``--cuts`` for many numbers, for the user to check; `?` = unknown."""
    numbers = {key: number for key in keys if (number := _number(key)) is not None}
    words = sorted(set(keys) - set(numbers))
    if len(numbers) > _MOST_LISTED:
        return _suggested_cuts(sorted(numbers.values()))
    grades, how = _graded_numbers(numbers)
    named, usual = _graded_words(words)
    pairs = [*((key, str(grade)) for key, grade in grades.items()), *named]
    text = ",".join(f"{key}={grade}" for key, grade in pairs)
    guessed = [f"a guess by {how}: check it"] * bool(grades) + [usual] * bool(words)
    return Suggestion(f"--grade-map {shlex.quote(text)}", "; ".join(guessed))


def _graded_numbers(numbers: Mapping[str, float]) -> tuple[dict[str, int], str]:
    """Return grades, and how: between whole grades by rounding, a few by order, others by size."""
    ordered = sorted(numbers, key=lambda key: numbers[key])
    if _lie_between_grades(list(numbers.values())):
        return {key: math.floor(numbers[key] + 0.5) for key in ordered}, "rounding, halves up"
    if len(ordered) <= _TOP_OF_SUGGESTED + 1:
        return {key: grade for grade, key in enumerate(ordered)}, "their order"
    low, high = numbers[ordered[0]], numbers[ordered[-1]]
    return {
        key: round(_TOP_OF_SUGGESTED * (numbers[key] - low) / (high - low)) for key in ordered
    }, "their size"


def _lie_between_grades(numbers: Sequence[float]) -> bool:
    """Return whether numbers are those of a usual scale, some of them halves or other fractions."""
    has_fractions = any(number != int(number) for number in numbers)
    return has_fractions and min(numbers) >= 0 and 1 < max(numbers) <= _PLAUSIBLE


def _suggested_cuts(numbers: Sequence[float]) -> Suggestion:
    low, high = numbers[0], numbers[-1]
    found = f"{len(numbers):,} different numbers from {low:g} to {high:g}"
    if _lie_between_grades(numbers):
        cuts = [grade - 0.5 for grade in range(1, math.floor(high + 0.5) + 1)]
        return Suggestion(f"--cuts {_spelled(cuts)}", f"{found}; a guess by rounding, halves up: check it")
    parts = _TOP_OF_SUGGESTED + 1
    first, last = (0, 1) if low >= 0 and high <= 1 else (low, high)
    cuts = [first + (last - first) * part / parts for part in range(1, parts)]
    return Suggestion(f"--cuts {_spelled(cuts)}", f"{found}; a guess, {parts} parts of equal width: check it")


def _spelled(cuts: Sequence[float]) -> str:
    return ",".join(f"{cut:.6g}" for cut in cuts)


def _graded_words(words: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    scale = next((scale for scale in _KNOWN_WORDS if set(words) <= set(scale)), ())
    if scale:
        return [
            (word, str(grade)) for grade, word in enumerate(scale) if word in words
        ], "a guess by the usual order of words: check it"
    return [(word, "?") for word in words[:_MOST_LISTED]], "put a grade for each ?"


def _listed(places: Mapping[str, str]) -> str:
    keys = list(places)
    more = f" and {len(keys) - _MOST_LISTED:,} more" if len(keys) > _MOST_LISTED else ""
    return ", ".join(keys[:_MOST_LISTED]) + more


def _number(text: str) -> float | None:
    """Return the finite number that a text spells in digits, perhaps with a decimal comma, or None."""
    if "," in text and _DECIMAL_COMMA.fullmatch(text.strip()):
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 and "_" not in text else None
