"""Whether runs of Algorithm 3 lie within their stated error of the closed form."""

import numpy as np
import polars as pl

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.work import REAL, Chunk, chunks, share_error
from benchmarks.promises.calibration.worlds import FIRST, draw, make_pool, with_metrics
from clickassay.core.seeds import child
from clickassay.correlation.rankers import (
    covariance_contributions,
    exact_correlations,
    monte_carlo_correlations,
    ranker_differences,
    within_queries,
)

ITERATIONS = 1000


def measured(worlds: int, seed: int, processes: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return one row per sample, and one per sample and run of Algorithm 3 on it."""
    runs = in_processes(of_chunk, chunks(REAL[:2], worlds, seed), processes)
    return summary(runs), runs


def of_chunk(chunk: Chunk) -> pl.DataFrame:
    """Return one row per run: its correlation, its stated error, and the closed form; the sample is one."""
    pool = make_pool(chunk.nature, chunk.seed)
    names = "one sample", chunk.nature.law, chunk.nature.configurations, str(chunk.queries)
    drawn = draw(pool, chunk.queries, child(np.random.default_rng(chunk.seed), *names))
    sample = with_metrics(drawn, FIRST)
    within = within_queries(sample)
    exact = exact_correlations(covariance_contributions(sample, within).sum(axis=0), 1).item()
    found = [
        monte_carlo_correlations(ranker_differences(within, iterations=ITERATIONS, rng=rng), 1).values.item()
        for rng in chunk.generators("rankers")
    ]
    values = np.array(found)
    errors = (1 - values**2) / np.sqrt(ITERATIONS)
    queries = np.full(len(values), len(within.sizes))
    return chunk.labelled(
        pl.DataFrame(
            {
                "n_queries": queries,
                "exact": np.full(len(values), exact),
                "monte_carlo": values,
                "error": errors,
            }
        )
    )


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """Count the runs that lie within 1.96 of their stated errors of the closed form.

    Returns
    -------
    One row per sample; `n_queries` are those with two configurations or more. `spread` is the standard
    deviation of the runs, `error` the mean stated error, `bias` the mean of the runs less the closed form.
    """
    gap = pl.col("monte_carlo") - pl.col("exact")
    within = gap.abs() <= 1.96 * pl.col("error")
    return runs.group_by("weights", "configurations", "queries", maintain_order=True).agg(
        pl.col("n_queries").first(),
        pl.len().cast(pl.Int64).alias("runs"),
        pl.col("exact").first(),
        gap.mean().alias("bias"),
        pl.col("monte_carlo").std().alias("spread"),
        pl.col("error").mean(),
        within.mean().alias("within"),
        share_error(within).alias("within_se"),
    )
