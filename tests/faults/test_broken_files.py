"""Files that are missing, empty, cut, overwritten or not what their name says: one line, nothing left."""

import base64
import gzip
import os
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from support.logs import tiny

TABLES = ("searches", "clicks", "judgments")
BIG_STEP = ("searches", "clicks")


def in_days(folder, *frames):
    """Write frames as the files of a folder, 1.parquet first; return the folder."""
    days = folder / "days"
    days.mkdir()
    for number, frame in enumerate(frames, start=1):
        frame.write_parquet(days / f"{number}.parquet")
    return days


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere.parquet", ("nowhere.parquet does not exist", "give a file, a folder or a glob")),
        ("bare", ("no data file in ", "bare", ".parquet, .pq, .csv")),
        ("day=*/*.parquet", ("day=*/*.parquet",)),
    ],
    ids=["a missing file", "an empty folder", "a glob that matches nothing"],
)
def test_a_place_without_data_is_named(tmp_path, table, place, words):
    (tmp_path / "bare").mkdir()
    tiny.refused(tiny.write_log(tmp_path, **{table: tmp_path / place}), f"{table}: ", *words)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".csv.gz"])
def test_a_file_of_zero_bytes_is_named(tmp_path, table, ending):
    file = tmp_path / f"void{ending}"
    file.touch()
    log = tiny.write_log(tmp_path, **{table: file})
    tiny.refused(log, f"{table}: ", f"void{ending} is empty (0 bytes)", "write it again")


@pytest.mark.parametrize("table", BIG_STEP)
def test_a_file_without_rows_among_others_does_no_harm(tmp_path, table):
    good = getattr(tiny, table)()
    log = tiny.write_log(tmp_path, **{table: in_days(tmp_path, good, good.clear())})
    assert tiny.counted(log)[table, "read", ""] == good.height


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_searches_without_a_row_are_refused(tmp_path, ending):
    file = tmp_path / f"norows{ending}"
    if ending == ".parquet":
        tiny.searches().clear().write_parquet(file)
    else:
        file.write_text("search_id,user_id,query,timestamp,results\n" if ending == ".csv" else "\n")
    tiny.refused(tiny.write_log(tmp_path, searches=file), "searches: ")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
@pytest.mark.parametrize("damage", [tiny.cut_short, tiny.overwritten])
def test_a_parquet_file_that_is_cut_or_overwritten_is_named(tmp_path, table, compression, damage):
    file = tmp_path / "bad.parquet"
    getattr(tiny, table)().write_parquet(file, compression=compression)
    damage(file)
    log = tiny.write_log(tmp_path, **{table: file})
    tiny.refused(log, table, "cannot read", "bad.parquet", "complete")


def test_a_parquet_file_is_known_by_its_first_bytes(tmp_path):
    file = tmp_path / "part-00000"
    tiny.searches().write_parquet(file)
    assert tiny.counted(tiny.write_log(tmp_path, searches=file))["searches", "kept", ""] == tiny.ROWS


PACKED = gzip.compress(tiny.clicks().write_csv().encode() * 50)
NO_GZIP = {
    "half": PACKED[: len(PACKED) // 2],
    "no deflate": b"\x1f\x8b\x08\x00 this is not deflate at all " * 10,
}


@pytest.mark.parametrize("content", NO_GZIP.values(), ids=NO_GZIP)
def test_gzip_that_breaks_off_or_is_none_is_refused(tmp_path, content):
    (tmp_path / "packed.csv.gz").write_bytes(content)
    tiny.refused(tiny.write_log(tmp_path, clicks=tmp_path / "packed.csv.gz"), "clicks", "packed.csv.gz")


@pytest.mark.parametrize("table", TABLES)
def test_files_of_one_input_with_different_types_are_refused(tmp_path, table):
    frame = getattr(tiny, table)()
    column = "search_id" if table in BIG_STEP else "grade"
    days = in_days(tmp_path, frame, frame.with_columns(pl.format("x{}", column).alias(column)))
    log = tiny.write_log(tmp_path, **{table: days})
    tiny.refused(log, f"{table}: column {column} is ", "String", "write it with one type")


def test_files_whose_time_differs_in_unit_and_zone_are_read_together(tmp_path):
    frame, half = tiny.searches(), tiny.ROWS // 2
    in_ns = pl.col("timestamp").dt.convert_time_zone("Asia/Tokyo").dt.cast_time_unit("ns")
    in_ms = pl.col("timestamp").dt.epoch("ms")
    days = in_days(tmp_path, frame.head(half).with_columns(in_ms), frame.tail(half).with_columns(in_ns))
    whole = tiny.write_log(tmp_path / "whole")
    parts = tiny.write_log(tmp_path / "parts", searches=days)
    assert tiny.counted(parts) == tiny.counted(whole)
    assert tiny.patterns(parts.out) == tiny.patterns(whole.out)


@pytest.mark.parametrize(
    ("table", "column"), [("searches", "market"), ("clicks", "position"), ("judgments", "judge")]
)
def test_a_column_that_only_some_files_have_is_named(tmp_path, table, column):
    frame = getattr(tiny, table)()
    value = pl.lit(1) if column == "position" else pl.lit("a")
    days = in_days(tmp_path, frame, frame.with_columns(value.alias(column)))
    log = tiny.write_log(tmp_path, **{table: days})
    tiny.refused(log, f"{table}: ", "1.parquet", "2.parquet", f"differ in column {column}")


def test_a_needed_column_missing_in_the_second_file_only_is_named(tmp_path):
    days = in_days(tmp_path, tiny.searches(), tiny.searches().drop("query"))
    tiny.refused(tiny.write_log(tmp_path, searches=days), "2.parquet", "column query")


def test_other_columns_may_differ_between_files(tmp_path):
    halves = tiny.searches().head(tiny.ROWS // 2), tiny.searches().tail(tiny.ROWS // 2)
    agents = pl.lit("x").alias("agent"), pl.lit(7).alias("agent")
    days = in_days(tmp_path, *(half.with_columns(one) for half, one in zip(halves, agents, strict=True)))
    assert tiny.counted(tiny.write_log(tmp_path, searches=days))["searches", "kept", ""] == tiny.ROWS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone who may not read")
@pytest.mark.parametrize("ending", [".parquet", ".csv", ""])
def test_a_file_that_may_not_be_read_is_named(tmp_path, ending):
    file = tmp_path / f"secret{ending}"
    file.write_text("PAR1 and more")
    file.chmod(0)
    log = tiny.write_log(tmp_path, searches=file)
    log.out.parent.mkdir()
    log.out.parent.chmod(0o777)
    with tiny.as_nobody(tmp_path):
        outcome = tiny.inside(*log.options("patterns"))
    assert f"secret{ending}" in tiny.one_line(outcome)
    assert "ermission denied" in outcome.err


class _Keys(encryption.KmsClient):
    """Keeps keys in the file itself: nobody has to find them again."""

    def __init__(self, _configuration):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, _master):
        return base64.b64encode(key).decode()

    def unwrap_key(self, wrapped, _master):
        return base64.b64decode(wrapped)


@pytest.mark.parametrize("plain_footer", [True, False])
def test_parquet_that_is_encrypted_is_refused_in_one_line_and_ends_no_process(tmp_path, plain_footer):
    log = tiny.write_log(tmp_path)
    table = pq.read_table(log.searches)
    made = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["query"]}, plaintext_footer=plain_footer
    )
    properties = encryption.CryptoFactory(_Keys).file_encryption_properties(
        encryption.KmsConnectionConfig(), made
    )
    end = 0
    while end == 0:  # one signature in 256 ends as a footer without one does
        with pq.ParquetWriter(log.searches, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        end = Path(log.searches).read_bytes()[-9]
    line = tiny.one_line(tiny.outside(*log.options("patterns")))
    assert f"searches: {log.searches} is encrypted" in line
