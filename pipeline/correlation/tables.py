"""The tables of correlations of one sample: rows of contracts.CORRELATIONS, DIFFERENCES, COMPARISONS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.contracts import COMPARISONS, CORRELATIONS, DIFFERENCES, EVERY
from pipeline.correlation.rankers import (
    covariance_contributions,
    exact_correlations,
    ranker_correlations,
)
from pipeline.correlation.resampling import (
    Grouping,
    child,
    p_value,
    percentile_interval,
    resampled_statistics,
)
from pipeline.correlation.weighted import (
    correlation_matrix,
    moment_correlations,
    query_moments,
    without_rounding,
)
from pipeline.sample import Floats, Integers, Sample, Split


@dataclass(frozen=True)
class _Part:
    """The configurations of some queries of a sample; `n_queries` of them."""

    clicks: Floats
    editorial: Floats
    sessions: Integers
    n_queries: int


@dataclass(frozen=True)
class Resampled:
    """Correlations of a sample in B resamples of its queries, NaN where there is none.

    Attributes
    ----------
    classes
        (B, C, E) weighted correlations of each (split, class); of ("all", "all") always.
    rankers
        (B, C, E) closed form of two virtual rankers.
    """

    classes: Mapping[tuple[str, str], Floats]
    rankers: Floats


def resample(
    sample: Sample, splits: Sequence[Split], *, resamples: int, rng: np.random.Generator
) -> Resampled:
    """Draw the queries of a sample again, once for all classes of all splits and for all tables.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    splits
        Ways to split its queries.
    resamples
        B.
    rng
        Its seed gives all draws (see `pipeline.correlation.resampling.child`); its state is not used.
    """
    shape = len(sample.click_names), len(sample.editorial_names)
    whole = Split(EVERY, (EVERY,), np.zeros(len(sample.queries), dtype=np.int64))
    chosen = (whole, *(split for split in splits if split.name != EVERY))
    if not len(sample.queries):
        return Resampled(
            {(EVERY, EVERY): np.full((resamples, *shape), np.nan)}, np.full((resamples, *shape), np.nan)
        )
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    moments = query_moments(sample.click_values, sample.editorial_values, sample.sessions, starts)
    n_moments = moments.shape[1]
    groupings = [
        Grouping(
            split.labels, len(split.classes), lambda sums: moment_correlations(sums[..., :n_moments], *shape)
        )
        for split in chosen
    ]
    groupings.append(
        Grouping(whole.labels, 1, lambda sums: exact_correlations(sums[..., n_moments:], shape[0]))
    )
    contributions = np.concatenate([moments, covariance_contributions(sample)], axis=1)
    draws = child(rng, "queries", sample.market, str(sample.depth), sample.judge)
    *by_split, rankers = resampled_statistics(contributions, groupings, resamples, draws)
    classes = {
        (split.name, name): values
        for split, found in zip(chosen, by_split, strict=True)
        for name, values in zip(split.classes, found, strict=True)
    }
    return Resampled(classes, rankers[0])


def correlations(sample: Sample, splits: Sequence[Split], resampled: Resampled) -> pl.DataFrame:
    """Compute the weighted correlations in every class of every split (Chapelle et al. 2009, Tables 2 to 5).

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    splits
        Ways to split its queries; rows of one split do not depend on the others.
    resampled
        What `resample` made of these splits, for the intervals.

    Returns
    -------
    Rows of contracts.CORRELATIONS. A class without queries has no rows; a class with one query has no
    interval; a correlation that does not exist is null, with its reason.
    """
    found = [
        _of_class(sample, split, label, resampled)
        for split in splits
        for label in range(len(split.classes))
        if (split.labels == label).any()
    ]
    if not found:
        return CORRELATIONS.empty()
    each = len(sample.click_names) * len(sample.editorial_names)
    values = {name: np.stack([one.columns[name] for one in found]) for name in found[0].columns}
    told = pl.DataFrame([one.told for one in found]).select(pl.all().repeat_by(each).explode())
    reasons = pl.Series("reason", [reason for one in found for reason in one.reasons], dtype=pl.String)
    return CORRELATIONS.canonical(_pairs(sample, values).with_columns(*told.get_columns(), reasons))


@dataclass(frozen=True)
class _Rows:
    """What the table says of one class: (C, E) columns, C E reasons, and what is the same in all its rows."""

    columns: dict[str, Floats]
    reasons: list[str | None]
    told: dict[str, str | int]


def _of_class(sample: Sample, split: Split, label: int, resampled: Resampled) -> _Rows:
    part = _part(sample, split.labels == label)
    found = correlation_matrix(part.clicks, part.editorial, part.sessions)
    low, high = percentile_interval(resampled.classes[split.name, split.classes[label]])
    # one query drawn again and again shows no spread
    known = ~np.isnan(found.values) & (part.n_queries > 1)
    columns = {
        "correlation": found.values,
        "ci_low": np.where(known, low, np.nan),
        "ci_high": np.where(known, high, np.nan),
    }
    told: dict[str, str | int] = {
        "split": split.name,
        "class": split.classes[label],
        "n_configurations": len(part.sessions),
        "n_queries": part.n_queries,
        "n_sessions": int(part.sessions.sum()),
    }
    return _Rows(columns, [reason for row in found.reasons for reason in row], told)


def _part(sample: Sample, chosen: NDArray[np.bool_]) -> _Part:
    keep = chosen[sample.query_index]
    values = sample.click_values[keep], sample.editorial_values[keep]
    return _Part(*values, sample.sessions[keep], int(chosen.sum()))


def differences(
    sample: Sample, resampled: Resampled, *, iterations: int, rng: np.random.Generator
) -> pl.DataFrame:
    """Correlate the differences between two virtual rankers (Chapelle et al. 2009, Table 6).

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    resampled
        What `resample` made of it, for the interval of the limit.
    iterations
        Iterations of Algorithm 3.
    rng
        Its seed gives all draws; its state is not used.

    Returns
    -------
    Rows of contracts.DIFFERENCES. `n_queries` and `n_configurations` are those of queries with two
    configurations or more, on which all values rest. `noise_corrected` is null, without a reason, where
    sampling noise explains all variance of the click metric or no configuration has two sessions.
    """
    draws = child(rng, "rankers", sample.market, str(sample.depth), sample.judge)
    found = ranker_correlations(sample, resampled.rankers, iterations=iterations, rng=draws)
    columns = {
        "monte_carlo": found.monte_carlo,
        "monte_carlo_se": found.monte_carlo_se,
        "exact": found.exact,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "noise_corrected": found.noise_corrected,
        "sign_agreement": found.sign_agreement,
    }
    frame = _pairs(sample, columns).with_columns(
        pl.lit(found.n_queries, pl.Int64).alias("n_queries"),
        pl.lit(found.n_configurations, pl.Int64).alias("n_configurations"),
        _reasons(found.reasons),
    )
    return DIFFERENCES.canonical(frame)


def comparisons(sample: Sample, resampled: Resampled) -> pl.DataFrame:
    """Compare every two editorial metrics by their correlation with each click metric.

    The resamples are those of the overall rows of `correlations`, paired over metrics.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    resampled
        What `resample` made of it.

    Returns
    -------
    Rows of contracts.COMPARISONS, the pairs in the order of the editorial metrics. Values are null where one
    of the two correlations does not exist.
    """
    found = correlation_matrix(sample.click_values, sample.editorial_values, sample.sessions).values
    # one query drawn again and again shows no spread
    draws = resampled.classes[EVERY, EVERY] if len(sample.queries) > 1 else np.full((1, *found.shape), np.nan)
    a, b = np.triu_indices(len(sample.editorial_names), k=1)
    # two metrics that are one up to rounding have no difference at all
    difference = without_rounding(found[:, a] - found[:, b], np.ones(1))
    drawn = without_rounding(draws[:, :, a] - draws[:, :, b], np.ones(1))
    low, high = percentile_interval(drawn)
    missing = np.isnan(difference)
    columns = {
        "difference": difference,
        "ci_low": np.where(missing, np.nan, low),
        "ci_high": np.where(missing, np.nan, high),
        "p_value": np.where(missing, np.nan, p_value(drawn)),
    }
    names = np.array(sample.editorial_names, dtype=object)
    frame = pl.DataFrame(
        {
            "click_metric": [name for name in sample.click_names for _ in a],
            "metric_a": [*names[a]] * len(sample.click_names),
            "metric_b": [*names[b]] * len(sample.click_names),
            **{name: values.ravel() for name, values in columns.items()},
        },
        schema_overrides=dict.fromkeys(("click_metric", "metric_a", "metric_b"), pl.String),
    )
    return COMPARISONS.canonical(_labelled(sample, frame))


def _pairs(sample: Sample, columns: dict[str, Floats]) -> pl.DataFrame:
    """Return one row per click metric and editorial metric, from (..., C, E) arrays."""
    n_clicks, n_editorial = len(sample.click_names), len(sample.editorial_names)
    values = {name: array.ravel() for name, array in columns.items()}
    times = len(next(iter(values.values()))) // max(1, n_clicks * n_editorial)
    names = {
        "click_metric": [name for name in sample.click_names for _ in range(n_editorial)] * times,
        "editorial_metric": list(sample.editorial_names) * n_clicks * times,
    }
    return _labelled(sample, pl.DataFrame({**names, **values}))


def _labelled(sample: Sample, frame: pl.DataFrame) -> pl.DataFrame:
    """Add what the sample is of, and write null where there is no value."""
    return frame.with_columns(
        pl.col(pl.Float64).fill_nan(None),
        pl.lit(sample.market).alias("market"),
        pl.lit(sample.depth, pl.Int32).alias("depth"),
        pl.lit(sample.judge).alias("judge"),
    )


def _reasons(reasons: tuple[tuple[str | None, ...], ...]) -> pl.Series:
    return pl.Series("reason", [reason for row in reasons for reason in row], dtype=pl.String)
