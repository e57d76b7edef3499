"""From ratings as they are written to grades: whole numbers of a scale, or the values of a grade map.

Metrics use 2^grade - 1 (method 6). A rating that is itself a gain (0, 1, 10, 100), a fraction or a word
is no grade, and only the user knows which grade it stands for. -1, a null word and a refusal are not judged.
"""

import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from clickassay.core.errors import InputError, SettingsError

HIGHEST_GRADE = 30
"""As high as `max_grade` of a run may be."""

NOT_JUDGED = -1
"""Grade of a document that was pooled, or shown to a judge, and not judged."""

NULL_WORDS = ("", "nan", "none", "null", "nil", "na", "n/a", "<na>", r"\n")
REFUSALS = ("refused", "refusal", "error", "not judged", "unjudged", "not rated", "unrated")
"""Ratings, by `value_key`, that are not judged either, unless a map or a scale names them."""

_PLAUSIBLE = 5
"""Up to this grade, a scale may have grades that do not occur."""
_GAINS = tuple(2**grade - 1 for grade in range(6))
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

# a value may hold commas, or signs of equality, but no pair whose grade is none
_PART = re.compile(r"\s*(\S(?:(?!=[^=]*,).)*?)\s*=\s*([0-9]+|none)\s*(?:,|$)", re.DOTALL | re.IGNORECASE)
_SPELLED = r"[-+]?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_SPELLED})?\s*\.\.\s*({_SPELLED})?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:0,[0-9]+|[0-9]+,(?!000$)[0-9]+)")
"""Not 1,000, which may be a thousand."""


def qrels_grade(number: int) -> int:
    """Return the grade of a number in qrels: `NOT_JUDGED` as it is, what is below (spam) 0."""
    return 0 if number < NOT_JUDGED else number


def value_key(text: str) -> str:
    """Return the key by which ratings are compared: ``10`` equals ``10.000`` and ``10,0``, Good good."""
    number = spelled_number(text)
    if number is None:
        return " ".join(text.split()).casefold()
    return str(int(number)) if number == int(number) else repr(number)


def is_not_judged(key: str) -> bool:
    """Return whether a rating, by `value_key`, says that nobody judged: -1, a null word, a refusal."""
    return key == str(NOT_JUDGED) or key in NULL_WORDS or key in REFUSALS


@dataclass(frozen=True)
class GradeMap:
    """Grades of ratings; `NOT_JUDGED` for what is no judgment."""

    values: Mapping[str, int]  # By `value_key`; they have precedence over ranges.
    # (lowest, highest number, grade), rising; a number at which two ranges meet belongs to the upper one.
    ranges: tuple[tuple[float, float, int], ...] = ()
    text: str = ""  # As it is given.

    @property
    def has_grades(self) -> bool:
        """Whether it gives grades; else it names what is not judged, and all other ratings are grades."""
        return bool(self.ranges) or any(grade != NOT_JUDGED for grade in self.values.values())

    @property
    def highest(self) -> int:
        """The highest grade."""
        return max([*self.values.values(), *(grade for _, _, grade in self.ranges)])

    def grade(self, key: str) -> int | None:
        """Return the grade of a rating; None if the map lacks it."""
        if key in self.values:
            return self.values[key]
        has_negative = any(-math.inf < end < 0 for low, high, _ in self.ranges for end in (low, high))
        if is_not_judged(key) and not has_negative:
            return NOT_JUDGED
        number = spelled_number(key)
        if number is None:
            return None
        return next((grade for low, high, grade in reversed(self.ranges) if low <= number <= high), None)


def parse_grade_map(text: str) -> GradeMap:
    """Read ``0=0,1=1,10=3,100=4``, or with ranges of numbers ``..0.5=0,0.5..1=1,1..=2``; none = not judged.

    Raises SettingsError if a part is not VALUE=GRADE, a grade is neither a whole number 0..30 nor none, a
    value is named twice, or ranges overlap.
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
    return GradeMap(values, tuple(ranges), text)


def _parts(text: str) -> list[tuple[str, int]]:
    found, place = [], 0
    while place < len(text):
        part = _PART.match(text, place)
        grade = NOT_JUDGED if part is None or part[2].lower() == "none" else int(part[2])
        if part is None or grade > HIGHEST_GRADE:
            odd = (part[0] if part else text[place:].lstrip(", ").partition(",")[0]).strip(", ")
            raise SettingsError(
                f"--grade-map: found {odd!r}, expected VALUE=GRADE with a whole grade 0..{HIGHEST_GRADE}, "
                "e.g. 0=0,1=1,10=3,100=4, or LOW..HIGH=GRADE; VALUE=none is not judged"
            )
        found.append((part[1], grade))
        place = part.end()
    return found


def parse_cuts(text: str) -> GradeMap:
    """Read ``0.25,0.5,0.75``: a grade is how many a number reaches; SettingsError unless they rise."""
    numbers = [spelled_number(part) for part in text.split(",")]
    cuts = [number for number in numbers if number is not None]
    if len(cuts) < len(numbers) or len(cuts) > HIGHEST_GRADE or sorted(set(cuts)) != cuts:
        raise SettingsError(
            f"--cuts: found {text!r}, expected at most {HIGHEST_GRADE} rising numbers, e.g. 0.25,0.5,0.75"
        )
    ends = [-math.inf, *cuts, math.inf]
    return GradeMap({}, tuple((low, high, grade) for grade, (low, high) in enumerate(pairwise(ends))))


def grades_of_files(
    files: Sequence[Mapping[str, str]], grade_maps: Sequence[GradeMap | None], max_grade: int | None = None
) -> list[dict[str, int]]:
    """Return the grade of each rating of each file, or `NOT_JUDGED`.

    files: for each rating, by `value_key`, the file and line where it occurs first.
    grade_maps: by file; None = its ratings are grades: whole numbers to `max_grade`, or if that is not given
      on a plausible scale of such files together: to 5, or to 30 without gaps.
    Raises InputError for any other rating, also one that is not in the map.
    """
    maps = [one or GradeMap({}) for one in grade_maps]
    plain = [
        {key: place for key, place in places.items() if not one.has_grades and one.grade(key) is None}
        for places, one in zip(files, maps, strict=True)
    ]
    alone = [_fault(places, max_grade) for places in plain]
    if any(alone) and _fault(dict(chain.from_iterable(one.items() for one in plain)), max_grade):
        raise _refused(files, maps, alone, max_grade)
    return [
        _by_map(places, one)
        if one.has_grades
        else {key: int(float(key)) if key in own else NOT_JUDGED for key in places}
        for places, one, own in zip(files, maps, plain, strict=True)
    ]


def _by_map(places: Mapping[str, str], grade_map: GradeMap) -> dict[str, int]:
    grades = {key: grade_map.grade(key) for key in places}
    for key, place in places.items():
        if grades[key] is None:
            lacks = f"found the rating {key!r}, which --grade-map lacks; add {key}=GRADE, or {key}=none if"
            no_number = f"{place}: found the rating {key!r}; expected a number for --cuts"
            is_map = grade_map.values or spelled_number(key) is not None
            more = f" and {len(places) - _MOST_LISTED:,} more" if len(places) > _MOST_LISTED else ""
            listed = ", ".join(list(places)[:_MOST_LISTED]) + more
            text = f"{place}: {lacks} nobody judged it (found: {listed})"
            raise InputError(text if is_map else no_number)
    return {key: grade for key, grade in grades.items() if grade is not None}


def _fault(places: Mapping[str, str], max_grade: int | None) -> tuple[str, str] | None:
    numbers = {key: spelled_number(key) for key in places}
    for key, number in numbers.items():
        if number is None:
            return key, "a word, expected a whole grade"
        if number != int(number):
            return key, "a fraction, expected a whole grade"
        if number < 0:
            return key, "below 0, expected a whole grade from 0"
        if max_grade is not None and number > max_grade:
            return key, f"beyond the scale, expected 0..{max_grade} (--max-grade)"
    if max_grade is not None or _is_plausible([number for number in numbers.values() if number is not None]):
        return None
    highest = str(max(int(key) for key in numbers))
    return highest, (
        f"on a scale with gaps, expected grades such as 0..4: metrics use 2^grade - 1, so {highest} looks "
        "like a gain, not a grade"
    )


def _is_plausible(numbers: Sequence[float]) -> bool:
    highest = max(numbers, default=0)
    return highest <= _PLAUSIBLE or (
        highest <= HIGHEST_GRADE and highest - min(numbers) + 1 == len(set(numbers))
    )


def _refused(
    files: Sequence[Mapping[str, str]],
    maps: Sequence[GradeMap],
    faults: Sequence[tuple[str, str] | None],
    max_grade: int | None,
) -> InputError:
    place, key, fault = next(
        (places[found[0]], *found) for places, found in zip(files, faults, strict=True) if found
    )
    guesses = [suggestion(list(places), max_grade) for places in files]
    options, each = guesses[0].option, ""
    if len(files) > 1:
        texts = [
            guess.grade_map if found else one.text
            for guess, found, one in zip(guesses, faults, maps, strict=True)
        ]
        options = " ".join(f"--grade-map {shlex.quote(text)}" for text in texts)
        each = ", one map per file, in the same order"
    how = dict.fromkeys(guess.guessed for guess, found in zip(guesses, faults, strict=True) if found)
    return InputError(
        f"{place}: found the rating {key!r}, {fault}; say which grade each rating stands for{each}: "
        f"{options} ({'; '.join(how)})"
    )


# ---- suggestions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suggestion:
    """An option that would make grades of ratings, as it is typed, and how it was guessed."""

    option: str
    guessed: str
    grade_map: str  # What `--grade-map` would be given.

    def __str__(self) -> str:
        return f"{self.option} ({self.guessed})"


def suggestion(keys: Sequence[str], max_grade: int | None = None) -> Suggestion:
    """Suggest ``--grade-map``, or ``--cuts`` for many numbers, for the user to check; `?` = unknown.

    A grade keeps its value, unless all numbers are shares of 1 or gains 2^grade - 1, or most are beyond 5 on
    a scale with gaps.
    """
    numbers = {key: number for key in keys if (number := spelled_number(key)) is not None}
    if min(numbers.values(), default=0) == NOT_JUDGED:
        numbers.pop(str(NOT_JUDGED))
    unjudged = [key for key in keys if key and key not in numbers and is_not_judged(key)]
    words = sorted(set(keys) - set(numbers) - {*unjudged, ""})
    named, usual = _graded_words(words)
    named += [(key, "none") for key in unjudged]
    if len(numbers) > _MOST_LISTED:
        cuts, guessed = _suggested_cuts(sorted(numbers.values()))
        ends = pairwise(["", *map("{:.6g}".format, cuts), ""])
        ranges = [(f"{low}..{high}", str(grade)) for grade, (low, high) in enumerate(ends)]
        text = ",".join(f"{key}={grade}" for key, grade in [*ranges, *named])
        return Suggestion(f"--cuts {','.join(f'{cut:.6g}' for cut in cuts)}", guessed, text)
    grades, how = _graded_numbers(numbers, max_grade)
    pairs = [*grades.items(), *named]
    text = ",".join(f"{key}={grade}" for key, grade in pairs)
    unknown = "put a grade for each ?, or none where nobody judged"
    hints = [f"a guess by {how}: check it"] * bool(how) + [usual] * bool(usual)
    hints += [unknown] * any(grade == "?" for _, grade in pairs)
    return Suggestion(f"--grade-map {shlex.quote(text)}", "; ".join(hints) or "check it", text)


def _graded_numbers(numbers: Mapping[str, float], max_grade: int | None) -> tuple[dict[str, str], str]:
    """Return grades, and how: whole grades as they are, others by rounding, by order, or by size."""
    ordered = sorted(numbers, key=lambda key: numbers[key])
    values = [numbers[key] for key in ordered]
    are_whole = all(value == int(value) for value in values)
    are_plausible = are_whole and _is_plausible([value for value in values if value >= 0])
    if not are_plausible and set(values) <= set(_GAINS):
        return {key: str(_GAINS.index(int(numbers[key]))) for key in ordered}, "gains 2^grade - 1"
    top = (HIGHEST_GRADE if are_plausible else _PLAUSIBLE) if max_grade is None else max_grade
    are_shares = not are_whole and values[0] >= 0 and values[-1] <= 1
    kept = sum(0 <= value <= top for value in values)
    below = sum(value < 0 and value == int(value) for value in values)  # codes, as -1 of what nobody judged
    if not are_shares and 2 * kept >= len(values) - below:
        return _with_kept(ordered, numbers, top, max_grade)
    if len(ordered) <= _TOP_OF_SUGGESTED + 1:
        return {key: str(grade) for grade, key in enumerate(ordered)}, "their order"
    low, high = values[0], values[-1]
    return {
        key: str(round(_TOP_OF_SUGGESTED * (numbers[key] - low) / (high - low))) for key in ordered
    }, "their size"


def _with_kept(
    ordered: Sequence[str], numbers: Mapping[str, float], top: int, max_grade: int | None
) -> tuple[dict[str, str], str]:
    """Return grades of which none moves: up to `top` by rounding, then by order; unknown below 0."""
    grades, grade, how = {}, -1, ""
    for key in ordered:
        number = numbers[key]
        if number <= top:
            grade = math.floor(number + 0.5)
            how = how or ("rounding, halves up" if number != int(number) else "")
        else:
            grade += 1
            how = "their order"
        is_known = number >= 0 and grade <= (HIGHEST_GRADE if max_grade is None else max_grade)
        grades[key] = str(grade) if is_known else "?"
    return grades, how


def _suggested_cuts(numbers: Sequence[float]) -> tuple[list[float], str]:
    low, high = numbers[0], numbers[-1]
    found = f"{len(numbers):,} different numbers from {low:g} to {high:g}"
    has_fractions = any(number != int(number) for number in numbers)
    if has_fractions and low >= 0 and 1 < high <= _PLAUSIBLE:
        cuts = [grade - 0.5 for grade in range(1, math.floor(high + 0.5) + 1)]
        return cuts, f"{found}; a guess by rounding, halves up: check it"
    parts = _TOP_OF_SUGGESTED + 1
    first, last = (0, 1) if low >= 0 and high <= 1 else (low, high)
    cuts = [first + (last - first) * part / parts for part in range(1, parts)]
    return cuts, f"{found}; a guess, {parts} parts of equal width: check it"


def usual_scale(words: Collection[str]) -> tuple[str, ...]:
    """Return the common scale that words are of, the worst first; empty if they are of none."""
    return next((scale for scale in _KNOWN_WORDS if words and set(words) <= set(scale)), ())


def _graded_words(words: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    scale = usual_scale(words)
    if scale:
        return [
            (word, str(grade)) for grade, word in enumerate(scale) if word in words
        ], "a guess by the usual order of words: check it"
    return [(word, "?") for word in words[:_MOST_LISTED]], ""


def spelled_number(text: str) -> float | None:
    """Return the finite number that a text spells in digits, perhaps with a decimal comma, or None."""
    if "," in text and _DECIMAL_COMMA.fullmatch(text.strip()):
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 and "_" not in text else None
