"""Logs cut into files for a store, and tables compared."""

import random
from itertools import pairwise

import polars as pl

from clickassay.core.contracts.patterns import SHOWN
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.stores import grow_store
from clickassay.patterns.table import FOLDER_TABLES, OWN_TABLES
from support.logs.small_logs import simulated

FILES = 3


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


def differing(one, other):
    """Return the names of the tables that differ between two pattern tables, or that one of them has."""
    found, expected = map(in_form, (one, other))
    return [
        name
        for name in found | expected
        if name not in found or name not in expected or not found[name].equals(expected[name])
    ]


def in_form(table):
    """Return the tables that a pattern table has, in the form of their contracts."""
    forms = (FOLDER_TABLES | OWN_TABLES).items()
    return {
        name: form.canonical(getattr(table, name)) for name, form in forms if getattr(table, name) is not None
    }


def assert_same(table, whole, what=""):
    """Hold that two pattern tables are equal but for the order of rows; `what` names them in the message."""
    assert differing(table, whole) == [], what
    ours, theirs = (None if one.shown is None else SHOWN.canonical(one.shown) for one in (table, whole))
    assert ours is theirs or ours.equals(theirs), what


def in_files(folder):
    """Return a folder with both halves of a log, each in three files of several row groups, by time."""
    whole = simulated(folder / "whole", searches=900, queries=20)
    ends = pl.read_parquet(whole["searches"])["timestamp"].sort().gather([300, 600]).to_list()
    for name in ("searches", "clicks"):
        (folder / name).mkdir()
        rows = pl.read_parquet(whole[name]).sort("timestamp")
        file = pl.sum_horizontal((pl.col("timestamp") >= end).fill_null(value=False) for end in ends)
        for (number,), part in rows.group_by(file.alias("file"), maintain_order=True):
            part.drop("file", strict=False).write_parquet(
                folder / name / f"{number}.parquet", row_group_size=150
            )
    return folder


def grown(engine, log, store, batch="400", *, then=None, judgments=None):
    """Grow a store by the first file of a log, then by all of them, on one engine or on another.

    With judgments, only lists of the queries that they judge are kept.
    """
    only = judgments is not None
    first, second = (
        load_settings(engine=name, folds=2, batch=batch, max_rejected=0.5, only_judged=only)
        for name in (engine, then or engine)
    )
    begun, whole = (
        Sources(f"{log}/searches{part}", f"{log}/clicks{part}", judgments) for part in ("/0.parquet", "")
    )
    return grow_store(begun, store, first), grow_store(whole, store, second)
