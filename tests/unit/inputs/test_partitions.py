"""Folders such as market=uk are columns from the given folder, or the first wildcard, on."""

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.columns import QUERIES, SEARCHES
from clickassay.inputs.tables import collected, read_input

ROW = {"search_id": [7], "user_id": [2], "query": ["Q"], "timestamp": [1_235_995_200_250], "results": [["a"]]}

NULL, HIVE_NULL = pl.Series([None], dtype=pl.String), "__HIVE_DEFAULT_PARTITION__"


def write(folder, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(ROW | columns).write_parquet(folder / "part.parquet")


def searches(path):
    return collected(read_input("searches", path, SEARCHES))


@pytest.mark.parametrize("above", ["market=test", "user_id=7", "page=9"])
@pytest.mark.parametrize("below", ["", "*.parquet", "*", "**/*.parquet", "part.parquet", "[p]art.*"])
def test_a_folder_above_the_input_is_no_column(tmp_path, above, below):
    place = tmp_path / above / "logs"
    write(place, market=["us"])
    row = searches(f"{place}/{below}" if below else place).to_dicts()[0]
    assert (row["market"], row["user_id"], row["page"]) == ("us", 2, 1)


@pytest.mark.parametrize("below", ["", "*/*.parquet", "market=*/*.parquet", "*/", "**/*.parquet", "*=u*"])
def test_folders_from_the_first_wildcard_on_are_columns(tmp_path, below):
    place = tmp_path / "market=test"
    for market in ("uk", "us", "u%C3%A9%20a"):
        write(place / f"market={market}")
    assert sorted(searches(f"{place}/{below}")["market"]) == ["uk", "us", "ué a"]


def test_a_folder_that_is_named_before_the_wildcard_is_no_column(tmp_path):
    write(tmp_path / "market=uk" / "day=1")
    assert searches(f"{tmp_path}/market=uk/*/*.parquet")["market"].to_list() == ["all"]


def test_a_folder_that_repeats_a_column_of_its_files_is_read(tmp_path):
    write(tmp_path / "market=uk" / "page=01" / "search_id=7", market=["uk"], page=[1])
    write(tmp_path / f"market={HIVE_NULL}" / "page=2" / "search_id=7",
          market=NULL, page=[2])  # fmt: skip
    rows = searches(tmp_path).sort("page").select("market", "page", "search_id").rows()
    assert rows == [("uk", 1, "7"), (None, 2, "7")]


@pytest.mark.parametrize(
    ("folder", "columns", "words"),
    [
        ("market=uk", {"market": ["us"]}, "says market “uk”, but the column market contains “us”"),
        ("page=2", {"page": [1]}, "says page “2”, but the column page contains “1”"),
        ("user_id=3", {}, "says user_id “3”, but the column user_id contains “2”"),
        ("market=uk", {"market": NULL}, "says market “uk”, but the column market contains “null”"),
        (
            f"market={HIVE_NULL}",
            {"market": ["us"]},
            "says market “null”, but the column market contains “us”",
        ),
    ],
)
def test_a_folder_that_contradicts_a_column_of_its_files_is_refused(tmp_path, folder, columns, words):
    write(tmp_path / folder, **columns)
    with pytest.raises(InputError, match=rf"part\.parquet {words}.*rename the folder or the column"):
        searches(tmp_path)


def test_a_column_that_nobody_reads_may_differ_from_the_folder(tmp_path):
    write(tmp_path / "day=2009-03-02", day=[5])
    assert searches(tmp_path).height == 1


@pytest.mark.parametrize(("day", "is_refused"), [("5", False), ("05", False), ("6", True)])
def test_attributes_of_queries_agree_with_their_folders(tmp_path, day, is_refused):
    write(tmp_path / f"day={day}", day=[5])
    if is_refused:
        with pytest.raises(InputError, match="says day “6”, but the column day contains “5”"):
            read_input("queries", tmp_path, QUERIES, keep_others=True)
    else:
        assert collected(read_input("queries", tmp_path, QUERIES, keep_others=True)).height == 1
