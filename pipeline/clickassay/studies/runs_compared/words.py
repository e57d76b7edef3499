"""The changes between two runs, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text import capital, count, listed, plural
from clickassay.studies.runs_compared.compare import UNEVEN, RunComparison
from clickassay.studies.runs_compared.numbers import BEYOND, INTERVALS, NO_ROW, NO_VALUE, PLACE
from clickassay.studies.runs_compared.read import INPUT, ONLY_A, ONLY_B, OTHER, SAME, SETTING, VERSION, Entry

_KINDS = (INPUT, SETTING, VERSION, OTHER)


# ---- in words ---------------------------------------------------------------------------------


def headline(diff: RunComparison) -> str:
    """Return one or two sentences on the changes, the largest change first."""
    numbers = diff.numbers.filter(pl.col("status") != NO_VALUE)
    found = [entry for entry in diff.entries if entry.status != SAME]
    moved = numbers.filter(pl.col("change").is_not_null() & (pl.col("change") != 0))
    alone = _alone(numbers)
    things = capital(_things(found)) if found else "No input, setting or version"
    if moved.height:
        return f"{_of_moved(moved, numbers.height)}{alone}. {things} changed."
    if alone:
        return f"{things} changed; {_of_same(numbers)}{alone}."
    start = f"Nothing but {_things(found)}" if found else "Nothing"
    return f"{start} changed; {_of_same(numbers)}."


def uneven_words(sizes: pl.DataFrame) -> str | None:
    """Return a sentence where the runs differ in sessions per configuration; None where they do not.

    This difference alone changes correlations: with fewer sessions, chance clicks lower them.

    Parameters
    ----------
    sizes
        As in `RunComparison`.
    """
    wide = sizes.pivot("quantity", index=SAMPLE_COLUMNS, values=["a", "b"])
    if not {"a_n_sessions", "b_n_sessions"} <= {*wide.columns}:
        return None
    per = wide.select(
        *((pl.col(f"{run}_n_sessions") / pl.col(f"{run}_n_configurations")).alias(run) for run in "ab")
    )
    far = per.filter((pl.col("b") / pl.col("a")).log().abs() > np.log(UNEVEN)).sort("b", nulls_last=True)
    if far.is_empty():
        return None
    a, b = far.row(0)
    return (
        f"Sessions per configuration differ, e.g. {a:.3g} in A and {b:.3g} in B. With fewer sessions, chance "
        "clicks lower all correlations: such a change can be beyond noise though no metric changed."
    )


def _of_same(numbers: pl.DataFrame) -> str:
    same = numbers.filter(status=SAME).height
    if not same:
        return "no number is in both runs"
    every = "all " if same == numbers.height and same > 1 else ""
    return f"{every}{plural(same, 'number')} {'is' if same == 1 else 'are'} the same"


def _alone(numbers: pl.DataFrame) -> str:
    """Count the numbers that one run has alone."""
    counts = {run: numbers.filter(status=status).height for run, status in (("A", ONLY_A), ("B", ONLY_B))}
    return "".join(f"; {plural(rows, 'number')} only in {run}" for run, rows in counts.items() if rows)


def _things(found: Sequence[Entry]) -> str:
    """List what changed; versions are many, and listed as one."""
    by_kind = {kind: [entry.name for entry in found if entry.kind == kind] for kind in _KINDS}
    return listed(
        "versions" if kind == VERSION else f"the {_noun(kind, names)} {listed(names)}"
        for kind, names in by_kind.items()
        if names
    )


def _noun(noun: str, things: Sequence[object]) -> str:
    """Return the noun, in the plural unless there is one thing."""
    return noun if len(things) == 1 else f"{noun}s"


def _of_moved(moved: pl.DataFrame, every: int) -> str:
    beyond = moved.filter(status=BEYOND)
    largest = (beyond if beyond.height else moved).sort(
        pl.col("table"), pl.col("change").abs(), descending=[False, True], maintain_order=True
    )
    first = change_words(largest.row(0, named=True))
    beyond_words = f"{count(beyond.height)} of them beyond noise" if beyond.height else "none beyond noise"
    return f"{first}; {count(moved.height)} of {plural(every, 'number')} changed, {beyond_words}"


def change_words(row: Mapping[str, Any]) -> str:
    """Describe a change, e.g. ``ERR with MeanRR (depth 5) fell by 0.031 [0.01, 0.05], beyond noise``.

    Parameters
    ----------
    row
        A row of `RunComparison.numbers` whose value changed, or that is only in A.
    """
    if row["status"] == ONLY_A:
        return f"{place_words(row)} has no value in B ({row['reason']})"
    side = 1 if row["change"] > 0 else -1
    ends = sorted(side * end for end in (row["ci_low"], row["ci_high"]) if end is not None)
    span = f" [{ends[0]:.3g}, {ends[1]:.3g}]" if len(ends) == 2 else ""
    rose = "rose" if side > 0 else "fell"
    p = "" if row["p_adjusted"] is None else f" (adjusted p {row['p_adjusted']:.2g})"
    alone = ", tested from intervals alone" if row["tested_by"] == INTERVALS else ""
    return f"{place_words(row)} {rose} by {abs(row['change']):.3g}{span}, {row['status']}{p}{alone}"


def place_words(row: Mapping[str, Any]) -> str:
    """Describe which number a row is; a market, judge or class that is ``all`` is left out."""
    closed = ["closed form"] if row["table"] == "differences" else []
    of_class = [f"{row['split']} {row['class']}"] if row["split"] != EVERY else []
    where = ", ".join([*closed, SampleKey.of(row).label, *of_class])
    return f"{row['editorial_metric']} with {row['click_metric']} ({where})"


def alone_words(numbers: pl.DataFrame, status: str) -> str | None:
    """Describe the numbers that only one run computed, e.g. ``6 numbers only in A: depth 10``; None if none.

    Parameters
    ----------
    numbers
        Rows of `RunComparison.numbers`.
    status
        `ONLY_A` or `ONLY_B`.
    """
    rows = numbers.filter(not_computed(status))
    others = numbers.filter(~not_computed(status))
    if rows.is_empty():
        return None
    parts = []
    for name in PLACE[1:]:  # every column that a table has
        values = [value for value in rows[name].unique().sort() if value not in others[name]]
        if values and (others.height or rows[name].n_unique() == 1):
            parts.append(f"{name.replace('_', ' ')} {listed(str(value) for value in values)}")
    parts = [part for part in parts if not part.endswith(f" {EVERY}")]
    what = f": {'; '.join(parts)}" if parts else ""
    return f"{plural(rows.height, 'number')} {status}{what}"


def not_computed(status: str) -> pl.Expr:
    """Return the condition for rows of `RunComparison.numbers` that the other run does not have at all."""
    return (pl.col("status") == status) & pl.col("reason").eq_missing(NO_ROW)
