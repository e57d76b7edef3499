"""From Python: one metric under the conventions of many tools, on a run or on one list."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result, SavedResult
from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
from clickassay.core.errors import SettingsError
from clickassay.core.settings import load_settings
from clickassay.core.text.words import plural
from clickassay.metrics.conventions import AuditScale
from clickassay.studies.audit import Audit, audit_list, one_list

Row = dict[str, Any]

SAID = {"beyond noise now": "significant now", "no longer beyond noise": "no longer significant"}
"""What changes are called, where not by their names in the table."""

WITHIN_NOISE = "reversed, within noise"
"""What `correlation.conventions.change` says of an order that was never significant."""


@for_python
def audit_grades(
    grades: Sequence[int | None],
    others: Sequence[int] = (),
    *,
    depth: int | None = None,
    max_grade: int = 4,
    relevant_grade: int | None = None,
    persistence: float = 0.8,
    value: str | None = None,
) -> "ListAuditResult":
    """Compute a metric of one list under the conventions of many tools.

    Parameters
    ----------
    grades
        Grades of its results, best result first; None without a grade.
    others
        Grades of judged results outside the list.
    depth
        The cut; None = its length.
    max_grade, relevant_grade, persistence
        Top of the scale, lowest grade that is relevant, p of RBP, as in settings.
    value
        Show only what gives this value, to the digits given.

    Raises
    ------
    JudgmentError, SettingsError
        If a grade is off the scale, or a setting out of its range.

    Examples
    --------
    >>> found = ca.audit_grades([3, None, 4, 0, 1], [4, 3, 2, 2, 1, 0], value="0.46")
    >>> found.table.columns
    ['quantity', 'convention', 'value', 'choice', 'tools']
    """
    settings = load_settings(
        success_grade=0, relevant_grade=relevant_grade, max_grade=max_grade, persistence=persistence
    )
    scale = AuditScale(
        depth or max(1, len(grades)), settings.max_grade, settings.relevant_grade, settings.persistence
    )
    return ListAuditResult(audit_list(one_list(grades, others, scale.max_grade), scale), value)


class AuditResult(SavedResult):
    """Values of conventions on the configurations of a run.

    Parameters
    ----------
    audited
        The conventions, and what they change.
    click_metric, value
        The click metric and the value that are shown; None = any value.
    name
        What the run is called.

    Attributes
    ----------
    shown
        The conventions that give the value.
    """

    def __init__(self, audited: Audit, click_metric: str, value: str | None, name: str) -> None:
        self.audited, self.click_metric, self.value, self.name = audited, click_metric, value, name
        self.shown = _with_value(self.conventions, "mean", value)

    @property
    def conventions(self) -> pl.DataFrame:
        """A row for each convention with the click metric: mean, correlation, gap to the run's own."""
        return self.audited.audited.filter(click_metric=self.click_metric)

    @property
    def changed(self) -> pl.DataFrame:
        """Comparisons of metrics that a convention changes."""
        return self.audited.changed.filter(click_metric=self.click_metric)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Conventions and changes of all click metrics (docs/reference/audit.md)."""
        return {CONVENTIONS.name: self.audited.audited, CHANGED.name: self.audited.changed}

    @property
    def answer(self) -> str:
        """Whether a convention changes which metric is better, or which give the value; no full stop."""
        if self.value is not None:
            return _giving(self.shown, self.value)
        changed = self.changed.filter(pl.col("change") != WITHIN_NOISE)["convention"].unique()
        if changed.is_empty():
            return "No convention changes which metrics differ significantly"
        verb = "changes" if len(changed) == 1 else "change"
        return f"{plural(len(changed), 'convention')} {verb} which metrics differ significantly"

    def parts(self) -> Iterator[Part]:
        """Yield the answer, the conventions, how telling a value is, and what changes."""
        sample, every, rows = self.audited.sample, self.conventions, self.shown
        yield f"{self.answer}."
        shown = rows.filter(rows["mean"].is_not_null(), rows["same_as"].is_null())
        quantities = shown["quantity"].to_list()
        numbers = ("mean", f"correlation with {self.click_metric}", "against the run's own")
        yield ShownTable(
            ("convention", *numbers, "reported by"),
            [_cells(row, every) for row in shown.iter_rows(named=True)],
            numbers=numbers,
            sections=[
                place for place in range(len(quantities) - 1) if quantities[place] != quantities[place + 1]
            ],
        )
        if self.value is not None:
            yield from _how_telling(rows, every.filter(every["mean"].is_not_null()))
        out = every.filter(every["mean"].is_null())
        for reason in out["reason"].unique(maintain_order=True):
            names = out.filter(out["reason"] == reason)["convention"]
            yield f"Not computed, since it {reason}: {', '.join(names)}"
        yield from _changes(self.changed.join(rows, on="convention", how="semi"))
        yield (
            f"{self.name}, {sample.key.label}: "
            f"{len(sample.queries):,} queries, {len(sample.sessions):,} configurations; * marks the run's own"
        )
        if self.audited.n_unjudged is None:
            yield "Give --judgments to learn which results have no judgment."
        elif self.audited.n_unjudged:
            yield f"{plural(self.audited.n_unjudged, 'result')} without a judgment."
        else:
            yield (
                "Every result has a judgment, so this run cannot show what conventions do with results "
                "without one."
            )


class ListAuditResult(Result):
    """Values of conventions on one ranking.

    Parameters
    ----------
    every
        A row for each convention.
    value
        The value to look for; None = any.

    Attributes
    ----------
    table
        The conventions that give the value: name, value, choice, tools.
    """

    def __init__(self, every: pl.DataFrame, value: str | None) -> None:
        self.every, self.value = every, value
        self.table = _with_value(every, "value", value)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The table."""
        return {"one_list": self.every}

    @property
    def answer(self) -> str:
        """Which conventions give the value, or how far they differ; without a full stop."""
        if self.value is not None:
            return _giving(self.table, self.value)
        ends = self.every.group_by("quantity", maintain_order=True).agg(
            pl.min("value").alias("low"), pl.max("value").alias("high")
        )
        widest = ends.sort(pl.col("high") - pl.col("low"), descending=True, maintain_order=True)
        name, low, high = widest.row(0)
        return f"Conventions matter most for {name}: {low:.4f} to {high:.4f} on this list"

    def parts(self) -> Iterator[Part]:
        """Yield the answer, the conventions, and how telling a value is."""
        yield f"{self.answer}."
        cells = [
            (row["convention"], f"{row['value']:.4f}", row["choice"], row["tools"])
            for row in self.table.iter_rows(named=True)
        ]
        yield ShownTable(("convention", "value", "choice", "reported by"), cells, numbers=("value",))
        if self.value is not None:
            yield from _how_telling(self.table, self.every)


MOST_NAMED = 3
"""Conventions that the answer names."""


def _giving(rows: pl.DataFrame, value: str) -> str:
    names = rows["convention"].to_list()
    if len(names) < 2:
        return f"{f'Only {names[0]}' if names else 'No convention'} gives {value}"
    more = "" if len(names) <= MOST_NAMED else f" and {len(names) - MOST_NAMED} more"
    return f"{len(names)} conventions give {value}: {', '.join(names[:MOST_NAMED])}{more}"


def _with_value(table: pl.DataFrame, column: str, wanted: str | None) -> pl.DataFrame:
    """Keep the rows whose value is `wanted` to the digits given."""
    if wanted is None:
        return table
    try:
        number = Decimal(wanted)
        half = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    except (InvalidOperation, ValueError):
        raise SettingsError(
            f"--value {wanted!r}: expected a number as a tool printed it, e.g. 0.46"
        ) from None
    # tools cut digits off as well as they round: a unit of the last digit upwards, half of one downwards
    low, high = float(number - half), float(number + 2 * half)
    kept = [value is not None and low <= value < high for value in table[column]]
    return table.filter(kept)


def _how_telling(rows: pl.DataFrame, every: pl.DataFrame) -> Iterator[str]:
    quantities = rows["quantity"].n_unique()
    if rows.height > 1:
        yield (
            f"{rows.height} of {every.height} conventions ({plural(quantities, 'metric')}) give this value: "
            "they do not tell which a tool has. Look only at the metric that the tool names, or give more "
            "digits, or a list with other grades: by most conventions an ideal order has the value 1, and a "
            "list without relevant results 0."
        )


def _cells(row: Row, rows: pl.DataFrame) -> tuple[str, ...]:
    alike = rows.filter(rows["same_as"] == row["convention"])["tools"].to_list()
    gap = "" if row["own"] else _with_interval(row, ("gap", "gap_low", "gap_high"), "+.3f")
    return (
        f"{row['convention']}{' *' if row['own'] else ''}",
        f"{row['mean']:.4f}",
        _with_interval(row, ("correlation", "ci_low", "ci_high"), ".3f"),
        gap,
        "; ".join((row["tools"], *alike)),
    )


def _with_interval(row: Row, names: tuple[str, str, str], form: str) -> str:
    value, low, high = (row[name] for name in names)
    if value is None:
        return str(row["reason"] or "none")
    # + 0.0 after rounding: -0.000 is printed as 0
    number, *ends = (None if one is None else f"{round(one, 3) + 0.0:{form}}" for one in (value, low, high))
    return str(number) if None in ends else f"{number} ({ends[0]} to {ends[1]})"


def _changes(changed: pl.DataFrame) -> Iterator[str]:
    within = changed.filter(changed["change"] == WITHIN_NOISE).height
    significant = changed.filter(changed["change"] != WITHIN_NOISE)
    if significant.height:
        yield "Changed comparisons with other metrics, when one convention alone changes:"
    for convention in significant["convention"].unique(maintain_order=True):
        own = significant.filter(significant["convention"] == convention)
        changes = [
            f"{SAID.get(change, change)} against {', '.join(own.filter(own['change'] == change)['other'])}"
            for change in own["change"].unique(maintain_order=True)
        ]
        yield f"  {convention}: {'; '.join(changes)}"
    if within:
        yield f"Also reversed, but not significant before or after: {within}"
