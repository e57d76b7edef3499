"""The queries, or groups of queries, named by their largest, that move a correlation most (method 7.4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.contracts.correlation import INFLUENCE, WITHIN_INFLUENCE
from clickassay.core.records import Floats, Integers, NamedMetrics, Sample, pairs_of
from clickassay.correlation.tables import with_sample_columns
from clickassay.correlation.uncertainty.intervals import left_out, no_rounding
from clickassay.correlation.weighted import QUERIES_AT_ONCE, centred_sums, sample_moments, without_rounding
from clickassay.correlation.within.groups import QueryGroups

MAX_QUERIES = 5
"""Queries of each side that are named."""

SIDES = {"raises": 1.0, "lowers": -1.0}
"""What a query does to a correlation, and the sign that sorts the largest such changes first."""


@dataclass(frozen=True)
class _Units:
    """The U units that are left out."""

    queries: Sequence[tuple[str, str]]  # The query that stands for each unit, and its market.
    sessions: Integers  # (U,) sessions.
    sums: Floats  # (U, K) additive sums of each.
    # Turns (..., K) sums into (..., P) correlations of all pairs of metrics.
    statistic: Callable[[Floats], Floats]


def influence(sample: Sample, moments: Floats | None = None) -> pl.DataFrame:
    """Find the queries whose removal moves each overall correlation most.

    Returns rows of contracts.correlation.INFLUENCE: of each correlation up to `MAX_QUERIES` queries that
    raise it, and as many that lower it. A query without which there is no correlation ranks first among those
    that raise it; then no share of the error is known.
    """
    if len(sample.queries) < 2:
        return INFLUENCE.empty()
    moments = sample_moments(sample) if moments is None else moments
    sums = sample.by_unit(moments)
    shape, total = (len(sample.click_names), len(sample.editorial_names)), sums.sum(axis=0)

    def statistic(part: Floats) -> Floats:
        values = centred_sums(part, *shape, total).correlations
        return values.reshape(*values.shape[:-2], -1)

    sessions = np.add.reduceat(sample.sessions, sample.starts)
    names = sample.queries if sample.units is None else sample.units
    queries = [(sample.key.market, query) for query in sample.queries]
    rows = _rows(sample, _units(names, queries, sessions, sums, statistic))
    return INFLUENCE.canonical(rows.drop("query_market"))


def within_influence(place: QueryGroups) -> pl.DataFrame:
    """Find the queries whose removal moves each correlation within queries most: WITHIN_INFLUENCE."""
    groups = place.groups
    sums = groups.by_unit(np.ones(len(groups.units), np.bool_))
    if len(sums) < 2:
        return WITHIN_INFLUENCE.empty()

    def statistic(part: Floats) -> Floats:
        return place.correlations(part).reshape(*part.shape[:-1], -1)

    units = _units(groups.units, groups.queries, groups.n_sessions, sums, statistic)
    return WITHIN_INFLUENCE.canonical(_rows(place, units))


def _units(
    names: Sequence[str],
    queries: Sequence[tuple[str, str]],
    sessions: Integers,
    sums: Floats,
    statistic: Callable[[Floats], Floats],
) -> _Units:
    """Return the units, sorted by name, of (market, query) with their units' names and sessions."""
    rows = pl.DataFrame({"unit": names, "sessions": sessions}).with_row_index("row")
    by_unit = rows.group_by("unit").agg(
        pl.col("sessions").sum(),
        pl.col("row").sort_by("sessions", descending=True, maintain_order=True).first(),
    )
    ordered = by_unit.sort("unit")
    return _Units([queries[row] for row in ordered["row"]], ordered["sessions"].to_numpy(), sums, statistic)


@dataclass
class _Side:
    """The queries so far that move each of P correlations most to one side."""

    name: str  # One of `SIDES`.
    # queries, shifts: (n, P) queries, n <= MAX_QUERIES, and the changes times the side's sign, ascending.
    queries: Integers
    shifts: Floats

    def add(self, changes: Floats, first: int) -> None:
        """Take the (b, P) changes without queries `first`, `first` + 1, ...; NaN counts as minus infinity."""
        shifts = np.nan_to_num(changes, nan=-np.inf) * SIDES[self.name]
        some = min(4 * MAX_QUERIES, len(shifts))  # more than are kept: of equal ones the first query is taken
        best = np.argpartition(shifts, some - 1, axis=0)[:some]
        self.queries = np.concatenate([self.queries, best + first])
        self.shifts = np.concatenate([self.shifts, np.take_along_axis(shifts, best, axis=0)])
        order = np.lexsort((self.queries, self.shifts), axis=0)[:MAX_QUERIES]
        self.queries = np.take_along_axis(self.queries, order, axis=0)
        self.shifts = np.take_along_axis(self.shifts, order, axis=0)


def _rows(named: NamedMetrics, units: _Units) -> pl.DataFrame:
    values = units.statistic(units.sums.sum(axis=0))
    none = np.empty((0, len(values)))
    sides = [_Side(name, none.astype(np.int64), none) for name in SIDES]
    squares = np.zeros(len(values))  # (P,) sums of all squared changes
    first = 0
    for removed in left_out(units.sums, units.statistic, at_once=QUERIES_AT_ONCE):
        changes = no_rounding(removed - values)
        squares += (changes**2).sum(axis=0)
        for side in sides:
            side.add(changes, first)
        first += len(removed)
    pairs, frames = pairs_of(named.click_names, named.editorial_names), []
    for side in sides:
        queries, shifts = side.queries.T, side.shifts.T
        each = queries.shape[1]
        texts = [units.queries[int(place)] for place in queries.ravel()]
        known = np.isfinite(shifts) & (squares[:, None] > 0)
        above, nowhere = np.where(known, shifts, 0) ** 2, np.full(shifts.shape, np.nan)
        shares = np.divide(above, squares[:, None], out=nowhere, where=known)
        columns = {
            **{name: [metric for metric in metrics for _ in range(each)] for name, metrics in pairs.items()},
            "rank": np.tile(np.arange(1, each + 1, dtype=np.int32), len(queries)),
            "query": [query for _, query in texts],
            "query_market": [market for market, _ in texts],
            "n_sessions": units.sessions[queries].ravel(),
            "without": _removed(units, units.sums[queries]).ravel(),
            "without_these": _removed(units, np.cumsum(units.sums[queries], axis=1)).ravel(),
            "error_share": shares.ravel(),
        }
        forms = dict.fromkeys(("click_metric", "editorial_metric", "query", "query_market"), pl.String)
        frame = pl.DataFrame(columns, schema_overrides=forms).with_columns(side=pl.lit(side.name))
        frames.append(frame.filter(pl.Series(shifts.ravel() < 0, dtype=pl.Boolean)))
    return with_sample_columns(named, pl.concat(frames))


def _removed(units: _Units, removed: Floats) -> Floats:
    """Return (P, R) correlations of each pair without the (P, R, K) sums removed for it."""
    total = units.sums.sum(axis=0)
    values = units.statistic(without_rounding(total - removed, np.abs(total)))
    return np.moveaxis(np.diagonal(values, axis1=0, axis2=2), -1, 0)
