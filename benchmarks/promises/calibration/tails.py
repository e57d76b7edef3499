"""Whether cautions find the worlds where heavy tails make intervals too short, and leave others alone."""

import polars as pl

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.coverage import of_chunk, summary
from benchmarks.promises.calibration.work import Chunk
from benchmarks.promises.calibration.worlds import Nature

LAWS = (
    Nature("lognormal", 1.15, many=True),
    Nature("lognormal", 1.5, many=True),
    Nature("pareto", 2.5, many=True),
    Nature("pareto", 1.5, many=True),
    Nature("pareto", 1.2, many=True),
)
SIZES = (200, 1000)
SELDOM = 0.3
"""Share of the worlds of other questions."""

OF_A_POOL = 25
"""Worlds of one pool: what the largest queries of a heavy-tailed pool are differs from pool to pool."""

WEIGHTED = (
    "correlation",
    "difference to a near metric",
    "difference to a far metric",
    "noise-corrected correlation",
)


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per law, size and statistic; `coverage_labelled` is of intervals with a caution."""
    found = in_processes(of_chunk, tail_chunks(max(1, round(SELDOM * worlds)), seed), processes)
    weighted = found.filter(pl.col("statistic").is_in(WEIGHTED))
    keys = ("weights", "configurations", "queries", "statistic")
    held = pl.col("truth").is_between("low", "high").filter(
        pl.col("caution").is_not_null(), pl.col("low").is_not_null()
    )  # fmt: skip
    labelled = weighted.group_by(keys, maintain_order=True).agg(held.mean().alias("coverage_labelled"))
    return summary(weighted, *keys).drop("truth").join(labelled, on=keys, maintain_order="left")


def tail_chunks(worlds: int, seed: int) -> list[Chunk]:
    """Cut so many worlds of each law and size into chunks with pools of their own."""
    return [
        Chunk(nature, queries, first, min(OF_A_POOL, worlds - first), seed + 1 + first)
        for nature in LAWS
        for queries in SIZES
        for first in range(0, worlds, OF_A_POOL)
    ]
