"""Spark leaves the bytes of the default engine on messy logs, which the plain-Python oracle agrees with."""

import pytest

from clickassay.patterns.table import read_patterns
from support.logs.messy import write_log
from support.spark.packed_logs import LOGS, SHAPES, packs
from support.spark.spark_logs import both_engines, differing_tables


@pytest.fixture(scope="module")
def packed():
    return packs()


def of_pack(pack, folder, **more):
    """Make the pattern table of a pack on both engines; return their folders."""
    rows = {"searches": pack.searches, "clicks": pack.clicks, "judgments": pack.judgments}
    paths = write_log(folder / "log", pack.seeds[0], **rows)
    settings = pack.settings | more
    return both_engines(paths["searches"], paths["clicks"], folder, judgments=paths["judgments"], **settings)


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.thorough) for number in range(1, len(SHAPES)))]
)
def test_spark_leaves_the_bytes_of_the_default_engine_on_a_pack_of_messy_logs(
    spark, packed, number, tmp_path
):
    ours, theirs = of_pack(packed[number], tmp_path)
    assert differing_tables(ours, theirs) == [], f"seeds {packed[number].seeds}"
    assert read_patterns(ours).patterns.height > LOGS


def test_spark_leaves_out_the_same_queries_without_judgments(spark, packed, tmp_path):
    ours, theirs = of_pack(packed[0], tmp_path, only_judged=True)
    assert differing_tables(ours, theirs) == []
    table = read_patterns(ours)
    assert table.patterns.height > 0
    assert "query without judgments" in table.funnel["reason"].to_list()


def test_packs_are_of_a_hundred_logs_and_more_of_every_shape(packed):
    assert sum(len(set(pack.seeds)) for pack in packed) >= 100
    assert len(SHAPES) == len(set(SHAPES)) == len(packed)
    # a fifth of the sessions of such logs are of several searches
    assert all(len(pack.searches) > 10 * LOGS for pack in packed)
