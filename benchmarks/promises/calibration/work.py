"""Worlds cut into chunks, each with its own source of chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.promises.calibration.worlds import Nature
from clickassay.core.seeds import child

CHUNK = 100
"""Worlds that a process works at once: making their pool takes as long as a few of them."""

REAL = (
    Nature("lognormal", 1.15, many=False),
    Nature("lognormal", 1.15, many=True),
    Nature("lognormal", 1.5, many=False),
    Nature("lognormal", 1.5, many=True),
)
STRESS = Nature("zipf", 0.7, many=True)
SIZES = (50, 500, 5000)


@dataclass(frozen=True)
class Chunk:
    """Worlds of one nature and size: those with the numbers `first` to `first + worlds - 1`."""

    nature: Nature
    queries: int
    first: int
    worlds: int
    seed: int

    def generators(self, purpose: str) -> Iterator[np.random.Generator]:
        """Yield the source of chance of each world."""
        names = purpose, self.nature.law, self.nature.configurations, str(self.queries)
        for number in range(self.first, self.first + self.worlds):
            yield child(np.random.default_rng(self.seed), *names, str(number))

    def labelled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add what the worlds of a frame are."""
        return frame.select(
            pl.lit(self.nature.law).alias("weights"),
            pl.lit(self.nature.configurations).alias("configurations"),
            pl.lit(self.queries, pl.Int64).alias("queries"),
            pl.all(),
        )


def chunks(natures: Sequence[Nature], worlds: int, seed: int, *, sizes: Sequence[int] = SIZES) -> list[Chunk]:
    """Cut so many worlds of each nature and size into chunks."""
    return [
        Chunk(nature, queries, first, min(CHUNK, worlds - first), seed)
        for nature in natures
        for queries in sizes
        for first in range(0, worlds, CHUNK)
    ]


def share_error(hits: pl.Expr) -> pl.Expr:
    """Return the Monte-Carlo standard error of a share of true values."""
    return (hits.mean() * (1 - hits.mean()) / hits.len()).sqrt()
