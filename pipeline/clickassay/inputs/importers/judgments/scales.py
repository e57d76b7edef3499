"""From ratings as they are written to grades: whole numbers of a scale, or the values of a grade map.

Metrics use 2^grade - 1 (method 6). A rating that is itself a gain (0, 1, 10, 100), a fraction or a word
is no grade, and only the user knows which grade it stands for.
"""

from collections.abc import Mapping, Sequence

from clickassay.core.errors import InputError, SettingsError
from clickassay.inputs.importers.base import whole_number

HIGHEST_GRADE = 30
"""As high as `max_grade` of a run may be."""
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


def value_key(text: str) -> str:
    """Return the key by which ratings are compared: ``10`` equals ``10.000``, and Good equals good."""
    number = _number(text)
    if number is None:
        return " ".join(text.split()).casefold()
    return str(int(number)) if number == int(number) else repr(number)


def parse_grade_map(text: str) -> dict[str, int]:
    """Read ``0=0,1=1,10=3,100=4``: for each rating, by `value_key`, its grade.

    Raises
    ------
    SettingsError
        If a part is not VALUE=GRADE, a grade is not a whole number 0..30, or a value is named twice.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        value, sign, grade_text = part.rpartition("=")
        grade = whole_number(grade_text.strip())
        if not sign or not value.strip() or grade is None or grade > HIGHEST_GRADE:
            raise SettingsError(
                f"--grade-map: found {part!r}, expected VALUE=GRADE with a whole grade 0..{HIGHEST_GRADE}, "
                "e.g. 0=0,1=1,10=3,100=4"
            )
        if value_key(value) in found:
            raise SettingsError(f"--grade-map names {value.strip()!r} twice; give each value one grade")
        found[value_key(value)] = grade
    return found


def grades_of(
    places: Mapping[str, str], *, grade_map: Mapping[str, int] | None = None, max_grade: int | None = None
) -> dict[str, int]:
    """Return the grade of each rating.

    Parameters
    ----------
    places
        For each rating, by `value_key`, the file and line where it occurs first.
    grade_map
        Result of `parse_grade_map`.
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


def _by_map(places: Mapping[str, str], grade_map: Mapping[str, int]) -> dict[str, int]:
    for key, place in places.items():
        if key not in grade_map:
            raise InputError(
                f"{place}: found the rating {key!r}, which --grade-map lacks; add {key}=GRADE "
                f"(found: {_listed(places)})"
            )
    return {key: grade_map[key] for key in places}


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
    return InputError(
        f"{places[key]}: found the rating {key!r}, {fault}; say which grade each rating stands for: "
        f"{suggested_map(list(places))}"
    )


def suggested_map(keys: Sequence[str]) -> str:
    """Suggest a ``--grade-map`` for the ratings found, for the user to check; `?` = unknown grade."""
    if len(keys) > _MOST_LISTED:
        return f"there are {len(keys):,} different ones, from {min(keys)} to {max(keys)}; round them first"
    numbers = {key: number for key in keys if (number := _number(key)) is not None}
    words = sorted(set(keys) - set(numbers))
    pairs = [(key, str(grade)) for key, grade in _graded_numbers(numbers).items()]
    return (
        f"--grade-map {_quoted(','.join(f'{key}={grade}' for key, grade in [*pairs, *_graded_words(words)]))}"
    )


def _graded_numbers(numbers: Mapping[str, float]) -> dict[str, int]:
    """Return grades by the order of ratings; of more than five, by their size on the scale 0..4."""
    ordered = sorted(numbers, key=lambda key: numbers[key])
    if len(ordered) <= _TOP_OF_SUGGESTED + 1:
        return {key: grade for grade, key in enumerate(ordered)}
    low, high = numbers[ordered[0]], numbers[ordered[-1]]
    return {key: round(_TOP_OF_SUGGESTED * (numbers[key] - low) / (high - low)) for key in ordered}


def _graded_words(words: Sequence[str]) -> list[tuple[str, str]]:
    scale = next((scale for scale in _KNOWN_WORDS if set(words) <= set(scale)), ())
    if scale:
        return [(word, str(grade)) for grade, word in enumerate(scale) if word in words]
    return [(word, "?") for word in words]


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text or "?" in text else text


def _listed(places: Mapping[str, str]) -> str:
    keys = list(places)
    more = f" and {len(keys) - _MOST_LISTED:,} more" if len(keys) > _MOST_LISTED else ""
    return ", ".join(keys[:_MOST_LISTED]) + more


def _number(text: str) -> float | None:
    """Return the finite number that a text spells in digits, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 and "_" not in text else None
