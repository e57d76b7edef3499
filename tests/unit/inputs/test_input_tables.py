"""Logs in many shapes read as the same canonical rows."""

import json

import polars as pl
import pytest

from clickassay.core.text.words import first_line
from clickassay.inputs.columns import CLICKS, JUDGMENTS, QUERIES, SEARCHES
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.tables import read_input, watched

NOON_MS = 1_235_995_200_250  # date -u -d '2009-03-02 12:00:00.25' +%s%3N
ROW = {"search_id": [1], "user_id": [2], "query": ["Q"], "timestamp": [NOON_MS], "results": [["a", "b"]]}


def searches_from(path):
    return read_input("searches", path, SEARCHES).frame.collect()


def parquet(folder, **columns):
    file = folder / "searches.parquet"
    pl.DataFrame(ROW | columns).write_parquet(file)
    return file


def test_rows_come_in_the_canonical_types(tmp_path):
    frame = searches_from(parquet(tmp_path))
    assert frame.schema == pl.Schema(
        {
            "search_id": pl.Int64, "user_id": pl.Int64, "query": pl.String, "timestamp": pl.Int64,
            "results": pl.List(pl.String), "market": pl.String, "page": pl.Int64,
        }
    )  # fmt: skip
    assert frame.row(0) == (1, 2, "Q", NOON_MS, ["a", "b"], "all", 1)


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
    assert [file.name for file in find_files("searches", tmp_path).files] == ["a.parquet", "d.PQ"]


def test_a_glob_finds_files_and_folders(tmp_path):
    for day in ("day1", "day2", "night"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "a.csv").write_text("x")
    (tmp_path / "day3.csv").write_text("x")
    found = find_files("searches", str(tmp_path / "day*")).files
    assert [file.relative_to(tmp_path).as_posix() for file in found] == [
        "day1/a.csv",
        "day2/a.csv",
        "day3.csv",
    ]


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


def identity_of(file):
    with watched(read_input("searches", file, SEARCHES)) as found:
        return found["searches"]


def test_a_fingerprint_names_the_content_and_not_the_place(tmp_path):
    (tmp_path / "other").mkdir()
    first, copy = parquet(tmp_path), parquet(tmp_path / "other")
    one, same = (identity_of(file) for file in (first, copy))
    assert one == same
    assert (one["names"], one["files"], one["bytes"]) == (["searches.parquet"], 1, first.stat().st_size)
    other = identity_of(parquet(tmp_path, query=["R"]))
    assert other["digest"] != one["digest"]


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("\n one \ntwo"), "one"), (ValueError(), "ValueError"), (OSError(2, "x"), "[Errno 2] x")],
)
def test_the_first_line_of_an_error_is_told(error, line):
    assert first_line(error) == line


LATE = {
    "market": (SEARCHES, {"market": "north"}, "north"),
    "page": (SEARCHES, {"page": 2}, 2),
    "url": (CLICKS, {"url": "a"}, "a"),
    "position": (CLICKS, {"position": 3}, 3),
    "judge": (JUDGMENTS, {"judge": "ann"}, "ann"),
    "navigational": (QUERIES, {"navigational": True}, True),
}


@pytest.mark.parametrize("column", LATE)
@pytest.mark.parametrize("first", [True, False])
def test_a_column_of_json_lines_is_read_in_whichever_row_it_first_appears(tmp_path, column, first):
    wanted, late, value = LATE[column]
    row = {
        "search_id": 1,
        "user_id": 2,
        "query": "q",
        "timestamp": 5,
        "results": ["a"],
        "url": "a",
        "grade": 1,
    }
    common = {name: one for name, one in row.items() if name in {want.name for want in wanted} - {column}}
    rows = [common] * 12_000 + [common | late]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (rows[::-1] if first else rows)))
    table = read_input("queries", file, wanted, keep_others=wanted is QUERIES)
    found = table.frame.select(column).collect()[column]
    assert column in table.columns
    assert (found.null_count(), found.drop_nulls().to_list()) == (12_000, [value])
