"""Worlds spread over processes; the same numbers whatever their number."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import polars as pl

from calibrate.worlds import Nature
from clickassay.core.seeds import child

Task = TypeVar("Task")

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


def in_processes(work: Callable[[Task], pl.DataFrame], tasks: Sequence[Task], processes: int) -> pl.DataFrame:
    """Do all tasks and put their frames together in the order of the tasks."""
    if processes == 1:
        return pl.concat([work(task) for task in tasks])
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", POLARS_MAX_THREADS="1")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as workers:
        return pl.concat(list(workers.map(work, tasks)))


def share_error(hits: pl.Expr) -> pl.Expr:
    """Return the Monte-Carlo standard error of a share of true values."""
    return (hits.mean() * (1 - hits.mean()) / hits.len()).sqrt()
