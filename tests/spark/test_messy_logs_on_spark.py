"""Spark leaves the bytes of the embedded engine on messy logs, which the plain-Python oracle agrees with."""

import pytest

from clickassay.patterns.folder import read_patterns
from support.logs.messy import write_log
from support.spark.packed_logs import LOGS, SHAPES, packs
from support.spark.spark_logs import both_engines, differing_tables


@pytest.fixture(scope="module")
def packed():
    return packs()


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.thorough) for number in range(1, len(SHAPES)))]
)
def test_spark_leaves_the_bytes_of_the_embedded_engine_on_a_pack_of_messy_logs(
    spark, packed, number, tmp_path
):
    pack = packed[number]
    rows = {"searches": pack.searches, "clicks": pack.clicks, "judgments": pack.judgments}
    paths = write_log(tmp_path / "log", pack.seeds[0], **rows)
    ours, theirs = both_engines(
        paths["searches"], paths["clicks"], tmp_path, judgments=paths["judgments"], **pack.settings
    )
    assert differing_tables(ours, theirs) == [], f"seeds {pack.seeds}"
    assert read_patterns(ours).patterns.height > LOGS


def test_packs_are_of_a_hundred_logs_and_more_of_every_shape(packed):
    assert sum(len(set(pack.seeds)) for pack in packed) >= 100
    assert len(SHAPES) == len(set(SHAPES)) == len(packed)
    # a fifth of the sessions of such logs are of several searches
    assert all(len(pack.searches) > 10 * LOGS for pack in packed)
