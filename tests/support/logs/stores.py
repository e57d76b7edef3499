"""Logs cut into files for a store, and tables compared."""

import random
from itertools import pairwise

import polars as pl

from support.logs.written_sql import differing


def times_of(frame):
    """Return the times of rows in milliseconds."""
    times = frame["timestamp"]
    return times if times.dtype.is_integer() else times.dt.epoch("ms")


def cut(log, folder, times):
    """Write the log as files that end at these times; return the folders of searches and clicks."""
    edges = [-(2**62), *sorted(times), 2**62]
    for name in ("searches", "clicks"):
        (folder / name).mkdir(parents=True)
        rows = pl.read_parquet(log / f"{name}.parquet")
        for number, (start, end) in enumerate(pairwise(edges)):
            inside = ((times_of(rows) >= start) & (times_of(rows) < end)).fill_null(number == 0)
            rows.filter(inside).write_parquet(folder / name / f"{number}.parquet")
    return folder / "searches", folder / "clicks"


def some_times(log, number, seed):
    times = times_of(pl.read_parquet(log / "searches.parquet")).drop_nulls()
    rng = random.Random(seed)  # noqa: S311 - a test's choice
    return [rng.randint(times.min() + 1, times.max()) for _ in range(number)]


def assert_same(table, whole, what=""):
    """Hold that two pattern tables are equal but for the order of rows; `what` names them in the message."""
    assert differing(table, whole) == [], what
