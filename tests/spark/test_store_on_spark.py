"""A store that grows by batches on Spark holds the files of one that grows on the embedded engine."""

import polars as pl
import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.stores import grow_store
from clickassay.patterns.store.store import PatternStore
from support.logs.small_logs import simulated
from support.logs.tiny import files_of

FILES = 3


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a folder with both halves of a log, each in three files of several row groups, by time."""
    folder = tmp_path_factory.mktemp("log")
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


def grown(engine, log, store, batch="400", judgments=None):
    """Grow a store by the first file of a log, then by all of them; judgments say which queries are kept."""
    only = judgments is not None
    options = load_settings(engine=engine, batch=batch, max_rejected=0.5, only_judged=only)
    judged = {"judgments": judgments}
    batches = grow_store(f"{log}/searches/0.parquet", f"{log}/clicks/0.parquet", store, options, **judged)
    return batches, grow_store(f"{log}/searches", f"{log}/clicks", store, options, **judged)


@pytest.mark.thorough
def test_batch_by_batch_every_file_of_the_store_is_the_same(spark, log, tmp_path):
    stores = {engine: tmp_path / engine for engine in ("duckdb", "spark")}
    told = {engine: grown(engine, log, store) for engine, store in stores.items()}
    assert told["spark"] == told["duckdb"]
    ours, theirs = (files_of(store, ".parquet") for store in stores.values())
    assert theirs == ours
    assert len(ours) > FILES * 5
    assert PatternStore(stores["spark"]).table().patterns["sessions"].sum() > 300


@pytest.mark.thorough
def test_with_queries_left_out_every_file_of_the_store_is_the_same(spark, log, tmp_path):
    judgments = pl.read_parquet(log / "whole" / "judgments.parquet")
    some = judgments["query"].unique().sort()[:5]
    judgments.filter(pl.col("query").is_in(some.implode())).write_parquet(tmp_path / "few.parquet")
    stores = {engine: tmp_path / engine for engine in ("duckdb", "spark")}
    for engine, store in stores.items():
        grown(engine, log, store, "file", str(tmp_path / "few.parquet"))
    ours, theirs = (files_of(store, ".parquet") for store in stores.values())
    assert theirs == ours
    carried = [batch.frame("carry_searches") for batch in PatternStore(stores["spark"]).batches()]
    assert any(["left out"] in rows["results"].to_list() for rows in carried)


@pytest.mark.thorough
def test_file_by_file_a_log_that_only_spark_reaches_makes_the_same_store(spark, log, tmp_path):
    told = grown("duckdb", log, tmp_path / "here", "file")
    assert grown("spark", f"file://{log}", tmp_path / "there", "file") == told
    assert files_of(tmp_path / "there", ".parquet") == files_of(tmp_path / "here", ".parquet")
    assert PatternStore(tmp_path / "there").table().patterns["sessions"].sum() > 300
