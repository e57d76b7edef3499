"""Spark leaves the bytes of the embedded engine on public logs of real users."""

import pytest

from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.yandex import import_yandex
from clickassay.patterns.folder import read_patterns
from support.places import DATA
from support.spark.spark_logs import both_engines, differing_tables

CLARA = DATA / "clara2_naver"
TREC = DATA / "trec_session_2012_2013"


def clara(out):
    grades = CLARA / "CLARA2QueryUrlRelevance_beta"
    names = CLARA / "derived_query_id_map.tsv"
    return import_yandex(CLARA / "CLARA2SearchLog_beta", judgments=grades, query_map=names, out=out)


def track(year):
    def imported(out):
        return import_trec_session(TREC / f"sessiontrack{year}.xml", TREC / f"qrels{year}.txt", out=out)

    return imported


LOGS = {
    "clara": (CLARA, clara, 15_000),
    "trec-2012": (TREC, track(2012), 50),
    "trec-2013": (TREC, track(2013), 50),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOGS)
def test_spark_leaves_the_bytes_of_the_embedded_engine_on_a_real_log(spark, name, tmp_path):
    folder, imported, sessions = LOGS[name]
    if not folder.exists():
        pytest.skip(f"{folder.name} is not next to the checkout")
    log = imported(tmp_path / "log").folder
    halves = (log / "searches.parquet", log / "clicks.parquet")
    given = {"judgments": log / "judgments.parquet", "max_rejected": 0.5}
    ours, theirs = both_engines(*halves, tmp_path, **given)
    assert differing_tables(ours, theirs) == []
    assert read_patterns(ours).patterns["sessions"].sum() >= sessions
