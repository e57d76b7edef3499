"""Correlations of one sample as tables: CORRELATIONS, DIFFERENCES, DRAWS of `contracts.correlation`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.correlation import CORRELATIONS, DIFFERENCES, DRAWS, WITHIN
from clickassay.core.records import Floats, NamedMetrics, Sample, Split, pairs_of
from clickassay.core.seeds import child
from clickassay.core.special import ndtr, ndtri
from clickassay.correlation import rankers, weighted
from clickassay.correlation.classes import unsplit
from clickassay.correlation.estimates import PERFECT, Estimates, estimates
from clickassay.correlation.uncertainty.intervals import CORRELATION_INDEX, cautions, holm, is_heavy
from clickassay.correlation.uncertainty.noise import (
    weighted_noise,
    weighted_reliability,
    within_noise,
    within_reliability,
)
from clickassay.correlation.within.groups import CLICKS_SAME, EDITORIAL_SAME, NO_GROUP, QueryGroups

Columns = Mapping[str, Any]
"""Columns of one row per click metric and offline metric: (C, E) numbers, a text of each pair, or one value
of all."""


def correlations(sample: Sample, splits: Sequence[Split], moments: Floats | None = None) -> pl.DataFrame:
    """Compute the weighted correlations in every class of every split (Chapelle et al. 2009, Tables 2 to 5).

    splits: ways to split its queries; rows of one split do not depend on the others.

    Returns rows of contracts.correlation.CORRELATIONS. A class without queries has no rows; a correlation
    that does not exist is null, with its reason; an interval that does not exist or is not reliable has a
    caution.
    """
    moments = weighted.sample_moments(sample) if moments is None else moments
    contributions = np.concatenate([moments, weighted_noise(sample)], axis=1)
    classes = [
        _class_rows(sample, split, label, contributions)
        for split in splits
        for label in range(len(split.classes))
        if (split.labels == label).any()
    ]
    return CORRELATIONS.canonical(_pairs(sample, classes)) if classes else CORRELATIONS.empty()


def _class_rows(sample: Sample, split: Split, label: int, contributions: Floats) -> Columns:
    chosen = split.labels == label
    kept = slice(None) if chosen.all() else chosen[sample.query_index]  # all of them need no copy
    sessions = sample.sessions[kept]
    editorial = weighted.deviations(sample.editorial_values[kept], sessions)
    correlated = weighted.correlations_of_deviations(
        weighted.deviations(sample.click_values[kept], sessions), editorial, sessions
    )
    own = sample.by_unit(contributions if chosen.all() else contributions[chosen], np.flatnonzero(chosen))
    nulls = np.zeros(correlated.values.shape)
    if (of_grades := _uses_grades(sample)).any():
        null = weighted.null_of_deviations(sample.null_success[kept], editorial, sessions)
        nulls = np.where(of_grades, null, 0.0)
    total, n_clicks, n_editorial = own.sum(axis=0), len(sample.click_names), len(sample.editorial_names)
    n_noise = 3 * n_clicks + 2

    def statistic(sums: Floats) -> tuple[Floats, Floats]:
        centred = weighted.centred_sums(sums[..., :-n_noise], n_clicks, n_editorial, total[:-n_noise])
        noise = sums[..., -n_noise:]
        reliable = weighted_reliability(centred.squares_y, centred.sessions, noise, n_clicks)
        return centred.correlations, reliable

    known = estimates(correlated.values, own, statistic, null=nulls)
    heavy = is_heavy(own[:, 0], CORRELATION_INDEX)  # the first of the moments is that of sessions
    return {
        "split": split.name,
        "class": split.classes[label],
        "correlation": correlated.values,
        **_intervals(known),
        "null_correlation": np.where(np.isnan(correlated.values), np.nan, nulls),
        "n_configurations": len(sessions),
        "n_queries": int(chosen.sum()),
        "n_sessions": int(sessions.sum()),
        "reason": [reason for row in correlated.reasons for reason in row],
        "caution": cautions(correlated.values, known.low, len(own), heavy_tail=heavy),
    }


def _uses_grades(sample: NamedMetrics) -> NDArray[np.bool_]:
    """Return (C, 1): whether it is SS, which correlates even with clicks that ignore the grades."""
    return np.array([[name == "SS"] for name in sample.click_names])


def _intervals(known: Estimates) -> dict[str, Floats]:
    return {
        "ci_low": known.low,
        "ci_high": known.high,
        "noise_corrected": known.corrected,
        "noise_corrected_low": known.corrected_low,
        "noise_corrected_high": known.corrected_high,
        "p_value": known.p,
        "p_adjusted": holm(known.p),
        "simultaneous_low": known.simultaneous_low,
        "simultaneous_high": known.simultaneous_high,
    }


def _no_estimates(shape: tuple[int, ...]) -> Estimates:
    return Estimates(*np.full((8, *shape), np.nan))


def differences(
    sample: Sample, *, iterations: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Correlate the differences between two virtual rankers (Chapelle et al. 2009, Table 6).

    rng: its seed gives all draws; its state is not used.

    Returns rows of contracts.correlation.DIFFERENCES: `n_queries` and `n_configurations` are those of queries
    with two configurations or more: all values are computed from these. And of contracts.correlation.DRAWS:
    one for each iteration, with the difference A - B of the mean of every metric over these queries; none
    without any.
    """
    within = rankers.within_queries(sample)
    draws = child(rng, "rankers", sample.key.market, str(sample.key.depth), sample.key.judge)
    deltas = rankers.ranker_differences(within, iterations=iterations, rng=draws)
    drawn = rankers.monte_carlo_correlations(deltas, within.n_clicks)
    covariances = rankers.covariance_contributions(sample, within)
    total = covariances.sum(axis=0)
    exact = rankers.exact_correlations(total, within.n_clicks)
    known = _no_estimates(exact.shape)
    n_clicks, n_sums = within.n_clicks, covariances.shape[1]

    def statistic(sums: Floats) -> tuple[Floats, Floats]:
        squares_y = sums[..., :n_clicks]
        reliable = within_reliability(squares_y, sums[..., n_sums:], n_clicks)
        return rankers.exact_correlations(sums[..., :n_sums], n_clicks), reliable

    if len(covariances):
        # what SS would be if clicks ignored the grades is known for all queries together, not within each
        null = np.broadcast_to(np.where(_uses_grades(sample), np.nan, 0.0), exact.shape)
        contributions = sample.by_unit(np.concatenate([covariances, within_noise(sample)], axis=1))
        known = estimates(exact, contributions, statistic, null=null)
    n_queries = len(within.sizes)
    columns = {
        "monte_carlo": drawn.values,
        "monte_carlo_se": (1 - drawn.values**2) / math.sqrt(len(deltas)),
        "exact": exact,
        **_intervals(known),
        "sign_agreement": 0.5 + np.arcsin(exact) / math.pi,
        "n_queries": n_queries,
        "n_configurations": len(within.rows),
        "reason": rankers.no_value_reasons(within, total, drawn),
        "caution": cautions(exact, known.low, n_queries),
    }
    deltas = deltas if n_queries else deltas[:0]
    names = (*sample.click_names, *sample.editorial_names)
    numbers = pl.Series("iteration", np.arange(1, len(deltas) + 1), dtype=pl.Int32)
    of_draws = pl.DataFrame([numbers, *(pl.Series(name, deltas[:, i]) for i, name in enumerate(names))])
    return DIFFERENCES.canonical(_pairs(sample, [columns])), DRAWS.canonical(
        with_sample_columns(sample, of_draws)
    )


def within(place: QueryGroups) -> pl.DataFrame:
    """Compute the correlations within queries of every class of a market, or of all markets (method 8.1).

    Returns rows of contracts.correlation.WITHIN. A class without a group has no rows, but for all queries
    together; a correlation that does not exist is null, with its reason.
    """
    kept = {name: groups for name, groups in place.classes.items() if groups.any() or name == _ALL}
    return WITHIN.canonical(_pairs(place, [_within_rows(place, *named) for named in kept.items()]))


_ALL = (EVERY, EVERY)


def _within_rows(place: QueryGroups, name: tuple[str, str], chosen: NDArray[np.bool_]) -> Columns:
    contributions = place.groups.by_unit(chosen)
    parts = place.split(contributions.sum(axis=0))
    nulls = np.where(_uses_grades(place), parts.nulls, 0.0)
    moved = place.moved.get(name)
    users = None if moved is None else moved.excess()
    # SS is off its own null where lists changed at one moment: it is shown beside it, and not tested
    tested = np.where(_uses_grades(place), np.nan, nulls)
    known = _no_estimates(nulls.shape)

    def statistic(sums: Floats) -> tuple[Floats, Floats]:
        some = place.split(sums)
        return some.correlations, some.reliabilities

    if len(contributions):
        factor = place.taken_out.factor
        known = estimates(
            parts.correlations, contributions, statistic, null=tested, factor=factor, users=users
        )
    ceiling = np.sqrt(parts.reliabilities)
    highest = np.max(np.abs(parts.correlations), axis=1, where=~np.isnan(parts.correlations), initial=0.0)
    ceiling = np.where(ceiling < highest * (1 - PERFECT), np.nan, ceiling)
    ways, side_by_side = place.moments
    taken = place.taken_out
    caution = cautions(parts.correlations, known.low, len(contributions))

    def reason(click: float, editorial: float) -> str | None:
        if not len(contributions):
            return NO_GROUP
        return CLICKS_SAME if not click > 0 else None if editorial > 0 else EDITORIAL_SAME

    return {
        "split": name[0],
        "class": name[1],
        "correlation": parts.correlations,
        **_intervals(known),
        "null_correlation": np.where(np.isnan(parts.correlations), np.nan, nulls),
        "ceiling": np.broadcast_to(ceiling[:, None], nulls.shape),
        "sign_agreement": 0.5 + np.arcsin(parts.correlations) / math.pi,
        "moments": np.full(nulls.shape, ways),
        "side_by_side": np.broadcast_to(side_by_side, nulls.shape),
        "periods": taken.periods,
        "user_folds": taken.folds,
        "taken_out": taken.rank,
        "n_configurations": int(place.groups.n_lists[chosen].sum()),
        "n_queries": len(contributions),
        "n_sessions": int(place.groups.n_sessions[chosen].sum()),
        "reason": [reason(click, editorial) for click in parts.squares_y for editorial in parts.squares_x],
        "caution": [
            own or (None if np.isnan(value) else place.caution)
            for own, value in zip(caution, parts.correlations.ravel(), strict=True)
        ],
    }


def _pairs(named: NamedMetrics, parts: Sequence[Columns]) -> pl.DataFrame:
    """Return a row per click metric and offline metric of each part; null where there is no value."""
    pairs = pairs_of(named.click_names, named.editorial_names)
    size = len(pairs["click_metric"])
    columns: dict[str, Any] = {name: metrics * len(parts) for name, metrics in pairs.items()}
    for name, first in parts[0].items():
        if isinstance(first, np.ndarray):
            columns[name] = np.concatenate([np.ravel(part[name]) for part in parts])
        elif isinstance(first, str | int):
            columns[name] = [part[name] for part in parts for _ in range(size)]
        else:
            columns[name] = [text for part in parts for text in part[name]]
    columns |= {name: [value] * (size * len(parts)) for name, value in named.key.columns.items()}
    forms = dict.fromkeys(("reason", "caution"), pl.String)
    return pl.DataFrame(columns, schema_overrides=forms, nan_to_null=True)


def with_sample_columns(sample: NamedMetrics, frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns market, depth and judge, and write null where there is no value."""
    return frame.with_columns(
        pl.col(pl.Float64).fill_nan(None),
        **{name: pl.lit(value) for name, value in sample.key.columns.items()},
    )


# ---- click metrics that rest on estimates: IPS, which rests on examination -------------------------
#
# Leaving out one query at a time does not see the error of these estimates. It is added by the delta
# method: a number moves by (T(+) - T(-)) / 2 where an estimate moves by one standard error, and the sum of
# squares over independent directions is its further variance. Each side of an interval becomes the root of
# its own square and of this (Zou and Donner 2008).


_Z = float(ndtri(0.975))
_NUMBERS = {
    "correlation": (("ci_low", "ci_high"), ("simultaneous_low", "simultaneous_high")),
    "noise_corrected": (("noise_corrected_low", "noise_corrected_high"),),
}
"""Numbers, and the ends of their intervals; the first has a confidence of 95%."""


def estimated_correlations(sample: Sample, name: str) -> pl.DataFrame:
    """Return the overall rows of `correlations` for a click metric of estimates, whose error counts too."""
    found = sample.estimated[name]
    rows = _rows(sample, name, {name: found.values})
    if found.reason is not None:
        return rows.with_columns(reason=pl.lit(found.reason))
    if not found.shifted.shape[1]:
        return rows
    directions, sides = range(found.shifted.shape[1]), range(2)
    values = {f"{at:02} {side}": found.shifted[:, at, side] for at in directions for side in sides}
    moved = _rows(sample, name, values)
    shape = (len(directions), 2, rows.height)
    columns: dict[str, Floats] = {}
    for number, intervals in _NUMBERS.items():
        value, (below, above) = (
            _column(rows, number),
            np.moveaxis(_column(moved, number).reshape(shape), 1, 0),
        )
        further = np.sqrt((((above - below) / 2) ** 2).sum(axis=0))
        of_95 = [np.abs(_column(rows, end) - value) for end in intervals[0]]
        for pair in intervals:
            for end, first, sign in zip(pair, of_95, (-1, 1), strict=True):
                half = np.abs(_column(rows, end) - value)
                ratio = np.divide(half, first, out=np.ones_like(half), where=first > 0)
                columns[end] = value + sign * np.hypot(half, _Z * ratio * further)
        if number == "correlation":
            columns = {end: np.clip(one, -1, 1) for end, one in columns.items()}
            # the error as it is on the side of the null value
            half = np.where(value > _column(rows, "null_correlation"), *of_95)
            grown = np.divide(np.hypot(half, _Z * further), half, out=np.ones_like(half), where=half > 0)
            columns["p_value"] = np.asarray(2 * ndtr(ndtri(_column(rows, "p_value") / 2) / grown))
    columns["p_adjusted"] = holm(columns["p_value"])
    return CORRELATIONS.canonical(
        rows.with_columns(pl.Series(own, ends).fill_nan(None) for own, ends in columns.items())
    )


def _rows(sample: Sample, name: str, values: Mapping[str, Floats]) -> pl.DataFrame:
    """Return the rows of these click metrics, in their order; (N,) values each, as noisy as the estimated."""
    variances = np.repeat(sample.estimated[name].variances[:, None], len(values), axis=1)
    stacked = np.stack([*values.values()], axis=1)
    own = replace(sample, click_names=tuple(values), click_values=stacked, click_variances=variances)
    return correlations(own, [unsplit(own)])


def _column(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    return rows[name].fill_null(np.nan).cast(pl.Float64).to_numpy()
