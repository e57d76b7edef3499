"""A store that grows by batches on Spark holds the files of one that grows on the default engine."""

import polars as pl
import pytest

from clickassay.patterns.store import PatternStore
from support.logs.stores import FILES, grown, in_files
from support.logs.tiny import files_of


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return in_files(tmp_path_factory.mktemp("log"))


@pytest.mark.thorough
def test_batch_by_batch_every_file_of_the_store_is_the_same(spark, log, tmp_path):
    stores = {engine: tmp_path / engine for engine in ("arrays", "spark")}
    told = {engine: grown(engine, log, store) for engine, store in stores.items()}
    assert told["spark"] == told["arrays"]
    ours, theirs = (files_of(store, ".parquet") for store in stores.values())
    assert theirs == ours
    assert len(ours) > FILES * 5
    assert PatternStore(stores["spark"]).table().patterns["sessions"].sum() > 300


@pytest.mark.thorough
def test_file_by_file_a_log_that_only_spark_reaches_makes_the_same_store_of_fewer_queries(
    spark, log, tmp_path
):
    judgments = pl.read_parquet(log / "whole" / "judgments.parquet")
    some = judgments["query"].unique().sort()[:5]
    judgments.filter(pl.col("query").is_in(some.implode())).write_parquet(tmp_path / "few.parquet")
    stores = {"arrays": tmp_path / "here", "spark": tmp_path / "there"}
    told = [
        grown(engine, place, stores[engine], "file", judgments=str(tmp_path / "few.parquet"))
        for engine, place in (("arrays", log), ("spark", f"file://{log}"))
    ]
    assert told[0] == told[1]
    assert files_of(stores["spark"], ".parquet") == files_of(stores["arrays"], ".parquet")
    carried = [batch.frame("carry_searches") for batch in PatternStore(stores["spark"]).batches()]
    assert any(["left out"] in rows["results"].to_list() for rows in carried)
    assert PatternStore(stores["spark"]).table().patterns["sessions"].sum() > 50
