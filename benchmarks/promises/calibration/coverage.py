"""Whether 95% CIs hold the truth 95% of the time."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.work import REAL, STRESS, Chunk, chunks, share_error
from benchmarks.promises.calibration.worlds import (
    FAR,
    FIRST,
    NEAR,
    Truth,
    draw,
    make_pool,
    truth,
    with_metrics,
)
from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample, Split
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.tables import correlations, differences

STATISTICS = (
    "correlation",
    "closed form",
    "difference to a near metric",
    "difference to a far metric",
    "noise-corrected correlation",
    "noise-corrected closed form",
)


@dataclass(frozen=True)
class Interval:
    """An interval as a table gives it: its ends, None if there is none, and the caution beside it."""

    low: float | None
    high: float | None
    caution: str | None


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per nature, size and statistic: how often its intervals hold the truth."""
    found = in_processes(of_chunk, chunks((*REAL, STRESS), worlds, seed), processes)
    return summary(found, "weights", "configurations", "queries", "statistic")


def of_chunk(chunk: Chunk) -> pl.DataFrame:
    """Return one row per world and statistic: its interval and the truth."""
    pool = make_pool(chunk.nature, chunk.seed)
    true = true_values(truth(pool))
    rows = [
        (name, true[name], interval.low, interval.high, interval.caution)
        for rng in chunk.generators("coverage")
        for name, interval in intervals(
            with_metrics(draw(pool, chunk.queries, rng), FIRST, NEAR, FAR)
        ).items()
    ]
    schema = {"statistic": pl.String, "truth": pl.Float64, "low": pl.Float64, "high": pl.Float64,
              "caution": pl.String}  # fmt: skip
    return chunk.labelled(pl.DataFrame(rows, schema=schema, orient="row"))


def true_values(true: Truth) -> dict[str, float]:
    """Return the truth of each of STATISTICS."""
    first, near, far = true.correlation[:3].tolist()
    values = (first, true.within[0], first - near, first - far, true.corrected[0], true.within_corrected[0])
    return dict(zip(STATISTICS, map(float, values), strict=True))


def intervals(sample: Sample) -> dict[str, Interval]:
    """Return the interval of each of STATISTICS, as the tables of a run have them."""
    whole = Split(EVERY, (EVERY,), np.zeros(len(sample.queries), dtype=np.int64))
    weighted = correlations(sample, [whole]).row(by_predicate=pl.col("editorial_metric") == FIRST, named=True)
    # Monte Carlo is not judged here, so the fewest iterations do; they draw from a stream of their own
    rankers, _ = differences(sample, iterations=2, rng=np.random.default_rng(0))
    within = rankers.row(by_predicate=pl.col("editorial_metric") == FIRST, named=True)
    pairs = {
        row["metric_b"]: row for row in comparisons(sample).iter_rows(named=True) if row["metric_a"] == FIRST
    }
    found = (
        *(_interval(row, "ci") for row in (weighted, within, pairs[NEAR], pairs[FAR])),
        *(_interval(row, "noise_corrected") for row in (weighted, within)),
    )
    return dict(zip(STATISTICS, found, strict=True))


def _interval(row: dict[str, float | str | None], name: str) -> Interval:
    return Interval(row[f"{name}_low"], row[f"{name}_high"], row["caution"])  # type: ignore[arg-type]


def summary(intervals: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Count how often intervals hold the truth.

    Parameters
    ----------
    intervals
        Columns truth, low, high (null = no interval), caution (null = none), and the keys.

    Returns
    -------
    One row per key in order of appearance; shares are 0..1. `coverage` is of the intervals that there are,
    `coverage_se` its Monte-Carlo standard error; `too_high` and `too_low` are the shares that lie above and
    below the truth; `labelled` have a caution or are missing; `coverage_unlabelled` is of the others.
    """
    given = pl.col("low").is_not_null()
    high, low = pl.col("low") > pl.col("truth"), pl.col("high") < pl.col("truth")
    held = (~high & ~low).filter(given)
    labelled = pl.col("caution").is_not_null() | ~given
    trusted = (~high & ~low).filter(~labelled)
    width = (pl.col("high") - pl.col("low")).filter(given)
    return intervals.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("worlds"),
        pl.col("truth").first(),
        held.mean().alias("coverage"),
        share_error(held).alias("coverage_se"),
        high.filter(given).mean().alias("too_high"),
        low.filter(given).mean().alias("too_low"),
        width.mean().alias("mean_width"),
        width.median().alias("median_width"),
        (~given).mean().alias("missing"),
        labelled.mean().alias("labelled"),
        trusted.mean().alias("coverage_unlabelled"),
        share_error(trusted).alias("coverage_unlabelled_se"),
    )
