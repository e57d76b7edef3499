"""The sessions of a treatment and its control as sums, and their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.records import CLICK_JUDGE, NO_DAY, USER_FOLDS, Floats, Integers
from clickassay.core.settings import Settings
from clickassay.metrics.clicks import (
    CLICKS,
    SIGNAL_METRICS,
    USES_GRADES,
    good_masks,
    search_success,
    signal_metric,
)  # fmt: skip
from clickassay.patterns.arms import CLICK, ArmTables
from clickassay.studies.experiments.effects import Effects, by_days, by_queries

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """What a judge says of the N rankings."""

    name: str
    metrics: tuple[str, ...]
    values: Floats  # (N, M) 0 where not judged.
    good: Integers  # (N,) masks of the positions with a good grade.
    is_judged: Flags  # (N,)

    def at(self, lists: Integers) -> "Judged":
        """Return what it says of some of the rankings."""
        return Judged(self.name, self.metrics, self.values[lists], self.good[lists], self.is_judged[lists])


@dataclass(frozen=True)
class Rankings:
    """The rankings of a log at one depth, and what each judge says of those that are judged."""

    depth: int
    # configuration_id, market, query, unit (what intervals leave out): all with `depth` results.
    lists: pl.DataFrame
    # By judge: configuration_id, good (mask of good grades), and a column for each offline metric.
    judged: Mapping[str, pl.DataFrame]

    @classmethod
    def of(
        cls,
        lists: pl.DataFrame,
        configurations: pl.DataFrame,
        metrics: Sequence[str],
        depth: int,
        settings: Settings,
    ) -> "Rankings":
        """Return the rankings of a run.

        A judge that clicks made is left out: its clicks are those of the tests.

        lists: as above.
        configurations: the table of the run, whose columns `metrics` are its offline metrics.
        """
        rows = configurations.filter(~pl.col("judge").str.starts_with(CLICK_JUDGE), depth=depth)
        grades = np.array(rows["grades"].to_list(), dtype=np.int64).reshape(rows.height, depth)
        own = rows.select("judge", "configuration_id", *metrics, good=pl.Series(good_masks(grades, settings)))
        judges = own.partition_by("judge", as_dict=True, include_key=False)
        return cls(depth, lists, {str(judge): judged for (judge,), judged in judges.items()})

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """configuration_id with the numbers n, query and unit of each ranking."""
        query, unit = (
            pl.struct("market", name).rank("dense").cast(pl.Int64).alias(name) for name in ("query", "unit")
        )
        return self.lists.select("configuration_id", query, unit, n=pl.int_range(pl.len()))

    @cached_property
    def by_judge(self) -> Mapping[str, Judged]:
        """What each judge says, by the numbers of rankings."""
        found = {}
        for judge, rows in sorted(self.judged.items()):
            own = self.numbers.join(rows, on="configuration_id", how="left", maintain_order="left")
            names = tuple(name for name in rows.columns if name not in ("configuration_id", "good"))
            is_judged = own["good"].is_not_null().to_numpy()
            values = own.select(pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in names).to_numpy()
            good = own["good"].fill_null(0).to_numpy().astype(np.int64)
            found[judge] = Judged(judge, names, np.where(is_judged[:, None], values, 0.0), good, is_judged)
        return found


_OF_MASKS = tuple(metric for metric in CLICKS if metric.name in SIGNAL_METRICS)


def _of_masks(masks: Integers, sessions: Floats) -> list[Floats]:
    """Return the sums of each metric of clicks over the sessions of a pattern."""
    distinct, code = np.unique(masks, return_inverse=True)
    return [metric.function(distinct)[code] * sessions for metric in _OF_MASKS]


def _named(signal: str) -> list[str]:
    names = [metric.name for metric in _OF_MASKS]
    return names if signal == CLICK else [signal_metric(name, signal) for name in names]


def grid(sizes: Sequence[int], axes: Sequence[Integers], values: NDArray[Any]) -> Floats:
    """Return the sums of (R,) values by cell; axes are the (R,) numbers of the cells."""
    cells = np.ravel_multi_index(tuple(axes), tuple(sizes)) if len(values) else np.zeros(0, np.int64)
    return np.bincount(cells, values, int(np.prod(sizes))).astype(np.float64).reshape(sizes)


class Arms:
    """A treatment and its control; the arms come first in all arrays: 0 is control."""

    def __init__(self, tables: ArmTables, control: str, variant: str, rankings: Rankings) -> None:
        self.variant = variant
        self.arms, self.outcomes, patterns = (
            rows.filter(pl.col("variant").is_in([control, variant]))
            for rows in (tables.arms, tables.outcomes, tables.patterns)
        )
        self.signals = [CLICK, *(one for one in tables.arms["signal"].unique().sort() if one != CLICK)]
        self.patterns = patterns.join(rankings.numbers, on="configuration_id", maintain_order="left")
        # rankings and queries of this test are numbered anew, from 0
        self.lists, self.list = np.unique(self.patterns["n"].to_numpy(), return_inverse=True)
        first = self.patterns.unique("n").sort("n")
        queries, self.query = np.unique(first["query"].to_numpy(), return_inverse=True)
        self.n_queries = len(queries)
        self.units = first.unique("query").sort("query")["unit"].to_numpy()
        self.arm, self.fold, self.count = self._columns(self.patterns)
        own = (self.patterns["signal"] == CLICK).to_numpy()
        # (2, L) sessions by ranking
        self.sessions = grid((2, len(self.lists)), (self.arm[own], self.list[own]), self.count[own])

    def _columns(self, rows: pl.DataFrame) -> tuple[Integers, Integers, Floats]:
        arm = (rows["variant"] == self.variant).to_numpy().astype(np.int64)
        fold = rows["fold"].to_numpy().astype(np.int64) % USER_FOLDS
        return arm, fold, rows["sessions"].to_numpy().astype(np.float64)

    # ---- all sessions --------------------------------------------------------------------------

    @cached_property
    def days(self) -> pl.Series:
        """The D days; null if unknown."""
        return self.arms["day"].unique().sort()

    def _by_day(self, rows: pl.DataFrame, values: NDArray[Any]) -> Floats:
        arm, fold, _ = self._columns(rows)
        every, own = (
            days.to_physical().cast(pl.Int64).fill_null(NO_DAY).to_numpy()
            for days in (self.days, rows["day"])
        )
        return grid((2, len(every), USER_FOLDS), (arm, np.searchsorted(every, own), fold), values)

    @cached_property
    def by_day(self) -> Floats:
        """(2, D, F) sessions by day and fold of users."""
        rows = self.arms.filter(signal=CLICK)
        return self._by_day(rows, rows["sessions"].to_numpy())

    def on_users(self, ratings: Sequence[str]) -> tuple[list[str], Effects]:
        """Return the metrics of users that all sessions have, and the effects on them.

        ratings: outcomes whose means are over the sessions that have them.
        """
        names, sums, sessions = list[str](), list[Floats](), list[Floats]()
        for signal in self.signals:
            rows = self.arms.filter(signal=signal)
            count, masks = rows["sessions"].to_numpy().astype(np.float64), rows["click_mask"].to_numpy()
            names += _named(signal)
            sums += [self._by_day(rows, total) for total in _of_masks(masks, count)]
        sessions += [self.by_day] * len(names)
        for outcome in self.outcomes["outcome"].unique().sort():
            rows = self.outcomes.filter(outcome=outcome)
            names.append(outcome)
            sums.append(self._by_day(rows, rows["total"].cast(pl.Float64).to_numpy() / 1000))
            is_rating = outcome in ratings
            sessions.append(self._by_day(rows, rows["sessions"].to_numpy()) if is_rating else self.by_day)
        return names, by_days(np.stack(sessions, -1), np.stack(sums, -1))

    @cached_property
    def short(self) -> Floats:
        """(2, F) sessions on rankings with too few results for the depth, or with none."""
        own = (self.patterns["signal"] == CLICK).to_numpy()
        full = grid((2, USER_FOLDS), (self.arm[own], self.fold[own]), self.count[own])
        short: Floats = np.maximum(self.by_day.sum(axis=1) - full, 0)
        return short

    # ---- rankings ------------------------------------------------------------------------------

    def _by_query(self, of_list: Floats) -> Floats:
        """Return (2, Q) sums over the rankings of a query of (2, L) values."""
        return np.stack([np.bincount(self.query, one, self.n_queries).astype(np.float64) for one in of_list])

    def unjudged(self, is_judged: Flags) -> Floats:
        """Return (2, L) sessions on rankings that are not judged, of queries that both arms have."""
        common = (self._by_query(self.sessions).min(axis=0) > 0)[self.query]
        unjudged: Floats = np.where(common & ~is_judged, self.sessions, 0.0)
        return unjudged

    def changed(self) -> float | None:
        """Return the share of rankings that the test changed: 1 less Morisita's overlap of the arms.

        With shares p and s of the rankings of a query in control and treatment, it is 1 - Σ_q w_q 2 Σ p s
        over Σ_q w_q Σ (p² + s²), squares without bias: n (n - 1) in place of n². Chance changes nothing.
        """
        n = self._by_query(self.sessions)
        enough = (n >= 2).all(axis=0)
        n = n[:, enough]
        squares = self._by_query(self.sessions * (self.sessions - 1))[:, enough] / (n * (n - 1))
        products = self._by_query(self.sessions.prod(axis=0)[None])[0, enough] / n.prod(axis=0)
        weights = n.prod(axis=0) / n.sum(axis=0)
        own, both = (weights * squares.sum(axis=0)).sum(), (weights * 2 * products).sum()
        return float(np.clip(1 - both / own, 0, 1)) if own > 0 else None

    def judged_shares(self, judged: Judged) -> Effects:
        """Return the shares of sessions on judged rankings, matched by query, and their difference."""
        sessions = (self.sessions, self.sessions * judged.is_judged)
        every, own = (self._by_query(one)[..., None] for one in sessions)
        return by_queries(every, own[..., None], self.units, users=False)

    def share_compared(self, judged: Judged) -> float:
        """Return the share of the sessions that are on judged rankings of queries that both arms have."""
        own = self._by_query(self.sessions * judged.is_judged)
        return float(own[:, own.all(axis=0)].sum() / max(self.sessions.sum(), 1.0))

    def offline(self, judged: Judged) -> tuple[Sequence[str], Effects]:
        """Return the metrics of a judge, and ΔE of each."""
        return judged.metrics, self.differences(judged.is_judged, judged.values)

    def differences(self, is_judged: Flags, values: Floats) -> Effects:
        """Return ΔE of (L, M) values over sessions of judged rankings."""
        judged = self.sessions * is_judged
        totals = np.stack([self._by_query(judged * value) for value in values.T], -1)
        return by_queries(self._by_query(judged)[..., None], totals[:, :, None], self.units, users=False)

    def matched(self, judged: Judged) -> dict[str, tuple[float, float, float]]:
        """Return, by metric of users, effects on the sessions of judged rankings, with their intervals."""
        signals, masks = self.patterns["signal"], self.patterns["click_mask"].to_numpy()
        kept = judged.is_judged[self.list]

        def by_cell(rows: Flags, values: Floats) -> Floats:
            axes = (self.arm[rows], self.query[self.list[rows]], self.fold[rows])
            return grid((2, self.n_queries, USER_FOLDS), axes, values)

        clicks, found = kept & (signals == CLICK).to_numpy(), dict[str, tuple[float, float, float]]()
        sessions = by_cell(clicks, self.count[clicks])
        for signal in self.signals:
            rows, names = kept & (signals == signal).to_numpy(), _named(signal)
            totals = _of_masks(masks[rows], self.count[rows])
            if signal == CLICK:
                names.append(USES_GRADES)
                good = judged.good[self.list[rows]]
                totals.append(search_success(masks[rows], good) * self.count[rows])
            sums = np.stack([by_cell(rows, total) for total in totals], -1)
            effects = by_queries(sessions, sums, self.units, users=True)
            found |= {name: effects.three(at) for at, name in enumerate(names)}
        return found
