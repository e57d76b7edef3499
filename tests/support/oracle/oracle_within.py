"""Correlations within queries in plain Python, over the markets of one depth and judge."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from support.oracle import oracle_intervals as intervals
from support.oracle.oracle_correlation import (
    POOLED_CONFIGURATIONS,
    Found,
    Pair,
    Rows,
    is_constant,
    reliability,
)
from support.oracle.oracle_metrics import CLICK_METRICS
from support.oracle.oracle_tables import adjusted_by_click, compared_pairs, estimate, sign_agreement

NO_GROUP = "no query has two judged lists"
SAME = "the {} metric is the same in all lists of each query"


def lists_of_groups(rows: Rows) -> Rows:
    """Return the lists of each market and query that has two or more, and which of them have few sessions."""
    groups = grouped(rows)
    kept = [row for row in rows if len(groups[row["market"], row["query"]]) >= 2]
    limits = {}
    for market in {row["market"] for row in kept}:
        repeated = sorted(
            row["n_sessions"] for row in kept if row["market"] == market and row["n_sessions"] >= 2
        )
        limits[market] = repeated[:POOLED_CONFIGURATIONS][-1] if repeated else 0
    return [row | {"few": 2 <= row["n_sessions"] <= limits[row["market"]]} for row in kept]


def grouped(rows: Rows) -> dict[tuple[str, str], Rows]:
    """Return the lists of each market and query."""
    groups: dict[tuple[str, str], Rows] = defaultdict(list)
    for row in rows:
        groups[row["market"], row["query"]].append(row)
    return groups


def weight(row: dict[str, Any]) -> float:
    """Return n / (n + 4)."""
    return row["n_sessions"] / (row["n_sessions"] + 4)


def deviations(own: Rows, name: str) -> list[float]:
    """Return the deviations from the weighted mean of a group; 0 where all values are one."""
    values, weights = [row[name] for row in own], [weight(row) for row in own]
    if is_constant(values):
        return [0.0] * len(own)
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    return [value - mean for value in values]


def weighted_sum(own: Rows, a: list[float], b: list[float]) -> float:
    """Return the weighted sum of products over the lists of a group."""
    return math.fsum(weight(row) * x * y for row, x, y in zip(own, a, b, strict=True))


def left(own: Rows) -> list[float]:
    """Return w (1 - w / W) of each list of a group: what centring leaves of its noise."""
    whole = math.fsum(weight(row) for row in own)
    return [weight(row) * (1 - weight(row) / whole) for row in own]


class WithinLists:
    """The sums of each group, which do not depend on the other groups."""

    def __init__(self, rows: Rows, editorial_names: list[str]) -> None:
        self.names = editorial_names
        self.pairs = list(itertools.product(CLICK_METRICS, editorial_names))
        self.sums = {group: self.sums_of(own) for group, own in grouped(rows).items()}

    def sums_of(self, own: Rows) -> dict[Any, float]:
        """Return the sums of squares and of products of a group, and of SS if clicks ignored the grades."""
        metrics = (*CLICK_METRICS, *self.names, "null SS")
        off = {name: deviations(own, name) for name in metrics}
        squares = {name: weighted_sum(own, off[name], off[name]) for name in metrics}
        success = [row["null SS"] for row in own]
        counts = [row["n_sessions"] for row in own]
        squares["null SS"] += math.fsum(
            part * s * (1 - s) / n for part, s, n in zip(left(own), success, counts, strict=True)
        )
        products = [*self.pairs, *(("null SS", name) for name in self.names)]
        return {**squares, **{pair: weighted_sum(own, off[pair[0]], off[pair[1]]) for pair in products}}

    def total(self, rows: Rows, what: Any) -> float:
        """Return a sum over the groups of some rows."""
        return math.fsum(self.sums[group][what] for group in grouped(rows))

    def correlation(self, rows: Rows, pair: Pair) -> float | None:
        """Return a correlation within queries; None where a metric does not vary."""
        squares = [self.total(rows, name) for name in pair]
        return self.total(rows, pair) / math.sqrt(squares[0] * squares[1]) if all(squares) else None

    def statistic(self, rows: Rows) -> Found:
        """Return all correlations of some lists, and how reliable the click metrics are."""
        reliable = {
            click: reliability(self.total(rows, click), noise(rows, click)) for click in CLICK_METRICS
        }
        return Found({pair: self.correlation(rows, pair) for pair in self.pairs}, reliable)


def noise(rows: Rows, click: str) -> float | None:
    """Return the sum of w (1 - w / W) s2 / n; a list with one session has the mean s2 of lists with few."""
    known = [row[f"variance {click}"] for row in rows if row["few"]]
    pooled = math.fsum(known) / len(known) if known else None
    total = 0.0
    for own in grouped(rows).values():
        for part, row in zip(left(own), own, strict=True):
            variance = row[f"variance {click}"] if row["n_sessions"] >= 2 else pooled
            if variance is None:
                return None
            total += part * variance / row["n_sessions"]
    return total


def without_each_unit(rows: Rows, statistic: Callable[[Rows], Found]) -> list[Found]:
    """Return a statistic without the lists of each query in turn, in all its markets."""
    units = sorted({row["query"] for row in rows})
    return [statistic([row for row in rows if row["query"] != unit]) for unit in units]


def within(rows: Rows, editorial_names: list[str]) -> dict[Pair, dict[str, Any]]:
    """Return the correlations within queries and all that is said of them, for lists of groups."""
    lists = WithinLists(rows, editorial_names)
    whole, left_out = lists.statistic(rows), without_each_unit(rows, lists.statistic)
    found = {}
    for pair, value in whole.correlations.items():
        columns, reliable = estimate(whole, left_out, pair), whole.reliabilities[pair[0]]
        null = lists.correlation(rows, ("null SS", pair[1])) if pair[0] == "SS" else 0.0
        same = "click" if not lists.total(rows, pair[0]) else "editorial"
        values = [one.correlations[pair] for one in left_out]
        found[pair] = {
            "correlation": value,
            **columns,
            "p_value": intervals.p_of_null(value, null, values),
            "null_correlation": None if value is None else null,
            "ceiling": None if reliable is None else math.sqrt(reliable),
            "sign_agreement": sign_agreement(value),
            "n_configurations": len(rows),
            "n_queries": len(left_out),
            "n_sessions": sum(row["n_sessions"] for row in rows),
            "reason": NO_GROUP if not rows else None if value is not None else SAME.format(same),
            "caution": intervals.caution(value, columns["ci_low"], len(left_out)),
        }
    return adjusted_by_click(found, whole, left_out)


def within_comparisons(rows: Rows, editorial_names: list[str]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Compare every two editorial metrics within queries, for lists of groups."""
    return compared_pairs(rows, editorial_names, WithinLists(rows, editorial_names).statistic) if rows else {}
