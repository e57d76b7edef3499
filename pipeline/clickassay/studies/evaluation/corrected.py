"""Means that a judge of many queries gives, corrected by people who judged few of them.

The regression estimator of two-phase sampling (Cochran 1977, section 12.6), which is prediction-powered
inference with its weight tuned (Angelopoulos, Duchi and Zrnic 2023). Of N queries that the judge judged, n
were judged by people too; h and f are the values of a measure by people and by the judge:

    corrected = mean of h over the n + w (mean of f over the N - mean of f over the n)

w is the slope of h by f over the n queries and over two more, at which the judge errs by all that it can, R,
once up and once down, and people give their mean:

    w = Σ (f - mean f) (h - mean h) / (Σ (f - mean f)² + 2 R²)

Their residuals, -w R and w R, count in the error too. A judge that errs rarely and much may not err in the n
at all; without the two, its intervals would be as narrow as if it never did. w is also what makes the sum of
squares least, so an interval is hardly ever wider than by people alone. The value is right on average with
any errors of the judge, if the n are a random sample of the N; a judge that tells nothing gets a w near 0,
which leaves the mean by people.

If a plan drew queries with unequal probabilities, draws take the place of the n, each with a share
proportional to p / q (Horvitz and Thompson 1952; shares that add up to 1: Hajek), and the N count by their
p. Means, slope and jackknife are then weighted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import NothingInCommonError
from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit
from clickassay.core.text.words import number, percent, plural, visible
from clickassay.correlation.uncertainty.intervals import Deviations, Spread, holm
from clickassay.inputs.normalise import normalise_query
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists
from clickassay.studies.evaluation.comparing import pairs_of_runs
from clickassay.studies.evaluation.forms import CORRECTED_COMPARISONS, CORRECTED_MEANS, in_form

MIN_BOTH = 20
"""With fewer queries judged by both there is no interval."""

LESS, FAR_LESS = 0.01, 0.05
"""A share of graded results that is less by the first is said; by the second, no mean is corrected."""

UNLIKE = 0.01
"""Below this p-value (Holm) the queries that people judged are said to differ from the others."""

FEW_BOTH = f"fewer than {MIN_BOTH} queries judged by both"
FEW_DRAWS = f"draws worth fewer than {MIN_BOTH} queries"
NO_SPREAD = "no spread"
OTHER_QUERIES = "withheld: people did not judge a random sample of queries"
UNGRADED = "withheld: people did not grade all results"

NO_CUT = 1 << 30
PLACES = 4
_ROUNDING = 1e-12
_DIGITS = 9
"""Decimals of a number of queries: twenty of equal shares are no 19.999..."""


Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Corrected:
    """Corrected means of E measures, and what each side alone says."""

    # value, low, high: (E,) corrected means, and the ends of their 95% CIs; NaN with fewer than
    # `MIN_BOTH` queries.
    value: Floats
    low: Floats
    high: Floats
    p_value: Floats  # (E,) two-sided p-values that the mean is 0: for differences.
    weight: Floats  # (E,) w.
    # judge, people: (3, E) means over all queries by the judge, over the n by people, with the ends of their
    # intervals.
    judge: Floats
    people: Floats
    # (E,) number of queries judged by people alone whose interval would be as wide.
    worth: Floats
    # (E,) p-values that the n are like the others by the judge's values (Welch's t test); NaN where they do
    # not vary, or all were judged by both.
    selection: Floats


def corrected_means(
    judge: Floats,
    people: Floats,
    both: Rows,
    reach: Floats,
    *,
    shares: Floats | None = None,
    weights: Floats | None = None,
) -> Corrected:
    """Correct the means of a judge.

    judge: (N, E) values by the judge of all queries.
    people: (n, E) values by people; n may be 0.
    both: (n,) the places of their queries among the N; with `shares`, once for each draw.
    reach: (E,) R, by how much the judge may err in a query.
    shares, weights: (n,), (N,) shares of the draws of a plan, and of the queries; each adds up to 1. None =
      all alike.

    The squared error is the jackknife's over the n (method 7.1), plus w² var(f) / N, plus 2 (w R / n)² of the
    two queries where the judge errs; degrees of the sum are Satterthwaite's.
    """
    s, p = (
        np.full(number, 1 / max(number, 1)) if given is None else given
        for number, given in ((len(both), shares), (len(judge), weights))
    )
    number, seen = _number(s), judge[both]
    f, h = seen - _mean(seen, s), people - _mean(people, s)
    products, squares = s @ (f * h), s @ f**2 + 2 * reach**2 / max(number, 1)
    weight = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0)
    apart = _mean(judge, p) - _mean(seen, s)
    value = _mean(people, s) + weight * apart
    gone = (s / np.maximum(1 - s, _ROUNDING))[:, None]  # what a query takes with it, of the rest
    rest = squares - gone * f**2
    slope = np.divide(products - gone * f * h, rest, out=np.zeros_like(f), where=rest > 0)
    known = Deviations()
    known.add(slope * (apart + gone * f) - weight * apart - gone * h)
    variance = np.full(judge.shape[1], np.nan)  # unbiased for equal shares
    if len(judge) > 1:
        variance = p @ (judge - _mean(judge, p)) ** 2 / (1 - p @ p)
    parts = weight**2 * variance / _number(p), 2 * (weight * reach / max(number, 1)) ** 2
    spread = _together(known.spread(), parts, (_number(p), number))
    if min(number, len(np.unique(both))) < MIN_BOTH:
        spread = Spread(np.full_like(spread.error, np.nan), spread.degrees, spread.queries)
    half = stdtrit(spread.degrees, 0.975) * spread.error
    low, high = value - half, value + half
    p_value: Floats = 2 * stdtr(spread.degrees, -np.abs(value) / spread.error)
    alone = _alone(judge, p), _alone(people, s)
    worth: Floats = number * ((alone[1][2] - alone[1][1]) / (high - low)) ** 2
    apart_from_rest = _selection(judge, both) if shares is None else np.full(judge.shape[1], np.nan)
    return Corrected(value, low, high, p_value, weight, *alone, worth, apart_from_rest)


def _number(shares: Floats) -> float:
    """Return how many queries of equal shares are as good (Kish); their number, if all are equal."""
    return round(float(1 / (shares @ shares)), _DIGITS) if len(shares) else 0.0


def _together(spread: Spread, more: tuple[Floats, Floats], queries: tuple[float, float]) -> Spread:
    """Return the spread of independent parts: the line, the judge's mean, queries where it errs (`more`)."""
    of_line = spread.error**2
    with np.errstate(divide="ignore", invalid="ignore"):
        square = of_line + sum(more)
        parts = np.nan_to_num(of_line**2 / spread.degrees)
        parts += sum(one**2 / max(number - 1, 1) for one, number in zip(more, queries, strict=True))
        degrees = square**2 / parts
    return Spread(np.where(square > _ROUNDING**2, np.sqrt(square), np.nan), degrees, spread.queries)


def _mean(values: Floats, shares: Floats) -> Floats:
    mean: Floats = shares @ values if len(values) else np.full(values.shape[1], np.nan)
    return mean


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


# ---- which queries people judged: at random, or as a plan drew them ---------------------------------


@dataclass(frozen=True)
class Design:
    """How a plan chose the queries that people judge."""

    draws: tuple[str, ...]  # Queries, normalised, in the order of the draws.
    ratios: Floats  # (n,) p / q of each draw; above 0.
    # By query of the pool, normalised: p, the share of the query among all that are asked.
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Sampled:
    """The queries that means are over, and the queries or draws that people judged."""

    kept: Rows  # Places of the queries of the mean among the queries of the judge.
    # rows, both: (n,) places of the queries that people judged, among theirs and among the judge's.
    rows: Rows
    both: Rows
    # shares, weights: Of the n, and of the kept; None = all alike.
    shares: Floats | None = None
    weights: Floats | None = None
    cautions: tuple[str, ...] = ()  # Sentences on what is left out.


def at_random(judge: Sequence[str], people: Sequence[str]) -> Sampled:
    """Return the queries of the judge, and of people among them, which count as a random sample."""
    place = {query: at for at, query in enumerate(judge)}
    rows = np.array([at for at, query in enumerate(people) if query in place], np.int64)
    both = np.array([place[people[at]] for at in rows], np.int64)
    alone = len(people) - len(rows)
    have, are = ("has", "is") if alone == 1 else ("have", "are")
    text = f"{_queries(alone)} judged by people {have} no grade by the judge and {are} ignored."
    return Sampled(np.arange(len(place)), rows, both, cautions=(text,) if alone else ())


def drawn_by(design: Design, judge: Sequence[str], people: Sequence[str]) -> Sampled:
    """Return the queries of a plan that the judge judged, and its draws up to the first without a judgment.

    Judgments missing after that draw are not missing at random.
    """
    by_judge, by_people = (
        {normalise_query(query): at for at, query in enumerate(side)} for side in (judge, people)
    )
    kept = {name: at for name, at in by_judge.items() if name in design.weights}
    if not kept:
        raise NothingInCommonError("the plan and the judgments by --judge have no query in common")
    drawn = [at for at, name in enumerate(design.draws) if name in kept]
    upto = next((at for at, draw in enumerate(drawn) if design.draws[draw] not in by_people), len(drawn))
    cautions = []
    if upto < len(drawn):
        missing = visible(design.draws[drawn[upto]])
        cautions.append(
            f"Draw {drawn[upto] + 1} of the plan ({missing}) has no judgment: {upto} draws before it count."
        )
    if lacking := len(design.weights) - len(kept):
        cautions.append(f"{_queries(lacking)} of the plan that the judge did not grade are excluded.")
    if more := len(by_judge) - len(kept):
        cautions.append(f"{_queries(more)} of the judge outside the plan are excluded.")
    if others := len(by_people.keys() - set(design.draws)):
        cautions.append(f"{_queries(others)} judged by people, but not drawn by the plan, are ignored.")
    counted = drawn[:upto]
    ratios, names = design.ratios[counted], [design.draws[at] for at in counted]
    weights = np.array([design.weights[name] for name in sorted(kept, key=kept.__getitem__)])
    return Sampled(
        np.array(sorted(kept.values()), np.int64),
        np.array([by_people[name] for name in names], np.int64),
        np.array([kept[name] for name in names], np.int64),
        ratios / ratios.sum(),
        weights / weights.sum(),
        tuple(cautions),
    )


def _queries(number: int) -> str:
    return plural(number, "query", "queries")


# ---- runs ---------------------------------------------------------------------------------------


Judged = Mapping[str, tuple[Lists, Floats]]
"""By run: its lists with the grades of a judge, and the (Q, E) values of their queries."""

CorrectedTables = tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]
"""Corrected means and comparisons, in the forms of `forms`, and cautions."""


def corrected_tables(
    measures: Sequence[Measure], judge: Judged, people: Judged, baseline: str | None, design: Design | None
) -> CorrectedTables:
    """Correct the means of each run, cut to the ranges of the E measures, and the differences of every two.

    judge, people: the queries of all runs are the same. baseline: compared with each other run.
    design: how a plan chose the queries that people judged; None = at random, each query counting as much.
    """
    names = tuple(map(str, measures))
    queries = [next(iter(side.values()))[0].queries for side in (judge, people)]
    sampled = at_random(*queries) if design is None else drawn_by(design, *queries)
    both = np.searchsorted(sampled.kept, sampled.both)
    low, high = np.array([(one.metric.low, one.metric.high) for one in measures], np.float64).T
    seen = np.concatenate([values for side in (judge, people) for _, values in side.values()])
    reach = np.where(np.isinf(high - low), np.ptp(seen, axis=0), high - low)

    def corrected(ours: Floats, theirs: Floats) -> Corrected:
        return corrected_means(
            ours[sampled.kept], theirs[sampled.rows], both, reach,
            shares=sampled.shares, weights=sampled.weights,
        )  # fmt: skip

    means = {name: corrected(judge[name][1], people[name][1]) for name in judge}
    pairs = {
        (a, b): corrected(judge[b][1] - judge[a][1], people[b][1] - people[a][1])
        for a, b in pairs_of_runs(judge, baseline)
    }
    worth = len(both) if sampled.shares is None else _number(sampled.shares)
    counts = {"n_queries": len(sampled.kept), "n_both": len(np.unique(both))}
    few = {FEW_BOTH: counts["n_both"] < MIN_BOTH, FEW_DRAWS: worth < MIN_BOTH}
    unlike = tuple(_unlike(measures, judge, means, sampled.both))
    reasons = [reason for reason, holds in {**few, OTHER_QUERIES: unlike != ()}.items() if holds]
    depth = max((one.depth or NO_CUT for one in measures), default=NO_CUT)
    less, void = _less_graded(depth, judge, people, sampled)

    def frame(one: Corrected, *runs: str, **same: object) -> pl.DataFrame:
        own = [*reasons, *(UNGRADED for run in runs if run in void)]
        return _frame(names, one, own[0] if own else None, **same, **counts)

    cut = {
        name: replace(one, low=np.maximum(one.low, low), high=np.minimum(one.high, high))
        for name, one in means.items()
    }
    of_means = [frame(one, name, run=name) for name, one in cut.items()]
    compared = CORRECTED_COMPARISONS.empty()
    if pairs:
        rows = pl.concat([frame(one, a, b, baseline=a, run=b) for (a, b), one in pairs.items()])
        adjusted = holm(rows["p_value"].fill_null(np.nan).to_numpy())
        rows = rows.with_columns(pl.Series("p_holm", adjusted).fill_nan(None))
        compared = in_form(CORRECTED_COMPARISONS, rows)
    cautions = (*sampled.cautions, *unlike, *less)
    return in_form(CORRECTED_MEANS, pl.concat(of_means)), compared, cautions


def _frame(names: tuple[str, ...], one: Corrected, void: str | None, **same: object) -> pl.DataFrame:
    """Return a row for each measure; what is corrected is null where it is `void` or has no interval."""
    columns = {"value": one.value, "ci_low": one.low, "ci_high": one.high, "p_value": one.p_value,
               "worth": one.worth}  # fmt: skip
    others = {"measure": names, "weight": one.weight}
    for side, ends in (("judge", one.judge), ("people", one.people)):
        others |= dict(zip((side, f"{side}_low", f"{side}_high"), ends, strict=True))
    frame = pl.DataFrame(columns | others).with_columns(pl.col(pl.Float64).fill_nan(None))
    no_interval = pl.when(pl.col("ci_low").is_null()).then(pl.lit(NO_SPREAD))
    frame = frame.with_columns(reason=no_interval if void is None else pl.lit(void))
    frame = frame.with_columns(pl.when(pl.col("reason").is_null()).then(pl.col(*columns)))
    return frame.with_columns(pl.lit(value).alias(name) for name, value in same.items())


def _unlike(
    measures: Sequence[Measure], judge: Judged, means: Mapping[str, Corrected], both: Rows
) -> Iterator[str]:
    p_values = holm(np.concatenate([one.selection for one in means.values()]))
    if np.isnan(p_values).all() or np.nanmin(p_values) >= UNLIKE:
        return
    run, column = divmod(int(np.nanargmin(p_values)), len(measures))
    name = list(means)[run]
    values = judge[name][1][:, column]
    inside, outside = values[both].mean(), np.delete(values, both).mean()
    yield (
        f"Corrected means are withheld: people's queries are no random sample. With the judge's "
        f"grades, {measures[column]} of {visible(name)} is {number(inside, PLACES)} on these and "
        f"{number(outside, PLACES)} on the other queries."
    )


def _less_graded(depth: int, judge: Judged, people: Judged, sampled: Sampled) -> tuple[list[str], set[str]]:
    shares = {
        run: tuple(
            _share_graded(side[run][0], rows, depth)
            for side, rows in ((people, sampled.rows), (judge, sampled.both))
        )
        for run in judge
    }
    void = {run for run, (by_people, by_judge) in shares.items() if by_people < by_judge - FAR_LESS}
    run = min(shares, key=lambda name: shares[name][0] - shares[name][1])
    by_people, by_judge = shares[run]
    if by_people >= by_judge - LESS:
        return [], void
    text = (
        f"{'Corrected means are withheld: of' if void else 'Of'} the results of {visible(run)} for queries "
        f"that both judged, people graded {percent(by_people)} and the judge {percent(by_judge)}. Results "
        "that people did not grade count as 0, so the correction blames the judge for them."
    )
    return [text], void


def _share_graded(lists: Lists, queries: Rows, depth: int) -> float:
    """Return the share of the results down to a depth that have a grade; 1 without results."""
    ends = np.minimum(lists.starts[queries + 1], lists.starts[queries] + depth)
    taken = [lists.grades[first:last] for first, last in zip(lists.starts[queries], ends, strict=True)]
    grades = np.concatenate(taken) if taken else np.empty(0)
    return float((grades >= 0).mean()) if len(grades) else 1.0
