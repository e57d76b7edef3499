"""Several raters of one result: each a judge of its own, or combined into one grade by a rule."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from clickassay.core.errors import InputError

FINAL = "final"
"""The rater of a column ``final_rating``: the grade on which the raters agreed in the end."""

RULES = ("each", "majority", "median", FINAL)


@dataclass(frozen=True, slots=True)
class GradedRating:
    """One grade."""

    # query, url, grade: The result, and its grade.
    query: str
    url: str
    grade: int
    judge: str | None  # The judge, as the user named it.
    rater: str | None  # The rater, as the file has it.
    file: str  # Name of its file, without ending.


def majority(grades: Sequence[int]) -> int:
    """Return the most frequent grade; of several, the one nearest to the median, or the lower of two such.

    >>> majority([0, 2, 3]), majority([0, 3]), majority([1, 3, 3])
    (2, 0, 3)
    """
    times = Counter(grades)
    middle, most = median_low(grades), max(times.values())
    tied = sorted(grade for grade, n in times.items() if n == most)
    return min(tied, key=lambda grade: abs(grade - middle))


def median(grades: Sequence[int]) -> int:
    """Return the middle grade; of an even number of grades the lower of the two in the middle.

    >>> median([0, 2, 3]), median([0, 3]), median([1, 2, 2, 3])
    (2, 0, 2)
    """
    return median_low(grades)


_COMBINED: dict[str, Callable[[Sequence[int]], int]] = {"majority": majority, "median": median}


def combine_raters(rows: Sequence[GradedRating], rule: str, counts: dict[str, int]) -> list[GradedRating]:
    """Apply a rule of `RULES` to rows that name raters; rows that name none stay as they are.

    With ``each``, each rater becomes a judge, and a row without a rater gets a judge named after its file:
    a run does not accept judgments without a judge next to others with one.

    Raises InputError if the rule is ``final`` and there are no final ratings.
    """
    named = {row.rater for row in rows} - {None}
    ratings = _ratings_by_result(rows)
    counts["raters"] = len(named - {FINAL})
    counts["results_rated_by_several"] += sum(len({who for who, _ in one}) > 1 for one in ratings.values())
    counts["results_raters_differ"] += sum(len({grade for _, grade in one}) > 1 for one in ratings.values())
    counts["results_rated_twice_by_one"] += sum(
        len({who for who, _ in one}) < len(one) for one in ratings.values()
    )
    if rule == "each":
        return [replace(row, judge=_judge_name(row) or row.file) for row in rows] if named else list(rows)
    if rule == FINAL:
        return _final_ratings(rows, counts)
    return _apply_rule(rows, ratings, _COMBINED[rule], counts)


_RatingsByResult = dict[tuple[str | None, str, str], list[tuple[str, int]]]


def _ratings_by_result(rows: Sequence[GradedRating]) -> _RatingsByResult:
    """Return (rater, grade) for each judge, query and URL; final ratings are left out."""
    ratings: dict[tuple[str | None, str, str], dict[tuple[str, int], None]] = defaultdict(dict)
    for row in rows:
        if row.rater is not None and row.rater != FINAL:
            ratings[row.judge, row.query, row.url][row.rater, row.grade] = None
    return {result: list(given) for result, given in ratings.items()}


def _judge_name(row: GradedRating) -> str | None:
    if row.judge is not None and row.rater is not None:
        return f"{row.judge}/{row.rater}"
    return row.judge or row.rater


def _final_ratings(rows: Sequence[GradedRating], counts: dict[str, int]) -> list[GradedRating]:
    kept = [row for row in rows if row.rater in (FINAL, None)]
    if all(row.rater is None for row in kept):
        raise InputError("--raters final: no file has a column final_rating; choose each, majority or median")
    counts["ratings_left_aside"] += len(rows) - len(kept)
    return kept


def _apply_rule(
    rows: Sequence[GradedRating],
    ratings: _RatingsByResult,
    rule: Callable[[Sequence[int]], int],
    counts: dict[str, int],
) -> list[GradedRating]:
    """Combine the grades of each result; a rater who gave the same grade twice counts once."""
    plain = [row for row in rows if row.rater is None]
    agreed = [row for row in rows if row.rater == FINAL]
    given = sum(len(one) for one in ratings.values())
    counts["ratings_left_aside"] += len(agreed)
    counts["judgments_repeated"] += len(rows) - len(plain) - len(agreed) - given
    combined = [
        GradedRating(query, url, rule([grade for _, grade in one]), judge, None, "")
        for (judge, query, url), one in ratings.items()
    ]
    return [*combined, *plain]


def file_judges(files: int, judges: Sequence[str]) -> list[str | None]:
    """Return the judge of each file: one name for all files, or one for each.

    Raises InputError if there are neither one name nor as many as files.
    """
    if len(judges) <= 1:
        return [judges[0] if judges else None] * files
    if len(judges) != files:
        raise InputError(
            f"--judge: found {len(judges)} names for {files} files, expected one, or one for each file"
        )
    return list(judges)
