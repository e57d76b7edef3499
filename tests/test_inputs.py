"""Logs in many shapes read as the same canonical rows."""

import gzip
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from pipeline.errors import InputError
from pipeline.inputs import CLICKS, QUERIES, SEARCHES, as_text_ids, find_files, first_line, read_input

NOON = datetime(2009, 3, 2, 12, 0, 0, 250_000)
NOON_MS = 1_235_995_200_250  # date -u -d '2009-03-02 12:00:00.25' +%s%3N
ROW = {"search_id": [1], "user_id": [2], "query": ["Q"], "timestamp": [NOON_MS], "results": [["a", "b"]]}


def searches_from(path):
    return read_input("searches", path, SEARCHES).frame.collect()


def parquet(folder, **columns):
    file = folder / "searches.parquet"
    pl.DataFrame(ROW | columns).write_parquet(file)
    return file


def test_rows_come_in_the_types_of_the_contract(tmp_path):
    frame = searches_from(parquet(tmp_path))
    assert frame.schema == pl.Schema(
        {
            "search_id": pl.Int64, "user_id": pl.Int64, "query": pl.String, "timestamp": pl.Int64,
            "results": pl.List(pl.String), "market": pl.String, "page": pl.Int64,
        }
    )  # fmt: skip
    assert frame.row(0) == (1, 2, "Q", NOON_MS, ["a", "b"], "all", 1)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_a_timestamp_of_any_unit_and_zone_is_an_instant(tmp_path, unit, zone):
    times = pl.Series([NOON]).cast(pl.Datetime(unit)).dt.replace_time_zone("UTC")
    times = times.dt.convert_time_zone(zone) if zone else times.dt.replace_time_zone(None)
    assert searches_from(parquet(tmp_path, timestamp=times))["timestamp"].to_list() == [NOON_MS]


@pytest.mark.parametrize(
    "text",
    [
        "1235995200250", " 1235995200250 ", "2009-03-02T12:00:00.250", "2009-03-02 12:00:00.25", "2009-03-02T12:00:00.250Z",
        "2009-03-02T14:00:00.250+02:00", "2009-03-02 07:30:00.25-0430",
    ],
)  # fmt: skip
def test_a_time_in_a_text_file_is_milliseconds_or_iso_8601(tmp_path, text):
    file = tmp_path / "clicks.csv"
    file.write_text(f"search_id,timestamp,url\n1,{text},a\n")
    assert read_input("clicks", file, CLICKS).frame.collect()["timestamp"].to_list() == [NOON_MS]


@pytest.mark.parametrize("text", ["", "yesterday", "2009-13-02 12:00:00", "12:00", "1.5"])
def test_a_text_that_is_no_time_is_null(tmp_path, text):
    file = tmp_path / "clicks.csv"
    file.write_text(f"search_id,timestamp,url\n1,{text},a\n")
    assert read_input("clicks", file, CLICKS).frame.collect()["timestamp"].to_list() == [None]


def test_zones_east_and_west_are_taken_off():
    """The texts above say the same instant; Python agrees."""
    for hours in (2, -4.5):
        zone = timezone(timedelta(hours=hours))
        local = NOON.replace(tzinfo=UTC).astimezone(zone)
        assert round(local.timestamp() * 1000) == NOON_MS


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pl.Series([1], dtype=pl.Int8), 1),
        (pl.Series([7], dtype=pl.UInt32), 7),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), "18446744073709551615"),
        (pl.Series(["x"], dtype=pl.Categorical), "x"),
        (pl.Series(["x"], dtype=pl.Enum(["x"])), "x"),
    ],
)
def test_ids_are_64_bit_integers_or_text(tmp_path, ids, expected):
    assert searches_from(parquet(tmp_path, user_id=ids))["user_id"].to_list() == [expected]


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("user_id", [1.5], "user_id of .* is Float64; expected integers or text"),
        ("query", [1.5], "query of .* is Float64; expected text"),
        ("timestamp", [1.5], "timestamp of .* expected a timestamp, or integer milliseconds"),
        ("timestamp", ["2009-03-02"], "timestamp of .* is String"),
        ("results", ["a b"], "results of .* expected a list of text"),
        ("results", [[1.5]], "results of .* expected a list of text"),
        ("page", ["1"], "page of .* expected integers"),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path, column, values, expected):
    with pytest.raises(InputError, match=expected):
        searches_from(parquet(tmp_path, **{column: values}))


@pytest.mark.parametrize(
    "results",
    [
        pl.Series([["7", "8"]], dtype=pl.Array(pl.String, 2)),
        pl.Series([[7, 8]], dtype=pl.List(pl.Int32)),
        pl.Series([["7", "8"]], dtype=pl.List(pl.Categorical)),
    ],
)
def test_results_are_lists_of_text_whatever_held_them(tmp_path, results):
    assert searches_from(parquet(tmp_path, results=results))["results"].to_list() == [["7", "8"]]


def test_a_column_of_nothing_but_nulls_is_read(tmp_path):
    frame = searches_from(parquet(tmp_path, user_id=[None], results=[None], timestamp=[None], market=[None]))
    assert frame.select("user_id", "results", "timestamp", "market").row(0) == (None, None, None, None)


def test_csv_tsv_and_compressed_json_lines_read_alike(tmp_path):
    header, cells = ("search_id", "user_id", "query", "timestamp", "results"), ("1", "2", "Q", str(NOON_MS))
    (tmp_path / "s.csv").write_text(",".join(header) + "\n" + ",".join(cells) + ',"[""a"",""b""]"\n')
    (tmp_path / "s.tsv").write_text("\t".join(header) + "\n" + "\t".join(cells) + '\t"[""a"",""b""]"\n')
    line = f'{{"search_id": "1", "user_id": "2", "query": "Q", "timestamp": {NOON_MS}, "results": ["a", "b"]}}\n'
    with gzip.open(tmp_path / "s.jsonl.gz", "wt") as stream:
        stream.write(line)
    rows = [searches_from(tmp_path / name).row(0) for name in ("s.csv", "s.tsv", "s.jsonl.gz")]
    assert rows == [("1", "2", "Q", NOON_MS, ["a", "b"], "all", 1)] * 3


def test_hive_folders_are_columns(tmp_path):
    for market in ("uk", "us"):
        place = tmp_path / f"market={market}" / "day=1"
        place.mkdir(parents=True)
        parquet(place)
    table = read_input("searches", tmp_path, SEARCHES)
    assert sorted(table.frame.collect()["market"]) == ["uk", "us"]
    assert {"market", "day"} <= table.columns


def test_hidden_files_and_those_that_start_with_an_underscore_are_passed_by(tmp_path):
    for name in ("a.parquet", ".b.parquet", "_c.parquet", "notes.txt", "d.PQ"):
        (tmp_path / name).write_text("x")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "e.parquet").write_text("x")
    assert [file.name for file in find_files("searches", tmp_path)] == ["a.parquet", "d.PQ"]


def test_a_glob_finds_files_and_folders(tmp_path):
    for day in ("day1", "day2", "night"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "a.csv").write_text("x")
    (tmp_path / "day3.csv").write_text("x")
    found = find_files("searches", str(tmp_path / "day*"))
    assert [file.relative_to(tmp_path).as_posix() for file in found] == ["day1/a.csv", "day2/a.csv", "day3.csv"]


def write_csv(frame, file):
    frame.with_columns(results=pl.lit('["a"]')).write_csv(file)


@pytest.mark.parametrize(
    ("ending", "write"),
    [("parquet", pl.DataFrame.write_parquet), ("jsonl", pl.DataFrame.write_ndjson), ("csv", write_csv)],
)
def test_a_file_whose_name_holds_signs_of_a_glob_is_that_file_and_no_other(tmp_path, ending, write):
    write(pl.DataFrame(ROW), tmp_path / f"log[1].{ending}")
    write(pl.DataFrame({"query": ["another"], "results": [["a"]]}), tmp_path / f"log1.{ending}")
    assert searches_from(tmp_path / f"log[1].{ending}")["query"].to_list() == ["Q"]


def test_other_columns_are_kept_only_when_asked_for(tmp_path):
    file = tmp_path / "queries.csv"
    file.write_text("query,navigational,kind\nq,true,x\n")
    assert read_input("queries", file, QUERIES).frame.collect_schema().names() == ["query", "market"]
    kept = read_input("queries", file, QUERIES, keep_others=True).frame.collect()
    assert kept.to_dicts() == [{"query": "q", "market": "all", "navigational": "true", "kind": "x"}]


def test_a_fingerprint_names_the_content_and_not_the_place(tmp_path):
    (tmp_path / "other").mkdir()
    first, copy = parquet(tmp_path), parquet(tmp_path / "other")
    one, same = (read_input("searches", file, SEARCHES).fingerprint() for file in (first, copy))
    assert one == same
    assert (one["names"], one["files"], one["bytes"]) == (["searches.parquet"], 1, first.stat().st_size)
    other = read_input("searches", parquet(tmp_path, query=["R"]), SEARCHES).fingerprint()
    assert other["sha256"] != one["sha256"]


def test_a_fingerprint_sees_the_head_and_the_tail_of_a_large_file(tmp_path):
    file = tmp_path / "clicks.csv"
    text = bytearray(b"search_id,timestamp,url\n" + b"1,1235995200250,a\n" * 200_000)
    digests = []
    for place in (None, 30, -3):
        changed = bytearray(text)
        if place is not None:
            changed[place : place + 1] = b"7"
        file.write_bytes(changed)
        digests.append(read_input("clicks", file, CLICKS).fingerprint()["sha256"])
    assert len(set(digests)) == 3


def test_ids_can_be_turned_into_text(tmp_path):
    table = as_text_ids(read_input("searches", parquet(tmp_path), SEARCHES), "search_id")
    assert table.frame.collect()["search_id"].to_list() == ["1"]


@pytest.mark.parametrize(
    ("error", "line"), [(ValueError("\n one \ntwo"), "one"), (ValueError(), "ValueError"), (OSError(2, "x"), "[Errno 2] x")]
)
def test_the_first_line_of_an_error_is_told(error, line):
    assert first_line(error) == line
