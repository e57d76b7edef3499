"""The tables of correlations, differences and comparisons in plain Python.

Intervals come from leaving out one query at a time, each time from scratch.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from support.oracle import oracle_intervals as intervals
from support.oracle.oracle_correlation import (
    Found,
    Pair,
    Rows,
    Within,
    by_query,
    is_constant,
    null_correlation,
    weighted_statistic,
)
from support.oracle.oracle_intervals import ROUNDING
from support.oracle.oracle_metrics import CLICK_METRICS

Statistic = Callable[[Rows], Found]

SIMULTANEOUS = ("simultaneous_low", "simultaneous_high")
FEW = "fewer than two configurations"
NO_QUERY = "no query has two configurations"
SAME_IN = "the {} metric is the same in {}"


def sign_agreement(correlation: float | None) -> float | None:
    """1/2 + asin(rho) / pi."""
    if correlation is None:
        return None
    return 0.5 + math.asin(max(-1.0, min(1.0, correlation))) / math.pi


def without_each_query(rows: Rows, statistic: Statistic) -> list[Found]:
    """Return a statistic without the configurations of each query in turn."""
    queries = sorted({row["query"] for row in rows})
    return [statistic([row for row in rows if row["query"] != query]) for query in queries]


def estimate(
    whole: Found,
    left_out: list[Found],
    pair: Pair,
    widen: intervals.Widen = intervals.as_is,
    factor: float = 1.0,
    added: intervals.Error | None = None,
) -> dict[str, Any]:
    """Return the interval of a correlation, its value without noise with interval."""
    value = whole.correlations[pair]
    (low, high), _ = intervals.fisher_interval(
        value, [one.correlations[pair] for one in left_out], widen=widen
    )
    reliable = whole.reliabilities[pair[0]]
    corrected, ends = None, intervals.NONE
    if value is not None and reliable is not None:
        root = math.sqrt(reliable)
        roots = [one.reliabilities[pair[0]] for one in left_out]
        corrected = value / root
        ends = intervals.ratio_interval(
            value,
            root,
            [one.correlations[pair] for one in left_out],
            [None if part is None else math.sqrt(part) for part in roots],
            factor,
            added,
        )
        ends = ends if low is not None else intervals.NONE
    return {
        "ci_low": low,
        "ci_high": high,
        "noise_corrected": corrected,
        "noise_corrected_low": ends[0],
        "noise_corrected_high": ends[1],
    }


def correlations(rows: Rows, editorial_names: list[str]) -> dict[Pair, dict[str, Any]]:
    """Return the weighted correlations and all that is said of them by (click metric, offline metric)."""
    behind = {
        "n_configurations": len(rows),
        "n_queries": len({row["query"] for row in rows}),
        "n_sessions": sum(row["n_sessions"] for row in rows),
    }
    whole = weighted_statistic(rows, editorial_names)
    left_out = without_each_query(rows, lambda part: weighted_statistic(part, editorial_names))
    nulls = {name: null_correlation(rows, name) for name in editorial_names}
    heavy = intervals.is_heavy(sessions_of_queries(rows), 3)
    found = {}
    for pair, value in whole.correlations.items():
        columns = estimate(whole, left_out, pair)
        null = nulls[pair[1]] if pair[0] == "SS" else 0.0
        found[pair] = {
            "correlation": value,
            **columns,
            "p_value": intervals.p_of_null(value, null, [one.correlations[pair] for one in left_out]),
            "null_correlation": None if value is None else null,
            **behind,
            "reason": FEW if len(rows) < 2 else reason(rows, pair, value, "every configuration"),
            "caution": intervals.caution(value, columns["ci_low"], behind["n_queries"], heavy=heavy),
        }
    return adjusted_by_click(found, whole, left_out)


def sessions_of_queries(rows: Rows) -> list[int]:
    counts = Counter[str]()
    for row in rows:
        counts[row["query"]] += row["n_sessions"]
    return list(counts.values())


def adjusted_by_click(
    found: dict[Pair, dict[str, Any]],
    whole: Found,
    left_out: list[Found],
    widens: dict[Pair, intervals.Widen] | None = None,
) -> dict[Pair, dict[str, Any]]:
    """Add adjusted p-values and simultaneous intervals; the metrics of one click metric are a family."""
    for click in dict.fromkeys(click for click, _ in found):
        family = {pair: row for pair, row in found.items() if pair[0] == click}
        p_values = [row["p_value"] for row in family.values()]
        tests = max(1, sum(p is not None for p in p_values))
        for (pair, row), adjusted in zip(family.items(), intervals.holm(p_values), strict=True):
            row["p_adjusted"] = adjusted
            values = [one.correlations[pair] for one in left_out]
            widen = intervals.as_is if widens is None else widens[pair]
            ends, _ = intervals.fisher_interval(whole.correlations[pair], values, tests, widen)
            tested = row["p_value"] is not None
            row |= dict(zip(SIMULTANEOUS, ends if tested else (None, None), strict=True))
    return found


def reason(rows: Rows, pair: Pair, value: float | None, where: str) -> str | None:
    """Return which metric does not vary, the click metric first; None where there is a value."""
    if value is not None:
        return None
    groups = [rows] if where == "every configuration" else list(by_query(rows).values())
    same = all(is_constant([row[pair[0]] for row in own]) for own in groups)
    return SAME_IN.format("click" if same else "offline", where)


def differences(rows: Rows, editorial_names: list[str]) -> dict[Pair, dict[str, Any]]:
    """Return the closed form and all that follows from it by (click metric, offline metric)."""
    queries, within = by_query(rows), Within(rows, editorial_names)
    whole = within.statistic(rows)
    left_out = without_each_query(rows, within.statistic)
    found = {}
    for pair, exact in whole.correlations.items():
        columns = estimate(whole, left_out, pair)
        why = reason(rows, pair, exact, "all configurations of each query") if queries else NO_QUERY
        null = None if pair[0] == "SS" else 0.0
        found[pair] = {
            "exact": exact,
            **columns,
            "p_value": intervals.p_of_null(exact, null, [one.correlations[pair] for one in left_out]),
            "sign_agreement": sign_agreement(exact),
            "n_queries": len(queries),
            "n_configurations": sum(map(len, queries.values())),
            "reason": why,
            "caution": intervals.caution(exact, columns["ci_low"], len(queries)),
        }
    return adjusted_by_click(found, whole, left_out)


COMPARED = tuple(click for click in CLICK_METRICS if click != "SS")
"""The click metrics by which offline metrics are compared: SS uses the grades, so it compares nothing."""


def comparisons(rows: Rows, editorial_names: list[str]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Compare every two offline metrics, by (click metric, metric a, metric b)."""
    heavy = intervals.is_heavy(sessions_of_queries(rows), 2)

    def statistic(part: Rows) -> Found:
        return weighted_statistic(part, editorial_names)

    left_out = without_each_query(rows, statistic)
    return compared_pairs(statistic(rows), left_out, COMPARED, editorial_names, heavy=heavy)


def difference_comparisons(
    rows: Rows, editorial_names: list[str]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Compare the closed forms of every two offline metrics; only queries with two lists take part."""
    several = [row for own in by_query(rows).values() for row in own]
    if not several:
        return {}
    statistic = Within(rows, editorial_names).statistic
    return compared_pairs(
        statistic(several), without_each_query(several, statistic), COMPARED, editorial_names
    )


def compared_pairs(
    whole: Found,
    left_out: list[Found],
    clicks: Iterable[str],
    editorial_names: list[str],
    *,
    heavy: bool = False,
    widen: Callable[[str, str, str], intervals.Widen] = lambda *_: intervals.as_is,
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Compare every two offline metrics by a statistic, also without one query at a time."""
    queries = len(left_out)
    found = {}
    for click in clicks:
        pairs = list(itertools.combinations(editorial_names, 2))
        family = [compared(whole, left_out, click, pair, widen(click, *pair), heavy) for pair in pairs]
        p_values = [row["p_value"] for row, _ in family]
        tests = max(sum(p is not None for p in p_values), 1)
        for (row, spread), adjusted, (a, b) in zip(family, intervals.holm(p_values), pairs, strict=True):
            error = intervals.of_difference(spread, queries)
            needed = (
                None
                if row["difference"] is None
                else intervals.queries_needed(row["difference"], error, queries, tests)
            )
            together = around(row["difference"], spread, tests)
            row |= dict(zip(SIMULTANEOUS, together, strict=True))
            row |= dict(zip(("error", "degrees"), spread or (None, None), strict=True))
            found[click, a, b] = row | {"p_adjusted": adjusted, "queries_needed": needed}
    return found


def compared(
    whole: Found,
    left_out: list[Found],
    click: str,
    names: tuple[str, str],
    widen: intervals.Widen,
    heavy: bool,
) -> tuple[dict[str, Any], intervals.Error | None]:
    """Return a row of a comparison, but for what depends on its family; and the error of the difference.

    Intervals have the degrees of freedom of the error, tests twice as many.
    """
    difference, queries = minus(whole, click, names), len(left_out)
    spread = widen(intervals.jackknife([minus(one, click, names) for one in left_out]))
    low, high = around(difference, spread)
    error = intervals.of_difference(spread, queries)
    row = {
        "difference": difference,
        "ci_low": low,
        "ci_high": high,
        "p_value": None if difference is None else intervals.p_value(difference, error),
        "n_queries": queries,
        "caution": intervals.caution(difference, low, queries, heavy=heavy),
    }
    return row, spread


def around(difference: float | None, error: intervals.Error | None, tests: int = 1) -> intervals.Interval:
    """Return the interval of a difference that holds for several tests at once."""
    if difference is None or error is None:
        return intervals.NONE
    width = 0.0 if difference == 0 and error == (0.0, None) else intervals.margin(error, tests)
    return intervals.NONE if width is None else (difference - width, difference + width)


def minus(found: Found, click: str, names: tuple[str, str]) -> float | None:
    """Return the difference of two correlations, 0 if it is only rounding."""
    a, b = (found.correlations[click, name] for name in names)
    if a is None or b is None:
        return None
    return 0.0 if abs(a - b) <= ROUNDING else a - b
