"""Spark leaves the bytes of the default engine, and what is worked out by hand, of logs with an oddity each.

All logs whose ids are whole numbers are files of one folder and so one log of one run, and so are all whose
ids are text: a market separates what each of them leaves.
"""

import pytest

from clickassay.patterns.table import read_patterns
from support.logs.small_logs import session_counts
from support.spark.odd_logs import DEPTH, KINDS
from support.spark.spark_logs import both_engines, differing_tables


@pytest.fixture(scope="module", params=["whole", pytest.param("text", marks=pytest.mark.thorough)])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def made(spark, kind, tmp_path_factory):
    """Return the pattern tables of both engines."""
    folder = tmp_path_factory.mktemp(kind)
    for number, log in enumerate(KINDS[kind]):
        log.put(folder, number)
    settings = {"depth": (DEPTH,), "max_rejected": 0.9}
    return both_engines(folder / "searches", folder / "clicks", folder, **settings)


def test_both_engines_leave_the_same_bytes(made):
    assert differing_tables(*made) == []


def test_each_log_leaves_what_is_worked_out_by_hand(made, kind):
    found = {}
    for (market, _query, results, mask), sessions in session_counts(read_patterns(made[1])).items():
        found.setdefault(market, {})[results, mask] = sessions
    assert found == {log.known_as: log.left for log in KINDS[kind]}
