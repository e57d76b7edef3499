"""Where Spark runs, and which of its settings are never printed."""

import json

import duckdb
import polars as pl
import pytest

from clickassay.cli.exit import arguments_told
from clickassay.core.errors import EngineError, InputError, SettingsError
from clickassay.core.provenance import plain_settings
from clickassay.core.settings import load_settings
from clickassay.inputs.columns import Wanted
from clickassay.inputs.tables import read_input
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.logs.duckdb import _config
from clickassay.logs.log import local_half
from clickassay.logs.spark.errors import translate_error
from clickassay.logs.spark.job import bytes_here
from clickassay.logs.spark.read import lies_here
from clickassay.logs.spark.session import _conf, is_new_and_local


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["run", "--spark-conf", "spark.k=HUSH"], ["run", "--spark-conf", "spark.k=…"]),
        (["--spark-conf=spark.k=HUSH=x", "--out", "o"], ["--spark-conf=spark.k=…", "--out", "o"]),
        (["--spark-remote", "sc://h:1/;token=HUSH"], ["--spark-remote", "sc://h:1/;…"]),
        (["--spark-remote=sc://h:1/;token=HUSH"], ["--spark-remote=sc://h:1/;…"]),
        (
            ["--searches", "a=b;c", "--spark-master", "local"],
            ["--searches", "a=b;c", "--spark-master", "local"],
        ),
    ],
)
def test_a_command_that_is_told_holds_no_secret(given, shown):
    assert arguments_told(given) == shown


def test_settings_that_are_written_say_nothing_of_where_spark_runs():
    settings = load_settings(engine="spark", spark_conf=["spark.k=HUSH"], spark_remote="sc://h;token=HUSH")
    assert "HUSH" not in json.dumps(plain_settings(settings))
    assert not [name for name in plain_settings(settings) if name.startswith(("spark", "engine"))]


@pytest.mark.parametrize("conf", ["spark.k", "k=v", "spark.k="])
def test_a_setting_of_spark_has_a_name_and_a_value_and_no_message_repeats_it(conf):
    with pytest.raises(SettingsError, match=r"setting spark_conf: must be spark\.NAME=VALUE$"):
        load_settings(engine="spark", spark_conf=[conf])


def test_spark_is_asked_for_by_name():
    with pytest.raises(SettingsError, match="spark_master requires engine spark; add --engine spark"):
        load_settings(spark_master="local")
    with pytest.raises(SettingsError, match="exclude each other"):
        load_settings(engine="spark", spark_master="local", spark_remote="sc://h")


@pytest.mark.parametrize(
    ("given", "local"),
    [
        ({}, True),
        ({"spark_master": "local[2]"}, True),
        ({"spark_master": "spark://h:7077"}, False),
        ({"spark_conf": ["spark.master=spark://h:7077"]}, False),
        ({"spark_remote": "sc://h"}, False),
    ],
)
def test_only_a_spark_of_ones_own_is_local(monkeypatch, given, local):
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(engine="spark", **given)
    assert is_new_and_local(settings) is local
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not is_new_and_local(settings)


JAVA = "spark.driver.defaultJavaOptions"
SMALL, LARGE = 44_000_000, 356_000_000  # a log of 1 million simulated searches, and one of 5


@pytest.mark.parametrize(
    ("given", "log_bytes", "options"),
    [
        ({}, SMALL, "-XX:TieredStopAtLevel=1"),
        ({}, LARGE, None),
        ({}, None, None),
        ({"spark_master": "spark://h:7077"}, SMALL, None),
        ({"spark_conf": [f"{JAVA}=-ea"]}, SMALL, "-ea"),
    ],
)
def test_only_a_small_log_on_a_spark_of_ones_own_does_without_the_second_compiler(
    monkeypatch, given, log_bytes, options
):
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert _conf(load_settings(engine="spark", **given), log_bytes).get(JAVA) == options


@pytest.mark.parametrize(
    ("limit", "size"), [("4GB", 4_000_000_000), ("4GiB", 4_294_967_296), ("600 MB", 600_000_000)]
)
def test_a_memory_limit_is_the_same_number_of_bytes_on_every_engine(monkeypatch, tmp_path, limit, size):
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(memory_limit=limit)
    asked, java = settings.memory_limit_bytes, _conf(settings)["spark.driver.memory"]
    with duckdb.connect(config=_config(tmp_path, None, asked)) as connection:
        sizes = f"SELECT current_setting('memory_limit'), format_bytes({size})"
        told, expected = connection.execute(sizes).fetchone()
    assert asked == size
    assert (java[-1], int(java[:-1])) == ("k", size // 1024)  # Java's k is 1024 bytes
    assert told == expected


def test_the_bytes_of_a_log_are_known_where_all_of_it_lies_here(tmp_path):
    (tmp_path / "searches").mkdir()
    for name, size in (("searches/a.parquet", 5), ("searches/b.parquet", 7), ("clicks.parquet", 11)):
        pl.DataFrame({"query": ["q"] * size}).write_parquet(tmp_path / name)
    searches, clicks = (
        local_half(read_input(name, tmp_path / name, (Wanted("query", "text"),)))
        for name in ("searches", "clicks.parquet")
    )
    assert bytes_here(searches, clicks) == sum(file.stat().st_size for file in tmp_path.rglob("*.parquet"))
    assert bytes_here("s3a://bucket/searches", clicks) is None
    assert bytes_here(searches, "logs.clicks") is None


def test_a_path_where_nothing_lies_is_refused_before_spark_is_started(tmp_path):
    paths = (str(tmp_path / "none.parquet"), "logs.clicks")
    with pytest.raises(InputError, match=r"searches: \S+none\.parquet does not exist"):
        make_patterns(
            Sources(*paths),
            tmp_path / "out",
            load_settings(engine="spark", spark_master="spark://127.0.0.1:1"),
        )


@pytest.mark.parametrize(
    ("source", "here"),
    [("s3a://b/x", False), ("logs.searches", False), ("`a b`.`c`", False), ("./x", True), ("x.parquet", True),
     ("logs/*.csv", True)],
)  # fmt: skip
def test_files_tables_and_paths_of_spark_are_told_apart(source, here):
    assert lies_here(source) is here


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found.", InputError, "no table a.b"),
        ("[PATH_NOT_FOUND] Path does not exist: s3a://b/x. SQLSTATE: 42K03", InputError, "s3a://b/x does"),
        ("Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", EngineError, "Spark failed"),
        ("java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a."
         "S3AFileSystem not found", InputError, "Spark lacks org.apache.hadoop.fs.s3a.S3AFileSystem; add"),
        ("UnsupportedFileSystemException: No FileSystem for scheme \"gs\"", InputError, "no file system gs:"),
        ("java.lang.OutOfMemoryError: Java heap space", EngineError, "Spark ran out of memory"),
        ("java.io.IOException: No space left on device", EngineError, "disk full while Spark works"),
        ("UnsupportedClassVersionError: org/apache/spark/X was compiled", EngineError, "too old for Spark"),
        ("x\nCaused by: java.lang.A: one\nCaused by: java.lang.B: two", EngineError, "java.lang.B: two"),
    ],
)  # fmt: skip
def test_what_spark_says_becomes_one_line_with_a_remedy(text, kind, said):
    fault = translate_error(RuntimeError(text))
    assert type(fault) is kind
    assert said in str(fault)
    assert "\n" not in str(fault)
    assert ";" in str(fault) or kind is InputError
