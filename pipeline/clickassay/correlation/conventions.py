"""One metric under the conventions of many tools: its values, and the comparisons that it changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
from clickassay.core.contracts.form import Table
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats, Integers, JudgedConfigurations, Sample
from clickassay.core.settings import Settings
from clickassay.correlation.classes import unsplit
from clickassay.correlation.comparisons import difference_spread
from clickassay.correlation.estimates import means_of_sums
from clickassay.correlation.tables import correlations
from clickassay.correlation.uncertainty.intervals import (
    Deviations,
    difference_interval,
    left_out,
    no_rounding,
)
from clickassay.correlation.weighted import correlation_matrix, sample_moments, without_rounding
from clickassay.metrics.clicks import counted_clicks
from clickassay.metrics.conventions import AuditScale, Convention, conventions
from clickassay.metrics.lists import NO_GRADE, Lists

Row = dict[str, object]

MOST_KINDS = 2**62
"""Rows of so many kinds can be told apart by one number."""
SAME = 1e-12
"""Relative difference below which values count as equal: sums in another order differ by rounding alone."""


@dataclass(frozen=True)
class Gap:
    """Differences from a reference convention with the ends of their 95% CIs; NaN where undefined."""

    value: Floats
    low: Floats
    high: Floats


def mean_gaps(sample: Sample, reference: NDArray[np.intp]) -> Gap:
    """Return (E,) mean of a convention - mean of its `reference`, (E,) indices, with intervals.

    Of the offline metrics of a sample, weighted by sessions; by the jackknife over queries.
    """
    values = sample.editorial_values
    differences = without_rounding(values - values[:, reference], np.abs(values).max(axis=0, initial=0))
    weighted = differences * sample.sessions[:, None]
    rows = np.concatenate([sample.sessions[:, None].astype(np.float64), weighted], axis=1)
    sums = np.add.reduceat(rows, sample.starts, axis=0)
    gap = means_of_sums(sums.sum(axis=0))
    deviations = Deviations()
    for means in left_out(sums, means_of_sums):
        deviations.add(means - gap)
    return Gap(gap, *difference_interval(gap, deviations.spread()))


def same_values(values: Floats, one: int, other: int) -> bool:
    """Return whether two columns of (N, E) values are equal but for rounding."""
    pair = values[:, [one, other]]
    return bool(np.abs(pair[:, 0] - pair[:, 1]).max(initial=0) <= SAME * np.abs(pair).max(initial=1))


def change(before: tuple[float, ...], after: tuple[float, ...]) -> str | None:
    """Return how sign or significance of a difference (value, low, high) changes; None where neither does."""
    was_significant, is_significant = (low > 0 or high < 0 for _, low, high in (before, after))
    if was_significant != is_significant:
        return "beyond noise now" if is_significant else "no longer beyond noise"
    if before[0] * after[0] < 0:
        return "reversed" if is_significant else "reversed, within noise"
    return None


def with_conventions(sample: Sample, columns: Mapping[str, Floats]) -> Sample:
    """Return the sample with conventions, by name, in place of its offline metrics."""
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
    declared: Sequence[Convention],
    reasons: Mapping[str, str],
    *,
    pool: str,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables of an audit, in the forms of `CONVENTIONS` and `CHANGED`.

    sample: its offline metrics are the conventions that were computed; of others `reasons` say why not.
    pool: the run's setting, which decides which conventions are the run's own.
    """
    own = {one.quantity: one.measure for one in declared if pool in one.own}
    rows = _convention_rows(sample, declared, own, reasons)
    label: Row = {**sample.key.columns}
    audited: list[Row] = []
    changed: list[Row] = []
    for number, click in enumerate(sample.click_names):
        progress(Event(f"correlating with {click}", number / len(sample.click_names)))
        part = one_click(sample, number)
        moments = sample_moments(part)
        # (C, E, O) correlation of each convention - that of each of the run's own ones
        reference = _indices(sample, own.values())
        size = len(part.editorial_names)
        a, b = np.repeat(np.arange(size), len(reference)), np.tile(reference, size)
        of_all = correlation_matrix(part.click_values, part.editorial_values, part.sessions).values
        difference = no_rounding(of_all[:, a] - of_all[:, b])
        spread = difference_spread(moments, difference, (a, b), n_editorial=size)
        low, high = difference_interval(difference, spread)
        shape = (len(of_all), size, len(reference))
        gaps = Gap(difference.reshape(shape), low.reshape(shape), high.reshape(shape))
        comparisons = _Comparisons(part, gaps, tuple(own))
        table = correlations(part, [unsplit(part)], moments)
        correlated = {row["editorial_metric"]: row for row in table.iter_rows(named=True)}
        for row in rows:
            found = correlated.get(str(row["convention"]))
            numbers: Row = {} if found is None else {name: found[name] for name in _KEPT}
            numbers |= comparisons.own_gap(row)
            audited.append(label | {"click_metric": click} | row | numbers)
            changed += [label | {"click_metric": click} | one for one in comparisons.changes(row, own)]
    return _frame(CONVENTIONS, audited), _frame(CHANGED, changed)


_KEPT = ("correlation", "ci_low", "ci_high", "reason", "caution")
"""Columns of the table `correlations` that an audit has."""


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
    sample: Sample, declared: Sequence[Convention], own: Mapping[str, str], reasons: Mapping[str, str]
) -> list[Row]:
    """Return the columns that are the same for every click metric: texts and means."""
    quantities = {one.measure: one.quantity for one in declared}
    reference = _indices(sample, (own[quantities[name]] for name in sample.editorial_names))
    # added up row by row: a product of matrices rounds in another way on another processor
    means = (sample.sessions[:, None] * sample.editorial_values).sum(axis=0) / sample.sessions.sum()
    gaps = mean_gaps(sample, reference)
    names, same = sample.editorial_names, dict[str, str]()
    near = np.isclose(means[:, None], means)  # whole columns are compared where it is likely
    for place, name in enumerate(names):  # an earlier convention of the same quantity with the same values
        for before, other in enumerate(names[:place]):
            alike = quantities[other] == quantities[name] and near[before, place]
            if alike and same_values(sample.editorial_values, before, place):
                same[name] = other
                break
    rows: list[Row] = []
    for place, one in enumerate(declared, start=1):
        name = one.measure
        row: Row = {
            "quantity": one.quantity, "convention": name, "place": place, "own": own[one.quantity] == name,
            "choice": one.choice, "tools": one.tools, "same_as": same.get(name), "reason": reasons.get(name),
        }  # fmt: skip
        if name in names:
            at = names.index(name)
            row |= {"mean": float(means[at])} | _gap("mean_gap", gaps, at)
        rows.append(row)
    return rows


def _gap(name: str, gap: Gap, at: int | tuple[int, ...]) -> Row:
    ends = {name: gap.value[at], f"{name}_low": gap.low[at], f"{name}_high": gap.high[at]}
    return {key: None if np.isnan(value) else float(value) for key, value in ends.items()}


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
            gaps = (self.gaps.value, self.gaps.low, self.gaps.high)
            was, now = (tuple(float(one[at]) for one in gaps) for at in (before, after))
            what = change(was, now)
            if what is not None:
                label = {"quantity": quantity, "convention": convention, "other": other, "change": what}
                changed.append(label | _gap("before", self.gaps, before) | _gap("after", self.gaps, after))
        return changed

    def _at(self, row: Row, other: str) -> tuple[int, int, int] | None:
        names = self.sample.editorial_names
        if row["convention"] not in names:
            return None
        return 0, names.index(str(row["convention"])), self.quantities.index(other)


def conventions_table(
    judged: JudgedConfigurations, samples: tuple[Sample, ...], settings: Settings
) -> pl.DataFrame:
    """Compute every convention on the judged configurations of one depth and judge.

    judged: configurations over all markets; results whose grade is filled in count as not judged.

    Returns rows of `contracts.conventions.CONVENTIONS` for the headline click metric; none where grades are
    drawn from clicks, which no tool does.
    """
    if settings.unjudged == "model":
        return CONVENTIONS.empty()
    tables = [CONVENTIONS.empty()]
    for sample in samples:
        scale = scale_of(sample, settings)
        declared = conventions(scale)
        rows = judged.rows.filter(market=sample.key.market)["n"].to_numpy()
        grades = np.where(judged.filled[rows], NO_GRADE, judged.grades[rows])
        first, kinds = distinct(np.concatenate([grades, judged.pool[rows]], axis=1))
        # a value depends on the grades shown and judged alone: lists that share them are computed once
        lists = lists_of(sample.configuration_ids.gather(first), grades[first], judged.pool[rows[first]])
        columns = {one.measure: one.values(lists, scale).take(kinds) for one in declared}
        click = counted_clicks(settings)[0]
        if click in sample.ratings:
            kept = sample.rated_rows(click)
            columns = {measure: values[kept] for measure, values in columns.items()}
        headline = sample.of_click(click)
        headline = with_conventions(one_click(headline, headline.click_names.index(click)), columns)
        tables.append(audit_tables(headline, declared, {}, pool=settings.pool)[0])
    return pl.concat(tables)


def distinct(rows: Integers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of each of the D kinds of (N, K) rows, and the kind 0..D - 1 of each row."""
    packed, kinds = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T.astype(np.int64):
        digits = column - column.min(initial=0)
        size = int(digits.max(initial=0)) + 1
        if kinds * size > MOST_KINDS:
            seen, packed = np.unique(packed, return_inverse=True)
            kinds = len(seen)
        packed, kinds = packed * size + digits, kinds * size
    _, first, kind = np.unique(packed, return_index=True, return_inverse=True)
    return first, kind
