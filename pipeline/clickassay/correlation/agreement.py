"""Judges compared: how far they agree, and whose grades make metrics predict clicks better (*ours*)."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.form import Table
from clickassay.core.contracts.judges import AGREEMENT, CONFUSION, JUDGE_COMPARISONS
from clickassay.core.records import Floats, Sample, pairs_of, sums_by_unit
from clickassay.correlation.classes import unit_column
from clickassay.correlation.comparisons import comparison_columns, difference_spread
from clickassay.correlation.uncertainty import intervals
from clickassay.correlation.weighted import correlation_matrix, query_moments
from clickassay.metrics.clicks import USES_GRADES

FREE = (-np.inf, np.inf)
"""The range of a measure that has none: a mean difference."""


def with_intervals(
    tables: Floats, measures: Callable[[Floats], Floats], ranges: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return (E,) agreements, and the ends of their 95% CIs, of (Q, K) counts of pairs of grades by query.

    measures: turns (..., K) sums over queries into (..., E) values in `ranges`, (2, E) or infinite.
    A CI is value -+ t error on Fisher's scale, for which ranges become -1..1, with Satterthwaite's degrees of
    freedom. NaN where too few queries vary: judges who agree in all queries but one, or in all, may still
    differ in others.
    """
    values = measures(tables.sum(axis=0))
    scaled, known = _scaled(values, ranges), intervals.Deviations()
    for left in intervals.left_out(tables, measures):
        with np.errstate(invalid="ignore"):  # both at an end
            known.add(_scaled(left, ranges) - scaled)
    low, high = intervals.difference_interval(scaled, known.spread(), intervals.CONFIDENCE)
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
    return np.where(np.isinf(low), scaled, middle)


MEASURES = {
    "equal": "share of results with the same grade",
    "kappa": "Cohen's kappa",
    "kappa_linear": "the same, weighted by the distance of the grades",
    "kappa_quadratic": "the same, weighted by the squared distance",
    "ac1": "Gwet's AC1",
    "alpha_nominal": "Krippendorff's alpha, nominal grades",
    "alpha_ordinal": "the same, ordinal grades",
    "alpha_interval": "the same, interval grades",
    "mean_difference": "mean grade of judge_b minus judge_a",
}
ALPHAS = tuple(name for name in MEASURES if name.startswith("alpha"))
_RANGES = {"equal": (0, 1), "mean_difference": FREE}
"""Least and largest value of measures that are not -1 to 1."""


def confusion(names: tuple[str, str], pair: pl.DataFrame) -> pl.DataFrame:
    """Count pairs of grades (market, grade_a, grade_b) of the results that both judged: CONFUSION."""
    counts = pair.group_by("market", "grade_a", "grade_b").agg(rows=pl.len().cast(pl.Int64))
    return _rows_of(CONFUSION, counts.with_columns(**_same(judge_a=names[0], judge_b=names[1])))


def agreement(names: tuple[str, str], pair: pl.DataFrame, size: int) -> pl.DataFrame:
    """Measure how far two judges agree on the results that both judged, in one market: rows of AGREEMENT.

    pair: query, grade_a, grade_b; perhaps with `unit` (see `classes.with_unit`), left out one at a time.
      Cohen's kappa (1960) and its weighted forms (1968) are null where all grades are one and the same.
    """
    tables = tables_by_unit(pair[unit_column(pair)], pair["grade_a"], pair["grade_b"], size)
    measured = with_intervals(tables, lambda sums: all_measures(sums, size), ranges_of(tuple(MEASURES)))
    return _measured(names, tuple(MEASURES), measured, (len(tables), pair.height, pair["query"].n_unique()))


def agreement_of_all(grades: pl.DataFrame, size: int) -> pl.DataFrame:
    """Measure how far all judges agree on results that two or more judged, by alphas: rows of AGREEMENT.

    grades: judge, query, url, grade; perhaps with `unit`. A pair of a result's m grades counts 1/(m - 1).
    """
    several = grades.with_columns(m=pl.len().over("query", "url")).filter(pl.col("m") > 1)
    paired = several.join(several, on=["query", "url"], suffix="_b").filter(
        pl.col("judge") != pl.col("judge_b")
    )
    unit = paired[unit_column(grades)].rank("dense").to_numpy().astype(np.int64) - 1
    cell = paired["grade"].to_numpy().astype(np.int64) * size + paired["grade_b"].to_numpy()
    units, weight = int(unit.max()) + 1, 1 / (paired["m"].to_numpy() - 1)
    counted = np.bincount(unit * size**2 + cell, weights=weight, minlength=units * size**2)
    tables = counted.reshape(units, -1).astype(np.float64)
    measured = with_intervals(tables, lambda sums: alphas(sums, size), ranges_of(ALPHAS))
    results = several.select("query", "url").n_unique()
    return _measured((EVERY, EVERY), ALPHAS, measured, (units, results, several["query"].n_unique()))


def ranges_of(measures: tuple[str, ...]) -> Floats:
    """Return (2, E) least and largest values of measures."""
    return np.array([_RANGES.get(name, (-1, 1)) for name in measures], np.float64).T


def _measured(
    names: tuple[str, str],
    measures: tuple[str, ...],
    measured: tuple[Floats, Floats, Floats],
    size: tuple[int, int, int],
) -> pl.DataFrame:
    """Return rows of measures; `size` is units, results and queries."""
    values, low, high = measured
    units, results, queries = size
    caution = pl.Series(intervals.cautions(values, low, units), dtype=pl.String)
    frame = pl.DataFrame(
        {"measure": measures, "value": values, "ci_low": low, "ci_high": high, "caution": caution}
    ).with_columns(pl.col(pl.Float64).fill_nan(None), market=pl.lit(EVERY))
    same = _same(judge_a=names[0], judge_b=names[1], n_results=results, n_queries=queries)
    return _rows_of(AGREEMENT, frame.with_columns(**same))


def _same(**columns: object) -> dict[str, pl.Expr]:
    return {name: pl.lit(value) for name, value in columns.items()}


def _rows_of(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(column.name).cast(column.dtype) for column in table.columns)


def judges_of_run(grades: pl.DataFrame, *, max_grade: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare every pair of a run's judges that share a result, by market: AGREEMENT and CONFUSION."""
    on, size = ["market", "query", "url"], max_grade + 1
    if grades["judge"].n_unique() < 2:  # a join of all with all would find nothing
        return AGREEMENT.empty(), CONFUSION.empty()
    pairs = grades.join(grades.drop("unit", strict=False), on=on, suffix="_b")
    pairs = pairs.filter(pl.col("judge") < pl.col("judge_b")).rename({"grade": "grade_a"})
    agreed, counts = [AGREEMENT.empty()], [CONFUSION.empty()]
    for (market, a, b), pair in pairs.group_by("market", "judge", "judge_b"):
        agreed.append(agreement((str(a), str(b)), pair, size).with_columns(market=pl.lit(market)))
        counts.append(confusion((str(a), str(b)), pair))
    for (market,), own in grades.join(pairs, on=on, how="semi").group_by("market"):
        if own["judge"].n_unique() > 2:
            agreed.append(agreement_of_all(own.sort(*on, "judge"), size).with_columns(market=pl.lit(market)))
    return AGREEMENT.canonical(pl.concat(agreed)), CONFUSION.canonical(pl.concat(counts))


def tables_by_unit(unit: pl.Series, grade_a: pl.Series, grade_b: pl.Series, size: int) -> Floats:
    """Return (U, size²) counts of pairs of grades, below `size`, by unit; the units in their order."""
    place = unit.rank("dense").to_numpy().astype(np.int64) - 1
    cell = place * size**2 + grade_a.to_numpy().astype(np.int64) * size + grade_b.to_numpy()
    units = int(place.max()) + 1
    counted = np.bincount(cell, minlength=units * size**2)
    return counted.reshape(units, -1).astype(np.float64)


def kappa(tables: Floats, size: int) -> Floats:
    """Compute Cohen's kappa without, with linear and with quadratic weights, (..., 3).

    tables: (..., size²) how often A gave the row's, B the column's grade. 1 - Σ w observed / Σ w expected;
      NaN where no disagreement is expected.
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
    """Compare how well each metric predicts clicks under each two judges: rows of JUDGE_COMPARISONS.

    On configurations that both judged, without click metrics of grades. The editorial metrics of a market,
    depth, click metric and pair of judges are one family for Holm's adjustment.
    """
    frames = [JUDGE_COMPARISONS.empty()]
    for a, b in combinations(sorted(samples, key=lambda sample: sample.key.judge), 2):
        if (a.key.market, a.key.depth) == (b.key.market, b.key.depth) and a.key.judge != b.key.judge:
            frames.append(_compare(a, b))
    return JUDGE_COMPARISONS.canonical(pl.concat(frames))


def _compare(a: Sample, b: Sample) -> pl.DataFrame:
    clicks = [name for name in a.click_names if name != USES_GRADES]
    names = [name for name in a.editorial_names if name in b.editorial_names]
    one, other = a.narrowed(clicks, names), b.narrowed([], names)
    ids = [
        pl.DataFrame({"id": sample.configuration_ids, name: np.arange(len(sample.sessions))})
        for sample, name in ((a, "a"), (b, "b"))
    ]
    common = ids[0].join(ids[1], on="id").sort("a")  # the same configurations, in the order of the first
    if common.is_empty() or not names:
        return JUDGE_COMPARISONS.empty()
    in_a, in_b = (common[name].to_numpy() for name in ("a", "b"))
    queries, index = np.unique(a.query_index[in_a], return_inverse=True)
    units = a.queries if a.units is None else a.units
    sessions, click_values = a.sessions[in_a], one.click_values[in_a]
    # offline metrics with the grades of the first judge, then of the second
    editorial = np.concatenate([one.editorial_values[in_a], other.editorial_values[in_b]], axis=1)
    values = correlation_matrix(click_values, editorial, sessions).values
    of_a, of_b = values[:, : len(names)], values[:, len(names) :]
    difference = intervals.no_rounding(of_a - of_b)
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    moments = query_moments(click_values, editorial, sessions, starts)
    moments = sums_by_unit(moments, tuple(units[query] for query in queries))
    first = np.arange(len(names))
    spread = difference_spread(moments, difference, (first, first + len(first)), n_editorial=2 * len(first))
    heavy = intervals.is_heavy(moments[:, 0], intervals.DIFFERENCE_INDEX)
    columns, caution_texts = comparison_columns(difference, spread, heavy_tail=heavy)
    columns |= {"correlation_a": of_a, "correlation_b": of_b}
    frame = pl.DataFrame(
        {
            **pairs_of(clicks, names),
            **{name: array.ravel() for name, array in columns.items()},
            "caution": pl.Series(caution_texts, dtype=pl.String),
        }
    )
    same = _same(
        market=a.key.market,
        depth=a.key.depth,
        judge_a=a.key.judge,
        judge_b=b.key.judge,
        n_queries=len(queries),
        n_configurations=len(sessions),
        n_sessions=int(sessions.sum()),
    )
    return JUDGE_COMPARISONS.canonical(frame.with_columns(pl.col(pl.Float64).fill_nan(None), **same))


def coincidences(tables: Floats, size: int) -> Floats:
    """Return (..., size²) pairs of grades in both orders, of `tables` as `kappa` takes them."""
    counted = tables.reshape(*tables.shape[:-1], size, size)
    return (counted + counted.swapaxes(-1, -2)).reshape(tables.shape)


def alphas(pairs: Floats, size: int) -> Floats:
    """Compute Krippendorff's alpha for nominal, ordinal and interval grades (Krippendorff 2011), (..., 3).

    pairs: (..., size²) `coincidences`, each counting 1/(m - 1). 1 - observed / expected disagreement; NaN
      where all grades are the same.
    """
    found = pairs.reshape(*pairs.shape[:-1], size, size)
    totals = found.sum(axis=-1)
    number = totals.sum(axis=-1)[..., None]
    # squared distances: 0 or 1; by how many grades given lie between; by their difference
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    middle = np.cumsum(totals, axis=-1) - totals / 2
    between = middle[..., :, None] - middle[..., None, :]
    squared = (np.minimum(apart, 1), between**2, apart**2)
    distances = np.stack([np.broadcast_to(one, found.shape) for one in squared], axis=-3)
    observed = (found[..., None, :, :] * distances).sum(axis=(-1, -2))
    expected = (totals[..., :, None] * totals[..., None, :])[..., None, :, :] * distances
    by_chance = expected.sum(axis=(-1, -2)) / np.maximum(number - 1, 1)
    out = np.full(observed.shape, np.nan)
    values: Floats = 1 - np.divide(observed, by_chance, out=out, where=by_chance > 0)
    return values


def ac1(tables: Floats, size: int) -> Floats:
    """Compute Gwet's AC1 (2008), (...,), which does not fall where nearly all grades are the same.

    tables: as for `kappa`; a grade of the `size` that nobody gave counts. (observed - chance) / (1 - chance),
      with chance = Σ π (1 - π) / (size - 1).
    """
    counted = tables.reshape(*tables.shape[:-1], size, size)
    number = np.maximum(counted.sum(axis=(-1, -2)), 1)
    equal = np.trace(counted, axis1=-2, axis2=-1) / number
    share = (counted.sum(axis=-1) + counted.sum(axis=-2)) / (2 * number[..., None])
    chance = (share * (1 - share)).sum(axis=-1) / (size - 1)
    value: Floats = (equal - chance) / (1 - chance)
    return value


def all_measures(tables: Floats, size: int) -> Floats:
    """Return (..., 9) the values of `MEASURES`."""
    counted = tables.reshape(*tables.shape[:-1], size, size)
    results = np.maximum(tables.sum(axis=-1), 1)
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    equal = np.trace(counted, axis1=-2, axis2=-1) / results
    higher = -(counted * apart).sum(axis=(-1, -2)) / results
    alone = (equal[..., None], kappa(tables, size), ac1(tables, size)[..., None])
    return np.concatenate([*alone, alphas(coincidences(tables, size), size), higher[..., None]], axis=-1)
