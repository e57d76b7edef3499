"""Where Spark runs, and what of that is never told."""

import json

import pytest

from pipeline.cli_options import without_secrets
from pipeline.engines.spark_session import SparkPlace
from pipeline.errors import SettingsError
from pipeline.run_patterns import plain_settings
from pipeline.settings import load_settings


@pytest.mark.parametrize(
    ("given", "told"),
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
def test_a_command_that_is_told_holds_no_secret(given, told):
    assert without_secrets(given) == told


def test_settings_that_are_written_say_nothing_of_where_spark_runs():
    settings = load_settings(engine="spark", spark_conf=["spark.k=HUSH"], spark_remote="sc://h;token=HUSH")
    assert "HUSH" not in json.dumps(plain_settings(settings))
    assert not [name for name in plain_settings(settings) if name.startswith(("spark", "engine"))]


@pytest.mark.parametrize("conf", ["spark.k", "k=v", "spark.k="])
def test_a_setting_of_spark_has_a_name_and_a_value_and_no_message_repeats_it(conf):
    with pytest.raises(SettingsError, match=r"setting spark_conf: must be spark\.NAME=VALUE$"):
        load_settings(engine="spark", spark_conf=[conf])


def test_spark_is_asked_for_by_name():
    with pytest.raises(
        SettingsError, match="spark_master is used with engine spark only; add --engine spark"
    ):
        load_settings(spark_master="local")
    with pytest.raises(SettingsError, match="exclude each other"):
        load_settings(engine="spark", spark_master="local", spark_remote="sc://h")


@pytest.mark.parametrize(
    ("place", "local"),
    [
        (SparkPlace(), True),
        (SparkPlace(master="local[2]"), True),
        (SparkPlace(master="spark://h:7077"), False),
        (SparkPlace(conf={"spark.master": "spark://h:7077"}), False),
        (SparkPlace(remote="sc://h"), False),
    ],
)
def test_only_a_spark_of_ones_own_is_local(monkeypatch, place, local):
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert place.is_new_and_local is local
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not place.is_new_and_local
