"""Means that a judge of many queries gives, corrected by people who judged few of them.

The regression estimator of two-phase sampling (Cochran 1977, section 12.6), which is prediction-powered
inference with its weight tuned (Angelopoulos, Duchi and Zrnic 2023). Of N queries that the judge judged, n
were judged by people too; h and f are the values of a measure by people and by the judge:

    corrected = mean of h over the n + w (mean of f over the N - mean of f over the n)

w is the slope of h by f over the n queries. The value is right on average with any errors of the judge, if
the n are a random sample of the N; a judge that tells nothing gets a w near 0, which leaves the mean by
people.

If a plan drew queries with unequal probabilities, draws take the place of the n, each with a share
proportional to p / q (Horvitz and Thompson 1952; shares that add up to 1: Hajek), and the N count by their
p. Means, slope and jackknife are then weighted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit
from clickassay.core.text.words import number, percent, visible
from clickassay.correlation.uncertainty.jackknife import Deviations, Spread
from clickassay.correlation.uncertainty.multiplicity import holm
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists
from clickassay.studies.evaluation.comparing.compare import pairs_of_runs
from clickassay.studies.evaluation.correcting.sampled import Design, Rows, at_random, drawn_by
from clickassay.studies.evaluation.forms import CORRECTED_COMPARISONS, CORRECTED_MEANS, in_form

MIN_BOTH = 20
"""With fewer queries judged by both there is no interval."""

CARRIED = 0.5
"""A slope is not used where one query has more than this part of the squares that it rests on."""

LESS = 0.01
"""A share of graded results that is less by this is said."""

UNLIKE = 0.01
"""Below this p-value (Holm) the queries that people judged are said to differ from the others."""

FEW_BOTH = f"fewer than {MIN_BOTH} queries judged by both"
FEW_DRAWS = f"draws worth fewer than {MIN_BOTH} queries"
NO_SPREAD = "no spread"

NO_CUT = 1 << 30
PLACES = 4
_ROUNDING = 1e-12
_DIGITS = 9
"""Decimals of a number of queries: twenty of equal shares are no 19.999..."""


@dataclass(frozen=True)
class Corrected:
    """Corrected means of E measures, and what each side alone says."""

    # value, low, high: (E,) corrected means, and the ends of their 95 % intervals; NaN with fewer than
    # `MIN_BOTH` queries.
    value: Floats
    low: Floats
    high: Floats
    p_value: Floats  # (E,) two-sided p-values that the mean is 0: for differences.
    weight: Floats  # (E,) w; 0 where the judge's values hardly vary.
    # judge, people: (3, E) means over all queries by the judge, over the n by people, with the ends of their
    # intervals.
    judge: Floats
    people: Floats
    worth: Floats  # (E,) number of queries judged by people alone whose mean would be as precise.
    # (E,) p-values that the n are like the others by the judge's values (Welch's t test); NaN where they do
    # not vary, or all were judged by both.
    selection: Floats


def corrected_means(
    judge: Floats, people: Floats, both: Rows, *, shares: Floats | None = None, weights: Floats | None = None
) -> Corrected:
    """Correct the means of a judge.

    Parameters
    ----------
    judge
        (N, E) values by the judge of all queries.
    people
        (n, E) values by people; n may be 0.
    both
        (n,) the places of their queries among the N; with `shares`, once for each draw.
    shares, weights
        (n,), (N,) shares of the draws of a plan, and of the queries; each adds up to 1. None = all alike.

    The squared error is the jackknife's over the n (method 7.1; leaving a query out moves the line by its
    residual and leverage) plus w² var(f) / N; degrees of the sum are Satterthwaite's.
    """
    s, p = _alike(len(both)) if shares is None else shares, _alike(len(judge)) if weights is None else weights
    seen = judge[both]
    f, h = seen - _mean(seen, s), people - _mean(people, s)
    parts = s[:, None] * f**2
    squares = parts.sum(axis=0)
    varies = (squares * len(s) > _ROUNDING) & (parts.max(axis=0, initial=0.0) <= CARRIED * squares)
    slope = np.divide(s[:, None] * f, squares, out=np.zeros_like(f), where=varies)
    weight = (slope * h).sum(axis=0)
    apart = _mean(judge, p) - _mean(seen, s)
    leverage, pull = s[:, None] + slope * f, s[:, None] + slope * apart
    known = Deviations()
    known.add(-(h - weight * f) / np.maximum(1 - leverage, _ROUNDING) * pull)
    value = _mean(people, s) + weight * apart
    spread = _together(known.spread(), weight**2 * _variance(judge, p) / _number(p), _number(p))
    if min(_number(s), len(np.unique(both))) < MIN_BOTH:
        spread = Spread(np.full_like(spread.error, np.nan), spread.degrees, spread.queries)
    alone = _alone(judge, p), _alone(people, s)
    worth: Floats = _variance(people, s) / spread.error**2
    apart_from_rest = _selection(judge, both) if shares is None else np.full(judge.shape[1], np.nan)
    return Corrected(value, *_interval(value, spread), weight, *alone, worth, apart_from_rest)


def _alike(number: int) -> Floats:
    return np.full(number, 1 / max(number, 1))


def _number(shares: Floats) -> float:
    """Return how many queries of equal shares are as good (Kish); their number, if all are equal."""
    return round(float(1 / (shares @ shares)), _DIGITS) if len(shares) else 0.0


def _together(spread: Spread, of_judge: Floats, queries: float) -> Spread:
    """Return the spread of two independent parts: of the line, and of the judge's mean over all queries."""
    of_line = spread.error**2
    with np.errstate(divide="ignore", invalid="ignore"):
        square = of_line + of_judge
        parts = np.nan_to_num(of_line**2 / spread.degrees) + of_judge**2 / max(queries - 1, 1)
        degrees = square**2 / parts
    return Spread(np.where(square > _ROUNDING**2, np.sqrt(square), np.nan), degrees, spread.queries)


def _interval(value: Floats, spread: Spread) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the interval, and the p-value of 0."""
    half = stdtrit(spread.degrees, 0.975) * spread.error
    p_value: Floats = 2 * stdtr(spread.degrees, -np.abs(value) / spread.error)
    return value - half, value + half, p_value


def _mean(values: Floats, shares: Floats) -> Floats:
    mean: Floats = shares @ values if len(values) else np.full(values.shape[1], np.nan)
    return mean


def _variance(values: Floats, shares: Floats) -> Floats:
    """Return the variance, unbiased for equal shares."""
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    variance: Floats = shares @ (values - _mean(values, shares)) ** 2 / (1 - shares @ shares)
    return variance


def _alone(values: Floats, shares: Floats) -> Floats:
    """Return the (3, E) mean with the ends of its interval, Student's t over the queries."""
    mean = _mean(values, shares)
    if len(values) < 2:
        return np.stack([mean, *[np.full_like(mean, np.nan)] * 2])
    moves = (shares / (1 - shares))[:, None] * (values - mean)
    error = np.sqrt((1 - 1 / len(values)) * (moves**2).sum(axis=0))
    half = stdtrit(max(_number(shares) - 1, 1), 0.975) * error
    return np.stack([mean, mean - half, mean + half])


def _selection(judge: Floats, both: Rows) -> Floats:
    """Return the p-values that queries judged by both have the same mean by the judge as the others."""
    sides = judge[both], np.delete(judge, both, axis=0)
    numbers = np.array([len(side) for side in sides])
    if numbers.min() < 2:
        return np.full(judge.shape[1], np.nan)
    parts = np.stack([side.var(axis=0, ddof=1) / len(side) for side in sides])
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = parts.sum(axis=0) ** 2 / (parts**2 / (numbers[:, None] - 1)).sum(axis=0)
        statistic = np.abs(sides[0].mean(axis=0) - sides[1].mean(axis=0)) / np.sqrt(parts.sum(axis=0))
    p_value: Floats = 2 * stdtr(degrees, -statistic)
    return p_value


# ---- runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """The values of one run by the judge and by people."""

    # judge, people: Its lists with the grades of each.
    judge: Lists
    people: Lists
    # of_judge, of_people: (N, E), (M, E) values for the queries of these lists.
    of_judge: Floats
    of_people: Floats


@dataclass(frozen=True)
class CorrectedTables:
    """Corrected means and comparisons, in the forms of `forms`, and cautions."""

    means: pl.DataFrame
    comparisons: pl.DataFrame
    cautions: tuple[str, ...]


def corrected_tables(
    measures: Sequence[Measure],
    sides: Mapping[str, Sides],
    *,
    baseline: str | None = None,
    design: Design | None = None,
) -> CorrectedTables:
    """Correct the means of each run, and the differences of every two.

    Parameters
    ----------
    measures
        The E measures, every parameter spelled out; intervals of means are cut to their ranges.
    sides
        By run: its values; the queries of all runs are the same.
    baseline
        The run that each other one is compared with; None = every two.
    design
        How a plan chose the queries that people judged; None = at random, each query counting as much.
    """
    names = tuple(map(str, measures))
    first = next(iter(sides.values()))
    queries = first.judge.queries, first.people.queries
    sampled = at_random(*queries) if design is None else drawn_by(design, *queries)
    both = np.searchsorted(sampled.kept, sampled.both)

    def corrected(judge: Floats, people: Floats) -> Corrected:
        return corrected_means(
            judge[sampled.kept], people[sampled.rows], both, shares=sampled.shares, weights=sampled.weights
        )

    means = {name: corrected(one.of_judge, one.of_people) for name, one in sides.items()}
    pairs = {
        (a, b): corrected(sides[b].of_judge - sides[a].of_judge, sides[b].of_people - sides[a].of_people)
        for a, b in pairs_of_runs(sides, baseline)
    }
    low, high = np.array([(one.metric.low, one.metric.high) for one in measures], np.float64).T
    worth = len(both) if sampled.shares is None else _number(sampled.shares)
    counts = {"n_queries": len(sampled.kept), "n_both": len(np.unique(both))}
    cut = {
        name: replace(one, low=np.maximum(one.low, low), high=np.minimum(one.high, high))
        for name, one in means.items()
    }
    of_means = [_frame(names, one, worth, run=name, **counts) for name, one in cut.items()]
    of_pairs = [_frame(names, one, worth, baseline=a, run=b, **counts) for (a, b), one in pairs.items()]
    return CorrectedTables(
        in_form(CORRECTED_MEANS, pl.concat(of_means)),
        _compared(of_pairs),
        (*sampled.cautions, *_cautions(measures, sides, means, (sampled.rows, sampled.both))),
    )


def _frame(names: tuple[str, ...], one: Corrected, worth: float, **same: object) -> pl.DataFrame:
    """Return a row for each measure; numbers that are not known are null, with the reason."""
    columns = {"value": one.value, "ci_low": one.low, "ci_high": one.high, "p_value": one.p_value,
               "weight": one.weight, "worth": one.worth}  # fmt: skip
    for side, ends in (("judge", one.judge), ("people", one.people)):
        columns |= dict(zip((side, f"{side}_low", f"{side}_high"), ends, strict=True))
    frame = pl.DataFrame({"measure": names, **columns}).with_columns(pl.col(pl.Float64).fill_nan(None))
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in same.items())
    few = {FEW_BOTH: int(str(same["n_both"])) < MIN_BOTH, FEW_DRAWS: worth < MIN_BOTH}
    why = next((reason for reason, holds in few.items() if holds), NO_SPREAD)
    return frame.with_columns(reason=pl.when(pl.col("ci_low").is_null()).then(pl.lit(why)))


def _compared(frames: list[pl.DataFrame]) -> pl.DataFrame:
    if not frames:
        return CORRECTED_COMPARISONS.empty()
    frame = pl.concat(frames)
    adjusted = holm(frame["p_value"].fill_null(np.nan).to_numpy())
    return in_form(CORRECTED_COMPARISONS, frame.with_columns(pl.Series("p_holm", adjusted).fill_nan(None)))


def _cautions(
    measures: Sequence[Measure],
    sides: Mapping[str, Sides],
    means: Mapping[str, Corrected],
    places: tuple[Rows, Rows],
) -> Iterator[str]:
    """Yield what may make corrected means wrong."""
    _, both = places
    yield from _unlike(measures, sides, means, both)
    yield from _less_graded(max((one.depth or NO_CUT for one in measures), default=NO_CUT), sides, places)


def _unlike(
    measures: Sequence[Measure], sides: Mapping[str, Sides], means: Mapping[str, Corrected], both: Rows
) -> Iterator[str]:
    """Yield the clearest sign that the queries that people judged are no random sample."""
    p_values = holm(np.concatenate([one.selection for one in means.values()]))
    if np.isnan(p_values).all() or np.nanmin(p_values) >= UNLIKE:
        return
    run, column = divmod(int(np.nanargmin(p_values)), len(measures))
    name = list(means)[run]
    values = sides[name].of_judge[:, column]
    inside, outside = values[both].mean(), np.delete(values, both).mean()
    yield (
        f"Queries that people judged are not like the others: by the judge, {measures[column]} of "
        f"{visible(name)} is {number(inside, PLACES)} there and {number(outside, PLACES)} elsewhere. "
        "Corrected means hold for a random sample."
    )


def _less_graded(depth: int, sides: Mapping[str, Sides], places: tuple[Rows, Rows]) -> Iterator[str]:
    """Yield a caution where people left results without a grade that the judge graded."""
    for run, one in sides.items():
        by_people = _share_graded(one.people, places[0], depth)
        by_judge = _share_graded(one.judge, places[1], depth)
        if by_people < by_judge - LESS:
            yield (
                f"Of the results of {visible(run)} for the queries of both, people graded "
                f"{percent(by_people)} and the judge {percent(by_judge)}: what people left counts as their "
                "grade 0, and the correction takes it for an error of the judge."
            )
            return


def _share_graded(lists: Lists, queries: Rows, depth: int) -> float:
    """Return the share of the results down to a depth that have a grade; 1 without results."""
    ends = np.minimum(lists.starts[queries + 1], lists.starts[queries] + depth)
    taken = [lists.grades[first:last] for first, last in zip(lists.starts[queries], ends, strict=True)]
    grades = np.concatenate(taken) if taken else np.empty(0)
    return float((grades >= 0).mean()) if len(grades) else 1.0
