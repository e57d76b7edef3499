"""Correlations within queries in plain Python, over the markets of one depth and judge."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support.oracle import oracle_intervals as intervals
from support.oracle.oracle_correlation import POOLED_CONFIGURATIONS, Found, Pair, Rows, reliability
from support.oracle.oracle_shared import (
    MANY,
    Group,
    free_lists,
    grouped,
    left_without_fold,
    moments,
    side_by_side,
    times_known,
    weight,
    with_residuals,
)
from support.oracle.oracle_tables import adjusted_by_click, compared_pairs, estimate, sign_agreement

NO_GROUP = "no query has two fully judged rankings"
SAME = "the {} metric is the same in all rankings of each query"
NO_TIMES = "times are unknown: a change over time may affect this number"
NO_USERS = "fewer than 8 folds of users: one busy user may dominate this number"

NULL = "null SS"
LEAST_FOLDS = 8
NAMED, OPEN = 5, 1e-11


def lists_of_groups(rows: Rows, clicks: Sequence[str], editorial: Sequence[str]) -> Rows:
    """Return the lists of each market and query that has two or more, with their residuals.

    And which of the lists of a market have few sessions.
    """
    groups = grouped(rows)
    kept = [row for row in rows if len(groups[row["market"], row["query"]]) >= 2]
    limits = {}
    for market in {row["market"] for row in kept}:
        repeated = sorted(
            row["n_sessions"] for row in kept if row["market"] == market and row["n_sessions"] >= 2
        )
        limits[market] = repeated[:POOLED_CONFIGURATIONS][-1] if repeated else 0
    known = [row | {"few": 2 <= row["n_sessions"] <= limits[row["market"]]} for row in kept]
    return with_residuals(known, [*clicks, *editorial, NULL])


def left(own: Rows) -> list[float]:
    """Return w (1 - h) of each list: what centring and taking out leave of its noise."""
    return [weight(row) * (1 - row["h"]) for row in own]


class WithinLists:
    """The sums of each group, which do not depend on the other groups: what is taken out is held."""

    def __init__(self, rows: Rows, clicks: Sequence[str], editorial: Sequence[str]) -> None:
        self.clicks, self.names = list(clicks), list(editorial)
        self.pairs = list(itertools.product(clicks, editorial))
        self.sums = {group: self.sums_of(own) | self.noise_of(own) for group, own in grouped(rows).items()}
        self.order = list(self.sums_of([]) | self.noise_of([]))
        self.at = {group: at for at, group in enumerate(self.sums)}
        self.columns = np.array([[sums[what] for sums in self.sums.values()] for what in self.order])
        self.changes: dict[tuple[Group, int], Any] = {}
        self.times: dict[frozenset[str], tuple[float | None, dict[str, float | None]]] = {}

    def sums_of(self, own: Rows) -> dict[Any, float]:
        """Return the sums of squares and of products of a group, and of SS if clicks ignored the grades."""

        def total(a: str, b: str) -> float:
            return math.fsum(weight(row) * row["left"][a] * row["left"][b] for row in own)

        squares = {name: total(name, name) for name in (*self.clicks, *self.names, NULL)}
        squares[NULL] += math.fsum(
            part * row[NULL] * (1 - row[NULL]) / row["n_sessions"]
            for part, row in zip(left(own), own, strict=True)
        )
        products = [*self.pairs, *((NULL, name) for name in self.names)]
        return squares | {pair: total(*pair) for pair in products}

    def noise_of(self, own: Rows) -> dict[Any, float]:
        """Return the sums of a group from which noise follows."""
        several = [(part, row) for part, row in zip(left(own), own, strict=True) if row["n_sessions"] >= 2]
        few = [row for row in own if row["few"]]
        single = [part for part, row in zip(left(own), own, strict=True) if row["n_sessions"] == 1]
        sums: dict[Any, float] = {"few": len(few), "single": math.fsum(single), "alone": len(single)}
        for click in self.clicks:
            of = f"variance {click}"
            sums["few", click] = math.fsum(row[of] for row in few)
            sums["known", click] = math.fsum(part * row[of] / row["n_sessions"] for part, row in several)
        return sums

    def sums_over(self, rows: Rows) -> dict[Any, float]:
        """Return all sums over the groups of some rows."""
        groups = sorted({self.at[row["market"], row["query"]] for row in rows})
        summed = [math.fsum(column) for column in self.columns[:, groups].tolist()]
        return dict(zip(self.order, summed, strict=True))

    @staticmethod
    def correlation_of(sums: dict[Any, float], pair: Pair) -> float | None:
        """Return the correlation of summed groups; None where a metric does not vary."""
        squares = [sums[name] for name in pair]
        if not all(squares):
            return None
        return max(-1.0, min(1.0, sums[pair] / math.sqrt(squares[0] * squares[1])))

    def statistic(self, rows: Rows) -> Found:
        """Return all correlations of some lists, and how reliable the click metrics are."""
        sums = self.sums_over(rows)
        reliable = {click: reliability(sums[click], noise(sums, click)) for click in self.clicks}
        return Found({pair: self.correlation_of(sums, pair) for pair in self.pairs}, reliable)

    def times_of(self, place: Rows) -> tuple[float | None, dict[str, float | None]]:
        """Return the moments of a place, and by offline metric how much of it is side by side."""
        key = frozenset(row["market"] for row in place)
        if key not in self.times:
            self.times[key] = moments(place), {name: side_by_side(place, name) for name in self.names}
        return self.times[key]

    def change(self, own: Rows, fold: int) -> Any:
        """Return how the sums of a group change without a fold of users.

        Squares of clicks and of metrics, and products.
        """
        group = own[0]["market"], own[0]["query"]
        if (group, fold) not in self.changes:
            _, weights, off = left_without_fold(own, fold, self.clicks, self.names)
            y, x = (np.array([off[name] for name in names]) for names in (self.clicks, self.names))
            now = (y * y) @ weights, (x * x) @ weights, y * weights @ x.T
            before = self.sums[group]
            self.changes[group, fold] = (
                now[0] - [before[click] for click in self.clicks],
                now[1] - [before[name] for name in self.names],
                now[2] - [[before[click, name] for name in self.names] for click in self.clicks],
            )
        return self.changes[group, fold]

    def changes_of(self, rows: Rows) -> Any | None:
        """Return (units, folds, ...) changes of sums without each fold; None where users do not count."""
        folds = folds_of(rows)
        if free_lists(rows) < MANY or len(folds) < LEAST_FOLDS:
            return None
        by_unit = [
            [[self.change(own, fold) for own in grouped(of_unit).values()] for fold in folds]
            for of_unit in units_of(rows).values()
        ]
        return [
            np.array([[sum(group[part] for group in groups) for groups in of_unit] for of_unit in by_unit])
            for part in range(3)
        ]


def units_of(rows: Rows) -> dict[str, Rows]:
    """Return the rows of each unit: a group of queries, or a query in all its markets; by name."""
    found: dict[str, Rows] = {}
    for row in sorted(rows, key=unit_name):
        found.setdefault(unit_name(row), []).append(row)
    return found


def unit_name(row: dict[str, Any]) -> str:
    """Return the name of the unit of a list; a group and a query of one name are two."""
    return f"query {row['query']}" if row.get("group") is None else f"group {row['group']}"


class Errors:
    """What turns the jackknife error of a place or class into the error that counts."""

    def __init__(self, lists: WithinLists, rows: Rows, place: Rows) -> None:
        blocks = {id(row["block"]): row["block"] for row in place if row["block"] is not None}.values()
        free, self.rank = sum(one.free for one in blocks), sum(one.rank for one in blocks)
        self.factor = free / (free - self.rank) if free else 1.0
        parts = [one.parts() for one in blocks]
        self.periods, self.folds = (
            (max(some, default=0) for some in zip(*parts, strict=True)) if parts else (0, 0)
        )
        self.lists, self.sums = lists, lists.sums_over(rows)
        self.changes = lists.changes_of(rows)

    def of(self, pairs: Sequence[Pair], signs: Sequence[float], *, fisher: bool) -> intervals.Widen:
        """Return what widens the error of a correlation, on Fisher's scale or not, or of a difference."""
        added = self.users(pairs, signs, fisher=fisher)

        def widened(error: intervals.Error | None) -> intervals.Error | None:
            return intervals.widened(error, self.factor, added)

        return widened

    def users(self, pairs: Sequence[Pair], signs: Sequence[float], *, fisher: bool) -> intervals.Error | None:
        """Return what users add to the squared error beyond chance, with its degrees of freedom."""
        if self.changes is None:
            return None
        u: Any = 0.0
        for pair, sign in zip(pairs, signs, strict=True):
            y, x = (self.sums[name] for name in pair)
            value = self.lists.correlation_of(self.sums, pair)
            if value is None or (fisher and abs(value) >= 1 - intervals.PERFECT):
                return None
            at, of = self.lists.clicks.index(pair[0]), self.lists.names.index(pair[1])
            dy, dx, dp = self.changes[0][..., at], self.changes[1][..., of], self.changes[2][..., at, of]
            moved = dp / math.sqrt(x * y) - value / 2 * (dx / x + dy / y)
            u = u + sign * (moved / (1 - value**2) if fisher else moved)
        folds, v = u.shape[1], u.sum(axis=0)
        between = (folds - 1) / folds * float(((v - v.mean()) ** 2).sum())
        chance = folds / (folds - 1) * float(((u - u.mean(axis=1, keepdims=True)) ** 2).sum())
        if between <= chance:
            return None
        return between - chance, intervals.degrees_of_freedom([float(one) for one in v])


def noise(sums: dict[Any, float], click: str) -> float | None:
    """Return the sum of w (1 - h) s2 / n; a list with one session has the mean s2 of lists with few."""
    if not sums["alone"]:
        return sums["known", click]
    if not sums["few"]:
        return None
    return sums["known", click] + sums["single"] * sums["few", click] / sums["few"]


def without_each_unit(rows: Rows, statistic: Callable[[Rows], Found]) -> list[Found]:
    """Return a statistic without the lists of each unit in turn, in all its markets."""
    return [statistic([row for row in rows if unit_name(row) != unit]) for unit in units_of(rows)]


def within(lists: WithinLists, rows: Rows, place: Rows) -> dict[Pair, dict[str, Any]]:
    """Return the correlations within queries of a class of a place, and all that is said of them."""
    whole, left_out = lists.statistic(rows), without_each_unit(rows, lists.statistic)
    errors = Errors(lists, rows, place)
    changed_at, apart = lists.times_of(place)
    found, widens = {}, {pair: errors.of([pair], [1.0], fisher=True) for pair in whole.correlations}
    for pair, value in whole.correlations.items():
        widen = widens[pair]
        of_value = errors.users([pair], [1.0], fisher=False)
        columns = estimate(whole, left_out, pair, widen, errors.factor, of_value)
        null = lists.correlation_of(errors.sums, (NULL, pair[1])) if pair[0] == "SS" else 0.0
        same = "click" if not errors.sums[pair[0]] else "offline"
        values = [one.correlations[pair] for one in left_out]
        found[pair] = {
            "correlation": value,
            **columns,
            "p_value": None if pair[0] == "SS" else intervals.p_of_null(value, null, values, widen),
            "null_correlation": None if value is None else null,
            **ceiling(whole, pair[0]),
            "sign_agreement": sign_agreement(value),
            "n_configurations": len(rows),
            "n_queries": len(left_out),
            "n_sessions": sum(row["n_sessions"] for row in rows),
            "periods": errors.periods,
            "user_folds": errors.folds,
            "taken_out": errors.rank,
            "moments": changed_at,
            "side_by_side": apart[pair[1]],
            "reason": NO_GROUP if not rows else None if value is not None else SAME.format(same),
            "caution": caution(value, columns["ci_low"], len(left_out), place),
        }
    return adjusted_by_click(found, whole, left_out, widens)


def ceiling(whole: Found, click: str) -> dict[str, float | None]:
    """Return the root of a reliability; None where a correlation is beyond it.

    And, where one is but for rounding, the root all the same: then either is right.
    """
    reliable = whole.reliabilities[click]
    if reliable is None:
        return {"ceiling": None}
    values = [value for pair, value in whole.correlations.items() if pair[0] == click]
    root, highest = (
        math.sqrt(reliable),
        max((abs(value) for value in values if value is not None), default=0.0),
    )
    open_root = {"open_ceiling": root} if abs(root - highest) <= intervals.PERFECT else {}
    return {"ceiling": None if root < highest else root, **open_root}


def caution(value: float | None, low: float | None, units: int, place: Rows) -> str | None:
    """Return why a number or its interval is not to be relied on."""
    few = intervals.caution(value, low, units)
    if value is None or few is not None:
        return few
    if not times_known(place):
        return NO_TIMES
    return NO_USERS if len(folds_of(place)) < LEAST_FOLDS else None


def folds_of(rows: Rows) -> list[int]:
    """Return the folds of the users of some lists, joined into sixteen."""
    return sorted({fold % 16 for row in rows for fold in row["by fold"]})


def within_comparisons(lists: WithinLists, rows: Rows) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Compare every two offline metrics within queries, for the lists of a place."""
    if not rows:
        return {}
    errors = Errors(lists, rows, rows)

    def widen(click: str, a: str, b: str) -> intervals.Widen:
        return errors.of([(click, a), (click, b)], [1.0, -1.0], fisher=False)

    whole, left_out = lists.statistic(rows), without_each_unit(rows, lists.statistic)
    compared = [click for click in lists.clicks if click != "SS"]
    return compared_pairs(whole, left_out, compared, lists.names, widen=widen)


def within_influence(lists: WithinLists, rows: Rows) -> dict[tuple[str, str, str, int], dict[str, Any]]:
    """Return the units that move each correlation most, by pair, side and rank.

    A unit without which there is no value comes first of those that raise. Pairs of metrics are left out
    where two units move the value alike, so that their order is open.
    """
    units = units_of(rows)
    if len(units) < 2:
        return {}
    whole, left_out = lists.statistic(rows), without_each_unit(rows, lists.statistic)
    found = {}
    for pair, value in whole.correlations.items():
        if value is None:
            continue
        without = dict(zip(units, (one.correlations[pair] for one in left_out), strict=True))
        changes = {unit: -math.inf if one is None else one - value for unit, one in without.items()}
        squares = math.fsum(change**2 for change in changes.values())
        for side, sign in (("raises", 1), ("lowers", -1)):
            shifts = sorted(
                (sign * change, unit)
                for unit, change in changes.items()
                if sign * change < 0 and abs(change) > intervals.ROUNDING
            )[: NAMED + 1]
            if any(b - a < OPEN for (a, _), (b, _) in itertools.pairwise(shifts)):
                continue
            for rank, (shift, unit) in enumerate(shifts[:NAMED], start=1):
                moved = {name for _, name in shifts[:rank]}
                others = [row for row in rows if unit_name(row) not in moved]
                found[*pair, side, rank] = {
                    **representative(units[unit]),
                    "without": without[unit],
                    "without_these": lists.correlation_of(lists.sums_over(others), pair),
                    "error_share": None if math.isinf(squares) else shift**2 / squares,
                }
    return found


def representative(of_unit: Rows) -> dict[str, Any]:
    """Return the query of a unit with most sessions, and the sessions of the unit."""
    groups = sorted(grouped(of_unit).items())
    sessions = {group: sum(row["n_sessions"] for row in own) for group, own in groups}
    market, query = max(sessions, key=lambda group: sessions[group])
    return {"query": query, "query_market": market, "n_sessions": sum(sessions.values())}
