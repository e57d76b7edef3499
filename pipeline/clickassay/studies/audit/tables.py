"""The tables of an audit: each convention on judged configurations, and which comparisons it changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
from clickassay.core.contracts.form import Table
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats, Integers, Sample
from clickassay.core.settings import Settings
from clickassay.correlation.classes import unsplit
from clickassay.correlation.tables import correlations
from clickassay.correlation.weighted import sample_moments
from clickassay.studies.audit.compare import (
    Gap,
    change,
    correlation_gaps,
    mean_gaps,
    same_values,
    weighted_means,
)
from clickassay.studies.audit.conventions import Convention
from clickassay.studies.audit.tool_formulas import AuditScale
from clickassay.studies.evaluation.lists import Lists

Row = dict[str, object]


def with_conventions(sample: Sample, columns: Mapping[str, Floats]) -> Sample:
    """Return the sample with conventions, by name, in place of its editorial metrics."""
    values = np.column_stack([*columns.values()])
    return replace(sample, editorial_names=tuple(columns), editorial_values=values)


def lists_of(ids: pl.Series, grades: Integers, pool: Integers) -> Lists:
    """Return configurations as lists; `grades` is (N, depth), `pool` (N, g_max + 1)."""
    starts = np.arange(len(grades) + 1) * grades.shape[1]
    return Lists(tuple(ids), grades.astype(np.int16).ravel(), starts, pool)


def scale_of(sample: Sample, settings: Settings) -> AuditScale:
    """Return the cut and the scale of a sample."""
    return AuditScale(sample.key.depth, settings.max_grade, settings.relevant_grade, settings.persistence)


def audit_tables(
    sample: Sample,
    conventions: Sequence[Convention],
    reasons: Mapping[str, str],
    *,
    pool: str,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables of an audit, in the forms of `CONVENTIONS` and `CHANGED`.

    Parameters
    ----------
    sample
        Its editorial metrics are the conventions that were computed, in the order of `conventions`.
    conventions
        All conventions.
    reasons
        By name: why a convention was not computed.
    pool
        The run's setting of that name: it decides which conventions are the run's own.
    """
    own = {one.quantity: one.measure for one in conventions if pool in one.own}
    rows = _convention_rows(sample, conventions, own, reasons)
    label: Row = {**sample.key.columns}
    audited: list[Row] = []
    changed: list[Row] = []
    for number, click in enumerate(sample.click_names):
        progress(Event(f"correlating with {click}", number / len(sample.click_names)))
        part = one_click(sample, number)
        moments = sample_moments(part)
        gaps = correlation_gaps(part, moments, _indices(sample, own.values()))
        comparisons = _Comparisons(part, gaps, tuple(own))
        correlated = _correlations_by_convention(part, moments)
        for row in rows:
            numbers = correlated.get(str(row["convention"]), {}) | comparisons.own_gap(row)
            audited.append(label | {"click_metric": click} | row | numbers)
            changed += [label | {"click_metric": click} | one for one in comparisons.changes(row, own)]
    return _frame(CONVENTIONS, audited), _frame(CHANGED, changed)


def _frame(table: Table, rows: list[Row]) -> pl.DataFrame:
    return table.canonical(pl.DataFrame(rows, {column.name: column.dtype for column in table.columns}))


def one_click(sample: Sample, number: int) -> Sample:
    """Return the sample with one of its click metrics, by index: all at once would not fit memory."""
    return replace(
        sample,
        click_names=sample.click_names[number : number + 1],
        click_values=sample.click_values[:, number : number + 1],
        click_variances=sample.click_variances[:, number : number + 1],
    )


def _indices(sample: Sample, names: Iterable[str]) -> NDArray[np.intp]:
    return np.array([sample.editorial_names.index(name) for name in names])


def _convention_rows(
    sample: Sample,
    conventions: Sequence[Convention],
    own: Mapping[str, str],
    reasons: Mapping[str, str],
) -> list[Row]:
    """Return the columns that are the same for every click metric: texts and means."""
    quantities = {one.measure: one.quantity for one in conventions}
    reference = _indices(sample, (own[quantities[name]] for name in sample.editorial_names))
    means, gaps = weighted_means(sample), mean_gaps(sample, reference)
    same = _same(sample, quantities, means)
    rows: list[Row] = []
    for place, one in enumerate(conventions, start=1):
        name = one.measure
        row: Row = {
            "quantity": one.quantity, "convention": name, "place": place, "own": own[one.quantity] == name,
            "choice": one.choice, "tools": one.tools, "same_as": same.get(name), "reason": reasons.get(name),
        }  # fmt: skip
        if name in sample.editorial_names:
            at = sample.editorial_names.index(name)
            row |= {"mean": float(means[at])} | _gap("mean_gap", gaps, at)
        rows.append(row)
    return rows


def _same(sample: Sample, quantities: Mapping[str, str], means: Floats) -> dict[str, str]:
    """Return by name an earlier convention of the same quantity with the same values, where there is one."""
    names = sample.editorial_names
    found: dict[str, str] = {}
    near = np.isclose(means[:, None], means)  # whole columns are compared where it is likely
    for place, name in enumerate(names):
        for before, other in enumerate(names[:place]):
            alike = quantities[other] == quantities[name] and near[before, place]
            if alike and same_values(sample.editorial_values, before, place):
                found[name] = other
                break
    return found


def _gap(name: str, gap: Gap, at: int | tuple[int, ...]) -> Row:
    ends = {name: gap.value[at], f"{name}_low": gap.low[at], f"{name}_high": gap.high[at]}
    return {key: None if np.isnan(value) else float(value) for key, value in ends.items()}


def _correlations_by_convention(sample: Sample, moments: Floats) -> dict[str, Row]:
    """Return the columns of the table `correlations` for each convention, by its name."""
    table = correlations(sample, [unsplit(sample)], moments)
    kept = ("correlation", "ci_low", "ci_high", "reason", "caution")
    return {
        row["editorial_metric"]: {name: row[name] for name in kept} for row in table.iter_rows(named=True)
    }


@dataclass(frozen=True)
class _Comparisons:
    """Conventions of a sample with one click metric, compared with the run's own ones of all quantities."""

    sample: Sample
    gaps: Gap
    quantities: tuple[str, ...]

    def own_gap(self, row: Row) -> Row:
        """Return the difference from the correlation of the run's own convention of the quantity."""
        at = self._at(row, str(row["quantity"]))
        return {} if at is None else _gap("gap", self.gaps, at)

    def changes(self, row: Row, own: Mapping[str, str]) -> list[Row]:
        """Return the comparisons with other quantities whose sign or significance the convention changes."""
        changed: list[Row] = []
        quantity, convention = str(row["quantity"]), row["convention"]
        for other in self.quantities:
            after, before = self._at(row, other), self._at({"convention": own[quantity]}, other)
            if other == quantity or after is None or before is None:
                continue
            what = change(self._triple(before), self._triple(after))
            if what is not None:
                label = {"quantity": quantity, "convention": convention, "other": other, "change": what}
                changed.append(label | _gap("before", self.gaps, before) | _gap("after", self.gaps, after))
        return changed

    def _at(self, row: Row, other: str) -> tuple[int, int, int] | None:
        names = self.sample.editorial_names
        if row["convention"] not in names:
            return None
        return 0, names.index(str(row["convention"])), self.quantities.index(other)

    def _triple(self, at: tuple[int, int, int]) -> tuple[float, float, float]:
        gaps = self.gaps
        return float(gaps.value[at]), float(gaps.low[at]), float(gaps.high[at])
