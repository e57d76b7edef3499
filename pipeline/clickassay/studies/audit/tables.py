"""The tables of an audit: each convention on judged configurations, and which conclusions it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
from clickassay.core.contracts.form import Table
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats, Integers, Sample
from clickassay.core.settings import Settings
from clickassay.correlation.classes import everything
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
from clickassay.studies.audit.tool_formulas import Reading
from clickassay.studies.evaluation.lists import Lists

Row = dict[str, object]


def with_conventions(sample: Sample, columns: Mapping[str, Floats]) -> Sample:
    """Return the sample with conventions, by name, in place of its editorial metrics."""
    values = np.column_stack([*columns.values()])
    return replace(sample, editorial_names=tuple(columns), editorial_values=values)


def lists_of(sample: Sample, grades: Integers, pool: Integers) -> Lists:
    """Return the configurations of a sample as lists; `grades` is (N, depth), `pool` (N, g_max + 1)."""
    starts = np.arange(len(grades) + 1) * sample.key.depth
    return Lists(tuple(sample.configuration_ids), grades.astype(np.int16).ravel(), starts, pool)


def reading_of(sample: Sample, settings: Settings) -> Reading:
    """Return the cut and the scale of a sample."""
    return Reading(sample.key.depth, settings.max_grade, settings.relevant_grade, settings.persistence)


def audit_tables(
    sample: Sample,
    found: Sequence[Convention],
    reasons: Mapping[str, str],
    *,
    pool: str,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables of an audit, in the forms of `CONVENTIONS` and `CHANGED`.

    Parameters
    ----------
    sample
        Its editorial metrics are the conventions that were computed, in the order of `found`.
    found
        All conventions.
    reasons
        By name: why a convention was not computed.
    pool
        The run's setting of that name, which tells its own conventions.
    """
    own = {one.quantity: one.measure for one in found if pool in one.own}
    facts = _facts(sample, found, own, reasons)
    label: Row = {**sample.key.columns}
    audited: list[Row] = []
    changed: list[Row] = []
    for number, click in enumerate(sample.click_names):
        progress(Event(f"correlating with {click}", number / len(sample.click_names)))
        part = one_click(sample, number)
        moments = sample_moments(part)
        compared = _Compared(part, correlation_gaps(part, moments, _places(sample, own)), tuple(own))
        told = _told(part, moments)
        for fact in facts:
            row = fact | told.get(str(fact["convention"]), {}) | compared.own_gap(fact)
            audited.append(label | {"click_metric": click} | row)
            changed += [label | {"click_metric": click} | one for one in compared.changes(fact, own)]
    return _framed(CONVENTIONS, audited), _framed(CHANGED, changed)


def _framed(table: Table, rows: list[Row]) -> pl.DataFrame:
    return table.canonical(pl.DataFrame(rows, {column.name: column.dtype for column in table.columns}))


def one_click(sample: Sample, number: int) -> Sample:
    """Return the sample with one click metric: all of them at once would not fit memory."""
    return replace(
        sample,
        click_names=sample.click_names[number : number + 1],
        click_values=sample.click_values[:, number : number + 1],
        click_variances=sample.click_variances[:, number : number + 1],
    )


def _places(sample: Sample, own: Mapping[str, str]) -> NDArray[np.intp]:
    return np.array([sample.editorial_names.index(name) for name in own.values()])


def _facts(
    sample: Sample,
    found: Sequence[Convention],
    own: Mapping[str, str],
    reasons: Mapping[str, str],
) -> list[Row]:
    """Return what is the same for every click metric: words, and means."""
    quantities = {one.measure: one.quantity for one in found}
    of = [sample.editorial_names.index(own[quantities[name]]) for name in sample.editorial_names]
    means, gaps = weighted_means(sample), mean_gaps(sample, np.array(of))
    same = _same(sample, quantities, means)
    rows: list[Row] = []
    for place, one in enumerate(found, start=1):
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
    """Return by name the first convention of the quantity that has the same values, where it is another."""
    names = sample.editorial_names
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        for before, other in enumerate(names[:place]):
            near = np.isclose(means[before], means[place])  # whole columns are compared where it is likely
            alike = quantities[other] == quantities[name] and near
            if alike and same_values(sample.editorial_values, before, place):
                found[name] = other
                break
    return found


def _gap(name: str, gap: Gap, at: int | tuple[int, ...]) -> Row:
    ends = {name: gap.value[at], f"{name}_low": gap.low[at], f"{name}_high": gap.high[at]}
    return {key: None if np.isnan(value) else float(value) for key, value in ends.items()}


def _told(sample: Sample, moments: Floats) -> dict[str, Row]:
    """Return what the table of correlations says of each convention."""
    table = correlations(sample, [everything(sample)], moments)
    kept = ("correlation", "ci_low", "ci_high", "reason", "caution")
    return {
        row["editorial_metric"]: {name: row[name] for name in kept} for row in table.iter_rows(named=True)
    }


@dataclass(frozen=True)
class _Compared:
    """Conventions of a sample with one click metric, held against the own ones of all quantities."""

    sample: Sample
    gaps: Gap
    quantities: tuple[str, ...]

    def own_gap(self, fact: Row) -> Row:
        """Return how far the correlation lies from that of the quantity's own convention."""
        at = self._at(fact, str(fact["quantity"]))
        return {} if at is None else _gap("gap", self.gaps, at)

    def changes(self, fact: Row, own: Mapping[str, str]) -> list[Row]:
        """Return the comparisons with other quantities of which the convention makes something else."""
        found: list[Row] = []
        quantity = str(fact["quantity"])
        for other in self.quantities:
            after, before = self._at(fact, other), self._at({"convention": own[quantity]}, other)
            if other != quantity and after is not None and before is not None:
                told = change(self._triple(before), self._triple(after))
                row = {"quantity": quantity, "convention": fact["convention"], "other": other, "change": told}
                row |= _gap("before", self.gaps, before) | _gap("after", self.gaps, after)
                found += [] if told is None else [row]
        return found

    def _at(self, fact: Row, other: str) -> tuple[int, int, int] | None:
        names = self.sample.editorial_names
        if fact["convention"] not in names:
            return None
        return 0, names.index(str(fact["convention"])), self.quantities.index(other)

    def _triple(self, at: tuple[int, int, int]) -> tuple[float, float, float]:
        gaps = self.gaps
        return float(gaps.value[at]), float(gaps.low[at]), float(gaps.high[at])
