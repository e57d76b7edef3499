"""Work spread over processes; the same numbers whatever their number."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import polars as pl

Task = TypeVar("Task")


def in_processes(work: Callable[[Task], pl.DataFrame], tasks: Sequence[Task], processes: int) -> pl.DataFrame:
    """Do all tasks and put their frames together in the order of the tasks."""
    if processes == 1:
        return pl.concat([work(task) for task in tasks])
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", POLARS_MAX_THREADS="1")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as workers:
        return pl.concat(list(workers.map(work, tasks)))
