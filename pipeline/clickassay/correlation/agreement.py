"""Judges compared: how far they agree, and whose grades make metrics predict clicks better (*ours*)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.judges import AGREEMENT, CONFUSION, JUDGE_COMPARISONS
from clickassay.core.records import Floats, Integers, Sample, pairs_of, sums_by_unit
from clickassay.correlation.classes import unit_column
from clickassay.correlation.comparisons import comparison_columns, difference_spread
from clickassay.correlation.uncertainty.intervals import (
    CONFIDENCE,
    DIFFERENCE_INDEX,
    Deviations,
    Spread,
    cautions,
    difference_interval,
    is_heavy,
    left_out,
    no_rounding,
)
from clickassay.correlation.weighted import correlation_matrix, query_moments
from clickassay.metrics.clicks import USES_GRADES

FREE = (-np.inf, np.inf)
"""The range of a measure that has none: a mean difference."""


def with_intervals(
    tables: Floats, measures: Callable[[Floats], Floats], ranges: Floats
) -> tuple[Floats, Floats, Floats]:
    """Measure agreement, with intervals.

    tables: (Q, K) counts of pairs of grades by query.
    measures: turns (..., K) sums over queries into (..., E) values.
    ranges: (2, E) least and largest value of each measure; infinite: it has none.

    Returns (E,) values and the ends of their 95 % intervals: value -+ t error on Fisher's scale, for which
    ranges become -1..1, with Satterthwaite's degrees of freedom. NaN where too few queries vary: judges who
    agree in all queries but one, or in all, may still differ in others.
    """
    values = measures(tables.sum(axis=0))
    scaled, known = _scaled(values, ranges), Deviations()
    for left in left_out(tables, measures):
        with np.errstate(invalid="ignore"):  # both at an end
            known.add(_scaled(left, ranges) - scaled)
    low, high = difference_interval(scaled, known.spread(), CONFIDENCE)
    return values, _unscaled(low, ranges), _unscaled(high, ranges)


def _scaled(values: Floats, ranges: Floats) -> Floats:
    low, high = ranges
    with np.errstate(divide="ignore", invalid="ignore"):  # at an end: infinite
        scaled: Floats = np.where(np.isinf(low), values, np.arctanh((2 * values - low - high) / (high - low)))
    return scaled


def _unscaled(scaled: Floats, ranges: Floats) -> Floats:
    low, high = ranges
    with np.errstate(invalid="ignore"):
        middle = (low + high + (high - low) * np.tanh(scaled)) / 2
    values: Floats = np.where(np.isinf(low), scaled, middle)
    return values


# ---- judges of a run -------------------------------------------------------------------------------


def confusion(grades: pl.DataFrame) -> pl.DataFrame:
    """Count how often one judge gave one grade and another judge another to the same result.

    grades: columns judge, market, query, url, grade: one row for each judgment of the log's queries.

    Returns rows of contracts.judges.CONFUSION, for every pair of judges that share a result.
    """
    counts = _judge_pairs(grades).group_by("market", "judge_a", "judge_b", "grade_a", "grade_b").len("rows")
    return CONFUSION.canonical(counts)


def _judge_pairs(grades: pl.DataFrame) -> pl.DataFrame:
    on = ["market", "query", "url"]
    if grades["judge"].n_unique() < 2:  # a join of all with all would find nothing
        grades = grades.head(0)
    pairs = grades.join(grades, on=on, suffix="_b").filter(pl.col("judge") < pl.col("judge_b"))
    return pairs.select(
        *on,
        pl.col(unit_column(grades)).alias("unit"),
        pl.col("judge").alias("judge_a"),
        "judge_b",
        pl.col("grade").alias("grade_a"),
        "grade_b",
    )


def agreement(grades: pl.DataFrame, *, max_grade: int) -> pl.DataFrame:
    """Measure how far each two judges agree on the results that both judged.

    grades: as in `confusion`; perhaps with `unit` (see `classes.with_unit`).
    max_grade: top of the scale 0..max_grade.

    Returns rows of contracts.judges.AGREEMENT. Cohen's kappa (1960) and its weighted forms (1968) are null
    where both judges give one and the same grade throughout; the interval leaves out one unit at a time.
    """
    both = _judge_pairs(grades)
    names = ["market", "judge_a", "judge_b"]
    rows = [
        {**dict(zip(names, key, strict=True)), **_agreement_of(pair, max_grade)}
        for key, pair in both.group_by(names)
    ]
    table = pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))
    return AGREEMENT.canonical(table) if rows else AGREEMENT.empty()


def _agreement_of(pair: pl.DataFrame, max_grade: int) -> dict[str, object]:
    size = max_grade + 1
    tables = tables_by_unit(pair["unit"], pair["grade_a"], pair["grade_b"], size)
    kappas, low, high = with_intervals(tables, lambda sums: kappa(sums, size), _KAPPAS)
    caution_texts = cautions(kappas, low, len(tables))
    return {
        "n_queries": pair["query"].n_unique(),
        "n_results": pair.height,
        "equal": pair.select((pl.col("grade_a") == pl.col("grade_b")).mean()).item(),
        "mean_difference": pair.select((pl.col("grade_a") - pl.col("grade_b").cast(pl.Int64)).mean()).item(),
        **dict(zip(("kappa", "kappa_linear", "kappa_quadratic"), kappas.tolist(), strict=True)),
        "ci_low": float(low[-1]),
        "ci_high": float(high[-1]),
        "caution": caution_texts[-1],
    }


def tables_by_unit(unit: pl.Series, grade_a: pl.Series, grade_b: pl.Series, size: int) -> Floats:
    """Return (U, size²) counts of pairs of grades, below `size`, by unit; the units in their order."""
    place = unit.rank("dense").to_numpy().astype(np.int64) - 1
    cell = place * size**2 + grade_a.to_numpy().astype(np.int64) * size + grade_b.to_numpy()
    units = int(place.max()) + 1
    counted = np.bincount(cell, minlength=units * size**2)
    return counted.reshape(units, -1).astype(np.float64)


_KAPPAS = np.array([[-1.0], [1.0]]).repeat(3, axis=1)
"""Ranges of the three."""


def kappa(tables: Floats, size: int) -> Floats:
    """Compute Cohen's kappa without weights, with linear and with quadratic weights.

    tables: (..., size²) how often judge A gave the row's grade and judge B the column's.
    size: number of grades.

    Returns (..., 3) 1 - Σ w observed / Σ w expected; NaN where no disagreement is expected.
    """
    observed = tables.reshape(*tables.shape[:-1], size, size)
    of_a, of_b = observed.sum(axis=-1), observed.sum(axis=-2)
    total = np.maximum(observed.sum(axis=(-1, -2)), 1)[..., None, None]
    expected = of_a[..., :, None] * of_b[..., None, :] / total
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    weights = np.stack([np.minimum(distance, 1), distance, distance**2])
    missed, by_chance = (np.einsum("...ab,wab->...w", part, weights) for part in (observed, expected))
    out = np.full(missed.shape, np.nan)
    kappas: Floats = 1 - np.divide(missed, by_chance, out=out, where=by_chance > 0)
    return kappas


def judge_comparisons(samples: Sequence[Sample]) -> pl.DataFrame:
    """Compare how well each metric predicts clicks under each two judges.

    Only configurations that both judged take part, and no click metric that uses grades. The editorial
    metrics of a market, depth, click metric and pair of judges are one family for Holm's adjustment.

    samples: the samples of all markets, depths and judges of a run.

    Returns rows of contracts.judges.JUDGE_COMPARISONS.
    """
    pairs = [
        (a, b)
        for a, b in combinations(sorted(samples, key=lambda sample: sample.key.judge), 2)
        if (a.key.market, a.key.depth) == (b.key.market, b.key.depth) and a.key.judge != b.key.judge
    ]
    frames = [_compare(a, b) for a, b in pairs]
    return JUDGE_COMPARISONS.canonical(pl.concat([JUDGE_COMPARISONS.empty(), *frames]))


@dataclass(frozen=True)
class _Shared:
    """The configurations that two judges both judged."""

    clicks: Floats  # (N, C) click metrics that do not use grades.
    editorial: Floats  # (N, 2 E) editorial metrics with the grades of the first judge, then of the second.
    # sessions, query_index: (N,) weights, and index 0, 1, ... of the query.
    sessions: Integers
    query_index: Integers
    units: tuple[str, ...]  # The unit of each query (see `Sample.units`).


def _compare(a: Sample, b: Sample) -> pl.DataFrame:
    clicks = [name for name in a.click_names if name != USES_GRADES]
    names = [name for name in a.editorial_names if name in b.editorial_names]
    shared = _shared(a.narrowed(clicks, names), b.narrowed([], names))
    if not len(shared.sessions) or not names:
        return JUDGE_COMPARISONS.empty()
    values = correlation_matrix(shared.clicks, shared.editorial, shared.sessions).values
    of_a, of_b = values[:, : len(names)], values[:, len(names) :]
    difference = no_rounding(of_a - of_b)
    moments = _moments(shared)
    heavy = is_heavy(moments[:, 0], DIFFERENCE_INDEX)
    columns, caution_texts = comparison_columns(difference, _spread(moments, difference), heavy_tail=heavy)
    columns |= {"correlation_a": of_a, "correlation_b": of_b}
    frame = pl.DataFrame(
        {
            **pairs_of(clicks, names),
            **{name: array.ravel() for name, array in columns.items()},
            "caution": pl.Series(caution_texts, dtype=pl.String),
        }
    )
    return JUDGE_COMPARISONS.canonical(
        frame.with_columns(pl.col(pl.Float64).fill_nan(None), *_shared_columns(a, b, shared))
    )


def _shared_columns(a: Sample, b: Sample, shared: _Shared) -> list[pl.Expr]:
    """Return the columns that are the same in all rows of two judges."""
    columns: dict[str, object] = {
        "market": a.key.market,
        "depth": a.key.depth,
        "judge_a": a.key.judge,
        "judge_b": b.key.judge,
        "n_queries": int(shared.query_index.max()) + 1,
        "n_configurations": len(shared.sessions),
        "n_sessions": int(shared.sessions.sum()),
    }
    return [pl.lit(value).alias(name) for name, value in columns.items()]


def _shared(a: Sample, b: Sample) -> _Shared:
    rows_a, rows_b = _common(a, b)
    queries, index = np.unique(a.query_index[rows_a], return_inverse=True)
    names = a.queries if a.units is None else a.units
    return _Shared(
        a.click_values[rows_a],
        np.concatenate([a.editorial_values[rows_a], b.editorial_values[rows_b]], axis=1),
        a.sessions[rows_a],
        index,
        tuple(names[query] for query in queries),
    )


def _common(a: Sample, b: Sample) -> tuple[Integers, Integers]:
    """Return the rows of both samples that are the same configuration, in the order of the first."""
    rows = [
        pl.DataFrame({"id": sample.configuration_ids, name: np.arange(len(sample.sessions))})
        for sample, name in ((a, "a"), (b, "b"))
    ]
    common = rows[0].join(rows[1], on="id").sort("a")
    return common["a"].to_numpy(), common["b"].to_numpy()


def _moments(shared: _Shared) -> Floats:
    starts = np.flatnonzero(np.diff(shared.query_index, prepend=-1))
    moments = query_moments(shared.clicks, shared.editorial, shared.sessions, starts)
    return sums_by_unit(moments, shared.units)


def _spread(moments: Floats, difference: Floats) -> Spread:
    first = np.arange(difference.shape[1])
    pairs = first, first + len(first)
    return difference_spread(moments, difference, pairs, n_editorial=2 * len(first))


# ---- other measures --------------------------------------------------------------------------------


def coincidences(tables: Floats, size: int) -> Floats:
    """Return (..., size²) coincidences of two judges: each pair of grades in both orders.

    `tables`, (..., size²), count how often judge A gave the row's grade and judge B the column's.
    """
    counted = tables.reshape(*tables.shape[:-1], size, size)
    both: Floats = (counted + counted.swapaxes(-1, -2)).reshape(tables.shape)
    return both


def alphas(pairs: Floats, size: int) -> Floats:
    """Compute Krippendorff's alpha for nominal, ordinal and interval grades (Krippendorff 2011).

    pairs: (..., size²) coincidences: for a result with m grades, each ordered pair of them counts 1/(m - 1).
    size: number of grades.

    Returns (..., 3) 1 - observed / expected disagreement; NaN where all grades are the same.
    """
    found = pairs.reshape(*pairs.shape[:-1], size, size)
    totals = found.sum(axis=-1)
    number = totals.sum(axis=-1)[..., None]
    distances = np.stack([np.broadcast_to(one, found.shape) for one in _distances(totals, size)], axis=-3)
    observed = (found[..., None, :, :] * distances).sum(axis=(-1, -2))
    expected = (totals[..., :, None] * totals[..., None, :])[..., None, :, :] * distances
    by_chance = expected.sum(axis=(-1, -2)) / np.maximum(number - 1, 1)
    out = np.full(observed.shape, np.nan)
    values: Floats = 1 - np.divide(observed, by_chance, out=out, where=by_chance > 0)
    return values


def _distances(totals: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Return squared distances: 0 or 1; by how many grades given lie between; by their difference."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    up_to = np.cumsum(totals, axis=-1)
    middle = up_to - totals / 2
    between = middle[..., :, None] - middle[..., None, :]
    return np.minimum(apart, 1), between**2, apart**2


def ac1(tables: Floats, size: int) -> Floats:
    """Compute Gwet's AC1 (2008), which does not fall where nearly all grades are the same.

    tables: (..., size²) how often judge A gave the row's grade and judge B the column's.
    size: number of grades of the scale, 2 or more: a grade that nobody gave counts.

    Returns (...,) (observed - chance) / (1 - chance), with chance = Σ π (1 - π) / (size - 1).
    """
    counted = tables.reshape(*tables.shape[:-1], size, size)
    number = np.maximum(counted.sum(axis=(-1, -2)), 1)
    equal = np.trace(counted, axis1=-2, axis2=-1) / number
    share = (counted.sum(axis=-1) + counted.sum(axis=-2)) / (2 * number[..., None])
    chance = (share * (1 - share)).sum(axis=-1) / (size - 1)
    value: Floats = (equal - chance) / (1 - chance)
    return value
