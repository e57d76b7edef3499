"""Runs of the two sample logs, and a copy of one in which every text means to do harm."""

import fcntl
import os
import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import duckdb
import polars as pl
from typer.testing import CliRunner

from clickassay.cli.app import app
from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.settings import Settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.places import SAMPLE, SHOP
from support.reports.harmful import HARMS

PARQUET = tuple(table.name for table in RUN_TABLES)


@cache
def sample() -> Path:
    """Return the folder of the run of the small log."""
    make = partial(make_run, Sources(*SAMPLE.values()), Settings(), command="clickassay run")
    return _made_once("sample_run", lambda folder: make(out=folder))


@cache
def shop() -> Path:
    """Return the folder of the run of the shop log, as `make report` makes it."""

    def make(folder: Path) -> None:
        words = ["run", "--project", str(SHOP / "clickassay.toml"), "--out", str(folder), "-q"]
        ended = CliRunner().invoke(app, words)
        assert ended.exit_code == 0, ended.output

    return _made_once("shop_run", make)


def _made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first worker that asks makes for all (`tests/conftest.py`)."""
    folder = Path(os.environ["SAMPLE_RUN"]).with_name(name)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            make(folder)
    return folder


def table(name: str) -> pl.DataFrame:
    """Return a table of the sample run."""
    return pl.read_parquet(sample() / f"{name}.parquet")


def copied_run(folder: Path, **changed: pl.DataFrame) -> Path:
    """Write the sample run again, with its database; some tables changed."""
    folder.mkdir(parents=True)
    shutil.copy(sample() / "settings.json", folder)
    frames = {name: table(name) for name in PARQUET} | changed
    with duckdb.connect(str(folder / "run.duckdb")) as connection:
        for name, frame in frames.items():
            frame.write_parquet(folder / f"{name}.parquet")
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
            connection.unregister("frame")
    return folder


def hostile_run(folder: Path) -> Path:
    """Write a run whose every query, URL and market is a harm; the heaviest queries have distinct ones."""
    rows = table("configurations").filter(market="north", depth=5)
    by_weight = rows.group_by("query").agg(pl.sum("n_sessions")).sort("n_sessions", "query", descending=True)
    queries = dict(zip(by_weight["query"], (f"{HARMS[n % 22]} {n // 22}" for n in range(500)), strict=False))
    urls = {url: f"{HARMS[n % 22]}{n}" for n, url in enumerate(rows["results"].explode().unique().sort())}
    market = HARMS[0]
    rows = rows.with_columns(
        pl.lit(market).alias("market"),
        pl.col("query").replace_strict(queries),
        pl.col("results").list.eval(pl.element().replace_strict(urls)),
    )
    others = {
        name: table(name).filter(market="north", depth=5).with_columns(pl.lit(market).alias("market"))
        for name in ("statistics", "correlations")
    }
    return copied_run(folder, configurations=rows, **others)
