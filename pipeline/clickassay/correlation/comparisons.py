"""Which offline metric predicts clicks better: COMPARISONS and DIFFERENCE_COMPARISONS of the contracts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.correlation import (
    ADDED,
    COMPARISONS,
    DIFFERENCE_COMPARISONS,
    WITHIN_COMPARISONS,
)
from clickassay.core.records import Floats, Integers, NamedMetrics, Sample
from clickassay.core.special import ndtri, stdtrit
from clickassay.correlation.rankers import exact_correlations, query_covariances, within_queries
from clickassay.correlation.tables import with_sample_columns
from clickassay.correlation.uncertainty import intervals
from clickassay.correlation.weighted import (
    QUERIES_AT_ONCE,
    centred_sums,
    correlation_matrix,
    ratio,
    sample_moments,
)
from clickassay.correlation.within.groups import QueryGroups
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import USES_GRADES

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


SAME = 1e-9
"""Two metrics are one where so small a part of the square of either is not the other's."""

POWER = 0.8
"""Power of `queries_needed`: the chance to detect a difference of the size seen."""


def comparisons(sample: Sample, moments: Floats | None = None) -> pl.DataFrame:
    """Compare every two offline metrics by their correlation with each click metric.

    Returns rows of contracts.correlation.COMPARISONS, the pairs in the order of the offline metrics. Values
    are null where one of the two correlations does not exist. The pairs of one sample and click metric are
    one family for Holm's adjustment. None of SS, which is made of the grades too.
    """
    moments = sample.by_unit(sample_moments(sample) if moments is None else moments)
    a, b = _pairs(sample)
    values = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    # two metrics that are equal up to rounding have no difference at all
    difference = intervals.no_rounding(values[:, a] - values[:, b])
    spread = difference_spread(moments, difference, (a, b), n_editorial=len(sample.editorial_names))
    heavy = intervals.is_heavy(moments[:, 0], intervals.DIFFERENCE_INDEX)
    return COMPARISONS.canonical(_rows(sample, difference, spread, heavy_tail=heavy))


def difference_comparisons(sample: Sample) -> pl.DataFrame:
    """Compare every two offline metrics by how well they predict differences between two rankings.

    Rows of DIFFERENCE_COMPARISONS, as of `comparisons`, of the closed form of Algorithm 3 (Chapelle et al.
    2009), of queries with two configurations or more; none without.
    """
    within = within_queries(sample)
    if not len(within.sizes):
        return DIFFERENCE_COMPARISONS.empty()
    a, b = _pairs(sample)
    queries = sample.query_index[within.rows[within.starts]]
    covariances = sample.by_unit(query_covariances(within), queries)
    values = exact_correlations(covariances.sum(axis=0), within.n_clicks)
    difference = intervals.no_rounding(values[:, a] - values[:, b])
    spread = _spread(covariances, difference, (a, b), lambda sums: exact_correlations(sums, within.n_clicks))
    return DIFFERENCE_COMPARISONS.canonical(_rows(sample, difference, spread))


def within_comparisons(place: QueryGroups) -> pl.DataFrame:
    """Compare every two offline metrics by their correlation within queries (method 8.1).

    Returns rows of contracts.correlation.WITHIN_COMPARISONS: as the rows of `comparisons`, and what a metric
    adds to a baseline. None without a group.
    """
    contributions = place.groups.by_unit(place.classes[EVERY, EVERY])
    if not len(contributions):
        return WITHIN_COMPARISONS.empty()
    a, b = _pairs(place)
    values = place.correlations(contributions.sum(axis=0))
    difference = intervals.no_rounding(values[:, a] - values[:, b])
    spread = within_spread(place, difference, (a, b))
    held = [name for name in BASELINES if name in place.editorial_names]
    partials = np.full((4, *difference.shape), np.nan)
    if held:
        found = np.stack(partial_correlations(place, held))
        names = place.editorial_names
        for at, (one, other) in enumerate(zip(a, b, strict=True)):
            base, metric = (one, other) if names[one] in held else (other, one)
            if names[base] in held and names[metric] not in held:
                partials[..., at] = found[:, :, held.index(names[base]), metric]
    columns = {column.name: own for column, own in zip(ADDED, partials, strict=True)}
    return WITHIN_COMPARISONS.canonical(_rows(place, difference, spread, more=columns))


def partial_correlations(place: QueryGroups, held: Sequence[str]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what metrics add to each of B that are held, over all queries; a place has a group.

    Clicks are regressed, within queries and with the weights of lists, on both metrics together. The
    coefficient of one is 0 where it says nothing beside the other; the partial correlation is this
    coefficient in standard units of what the other leaves of clicks and of it (method 8.1).

    Returns (C, B, E) partial correlations, NaN where none exists; both ends of their 95% CIs, which
    leave out units one at a time as those of correlations do; and p-values of 0.
    """
    at = [place.editorial_names.index(name) for name in held]
    n_clicks, n_editorial = len(place.click_names), len(place.editorial_names)
    between = []
    for part in place.parts:
        metrics, starts = part.values[n_clicks : n_clicks + n_editorial], part.lists.starts
        weighted = metrics * part.lists.weights
        between += [
            np.concatenate([np.add.reduceat(weighted[one] * metrics, starts, axis=1).T for one in at], 1)
        ]
    chosen = place.classes[EVERY, EVERY]
    more = place.groups.by_unit(chosen, np.concatenate(between))
    sums = np.concatenate([place.groups.by_unit(chosen), more], axis=1)

    def partials(some: Floats) -> Floats:
        parts = place.split(some[..., : -more.shape[1]])
        both = some[..., -more.shape[1] :].reshape(*some.shape[:-1], len(at), n_editorial)
        shared = ratio(both, parts.squares_x[..., at], parts.squares_x)[..., None, :, :]
        of_held, of_metrics = parts.correlations[..., at, None], parts.correlations[..., None, :]
        left = (1 - of_held**2) * (1 - shared**2)
        values: Floats = (of_metrics - of_held * shared) / np.sqrt(np.where(left > SAME, left, np.nan))
        return np.where(np.abs(values) < 1 - SAME, values, np.nan)

    values, gathered = partials(sums.sum(axis=0)), intervals.Deviations()
    for without in intervals.left_out(sums, partials):
        gathered.add(np.arctanh(without) - np.arctanh(values))
    spread = gathered.spread().widened(place.taken_out.factor)
    return values, *intervals.fisher_interval(values, spread), intervals.p_value(np.arctanh(values), spread)


def _pairs(sample: NamedMetrics) -> Pairs:
    a, b = np.triu_indices(len(sample.editorial_names), k=1)
    return a, b


def _rows(
    sample: NamedMetrics,
    difference: Floats,
    spread: intervals.Spread,
    *,
    heavy_tail: bool = False,
    more: Mapping[str, Floats] | None = None,
) -> pl.DataFrame:
    """Return (C, P) differences as rows: click metrics, then pairs in the order of the offline metrics."""
    a, b = _pairs(sample)
    columns, caution_texts = comparison_columns(difference, spread, heavy_tail=heavy_tail)
    together = intervals.difference_interval(
        difference, spread, intervals.together_confidence(columns["p_value"])
    )
    columns |= dict(zip(("simultaneous_low", "simultaneous_high"), together, strict=True))
    columns |= {"error": spread.error, "degrees": spread.degrees, **(more or {})}
    names = np.array(sample.editorial_names, dtype=object)
    pairs = {
        "click_metric": [name for name in sample.click_names for _ in a],
        "metric_a": [*names[a]] * len(sample.click_names),
        "metric_b": [*names[b]] * len(sample.click_names),
    }
    texts = dict.fromkeys((*pairs, "caution"), pl.String)
    values = {name: array.ravel() for name, array in columns.items()}
    frame = pl.DataFrame({**pairs, **values, "caution": caution_texts}, schema_overrides=texts)
    frame = frame.filter(pl.col("click_metric") != USES_GRADES)
    return with_sample_columns(
        sample, frame.with_columns(pl.lit(spread.queries, pl.Int64).alias("n_queries"))
    )


def comparison_columns(
    difference: Floats, spread: intervals.Spread, *, heavy_tail: bool = False
) -> tuple[dict[str, Floats], list[str | None]]:
    """Return columns and cautions of (C, P) paired differences, families last; `heavy_tail`: `is_heavy`."""
    low, high = intervals.difference_interval(difference, spread)
    p = intervals.p_value(difference, spread)
    tests = np.isfinite(p).sum(axis=-1)
    columns = {
        "difference": difference,
        "ci_low": low,
        "ci_high": high,
        "p_value": p,
        "p_adjusted": intervals.holm(p),
        "queries_needed": queries_needed(difference, spread, spread.queries, tests=tests),
    }
    return columns, intervals.cautions(difference, low, spread.queries, heavy_tail=heavy_tail)


def queries_needed(
    difference: Floats,
    spread: intervals.Spread,
    queries: int,
    *,
    tests: Integers,
    alpha: float = intervals.ALPHA,
    power: float = POWER,
) -> Floats:
    """Return how many queries it takes to detect (C, P) differences; NaN where there is none to detect.

    The error shrinks with the root of their number; a difference is detected with the given power when it is
    `detectable_errors` wide.
    spread: of the differences at `queries` queries.
    tests, alpha: (C,) comparisons in the family; each is tested at alpha / tests (Bonferroni), two-sided.
    """
    errors = detectable_errors(spread, alpha / np.maximum(tests, 1)[..., None], power)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed: Floats = np.ceil(queries * (errors * spread.error / difference) ** 2)
    return np.where((difference != 0) & np.isfinite(needed), np.maximum(needed, 2), np.nan)


def detectable_errors(spread: intervals.Spread, alpha: Floats, power: float) -> Floats:
    """Return how many errors wide a detected difference is: t(1 - alpha/2), by its degrees, + z(power)."""
    return stdtrit(spread.degrees_of_differences, 1 - alpha / 2) + ndtri(power)


def difference_spread(
    moments: Floats, difference: Floats, pairs: Pairs, *, n_editorial: int
) -> intervals.Spread:
    """Return the spread over queries of (C, P) differences of two correlations, by leaving out one at a time.

    moments: (Q, K) `query_moments`; pairs: (P,) and (P,) offline metrics, the first minus the second.
    """
    scale = moments.sum(axis=0)
    return _spread(
        moments,
        difference,
        pairs,
        lambda sums: centred_sums(sums, len(difference), n_editorial, scale).correlations,
    )


def within_spread(place: QueryGroups, difference: Floats, pairs: Pairs) -> intervals.Spread:
    """Return the spread of differences of two correlations within queries; see `difference_spread`."""
    sums = place.groups.by_unit(place.classes[EVERY, EVERY])
    moved = place.moved.get((EVERY, EVERY))
    users = None if moved is None else moved.excess(pairs)
    return _spread(sums, difference, pairs, place.correlations).widened(place.taken_out.factor, users)


def _spread(
    contributions: Floats, difference: Floats, pairs: Pairs, correlations: Callable[[Floats], Floats]
) -> intervals.Spread:
    """Return the spread of (C, P) differences of the (..., C, E) `correlations` of sums over queries."""
    a, b = pairs
    gathered = intervals.Deviations()
    if len(difference) == 1:  # indexed so, queries are side by side in memory: few values, many pairs
        for values in intervals.left_out(contributions, correlations, at_once=QUERIES_AT_ONCE):
            gathered.add(intervals.no_rounding(values[..., a] - values[..., b]) - difference)
        return gathered.spread().of_shape(difference.shape)
    for values in intervals.left_out(contributions, correlations):
        taken = np.take(values, a, axis=-1) - np.take(values, b, axis=-1)
        gathered.add(intervals.no_rounding(taken) - difference)
    return gathered.spread().of_shape(difference.shape)
