"""Several raters of one result: kept apart as judges, or made one grade by a rule."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from clickassay.core.errors import InputError
from clickassay.inputs.importers.judgments.files import FINAL

RULES = ("each", "majority", "median", FINAL)


@dataclass(frozen=True, slots=True)
class Graded:
    """One grade.

    Attributes
    ----------
    query, url, grade
        What was graded, and how.
    judge
        The source, as the user named it.
    rater
        Who gave it, as the file says.
    file
        Name of its file, without ending.
    """

    query: str
    url: str
    grade: int
    judge: str | None
    rater: str | None
    file: str


def majority(grades: Sequence[int]) -> int:
    """Return the grade given most often; of several, that nearest to the median, or the lower of two such.

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


def settled(rows: Sequence[Graded], rule: str, counts: dict[str, int]) -> list[Graded]:
    """Apply a rule of `RULES` to rows that name raters; rows that name none stay as they are.

    Kept apart, each rater becomes a judge; rows of nobody are then of a judge named after their file, because
    a run takes no judgment of nobody beside those of judges.

    Raises
    ------
    InputError
        If the final ratings are asked for and there are none.
    """
    named = {row.rater for row in rows} - {None}
    heard = _heard(rows)
    counts["raters"] = len(named - {FINAL})
    counts["results_rated_by_several"] += sum(len({who for who, _ in one}) > 1 for one in heard.values())
    counts["results_raters_differ"] += sum(len({grade for _, grade in one}) > 1 for one in heard.values())
    if rule == "each":
        return [replace(row, judge=_label(row) or row.file) for row in rows] if named else list(rows)
    if rule == FINAL:
        return _final(rows, counts)
    return _by_rule(rows, heard, _COMBINED[rule], counts)


_Heard = dict[tuple[str | None, str, str], list[tuple[str, int]]]


def _heard(rows: Sequence[Graded]) -> _Heard:
    """Return who gave what, for each judge, query and URL; what was agreed in the end is nobody's rating."""
    heard: dict[tuple[str | None, str, str], dict[tuple[str, int], None]] = defaultdict(dict)
    for row in rows:
        if row.rater is not None and row.rater != FINAL:
            heard[row.judge, row.query, row.url][row.rater, row.grade] = None
    return {result: list(given) for result, given in heard.items()}


def _label(row: Graded) -> str | None:
    if row.judge is not None and row.rater is not None:
        return f"{row.judge}/{row.rater}"
    return row.judge or row.rater


def _final(rows: Sequence[Graded], counts: dict[str, int]) -> list[Graded]:
    kept = [row for row in rows if row.rater in (FINAL, None)]
    if all(row.rater is None for row in kept):
        raise InputError("--raters final: no file has a column final_rating; choose each, majority or median")
    counts["ratings_left_aside"] += len(rows) - len(kept)
    return kept


def _by_rule(
    rows: Sequence[Graded], heard: _Heard, rule: Callable[[Sequence[int]], int], counts: dict[str, int]
) -> list[Graded]:
    """Make one grade of each result's; a rater who gave a grade twice is heard once."""
    plain = [row for row in rows if row.rater is None]
    agreed = [row for row in rows if row.rater == FINAL]
    given = sum(len(one) for one in heard.values())
    counts["ratings_left_aside"] += len(agreed)
    counts["judgments_repeated"] += len(rows) - len(plain) - len(agreed) - given
    combined = [
        Graded(query, url, rule([grade for _, grade in one]), judge, None, "")
        for (judge, query, url), one in heard.items()
    ]
    return [*combined, *plain]


def file_judges(files: int, judges: Sequence[str]) -> list[str | None]:
    """Return the source that each file's judgments are to carry: as told, once for all or once a file.

    Raises
    ------
    InputError
        If there are neither one name nor as many as files.
    """
    if len(judges) <= 1:
        return [judges[0] if judges else None] * files
    if len(judges) != files:
        raise InputError(
            f"--judge: found {len(judges)} names for {files} files, expected one, or one for each file"
        )
    return list(judges)
