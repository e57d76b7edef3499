"""Public logs of real users, imported, where they lie next to the checkout."""

import pytest

from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.yandex import import_yandex
from support.places import DATA

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


REAL_LOGS = {
    "clara": (CLARA, clara, 15_000),
    "trec-2012": (TREC, track(2012), 50),
    "trec-2013": (TREC, track(2013), 50),
}
"""By name: folder of the download, function that imports it, and fewest sessions that it has."""


def real_log(name, out):
    """Import a log; return its halves, settings, and fewest sessions. Skip the test where it is not there."""
    folder, imported, sessions = REAL_LOGS[name]
    if not folder.exists():
        pytest.skip(f"{folder.name} is not next to the checkout")
    log = imported(out).folder
    given = {"judgments": log / "judgments.parquet", "max_rejected": 0.5}
    return (log / "searches.parquet", log / "clicks.parquet"), given, sessions
