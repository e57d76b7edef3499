"""Files that are missing, empty, cut, overwritten or not what their name says: one line, nothing left."""

import gzip
import os

import polars as pl
import pytest

from support.logs import tiny

TABLES = ("searches", "clicks", "judgments")
BIG_STEP = ("searches", "clicks")


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_file_is_named(tmp_path, table):
    log = tiny.write_log(tmp_path, **{table: tmp_path / "nowhere.parquet"})
    tiny.refused(log, f"{table}: ", "nowhere.parquet does not exist", "give a file, a folder or a glob")


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_folder_is_named(tmp_path, table):
    (tmp_path / "bare").mkdir()
    log = tiny.write_log(tmp_path, **{table: tmp_path / "bare"})
    tiny.refused(log, f"{table}: no data file in ", "bare", ".parquet, .pq, .csv")


def test_a_folder_with_other_files_only_has_no_data(tmp_path):
    (tmp_path / "bare").mkdir()
    for name in ("README.md", "_SUCCESS", ".part-0.parquet.crc", ".hidden.parquet", "_temporary.parquet"):
        (tmp_path / "bare" / name).write_text("x")
    tiny.refused(tiny.write_log(tmp_path, searches=tmp_path / "bare"), "searches: no data file in ")


@pytest.mark.parametrize("table", TABLES)
def test_a_glob_that_matches_nothing_is_named(tmp_path, table):
    log = tiny.write_log(tmp_path, **{table: tmp_path / "day=*" / "*.parquet"})
    tiny.refused(log, f"{table}: ", "day=*/*.parquet")


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
    (tmp_path / "days").mkdir()
    good.write_parquet(tmp_path / "days" / "1.parquet")
    good.clear().write_parquet(tmp_path / "days" / "2.parquet")
    log = tiny.write_log(tmp_path, **{table: tmp_path / "days"})
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
@pytest.mark.parametrize("kept", [0.5, 0.98])
def test_a_parquet_file_without_its_end_is_named(tmp_path, table, kept):
    file = tmp_path / "cut.parquet"
    getattr(tiny, table)().write_parquet(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)])
    tiny.refused(
        tiny.write_log(tmp_path, **{table: file}), f"{table}: cannot read ", "cut.parquet", "complete"
    )


def overwritten_in_the_middle(table: pl.DataFrame, file, *, compression: str) -> None:
    """Write a Parquet file whose footer is whole and whose first pages are overwritten."""
    table.write_parquet(file, compression=compression)
    content = bytearray(file.read_bytes())
    for place in range(4, len(content) // 3):
        content[place] = 0xFF
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_a_parquet_file_with_overwritten_pages_is_refused(tmp_path, table, compression):
    file = tmp_path / "bad.parquet"
    overwritten_in_the_middle(getattr(tiny, table)(), file, compression=compression)
    line = tiny.refused(tiny.write_log(tmp_path, **{table: file}), table, "cannot read", "bad.parquet")
    assert "complete" in line


@pytest.mark.parametrize("table", BIG_STEP)
def test_a_parquet_file_with_a_wrong_byte_anywhere_never_shows_a_traceback(tmp_path, table):
    file = tmp_path / "bad.parquet"
    getattr(tiny, table)().write_parquet(file, compression="uncompressed")
    whole, refusals = file.read_bytes(), 0
    log = tiny.write_log(tmp_path, **{table: file})
    for place in range(4, len(whole), len(whole) // 15):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        outcome = tiny.inside(*log.options("patterns"), "--force", "--max-rejected", "1")
        refusals += outcome.code == 2 and bool(tiny.one_line(outcome))
        assert outcome.code in (0, 2)
    assert refusals


@pytest.mark.parametrize("table", TABLES)
def test_a_text_file_named_parquet_is_refused(tmp_path, table):
    file = tmp_path / "text.parquet"
    file.write_text("search_id,query\n1,maps\n" * 20)
    tiny.refused(tiny.write_log(tmp_path, **{table: file}), f"{table}: cannot read ", "text.parquet")


def test_a_parquet_file_named_csv_is_refused(tmp_path):
    file = tmp_path / "searches.csv"
    tiny.searches().write_parquet(file)
    tiny.refused(tiny.write_log(tmp_path, searches=file), "searches: ", "searches.csv")


def test_a_file_of_an_unknown_kind_is_refused(tmp_path):
    file = tmp_path / "log.xlsx"
    file.write_bytes(b"PK\x03\x04 a spreadsheet")
    tiny.refused(tiny.write_log(tmp_path, searches=file), "format of ", "log.xlsx unknown", ".csv")


def test_a_parquet_file_is_known_by_its_first_bytes(tmp_path):
    file = tmp_path / "part-00000"
    tiny.searches().write_parquet(file)
    assert tiny.counted(tiny.write_log(tmp_path, searches=file))["searches", "kept", ""] == tiny.ROWS


@pytest.mark.parametrize("table", BIG_STEP)
def test_a_gzip_file_that_breaks_off_is_refused(tmp_path, table):
    frame = getattr(tiny, table)()
    if table == "searches":
        frame = frame.with_columns(pl.format('["{}"]', pl.col("results").list.join('","')))
    packed = gzip.compress(frame.write_csv().encode() * 50)
    file = tmp_path / "half.csv.gz"
    file.write_bytes(packed[: len(packed) // 2])
    tiny.refused(tiny.write_log(tmp_path, **{table: file}), table, "half.csv.gz")


def test_bytes_that_are_no_gzip_are_refused(tmp_path):
    file = tmp_path / "false.csv.gz"
    file.write_bytes(b"\x1f\x8b\x08\x00 this is not deflate at all " * 10)
    tiny.refused(tiny.write_log(tmp_path, judgments=file), "judgments: ", "false.csv.gz")


@pytest.mark.parametrize("table", TABLES)
def test_files_of_one_input_with_different_types_are_refused(tmp_path, table):
    frame = getattr(tiny, table)()
    column = "search_id" if table in BIG_STEP else "grade"
    (tmp_path / "days").mkdir()
    frame.write_parquet(tmp_path / "days" / "1.parquet")
    frame.with_columns(pl.format("x{}", column).alias(column)).write_parquet(tmp_path / "days" / "2.parquet")
    line = tiny.refused(
        tiny.write_log(tmp_path, **{table: tmp_path / "days"}), f"{table}: column {column} is "
    )
    assert "String" in line
    assert "write it with one type" in line


def test_files_whose_time_differs_in_unit_and_zone_are_read_together(tmp_path):
    frame, days = tiny.searches(), tmp_path / "days"
    days.mkdir()
    half = frame.height // 2
    frame.head(half).with_columns(pl.col("timestamp").dt.epoch("ms")).write_parquet(days / "1.parquet")
    rest = frame.tail(half).with_columns(
        pl.col("timestamp").dt.convert_time_zone("Asia/Tokyo").dt.cast_time_unit("ns")
    )
    rest.write_parquet(days / "2.parquet")
    whole = tiny.write_log(tmp_path / "whole")
    parts = tiny.write_log(tmp_path / "parts", searches=days)
    assert tiny.counted(parts) == tiny.counted(whole)
    assert tiny.patterns(parts.out) == tiny.patterns(whole.out)


@pytest.mark.parametrize(
    ("table", "column"), [("searches", "market"), ("clicks", "position"), ("judgments", "judge")]
)
def test_a_column_that_only_some_files_have_is_named(tmp_path, table, column):
    frame = getattr(tiny, table)()
    (tmp_path / "days").mkdir()
    frame.write_parquet(tmp_path / "days" / "1.parquet")
    value = pl.lit(1) if column == "position" else pl.lit("a")
    frame.with_columns(value.alias(column)).write_parquet(tmp_path / "days" / "2.parquet")
    log = tiny.write_log(tmp_path, **{table: tmp_path / "days"})
    tiny.refused(log, f"{table}: ", "1.parquet", "2.parquet", f"differ in column {column}")


def test_a_needed_column_missing_in_the_second_file_only_is_named(tmp_path):
    (tmp_path / "days").mkdir()
    tiny.searches().write_parquet(tmp_path / "days" / "1.parquet")
    tiny.searches().drop("query").write_parquet(tmp_path / "days" / "2.parquet")
    tiny.refused(tiny.write_log(tmp_path, searches=tmp_path / "days"), "2.parquet", "column query")


def test_other_columns_may_differ_between_files(tmp_path):
    days, half = tmp_path / "days", tiny.ROWS // 2
    days.mkdir()
    tiny.searches().head(half).with_columns(agent=pl.lit("x")).write_parquet(days / "1.parquet")
    tiny.searches().tail(half).with_columns(agent=pl.lit(7)).write_parquet(days / "2.parquet")
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
