"""The declared steps on DuckDB leave the bytes of the default engine, whatever the files of the log."""

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickassay.core.errors import EngineError, InputError
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.logs.duckdb import DuckDBEngine
from clickassay.patterns.table import read_patterns
from support.logs import tiny
from support.logs.small_logs import NOON, simulated
from support.spark.spark_logs import both_engines, differing_tables, made_by
from support.tiers import first


@pytest.mark.thorough
def test_a_log_beyond_the_memory_limit_is_spilled_and_leaves_the_same_bytes(tmp_path, monkeypatch):
    spilled = []

    def closed(engine):
        spilled.extend(file.stat().st_size for file in (engine._folder / "spilled").iterdir())
        close(engine)

    close = DuckDBEngine.close
    monkeypatch.setattr(DuckDBEngine, "close", closed)
    log = simulated(tmp_path / "log", searches=400_000, queries=4_000)
    halves = log["searches"], log["clicks"]
    ours = made_by("arrays", *halves, tmp_path / "arrays", depth=(10,))
    bounds = {"memory_limit": "100MB", "threads": 1}
    theirs = made_by("duckdb", *halves, tmp_path / "duckdb", depth=(10,), **bounds)
    assert differing_tables(ours, theirs) == []
    assert sum(spilled) > 10_000_000


FAR = 9_999_999_999_999_999  # milliseconds that DuckDB cannot spell in microseconds


def of_files(folder, searches, clicks, **more):
    """Make the pattern table of a log in files on both engines; return the second after comparing both."""
    settings = {"depth": (3,), "max_rejected": 0.9} | more
    ours, theirs = both_engines(searches, clicks, folder / "out", other="duckdb", **settings)
    assert differing_tables(ours, theirs) == []
    return read_patterns(theirs)


def as_text(frame):
    """Return a frame with times as texts spell them."""
    return frame.with_columns(pl.col("timestamp").dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))


def as_cells(frame):
    """Return a frame as CSV holds it: lists are JSON."""
    if "results" in frame.columns:
        frame = frame.with_columns(results=pl.format('["{}"]', pl.col("results").list.join('","')))
    return as_text(frame)


WRITTEN = {
    "comma separated": lambda frame, file: as_cells(frame).write_csv(f"{file}.csv"),
    "lines of JSON": lambda frame, file: as_text(frame).write_ndjson(f"{file}.jsonl"),
    "names with patterns": lambda frame, file: frame.write_parquet(f"{file}[1]*.parquet"),
    "times of 96 bits": lambda frame, file: pq.write_table(
        frame.to_arrow(), f"{file}.parquet", use_deprecated_int96_timestamps=True
    ),
    "times without a footer's bounds": lambda frame, file: frame.write_parquet(
        f"{file}.parquet", statistics=False
    ),
    "a column named as one of DuckDB's": lambda frame, file: frame.with_columns(
        file_row_number=pl.lit(7)
    ).write_parquet(f"{file}.parquet"),
    "words of a category": lambda frame, file: frame.with_columns(
        pl.col("url" if "url" in frame.columns else "query").cast(pl.Categorical)
    ).write_parquet(f"{file}.parquet"),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_log_is_the_same_however_it_is_written(how, tmp_path):
    for name in ("searches", "clicks"):
        (tmp_path / name).mkdir()
        WRITTEN[how](getattr(tiny, name)(), tmp_path / name / "part")
    table = of_files(tmp_path, tmp_path / "searches", tmp_path / "clicks")
    assert table.patterns["sessions"].sum() == tiny.ROWS


def test_files_of_several_forms_and_folders_that_name_a_market_are_one_log(tmp_path):
    searches, clicks = tiny.searches(), tiny.clicks()
    for number, market in enumerate(("de", "fr", "__HIVE_DEFAULT_PARTITION__")):
        place = tmp_path / "searches" / f"market={market}"
        place.mkdir(parents=True)
        searches[8 * number : 8 * number + 8].write_parquet(place / "part.parquet")
    later = as_text(searches[:4].with_columns(pl.col("search_id", "user_id") + 10_000))
    later.write_ndjson(tmp_path / "searches" / "market=de" / "more.jsonl")
    table = of_files(tmp_path, tmp_path / "searches", clicks_in(tmp_path, clicks))
    assert table.configurations["market"].unique().sort().to_list() == ["de", "fr"]
    assert table.patterns["sessions"].sum() == 20


def clicks_in(folder, frame):
    """Write clicks as a file; return its path."""
    frame.write_parquet(folder / "clicks.parquet")
    return folder / "clicks.parquet"


@pytest.mark.parametrize("far", first(3, [FAR, 2**63 - 1, NOON, -FAR, -(2**63), 2**63 // 1000]))
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_times_at_the_ends_of_their_range_are_rejected_alike(far, unit, tmp_path):
    searches = tiny.searches().with_columns(pl.col("timestamp").dt.epoch(unit)).to_arrow()
    times = [far, *searches["timestamp"].to_pylist()[1:]]
    column = pa.array(times, pa.int64()).cast(pa.timestamp(unit, tz="UTC"))
    pq.write_table(
        searches.set_column(searches.column_names.index("timestamp"), "timestamp", column),
        tmp_path / "searches.parquet",
    )
    table = of_files(tmp_path, tmp_path / "searches.parquet", clicks_in(tmp_path, tiny.clicks()))
    assert table.patterns["sessions"].sum() == tiny.ROWS - (far != NOON or unit == "us")


def no_text(file):
    """Put bytes that are no UTF-8 into a column of text."""
    rows = pq.read_table(file)
    place = rows.column_names.index("query")
    texts = pa.array([b"\xff\xfe"] * rows.num_rows, pa.binary())
    buffers = texts.buffers()
    column = pa.Array.from_buffers(pa.string(), len(texts), buffers)
    pq.write_table(rows.set_column(place, "query", column), file, compression="none")


def cut_short(file):
    file.write_bytes(file.read_bytes()[:-40])


@pytest.mark.parametrize("damage", [no_text, cut_short, tiny.overwritten])
def test_a_broken_file_among_good_ones_is_named_in_the_same_words(damage, tmp_path):
    folder = tmp_path / "searches"
    folder.mkdir()
    for number in range(3):
        tiny.searches().with_columns(pl.col("search_id") + 100 * number).write_parquet(
            folder / f"{number}.parquet"
        )
    damage(folder / "1.parquet")
    clicks, said = clicks_in(tmp_path, tiny.clicks()), {}
    for engine in ("arrays", "duckdb"):
        with pytest.raises(InputError) as refused:
            make_patterns(
                Sources(str(folder), str(clicks)), tmp_path / "out" / engine, load_settings(engine=engine)
            )
        said[engine] = str(refused.value)
    assert said["duckdb"] == said["arrays"]
    assert f"searches: cannot read {folder / '1.parquet'}" in said["duckdb"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clicks.parquet", "searches"]


def test_a_limit_that_nothing_fits_into_is_said_with_its_remedy(tmp_path):
    log = simulated(tmp_path / "log", searches=2_000, queries=50)
    settings = load_settings(engine="duckdb", memory_limit="2MB")
    with pytest.raises(EngineError, match=r"memory limit reached: .*raise --memory-limit"):
        make_patterns(Sources(str(log["searches"]), str(log["clicks"])), tmp_path / "out", settings)


def test_a_ctrl_c_that_duckdb_reports_is_one(tmp_path):
    engine = DuckDBEngine(folder=tmp_path, threads=1)
    told = (
        duckdb.InterruptException("Interrupted!"),
        RuntimeError("Query interrupted"),
        duckdb.InvalidInputException("reading the schema of the Arrow source failed: KeyboardInterrupt:"),
    )
    for error in told:
        with pytest.raises(KeyboardInterrupt), engine.translated_errors():
            raise error
    engine.close()
