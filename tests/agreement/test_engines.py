"""Other engines leave the bytes of the default one, and what is worked out by hand, at once and in stores."""

import shutil

import polars as pl
import pyarrow.parquet as pq
import pytest

from clickassay.patterns.store import PatternStore
from clickassay.patterns.table import read_patterns
from support.logs import tiny
from support.logs.messy import write_log
from support.logs.real_logs import REAL_LOGS, real_log
from support.logs.small_logs import session_counts
from support.logs.stores import FILES, grown, in_files
from support.spark.odd_logs import DEPTH, KINDS
from support.spark.packed_logs import LOGS, SHAPES, packs
from support.spark.spark_logs import both_engines, differing_tables
from support.tiers import first


@pytest.fixture(params=["duckdb", "spark"])
def other(request):
    """Return the name of an engine; the session of Spark is there."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture(scope="module")
def packed():
    return packs()


def of_pack(other, pack, folder, **more):
    """Make the pattern table of a pack of messy logs on both engines; return their folders."""
    rows = {"searches": pack.searches, "clicks": pack.clicks, "judgments": pack.judgments}
    paths = write_log(folder / "log", pack.seeds[0], **rows)
    settings = pack.settings | more
    halves = paths["searches"], paths["clicks"]
    return both_engines(*halves, folder, other=other, judgments=paths["judgments"], **settings)


@pytest.mark.parametrize("number", first(1, range(len(SHAPES))))
def test_messy_logs_leave_the_same_bytes(other, packed, number, tmp_path):
    ours, theirs = of_pack(other, packed[number], tmp_path)
    assert differing_tables(ours, theirs) == [], f"seeds {packed[number].seeds}"
    assert read_patterns(theirs).patterns.height > LOGS


@pytest.mark.parametrize("number", first(1, range(len(SHAPES))))
def test_the_same_queries_without_judgments_are_left_out(other, packed, number, tmp_path):
    ours, theirs = of_pack(other, packed[number], tmp_path, only_judged=True)
    assert differing_tables(ours, theirs) == []
    table = read_patterns(theirs)
    assert table.patterns.height > 0
    assert "query without judgments" in table.funnel["reason"].to_list()


def test_packs_are_of_a_hundred_logs_and_more_of_every_shape(packed):
    assert sum(len(set(pack.seeds)) for pack in packed) >= 100
    assert len(SHAPES) == len(set(SHAPES)) == len(packed)
    # a fifth of the sessions of such logs are of several searches
    assert all(len(pack.searches) > 10 * LOGS for pack in packed)


ODD = [("duckdb", "whole"), ("duckdb", "text"), ("spark", "whole"), ("spark", "text")]
"""Logs whose ids are whole numbers are one log of one run, and so are those whose ids are text."""


@pytest.mark.parametrize(("other", "kind"), first(3, ODD), indirect=["other"])
def test_logs_with_an_oddity_each_leave_what_is_worked_out_by_hand(other, kind, tmp_path):
    for number, log in enumerate(KINDS[kind]):
        log.put(tmp_path, number)
    halves = tmp_path / "searches", tmp_path / "clicks"
    ours, theirs = both_engines(*halves, tmp_path, other=other, depth=(DEPTH,), max_rejected=0.9)
    assert differing_tables(ours, theirs) == []
    found = {}
    for (market, _query, results, mask), sessions in session_counts(read_patterns(theirs)).items():
        found.setdefault(market, {})[results, mask] = sessions
    assert found == {log.known_as: log.left for log in KINDS[kind]}


@pytest.mark.thorough
@pytest.mark.parametrize("name", REAL_LOGS)
def test_a_real_log_leaves_the_same_bytes(other, name, tmp_path):
    halves, given, sessions = real_log(name, tmp_path / "log")
    ours, theirs = both_engines(*halves, tmp_path, other=other, **given)
    assert differing_tables(ours, theirs) == []
    assert read_patterns(theirs).patterns["sessions"].sum() >= sessions


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return in_files(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module")
def old_times(log, tmp_path_factory):
    """Return the log with times that DuckDB does not read itself."""
    folder = tmp_path_factory.mktemp("old") / "log"
    shutil.copytree(log, folder)
    for file in folder.rglob("[0-9].parquet"):
        pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True, row_group_size=150)
    return folder


@pytest.mark.parametrize(
    ("other", "times", "batch"),
    first(
        2,
        [
            *(("duckdb", "log", "400"), ("duckdb", "old_times", "file"), ("duckdb", "log", "file")),
            *(("duckdb", "old_times", "400"), ("spark", "log", "400")),
        ],
    ),
    indirect=["other"],
)
def test_every_file_of_a_store_is_the_same(request, other, times, batch, tmp_path):
    log = request.getfixturevalue(times)
    told = grown("arrays", log, tmp_path / "arrays", batch)
    assert grown(other, log, tmp_path / other, batch) == told
    ours, theirs = (tiny.files_of(tmp_path / engine, ".parquet") for engine in ("arrays", other))
    assert theirs == ours
    assert len(ours) > FILES * 5
    assert PatternStore(tmp_path / other).table().patterns["sessions"].sum() > 300


@pytest.mark.parametrize(("one", "other"), first(1, [("arrays", "duckdb"), ("duckdb", "arrays")]))
def test_one_engine_continues_the_store_of_the_other(one, other, log, tmp_path):
    told = grown(one, log, tmp_path / "alone")
    assert grown(one, log, tmp_path / "in turn", then=other) == told
    assert tiny.files_of(tmp_path / "in turn", ".parquet") == tiny.files_of(tmp_path / "alone", ".parquet")


@pytest.mark.thorough
@pytest.mark.parametrize("other", ["spark"], indirect=True)
def test_file_by_file_a_log_that_only_spark_reaches_makes_the_same_store_of_fewer_queries(
    other, log, tmp_path
):
    judgments = pl.read_parquet(log / "whole" / "judgments.parquet")
    some = judgments["query"].unique().sort()[:5]
    judgments.filter(pl.col("query").is_in(some.implode())).write_parquet(tmp_path / "few.parquet")
    stores = {"arrays": tmp_path / "here", other: tmp_path / "there"}
    told = [
        grown(engine, place, stores[engine], "file", judgments=str(tmp_path / "few.parquet"))
        for engine, place in (("arrays", log), (other, f"file://{log}"))
    ]
    assert told[0] == told[1]
    assert tiny.files_of(stores[other], ".parquet") == tiny.files_of(stores["arrays"], ".parquet")
    carried = [batch.frame("carry_searches") for batch in PatternStore(stores[other]).batches()]
    assert any(["left out"] in rows["results"].to_list() for rows in carried)
    assert PatternStore(stores[other]).table().patterns["sessions"].sum() > 50
