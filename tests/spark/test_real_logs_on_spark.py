"""Spark leaves the bytes of the default engine on public logs of real users."""

import pytest

from clickassay.patterns.table import read_patterns
from support.logs.real_logs import REAL_LOGS, real_log
from support.spark.spark_logs import both_engines, differing_tables


@pytest.mark.thorough
@pytest.mark.parametrize("name", REAL_LOGS)
def test_spark_leaves_the_bytes_of_the_default_engine_on_a_real_log(spark, name, tmp_path):
    halves, given, sessions = real_log(name, tmp_path / "log")
    ours, theirs = both_engines(*halves, tmp_path, **given)
    assert differing_tables(ours, theirs) == []
    assert read_patterns(ours).patterns["sessions"].sum() >= sessions
