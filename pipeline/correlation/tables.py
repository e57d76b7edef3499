"""The tables of correlations of one sample: rows of contracts.CORRELATIONS, DIFFERENCES, COMPARISONS."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.contracts import COMPARISONS, CORRELATIONS, DIFFERENCES, EVERY
from pipeline.correlation.rankers import ranker_correlations
from pipeline.correlation.resampling import child, p_value, percentile_interval, resampled_sums
from pipeline.correlation.weighted import (
    correlation_matrix,
    moment_correlations,
    query_moments,
    without_rounding,
)
from pipeline.sample import Floats, Integers, Sample, Split


@dataclass(frozen=True)
class _Part:
    """The configurations of some queries of a sample; `starts` of the queries."""

    clicks: Floats
    editorial: Floats
    sessions: Integers
    starts: Integers


def correlations(
    sample: Sample, splits: Sequence[Split], *, resamples: int, rng: np.random.Generator
) -> pl.DataFrame:
    """Compute the weighted correlations in every class of every split (Chapelle et al. 2009, Tables 2 to 5).

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    splits
        Ways to split its queries; rows of one split do not depend on the others.
    resamples
        Resamples of the query bootstrap; those of a class draw from the queries of that class.
    rng
        Its seed gives all draws (see `pipeline.correlation.resampling.child`); its state is not used.

    Returns
    -------
    Rows of contracts.CORRELATIONS. A class without queries has no rows; a class with one query has no
    interval; a correlation that does not exist is null, with its reason.
    """
    frames = [
        _class_rows(sample, split, label, resamples, rng)
        for split in splits
        for label in range(len(split.classes))
        if (split.labels == label).any()
    ]
    return CORRELATIONS.canonical(pl.concat([CORRELATIONS.empty(), *frames], how="diagonal"))


def _class_rows(
    sample: Sample, split: Split, label: int, resamples: int, rng: np.random.Generator
) -> pl.DataFrame:
    part = _part(sample, split.labels == label)
    found = correlation_matrix(part.clicks, part.editorial, part.sessions)
    draws = _resampled(sample, part, split.name, split.classes[label], resamples, rng)
    low, high = percentile_interval(draws)
    missing = np.isnan(found.values)
    columns = {
        "correlation": found.values,
        "ci_low": np.where(missing, np.nan, low),
        "ci_high": np.where(missing, np.nan, high),
    }
    return _pairs(sample, columns).with_columns(
        pl.lit(split.name).alias("split"),
        pl.lit(split.classes[label]).alias("class"),
        pl.lit(len(part.sessions), pl.Int64).alias("n_configurations"),
        pl.lit(len(part.starts), pl.Int64).alias("n_queries"),
        pl.lit(int(part.sessions.sum()), pl.Int64).alias("n_sessions"),
        _reasons(found.reasons),
    )


def _part(sample: Sample, chosen: NDArray[np.bool_]) -> _Part:
    keep = chosen[sample.query_index]
    starts = np.flatnonzero(np.diff(sample.query_index[keep], prepend=-1))
    return _Part(sample.click_values[keep], sample.editorial_values[keep], sample.sessions[keep], starts)


def _resampled(
    sample: Sample, part: _Part, split: str, name: str, resamples: int, rng: np.random.Generator
) -> Floats:
    """Return the (B, C, E) correlations of the resamples of the queries of `part`."""
    shape = part.clicks.shape[1], part.editorial.shape[1]
    if len(part.starts) < 2:  # one query drawn again and again shows no spread
        return np.full((resamples, *shape), np.nan)
    moments = query_moments(part.clicks, part.editorial, part.sessions, part.starts)
    draws = child(rng, "queries", sample.market, str(sample.depth), sample.judge, split, name)
    return moment_correlations(resampled_sums(moments, resamples, draws), *shape)


def differences(sample: Sample, *, iterations: int, resamples: int, rng: np.random.Generator) -> pl.DataFrame:
    """Correlate the differences between two virtual rankers (Chapelle et al. 2009, Table 6).

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    iterations, resamples
        Iterations of Algorithm 3; resamples of the query bootstrap of its limit.
    rng
        Its seed gives all draws; its state is not used.

    Returns
    -------
    Rows of contracts.DIFFERENCES. `n_queries` and `n_configurations` are those of queries with two
    configurations or more, on which all values rest. `noise_corrected` is null, without a reason, where
    sampling noise explains all variance of the click metric or no configuration has two sessions.
    """
    names = (sample.market, str(sample.depth), sample.judge)
    found = ranker_correlations(
        sample,
        iterations=iterations,
        resamples=resamples,
        draws=child(rng, "rankers", *names),
        bootstrap=child(rng, "ranker queries", *names),
    )
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


def comparisons(sample: Sample, *, resamples: int, rng: np.random.Generator) -> pl.DataFrame:
    """Compare every two editorial metrics by their correlation with each click metric.

    The resamples are those of the overall rows of `correlations` (same `rng`), paired over metrics.

    Parameters
    ----------
    sample
        Configurations of one market, depth and judge.
    resamples
        Resamples of the query bootstrap.
    rng
        Its seed gives all draws; its state is not used.

    Returns
    -------
    Rows of contracts.COMPARISONS, the pairs in the order of the editorial metrics. Values are null where one
    of the two correlations does not exist.
    """
    part = _part(sample, np.ones(len(sample.queries), dtype=np.bool_))
    found = correlation_matrix(part.clicks, part.editorial, part.sessions).values
    draws = _resampled(sample, part, EVERY, EVERY, resamples, rng)
    frames = [
        _comparison(sample, a, b, found, draws)
        for a, b in combinations(range(len(sample.editorial_names)), 2)
    ]
    return COMPARISONS.canonical(pl.concat([COMPARISONS.empty(), *frames], how="diagonal"))


def _comparison(sample: Sample, a: int, b: int, found: Floats, draws: Floats) -> pl.DataFrame:
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
    frame = pl.DataFrame({"click_metric": sample.click_names, **columns}).with_columns(
        pl.lit(sample.editorial_names[a]).alias("metric_a"),
        pl.lit(sample.editorial_names[b]).alias("metric_b"),
    )
    return _labelled(sample, frame)


def _pairs(sample: Sample, columns: dict[str, Floats]) -> pl.DataFrame:
    """Return one row per click metric and editorial metric, from (C, E) arrays."""
    n_clicks, n_editorial = len(sample.click_names), len(sample.editorial_names)
    names = {
        "click_metric": [name for name in sample.click_names for _ in range(n_editorial)],
        "editorial_metric": list(sample.editorial_names) * n_clicks,
    }
    values = {name: array.ravel() for name, array in columns.items()}
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
