"""The same log gives the same bytes, however it is stored, ordered and worked through."""

import polars as pl
import pyarrow.parquet as pq
import pytest

from clickassay.core.contracts.run import ANALYSED_TABLES
from clickassay.core.errors import EngineError
from clickassay.core.files.tables import write_table
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.jobs.run import make_run
from clickassay.logs.arrays import job
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.patterns.table import FOLDER_TABLES, read_patterns
from support.logs import tiny
from support.logs.small_logs import simulated

SEEDED = {
    "differences": {"monte_carlo", "monte_carlo_se"},
    "draws": {*CLICK_METRICS, *EDITORIAL_METRICS, "AP(rel=2)", "RR(rel=2)", *BASELINES},
}
"""Columns that depend on random draws; click models are tested on folds of users."""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("reproducible") / "log")


@pytest.fixture(scope="module")
def stored(log, tmp_path_factory):
    """Return the pattern table of the log as it is, made by one thread."""
    place = tmp_path_factory.mktemp("reproducible") / "patterns"
    return make_patterns(Sources(log["searches"], log["clicks"]), place, load_settings(threads=1))


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=7)


def as_one_file(frame, folder):
    folder.mkdir()
    shuffled(frame).write_parquet(folder / "all.parquet")
    return folder


def as_ten_files(frame, folder):
    folder.mkdir()
    rows = shuffled(frame).with_row_index("row")
    for number in range(10):
        rows.filter(pl.col("row") % 10 == number).drop("row").write_parquet(folder / f"part-{number}.parquet")
    return folder


def as_hive_folders(frame, folder):
    days = frame.with_columns(day=pl.col("timestamp").dt.date().cast(pl.String))
    for day, rows in days.partition_by("day", as_dict=True, include_key=False).items():
        place = folder / f"day={day[0]}"
        place.mkdir(parents=True)
        rows.write_parquet(place / "rows.parquet")
    return folder


def as_json_lines(frame, folder):
    folder.mkdir()
    frame.with_columns(pl.col("timestamp").dt.epoch("ms")).write_ndjson(folder / "all.jsonl")
    return folder


def as_csv(frame, folder):
    folder.mkdir()
    if "results" in frame.columns:
        texts = [
            None if urls is None else pl.DataFrame({"x": [urls]}).write_json()[6:-2]
            for urls in frame["results"]
        ]
        frame = frame.with_columns(pl.Series("results", texts, dtype=pl.String))
    frame.with_columns(pl.col("timestamp").dt.to_string("iso:strict")).write_csv(folder / "all.csv")
    return folder


WAYS = (as_one_file, as_ten_files, as_hive_folders, as_json_lines, as_csv)


def stored_anew(log, way, folder):
    """Write searches and clicks in another way; return the paths."""
    return [str(way(pl.read_parquet(log[name]), folder / name)) for name in ("searches", "clicks")]


OWN = ("settings.csv", "inputs.csv")
"""Tables of the report with the number of threads and the digests of the input files."""


def tables_of(folder, *endings):
    """Return the bytes of the tables of a folder but those with threads and input files."""
    found = tiny.files_of(folder, *endings)
    return {name: content for name, content in found.items() if not name.endswith(OWN)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_the_pattern_table_has_the_same_bytes_however_the_log_is_stored(
    log, stored, way, threads, tmp_path, monkeypatch
):
    monkeypatch.setattr(job, "PART_ROWS", 10**9 if threads == 1 else 1)
    searches, clicks = stored_anew(log, way, tmp_path)
    again = make_patterns(Sources(searches, clicks), tmp_path / "patterns", load_settings(threads=threads))
    assert tables_of(again, ".parquet") == tables_of(stored, ".parquet")
    assert len(tables_of(again, ".parquet")) == len(FOLDER_TABLES) + 1  # and `shown`


def test_a_run_has_the_same_bytes_by_one_thread_and_by_two_on_shuffled_rows(log, tmp_path):
    few = {"iterations": 20, "depth": [5]}
    make_run(Sources(*log.values()), load_settings(threads=1, **few), out=tmp_path / "run")
    searches, clicks = stored_anew(log, as_one_file, tmp_path)
    others = [as_one_file(pl.read_parquet(log[name]), tmp_path / name) for name in ("judgments", "queries")]
    make_run(
        Sources(searches, clicks, *map(str, others)), load_settings(threads=2, **few), out=tmp_path / "again"
    )
    run = tables_of(tmp_path / "run", ".parquet", ".csv", ".tex")
    assert run == tables_of(tmp_path / "again", ".parquet", ".csv", ".tex")
    assert {"correlations.parquet", "tables/funnel.csv"} <= run.keys()
    assert told_by(tmp_path / "run") == told_by(tmp_path / "again")


def told_by(folder):
    """Return the lines of the report but the number of threads and the digests of the input files."""
    lines = (folder / "report.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    own = ("| threads |", "| searches |", "| clicks |", "| judgments |", "| queries |")
    return [line for line in lines if not (line.startswith(own) and (len(line) > 70 or "threads" in line))]


@pytest.fixture(scope="module")
def analysed(log, stored):
    """Return a function that gives the frames of a run with some settings."""
    table = read_patterns(stored)

    def frames(judgments=log["judgments"], queries=log["queries"], **settings):
        return analyse(
            table, Sources(judgments=judgments, queries=queries), load_settings(iterations=30, **settings)
        )

    return frames


def test_judgments_and_attributes_in_another_order_and_format_give_the_same_bytes(log, analysed, tmp_path):
    shuffled(pl.read_parquet(log["judgments"])).write_csv(tmp_path / "judgments.csv")
    shuffled(pl.read_parquet(log["queries"])).write_ndjson(tmp_path / "queries.jsonl")
    first = analysed()
    again = analysed(tmp_path / "judgments.csv", tmp_path / "queries.jsonl")
    for contract in ANALYSED_TABLES:
        for frames, name in ((first, "first"), (again, "again")):
            frames[contract.name].write_parquet(tmp_path / name)
        assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_another_seed_changes_the_drawn_numbers_and_nothing_else(analysed):
    first, other = analysed(seed=0), analysed(seed=1)
    for contract in ANALYSED_TABLES:
        one, two = first[contract.name], other[contract.name]
        differing = {name for name in one.columns if not one[name].equals(two[name], null_equal=True)}
        assert differing == SEEDED.get(contract.name, set())


def test_rows_that_are_read_in_pieces_become_the_bytes_of_rows_in_memory(tmp_path):
    rows = 300_000  # in one piece on disk, and in three row groups as they are written
    urls = pl.int_range(rows * 8, eager=True).cast(pl.String).reshape((rows, 8)).arr.to_list()
    frame = pl.DataFrame({"id": pl.int_range(rows, eager=True), "results": urls})
    pq.write_table(frame.to_arrow(), tmp_path / "pieces.parquet", row_group_size=rows, use_dictionary=False)
    write_table(frame, tmp_path / "memory.parquet")
    write_table(pl.scan_parquet(tmp_path / "pieces.parquet"), tmp_path / "read.parquet")
    assert (tmp_path / "read.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()
    assert pq.ParquetFile(tmp_path / "read.parquet").num_row_groups == 3


def test_rows_without_any_and_an_error_amid_pieces(tmp_path):
    frame = pl.DataFrame({"id": [1]})
    write_table(frame.clear(), tmp_path / "memory.parquet")
    write_table(frame.clear().lazy(), tmp_path / "read.parquet")
    assert (tmp_path / "read.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()

    def pieces():
        yield frame
        raise EngineError("out of order")

    with pytest.raises(EngineError, match="out of order"):
        write_table((pl.concat([piece] * 200_000) for piece in pieces()), tmp_path / "broken.parquet")
