"""Logs in many shapes read as the same canonical rows."""

import json

import polars as pl
import pytest

from clickassay.inputs.columns import CLICKS, JUDGMENTS, QUERIES, SEARCHES
from clickassay.inputs.tables import read_input

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
            "variant": pl.String, "experiment": pl.String, "teams": pl.List(pl.String),
        }
    )  # fmt: skip
    assert frame.row(0) == (1, 2, "Q", NOON_MS, ["a", "b"], "all", 1, None, "variant", None)


def test_other_columns_are_kept_only_when_asked_for(tmp_path):
    file = tmp_path / "queries.csv"
    file.write_text("query,navigational,kind\nq,true,x\n")
    assert read_input("queries", file, QUERIES).frame.collect_schema().names() == ["query", "market"]
    kept = read_input("queries", file, QUERIES, keep_others=True).frame.collect()
    assert kept.to_dicts() == [{"query": "q", "market": "all", "navigational": "true", "kind": "x"}]


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
        "search_id": 1, "user_id": 2, "query": "q", "timestamp": 5, "results": ["a"], "url": "a",
        "grade": 1,
    }  # fmt: skip
    common = {name: one for name, one in row.items() if name in {want.name for want in wanted} - {column}}
    rows = [common] * 12_000 + [common | late]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (rows[::-1] if first else rows)))
    table = read_input("queries", file, wanted, keep_others=wanted is QUERIES)
    found = table.frame.select(column).collect()[column]
    assert column in table.columns
    assert (found.null_count(), found.drop_nulls().to_list()) == (12_000, [value])
