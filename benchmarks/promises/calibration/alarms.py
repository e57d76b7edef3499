"""How often metrics are told apart that are equally good by construction."""

import polars as pl

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.work import REAL, Chunk, chunks, share_error
from benchmarks.promises.calibration.worlds import FAR, FIRST, draw, exchanged, make_pool, with_metrics
from clickassay.correlation.comparisons import comparisons

ALPHA = 0.05
OFTEN = 3
"""So many times the worlds of other questions: shares near 5% must be told to half a point."""


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per nature and size: how often equal metrics are told apart."""
    found = in_processes(of_chunk, chunks(REAL, OFTEN * worlds, seed), processes)
    return summary(found, "weights", "configurations", "queries")


def of_chunk(chunk: Chunk) -> pl.DataFrame:
    """Return one row per world: p-values of a pair of equal metrics, and the smallest in a family of ten."""
    pool = make_pool(chunk.nature, chunk.seed)
    rows = []
    for rng in chunk.generators("alarms"):
        sample = draw(pool, chunk.queries, rng)
        pair = comparisons(exchanged(with_metrics(sample, FIRST, FAR), rng))
        family = comparisons(exchanged(sample, rng))
        least = family["p_value"].min(), family["p_adjusted"].min()
        rows.append((pair["p_value"].item(), pair["caution"].item(), *least))
    schema = {
        "p_value": pl.Float64,
        "caution": pl.String,
        "least_p": pl.Float64,
        "least_adjusted": pl.Float64,
    }
    return chunk.labelled(pl.DataFrame(rows, schema=schema, orient="row"))


def summary(worlds: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Count false alarms at alpha = 5%.

    Parameters
    ----------
    worlds
        Columns p_value and caution of the pair, least_p and least_adjusted of the family; a null is no alarm.

    Returns
    -------
    One row per key in order of appearance; shares are 0..1. `alarms` is of the test of one pair,
    `alarms_unlabelled` of pairs without a caution; `family` is the share of families with any adjusted
    p-value below alpha, `family_unadjusted` that without Holm's adjustment. `_se` are Monte-Carlo
    standard errors.
    """
    pair = pl.col("p_value").lt(ALPHA).fill_null(value=False)
    trusted = pair.filter(pl.col("caution").is_null())
    family = pl.col("least_adjusted").lt(ALPHA).fill_null(value=False)
    return worlds.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("worlds"),
        pair.mean().alias("alarms"),
        share_error(pair).alias("alarms_se"),
        pl.col("caution").is_not_null().mean().alias("labelled"),
        trusted.mean().alias("alarms_unlabelled"),
        family.mean().alias("family"),
        share_error(family).alias("family_se"),
        pl.col("least_p").lt(ALPHA).fill_null(value=False).mean().alias("family_unadjusted"),
    )
