"""Where two judges order two results oppositely: whose order clicks support (*ours*; method 7.5).

Two results that are shown one below the other are *contested* if each judge grades another of them higher. A
session that clicks exactly one of them prefers it. Users click the upper one more often whatever it is, so
what counts is whether it gets more of these clicks where the first judge puts it first than where the second
does, at the same positions.

If neither judge is better, each contested order might as well be the other judge's: exchanging the judges of
a query turns the sign of what it contributes, and nothing else. So queries are the units, and how users
depend on each other (heavy ones, bots) does not matter: clicks are given, and chance lies in the judgments.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.judges import JUDGE_DISAGREEMENTS
from clickassay.core.records import Floats
from clickassay.correlation.classes import unit_column
from clickassay.correlation.comparisons import queries_needed
from clickassay.correlation.uncertainty.intervals import (
    ALPHA,
    Spread,
    cautions,
    holm,
    p_value,
    ratio_interval,
)
from clickassay.correlation.weighted import precision_weights

_PAIR = ("query", "unit", "position", "upper", "lower", "order")


def judge_disagreements(configurations: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Test whose order clicks support, for every two judges who share a configuration: JUDGE_DISAGREEMENTS.

    configurations, patterns: those of CONFIGURATIONS whose grades are all judgments, perhaps with `unit` (see
      `classes.with_unit`), and their PATTERNS.
    """
    rows: list[dict[str, object]] = []
    for (market, depth), own in configurations.group_by("market", "depth"):
        by_judge = {judge: own.filter(judge=judge) for judge in own["judge"].unique().sort()}
        tested = {}
        for a, b in combinations(by_judge, 2):
            both = by_judge[a].join(by_judge[b], on="configuration_id", suffix="_b")
            if not both.is_empty():
                tested[a, b] = _tested(contested_pairs(both, patterns))
        # the pairs of judges of one market and depth are a family
        adjusted = holm(np.array([one.p_value for one in tested.values()])) if tested else ()
        for (judges, one), p in zip(tested.items(), adjusted, strict=True):
            place = {"market": str(market), "depth": depth, "judge_a": judges[0], "judge_b": judges[1]}
            rows.append(place | _row(judges, one, float(p), tests=len(tested)))
    return JUDGE_DISAGREEMENTS.canonical(pl.DataFrame(rows)) if rows else JUDGE_DISAGREEMENTS.empty()


def contested_pairs(both: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Count the clicks on neighbours that two judges order oppositely.

    both: configurations that both judged: grades of the first judge in `grades`, of the second in `grades_b`.

    Returns one row per query (with its unit), position and pair of results: `order` is 1 where the first
    judge grades the upper result higher, and -1 where the second does; `clicks` are the sessions that clicked
    exactly one of them, `upper_clicks` those that clicked the upper one. Pairs without such a session are
    left out.
    """
    ids, queries, results = (both[name] for name in ("configuration_id", "query", "results"))
    units = both[unit_column(both)]
    a, b = (np.array(both[name].to_list(), dtype=np.int64) for name in ("grades", "grades_b"))
    order_a, order_b = (np.sign(grades[:, :-1] - grades[:, 1:]) for grades in (a, b))
    row, place = (order_a * order_b < 0).nonzero()
    pairs = pl.DataFrame(
        {
            "configuration_id": ids.gather(row),
            "query": queries.gather(row),
            "unit": units.gather(row),
            "position": place + 1,
            "upper": results.gather(row).list.get(pl.Series(place)),
            "lower": results.gather(row).list.get(pl.Series(place + 1)),
            "order": order_a[row, place],
        }
    )
    clicked = pairs.join(patterns, on="configuration_id").with_columns(
        on_upper=(pl.col("click_mask") // 2 ** (pl.col("position") - 1)) % 2 == 1,
        on_lower=(pl.col("click_mask") // 2 ** pl.col("position")) % 2 == 1,
    )
    one = clicked.filter(pl.col("on_upper") != pl.col("on_lower"))
    counts = one.group_by(_PAIR).agg(
        pl.col("sessions").sum().alias("clicks"),
        pl.col("sessions").filter("on_upper").sum().alias("upper_clicks"),
    )
    return counts.sort(_PAIR)  # sums of floats depend on the order


@dataclass(frozen=True)
class _Tested:
    """Two judges compared; NaN where nothing can be said."""

    pairs: pl.DataFrame  # The contested pairs that count: those at positions where both orders occur.
    # upper_a, upper_b: Shares of clicks on the upper result where the first, and the second, judge puts it
    # first.
    upper_a: float
    upper_b: float
    # difference, low, high: upper_a - upper_b, and its 95% CI.
    difference: float
    low: float
    high: float
    # total, spread: The sum that is tested against 0, and its spread over queries.
    total: Floats
    spread: Spread
    p_value: float  # Two-sided.


def _tested(pairs: pl.DataFrame) -> _Tested:
    """Compare the shares of clicks on the upper result under both orders, position by position.

    With weights w, orders d = 1 or -1, shares x, and means of d and x at each position by these weights: the
    score of a query is Σ w d (x - mean x), its scale Σ w d (d - mean d) / 2. The ratio of their sums is the
    mean over positions of (mean x where d = 1) - (mean x where d = -1), with the weights W+ W- / (W+ + W-)
    of Mantel and Haenszel (1959).

    Σ score is tested with √Σ score² as its error, and the ratio bounded by the same rule (Fieller 1954). If
    neither judge is better, the scores of queries have symmetric distributions, whatever these are; then
    such a ratio exceeds the quantiles of Student's t at most as often as they say (Efron 1969).
    """
    both_orders = pl.col("order").n_unique().over("position") > 1  # one order alone says nothing
    pairs = pairs.filter(both_orders)
    if pairs.is_empty():
        one, none = np.nan, np.full(1, np.nan)
        return _Tested(pairs, one, one, one, one, one, none, Spread(none, none, 0), one)
    clicks, order = (pairs[name].to_numpy().astype(np.float64) for name in ("clicks", "order"))
    share, weight = pairs["upper_clicks"].to_numpy() / clicks, precision_weights(clicks)
    position, unit = (
        pairs[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("position", "unit")
    )
    whole = np.bincount(position, weight)
    mean_share, mean_order = (
        (np.bincount(position, weight * values) / whole)[position] for values in (share, order)
    )
    scores = np.bincount(unit, weight * order * (share - mean_share)).astype(np.float64)
    scales = np.bincount(unit, weight * order * (order - mean_order) / 2).astype(np.float64)
    of_a, of_b = (np.bincount(position, weight * (order == side)) for side in (1, -1))
    common = of_a * of_b / whole
    upper_a, upper_b = (
        float(common @ (np.bincount(position, weight * share * (order == side)) / own) / common.sum())
        for side, own in ((1, of_a), (-1, of_b))
    )
    total, scale = (part.sum(keepdims=True) for part in (scores, scales))
    spreads = _spread(scores), _spread(scales)
    degrees = spreads[0].degrees_of_differences
    low, high = ratio_interval(total, scale, spreads, np.array([scores @ scales]), degrees)
    return _Tested(
        pairs,
        upper_a,
        upper_b,
        difference=float((total / scale)[0]),
        low=float(low[0]),
        high=float(high[0]),
        total=total,
        spread=spreads[0],
        p_value=float(p_value(total, spreads[0])[0]),
    )


def _spread(contributions: Floats) -> Spread:
    """Return √Σ c² as the standard error of Σ c, with Satterthwaite's degrees of freedom."""
    squares, queries = contributions**2, len(contributions)
    total = squares.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2 / np.maximum((squares**2).sum() / total**2 - 1 / queries, 2 / max(queries - 1, 1))
    error = np.sqrt(total) if queries > 1 else np.nan
    return Spread(np.array([error]), np.array([degrees]), queries)


def _row(judges: tuple[str, str], tested: _Tested, p_adjusted: float, *, tests: int) -> dict[str, object]:
    queries = tested.spread.queries
    (needed,) = queries_needed(tested.total, tested.spread, queries, tests=np.array(tests))
    values = {
        **{name: getattr(tested, name) for name in ("upper_a", "upper_b", "difference", "p_value")},
        **{"ci_low": tested.low, "ci_high": tested.high, "p_adjusted": p_adjusted},
        "queries_needed": float(needed),
    }
    low = np.array([tested.low])
    (caution,) = cautions(np.array([tested.difference]), low, queries)
    return {
        **{name: None if np.isnan(value) else value for name, value in values.items()},
        "n_pairs": tested.pairs.height,
        "n_clicks": int(tested.pairs["clicks"].sum()),
        "n_queries": tested.pairs["query"].n_unique(),
        "caution": caution,
        "supported": judges[int(tested.difference < 0)] if p_adjusted < ALPHA else None,
    }
