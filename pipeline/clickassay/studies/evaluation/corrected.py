"""Means that a judge of many queries gives, corrected by people who judged few of them.

The regression estimator of two-phase sampling (Cochran 1977, section 12.6), which is prediction-powered
inference with its weight tuned (Angelopoulos, Duchi and Zrnic 2023). Of N queries that the judge judged, n
were judged by people too; h and f are the values of a measure by people and by the judge:

    corrected = mean of h over the n + w (mean of f over the N - mean of f over the n)

w is the slope of h by f over the n queries. The value is right on average with any errors of the judge, if
the n are a random sample of the N; a judge that tells nothing gets a w near 0, which leaves the mean by
people.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit
from clickassay.core.text.words import number, percent, plural, visible
from clickassay.correlation.uncertainty.jackknife import Deviations, Spread
from clickassay.correlation.uncertainty.multiplicity import holm
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists
from clickassay.studies.evaluation.compare import pairs_of_runs
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
NO_SPREAD = "no spread"

NO_CUT = 1 << 30
PLACES = 4
_ROUNDING = 1e-12

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Corrected:
    """Corrected means of E measures, and what each side alone says.

    Attributes
    ----------
    value, low, high
        (E,) corrected means, and the ends of their 95 % intervals; NaN with fewer than `MIN_BOTH` queries.
    p_value
        (E,) two-sided p-values that the mean is 0: for differences.
    weight
        (E,) w; 0 where the judge's values hardly vary.
    judge, people
        (3, E) means over all queries by the judge, over the n by people, with the ends of their intervals.
    worth
        (E,) number of queries judged by people alone whose mean would be as precise.
    selection
        (E,) p-values that the n are like the others by the judge's values (Welch's t test); NaN where they do
        not vary, or all were judged by both.
    """

    value: Floats
    low: Floats
    high: Floats
    p_value: Floats
    weight: Floats
    judge: Floats
    people: Floats
    worth: Floats
    selection: Floats


def corrected_means(judge: Floats, people: Floats, both: Rows) -> Corrected:
    """Correct the means of a judge.

    Parameters
    ----------
    judge
        (N, E) values by the judge of all queries.
    people
        (n, E) values by people; n may be 0.
    both
        (n,) the places of their queries among the N.

    The squared error is the jackknife's over the n (method 7.1; leaving a query out moves the line by its
    residual and leverage) plus w² var(f) / N; degrees of the sum are Satterthwaite's.
    """
    n = max(len(both), 1)
    f, h = _centred(judge[both]), _centred(people)
    squares = (f**2).sum(axis=0)
    largest = (f**2).max(axis=0, initial=0.0)
    varies = (squares > _ROUNDING) & (largest <= CARRIED * squares)
    slope = np.divide(f, squares, out=np.zeros_like(f), where=varies)
    weight = (slope * h).sum(axis=0)
    apart = _mean(judge) - _mean(judge[both])
    leverage, pull = 1 / n + slope * f, 1 / n + slope * apart
    known = Deviations()
    known.add(-(h - weight * f) / np.maximum(1 - leverage, _ROUNDING) * pull)
    value = _mean(people) + weight * apart
    spread = _together(known.spread(), weight**2 * _variance(judge) / max(len(judge), 1), len(judge))
    alone = _alone(judge), _alone(people)
    return Corrected(
        value, *_interval(value, spread), weight, *alone, _worth(people, spread), _selection(judge, both)
    )


def _together(spread: Spread, of_judge: Floats, queries: int) -> Spread:
    """Return the spread of two independent parts: of the line, and of the judge's mean over all queries."""
    of_line = spread.error**2
    with np.errstate(divide="ignore", invalid="ignore"):
        square = of_line + of_judge
        parts = np.nan_to_num(of_line**2 / spread.degrees) + of_judge**2 / max(queries - 1, 1)
        degrees = square**2 / parts
    enough = spread.queries >= MIN_BOTH
    return Spread(
        np.where(enough & (square > _ROUNDING**2), np.sqrt(square), np.nan), degrees, spread.queries
    )


def _interval(value: Floats, spread: Spread) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the interval, and the p-value of 0."""
    half = stdtrit(spread.degrees, 0.975) * spread.error
    p_value: Floats = 2 * stdtr(spread.degrees, -np.abs(value) / spread.error)
    return value - half, value + half, p_value


def _worth(people: Floats, spread: Spread) -> Floats:
    """Return n for which the variance of h / n is the squared error."""
    worth: Floats = _variance(people) / spread.error**2
    return worth


def _mean(values: Floats) -> Floats:
    mean: Floats = values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
    return mean


def _centred(values: Floats) -> Floats:
    return values - _mean(values)


def _variance(values: Floats) -> Floats:
    several = len(values) > 1
    variance: Floats = values.var(axis=0, ddof=1) if several else np.full(values.shape[1], np.nan)
    return variance


def _alone(values: Floats) -> Floats:
    """Return the (3, E) mean with the ends of its interval, Student's t over the queries."""
    mean, n = _mean(values), len(values)
    half = stdtrit(max(n - 1, 1), 0.975) * np.sqrt(_variance(values) / max(n, 1))
    return np.stack([mean, mean - half, mean + half])


def _selection(judge: Floats, both: Rows) -> Floats:
    """Return the p-values that queries judged by both have the same mean by the judge as the others."""
    sides = judge[both], np.delete(judge, both, axis=0)
    numbers = np.array([len(side) for side in sides])
    if numbers.min() < 2:
        return np.full(judge.shape[1], np.nan)
    parts = np.stack([_variance(side) / len(side) for side in sides])
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = parts.sum(axis=0) ** 2 / (parts**2 / (numbers[:, None] - 1)).sum(axis=0)
        statistic = np.abs(_mean(sides[0]) - _mean(sides[1])) / np.sqrt(parts.sum(axis=0))
    p_value: Floats = 2 * stdtr(degrees, -statistic)
    return p_value


# ---- runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """The values of one run by the judge and by people.

    Attributes
    ----------
    judge, people
        Its lists with the grades of each.
    of_judge, of_people
        (N, E), (M, E) values for the queries of these lists.
    """

    judge: Lists
    people: Lists
    of_judge: Floats
    of_people: Floats


@dataclass(frozen=True)
class CorrectedTables:
    """Corrected means and comparisons, in the forms of `forms`, and cautions."""

    means: pl.DataFrame
    comparisons: pl.DataFrame
    cautions: tuple[str, ...]


def corrected_tables(
    measures: Sequence[Measure], sides: Mapping[str, Sides], *, baseline: str | None = None
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
    """
    names = tuple(map(str, measures))
    first = next(iter(sides.values()))
    place = {query: at for at, query in enumerate(first.judge.queries)}
    rows = np.array([at for at, query in enumerate(first.people.queries) if query in place], np.int64)
    both = np.array([place[first.people.queries[at]] for at in rows], np.int64)

    def corrected(judge: Floats, people: Floats) -> Corrected:
        return corrected_means(judge, people[rows], both)

    means = {name: corrected(one.of_judge, one.of_people) for name, one in sides.items()}
    pairs = {
        (a, b): corrected(sides[b].of_judge - sides[a].of_judge, sides[b].of_people - sides[a].of_people)
        for a, b in pairs_of_runs(sides, baseline)
    }
    low, high = np.array([(one.metric.low, one.metric.high) for one in measures], np.float64).T
    counts = {"n_queries": len(place), "n_both": len(both)}
    cut = {
        name: replace(one, low=np.maximum(one.low, low), high=np.minimum(one.high, high))
        for name, one in means.items()
    }
    of_means = [_frame(names, one, run=name, **counts) for name, one in cut.items()]
    of_pairs = [_frame(names, one, baseline=a, run=b, **counts) for (a, b), one in pairs.items()]
    return CorrectedTables(
        in_form(CORRECTED_MEANS, pl.concat(of_means)),
        _compared(of_pairs),
        tuple(_cautions(measures, sides, means, (rows, both))),
    )


def _frame(names: tuple[str, ...], one: Corrected, **same: object) -> pl.DataFrame:
    """Return a row for each measure; numbers that are not known are null, with the reason."""
    columns = {"value": one.value, "ci_low": one.low, "ci_high": one.high, "p_value": one.p_value,
               "weight": one.weight, "worth": one.worth}  # fmt: skip
    for side, ends in (("judge", one.judge), ("people", one.people)):
        columns |= dict(zip((side, f"{side}_low", f"{side}_high"), ends, strict=True))
    frame = pl.DataFrame({"measure": names, **columns}).with_columns(pl.col(pl.Float64).fill_nan(None))
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in same.items())
    why = FEW_BOTH if int(str(same["n_both"])) < MIN_BOTH else NO_SPREAD
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
    rows, both = places
    alone = len(next(iter(sides.values())).people.queries) - len(rows)
    if alone:
        have = "has" if alone == 1 else "have"
        yield f"{plural(alone, 'query', 'queries')} judged by people {have} no grade by the judge: not used."
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
