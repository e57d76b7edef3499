"""An audit of one list, given its grades and the grades of judged results that it does not show."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from clickassay.core.contracts.conventions import CHOICE, CONVENTION, QUANTITY, TOOLS
from clickassay.core.contracts.form import Column, Table
from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.metrics.conventions import INCOMPLETE_JUDGMENTS, AuditScale, conventions
from clickassay.metrics.lists import NO_GRADE, Lists

NONE = "-"
"""How a result without a grade is written."""

ONE_LIST = Table(
    "one_list",
    "one row per convention, in the order of the quantities",
    (
        QUANTITY,
        CONVENTION,
        Column("value", pl.Float64, "value of the convention for the list"),
        CHOICE,
        TOOLS,
    ),
    key=("quantity", "convention"),
)


def one_list(shown: Sequence[int | None], others: Sequence[int], max_grade: int) -> Lists:
    """Return a single ranked list.

    shown: grades of its results, best first; None = without a grade.
    others: grades of the query's judged results that it does not show.
    max_grade: top grade of the scale.

    Raises JudgmentError if a grade is off the scale.
    """
    judged = [grade for grade in (*shown, *others) if grade is not None]
    off = [grade for grade in judged if not 0 <= grade <= max_grade]
    if off:
        raise JudgmentError(f"grade {off[0]} is off the scale 0..{max_grade}; give its top by --max-grade")
    grades = np.array([NO_GRADE if grade is None else grade for grade in shown], dtype=np.int16)
    pool = np.bincount(judged, minlength=max_grade + 1).reshape(1, max_grade + 1)
    return Lists(("",), grades, np.array([0, len(shown)]), pool.astype(np.int64))


def read_grades(option: str, text: str) -> list[int | None]:
    """Read grades with commas or blanks between them; - is a result without a grade.

    Raises SettingsError if one of them is neither a grade nor -.
    """
    words = text.replace(",", " ").split()
    if wrong := [word for word in words if word != NONE and not word.isdecimal()]:
        raise SettingsError(
            f"{option} {text!r}: {wrong[0]!r} is no grade; expected e.g. 3,-,4,0,1, - for none"
        )
    return [None if word == NONE else int(word) for word in words]


def audit_list(lists: Lists, scale: AuditScale) -> pl.DataFrame:
    """Return the value of each convention for one list, in the columns of `ONE_LIST`."""
    rows = [
        (one.quantity, one.measure, float(one.values(lists, scale)[0]), one.choice, one.tools)
        for one in (*conventions(scale), *conventions(scale, INCOMPLETE_JUDGMENTS))
    ]
    return pl.DataFrame(rows, {column.name: column.dtype for column in ONE_LIST.columns}, orient="row")
