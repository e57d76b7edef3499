"""Results whose clicks collapse under a better one, as in Figure 2 of Chapelle et al. 2009.

There the CTR of a URL in position 1 is 9 times that of the same URL in position 2, below an excellent one,
while on average position 1 has twice the CTR of position 2. How such pairs are found is
*ours* (method 6.2).
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from clickassay.click_models.em import divide
from clickassay.core.contracts.clicks import CASCADE_EFFECTS
from clickassay.core.records import Floats, Grades, Integers, JudgedConfigurations
from clickassay.core.special import stdtr

MAX_QUERIES = 20
"""Queries that are kept for each market, depth and judge."""

MIN_SESSIONS = 20
"""Sessions that an exposure must have to be compared.

With fewer the error of log(ctr) is not reliable: the logarithm of a rate of few sessions is skewed.
"""

ONE_SIDED_ALPHA = 0.025
"""One-sided: the largest chance that a market without effects passes, and of any false one of all pairs."""

DIGITS = 12
"""Decimals of `min_excess_ctr_ratio` that count for order: smaller differences are rounding."""

EXPOSURE = ("market", "result", "position", "better", "better_position")


def cascade_effects(judged: JudgedConfigurations, *, judge: str, depth: int) -> pl.DataFrame:
    """Find the results that lose most clicks when a better one stands above them.

    Returns rows of contracts.clicks.CASCADE_EFFECTS: the rows of `clearest_pairs`, of markets in which the
    clicks on all results together are significantly fewer below a better one
    (`markets_with_effect`).
    """
    places = compared_places(judged)
    there = places.filter(pl.col("market").is_in(markets_with_effect(places)))
    return clearest_pairs(judged, there, judge=judge, depth=depth)


def clearest_pairs(
    judged: JudgedConfigurations, places: pl.DataFrame, *, judge: str, depth: int
) -> pl.DataFrame:
    """Find the results that lose most clicks below a better one, whether or not the others do.

    A result is a query's URL with its grade; a URL shown twice in a list counts at its first place. It is
    *alone* where no result above it has a higher grade, and *below* where one has: below the first of those
    with the highest grade. An exposure adds up the configurations that show it alone in one position, or
    below one better result, the two in the same positions. Only exposures of at least `MIN_SESSIONS` sessions
    count. Each exposure alone that has a click is compared with each exposure below::

        excess = log(ctr_alone / ctr_below) - log(average_alone / average_below)
        se^2 = 1/(c_a + 1/2) - 1/(n_a + 1) + 1/(c_b + 1/2) - 1/(n_b + 1)
        min_excess_ctr_ratio = exp(excess - z se),  z = the normal quantile of 1 - 0.025 / pairs

    with ctr = (c + 1/2) / (n + 1) for c clicks in n sessions, and average = clicks in that position /
    sessions over all judged configurations of the market; positions below that no one clicks are left out.
    The quantile takes account of all pairs of the market that are compared (Bonferroni): the clearest of
    thousands looks clear by chance alone.

    places: rows of `compared_places`, of all markets or of some.

    Returns rows of contracts.clicks.CASCADE_EFFECTS: of each query the pair with the largest
    min_excess_ctr_ratio (of equal ones the first by URL, position_alone, position_below, better_position,
    better_url), and of these by market at most `MAX_QUERIES`, the largest first, equal ones by query. Only
    pairs with min_excess_ctr_ratio > 1.
    """
    named = _with_texts(judged, _pairs(_exposures(places)))
    value = pl.col("min_excess_ctr_ratio").round(DIGITS)
    tie = ("url", "position_alone", "position_below", "better_position", "better_url")
    best = named.sort(value, *tie, descending=[True, *(False for _ in tie)])
    best = best.unique(["market", "query"], keep="first", maintain_order=True)
    best = best.sort("market", value, "query", descending=[False, True, False])
    ranked = best.with_columns(
        (pl.int_range(pl.len()).over("market") + 1).alias("rank"),
        pl.lit(depth).alias("depth"),
        pl.lit(judge).alias("judge"),
    )
    return CASCADE_EFFECTS.canonical(ranked.filter(pl.col("rank") <= MAX_QUERIES))


def compared_places(judged: JudgedConfigurations) -> pl.DataFrame:
    """Return the places of judged configurations whose result is shown both alone and below.

    Returns rows (n, market, query, result, position, better, better_position, sessions, clicks, average): n
    is the configuration, the next three and `better` are codes; where the result is alone, the latter is -1
    and its position 0.
    """
    markets = judged.rows["market"].rle_id().to_numpy().astype(np.int64)  # rows are in order of markets
    n, mask, seen = (judged.patterns[name].to_numpy() for name in ("n", "click_mask", "sessions"))
    size, depth = judged.grades.shape
    sessions = np.bincount(n, weights=seen, minlength=size).astype(np.int64)
    clicks = np.zeros((size, depth), dtype=np.int64)
    for place in range(depth):
        clicked = (mask >> place) & 1 == 1
        clicks[:, place] = np.bincount(n[clicked], weights=seen[clicked], minlength=size)
    clicks_at = np.array([np.bincount(markets, of_place) for of_place in clicks.T]).T
    averages = clicks_at / np.bincount(markets, weights=sessions)[:, None]  # by market and position
    better = better_positions(judged.grades)
    # results that are shown both alone and below, each at its first place in the list
    results, first = judged.urls, np.ones((size, depth), dtype=np.bool_)
    for place in range(1, depth):
        first[:, place] = (results[:, :place] != results[:, [place]]).all(axis=1)
    alone, below = np.zeros((2, results.max(initial=-1) + 1), dtype=np.bool_)
    alone[results[first & (better == 0)]] = True
    below[results[first & (better > 0)]] = True
    row, column = (first & (alone & below)[results]).nonzero()
    above = better[row, column]
    return pl.DataFrame(
        {
            "n": row,
            "market": markets[row],
            "query": judged.rows["query"].rle_id().to_numpy().astype(np.int64)[row],
            "result": judged.urls[row, column].astype(np.int64),
            "position": column + 1,
            "better": np.where(above > 0, judged.urls[row, above - 1], -1).astype(np.int64),
            "better_position": above,
            "sessions": sessions[row],
            "clicks": clicks[row, column],
            "average": averages[markets[row], column],
        }
    )


def better_positions(grades: Grades) -> Integers:
    """Return the position of the best result above each result, if it is better.

    grades: (N, k) grades of results, best position first.

    Returns (N, k) positions from 1: of those above, the first with the highest grade; 0 where that is not
    higher.
    """
    better = np.zeros(grades.shape, dtype=np.int64)
    highest = np.full(len(grades), np.iinfo(grades.dtype).min, dtype=grades.dtype)
    place = np.zeros(len(grades), dtype=np.int64)
    for column, own in enumerate(grades.T):
        better[:, column] = np.where(highest > own, place, 0)
        place = np.where(own > highest, column + 1, place)
        highest = np.maximum(own, highest)
    return better


def _exposures(places: pl.DataFrame) -> pl.DataFrame:
    """Add up the configurations of each exposure; add the logarithm of its CTR / average, and its variance.

    Cells of fewer than `MIN_SESSIONS` sessions are left out. `n` becomes the configuration with most
    sessions, of several the first: that with the smallest id.
    """
    size = pl.lit(places["n"].max() or 0, pl.Int64) + 1
    summed = places.group_by(EXPOSURE).agg(
        pl.col("sessions", "clicks").sum(),
        pl.col("average").first(),
        (pl.col("sessions") * size + size - 1 - pl.col("n")).max().alias("largest"),
    )
    clicks, sessions = pl.col("clicks") + 0.5, pl.col("sessions") + 1
    return summed.filter(pl.col("sessions") >= MIN_SESSIONS).select(
        *EXPOSURE,
        "sessions",
        "clicks",
        "average",
        (size - 1 - pl.col("largest") % size).alias("n"),
        ((clicks / sessions).log() - pl.col("average").log()).alias("log_ratio"),
        (1 / clicks - 1 / sessions).alias("variance"),
    )


def _pairs(exposures: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of an exposure alone and one below, of one result, with `min_excess_ctr_ratio` > 1."""
    alone = exposures.filter(pl.col("better_position") == 0, pl.col("clicks") > 0)
    below = exposures.filter(pl.col("better_position") > 0, pl.col("average") > 0)
    alone = alone.drop("better", "better_position")
    # the normal quantile by which lower bounds hold for all pairs of a market at once
    of_alone, of_below = (side.group_by("market", "result").len() for side in (alone, below))
    both = of_alone.join(of_below, on=["market", "result"], suffix="_below")
    pairs = both.group_by("market").agg((pl.col("len") * pl.col("len_below")).sum().alias("pairs"))
    quantiles = [NormalDist().inv_cdf(1 - ONE_SIDED_ALPHA / number) for number in pairs["pairs"].to_list()]
    quantile = pairs.select("market", pl.Series("quantile", quantiles, dtype=pl.Float64))
    alone = alone.join(quantile, on="market")
    # most exposures below are in no pair: not if the largest ratio with the smallest variance is not enough
    best = alone.group_by("result").agg(pl.col("log_ratio").max(), pl.col("variance", "quantile").min())
    bound = _lower_bound(pl.col("log_ratio_alone") - pl.col("log_ratio"), "variance_alone", "variance")
    candidates = below.join(best, on="result", suffix="_alone").filter(bound > 1)
    pairs = alone.join(candidates.select(below.columns), on="result", suffix="_below")
    bound = _lower_bound(pl.col("log_ratio") - pl.col("log_ratio_below"), "variance", "variance_below")
    return pairs.with_columns(bound.alias("min_excess_ctr_ratio")).filter(pl.col("min_excess_ctr_ratio") > 1)


def _lower_bound(excess: pl.Expr, *variances: str) -> pl.Expr:
    return (excess - pl.col("quantile") * pl.sum_horizontal(variances).sqrt()).exp()


def _with_texts(judged: JudgedConfigurations, pairs: pl.DataFrame) -> pl.DataFrame:
    """Replace codes by texts and grades, and clicks by CTRs."""
    alone, below, better = (pairs[name] for name in ("n", "n_below", "better_position"))
    lists, place = judged.rows["results"], pairs["position"]
    columns = {
        "market": judged.rows["market"].gather(alone),
        "query": judged.rows["query"].gather(alone),
        "url": lists.gather(alone).list.get(place - 1),
        "grade": judged.grades[alone.to_numpy(), place.to_numpy() - 1],
        "better_url": lists.gather(below).list.get(better - 1),
        "better_grade": judged.grades[below.to_numpy(), better.to_numpy() - 1],
        "better_position": better,
        "min_excess_ctr_ratio": pairs["min_excess_ctr_ratio"],
    }
    for side, suffix in (("alone", ""), ("below", "_below")):
        exposure = {name: pairs[name + suffix] for name in ("position", "sessions", "clicks", "average", "n")}
        columns[f"position_{side}"] = exposure["position"]
        columns[f"sessions_{side}"] = exposure["sessions"]
        columns[f"ctr_{side}"] = exposure["clicks"] / exposure["sessions"]
        columns[f"average_ctr_{side}"] = exposure["average"]
        columns[f"configuration_{side}"] = judged.rows["configuration_id"].gather(exposure["n"])
    return pl.DataFrame(columns)


# ---- over all queries of a market together ---------------------------------------------------------
#
# One example says little: a user who keeps one list and comes back, or a list on which everything is
# clicked less, looks the same. Over all queries such differences cancel. So the unit is the query, and it
# does not matter how the sessions of a query depend on each other.


ROUNDS = 200
TOLERANCE = 1e-10
"""Rounds of the fit of position effects, and the relative change at which it ends."""

RANK = 1e-10
"""Directions with a smaller eigenvalue, relative to the largest, are none: position effects have no scale."""


@dataclass(frozen=True)
class Cells:
    """Clicks on results by position and by whether a better result is above, of one market."""

    # query, result, position: (M,) codes from 0.
    query: Integers
    result: Integers
    position: Integers
    is_below: Floats  # (M,) 1.0 where a better result is above, else 0.0.
    # sessions, clicks: (M,) over all lists that show the result so.
    sessions: Floats
    clicks: Floats


def markets_with_effect(places: pl.DataFrame) -> list[int]:
    """Return the markets in which results get fewer clicks below a better one, at `ONE_SIDED_ALPHA`.

    places: rows (market, query, result, position, better_position, sessions, clicks) with integer codes: one
      for each place of a list; a result is of one query, a query of one market. Of results that are shown
      both alone and below; `better_position` is 0 alone.
    """
    markets = []
    for (market,), rows in places.group_by("market", maintain_order=True):
        if isinstance(market, int) and p_value(query_scores(_cells(rows))) <= ONE_SIDED_ALPHA:
            markets.append(market)
    return markets


def _cells(rows: pl.DataFrame) -> Cells:
    """Add up the places of one market that show a result alike."""
    result, position = (_renumbered(rows[name].to_numpy()) for name in ("result", "position"))
    width = 2 * (position.max(initial=0) + 1)
    cell = result * width + 2 * position + (rows["better_position"].to_numpy() > 0)
    shown, number = _numbered(cell)
    query = np.zeros(result.max(initial=-1) + 1, np.int64)
    query[result] = rows["query"].to_numpy()
    result, place = np.divmod(shown, width)
    sessions, clicks = (_sums(number, rows[name].to_numpy()) for name in ("sessions", "clicks"))
    is_below = (place % 2).astype(np.float64)
    return Cells(_renumbered(query[result]), result, place // 2, is_below, sessions, clicks)


def _numbered(codes: Integers) -> tuple[Integers, Integers]:
    """Return the codes that occur, in order, and the number of each row's code among them.

    Codes are below some times the number of rows: to mark them is faster than to sort them.
    """
    occurs = np.zeros(codes.max(initial=-1) + 1, np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def _renumbered(codes: Integers) -> Integers:
    return _numbered(codes)[1]


def query_scores(cells: Cells) -> Floats:
    """Return, for each query, clicks below a better result in excess of those expected without an effect.

    If clicks do not depend on what stands above, those on a result in a position are proportional to
    sessions x position effect x result effect. These effects are fitted (Poisson); then, for each query::

        score = sum (b - b_hat) (clicks - expected) / sqrt(sessions of the query)

    b_hat is the weighted projection of b = `is_below` on results and positions, so that an error of the
    fitted effects does not matter to first order. Without an effect the expectation is 0, however clicks vary
    between users and between lists, as long as the click level of a list does not depend on whether a better
    result stands above. The root makes sampling errors of queries alike: the largest do not decide alone.

    Returns (Q,) scores; below 0 where clicks are fewer below a better result.
    """
    # (M,) expected clicks of the fit of positions and results, by turns
    clicks_of_results = _sums(cells.result, cells.clicks)
    clicks_at = _sums(cells.position, cells.clicks)
    effects = np.ones(len(clicks_at))
    expected = np.zeros(len(cells.clicks))
    for _ in range(ROUNDS):
        shown = cells.sessions * effects[cells.position]
        chances = divide(clicks_of_results, _sums(cells.result, shown))
        of_results = cells.sessions * chances[cells.result]
        expected = of_results * effects[cells.position]
        renewed = divide(clicks_at, _sums(cells.position, of_results))
        done = np.abs(renewed - effects) <= TOLERANCE * effects
        effects = renewed
        if done.all():
            break
    n_positions = cells.position.max(initial=-1) + 1
    positions = _within_results(cells, expected, cells.position[:, None] == np.arange(n_positions))
    is_below = _within_results(cells, expected, cells.is_below[:, None])[:, 0]
    weight = 1 / np.sqrt(_sums(cells.query, cells.sessions)[cells.query])
    weighted = positions.T * (weight * expected)
    slopes = np.linalg.pinv(weighted @ positions, rcond=RANK, hermitian=True) @ (weighted @ is_below)
    terms = weight * (is_below - positions @ slopes) * (cells.clicks - expected)
    return _sums(cells.query, terms)


def _within_results(cells: Cells, weights: Floats, columns: Floats) -> Floats:
    """Return (M, K) columns minus their weighted mean over the cells of the same result."""
    totals = _sums(cells.result, weights)
    means = [divide(_sums(cells.result, weights * column), totals) for column in columns.T]
    return columns - np.array(means).T[cells.result]


def _sums(codes: Integers, values: Floats | Integers) -> Floats:
    return np.asarray(np.bincount(codes, values), dtype=np.float64)


def p_value(scores: Floats) -> float:
    """Return the one-sided p-value of scores whose mean is 0 or more, 0..1; 1 where they do not vary.

    Student's t with Satterthwaite's degrees, as in method 7.1: few queries may make up most of the spread.
    """
    size = len(scores)
    deviations = scores - scores.mean() if size else scores
    squares = float((deviations**2).sum())
    if size < 2 or squares <= 0:
        return 1.0
    degrees = 2 / max(float((deviations**4).sum()) / squares**2 - 1 / size, 2 / (size - 1))
    error = np.sqrt(size / (size - 1) * squares)
    return float(stdtr(degrees, scores.sum() / error))
