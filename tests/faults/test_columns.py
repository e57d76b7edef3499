"""Columns that are missing or of another type: the message names column, file and what there is instead."""

import json

import polars as pl
import pytest

from support.logs import tiny

NEEDED = {
    "searches": ("search_id", "user_id", "query", "timestamp", "results"),
    "clicks": ("search_id", "timestamp"),
    "judgments": ("query", "url", "grade"),
}
MISSING = [(table, column) for table, columns in NEEDED.items() for column in columns]
FLOAT, FLAG, DAY = pl.lit(1.5), pl.lit(value=True), pl.lit("2024-05-01").str.to_date()
MISTYPED = [
    *(("searches", "search_id", value) for value in (FLOAT, FLAG, DAY, pl.lit(b"1"))),
    *(("searches", "user_id", value) for value in (FLOAT, FLAG, pl.struct(a=1))),
    *(("searches", "query", value) for value in (FLOAT, FLAG, pl.lit(b"maps"), pl.concat_list("query"))),
    *(("searches", "timestamp", value) for value in (FLOAT, FLAG, DAY, pl.lit("2024-05-01 12:00:00"))),
    *(
        ("searches", "results", value)
        for value in (FLOAT, pl.lit("a"), pl.lit('["a"]'), pl.concat_list(FLOAT))
    ),
    ("searches", "results", pl.concat_list(pl.struct(a=1))),
    *(("searches", "teams", value) for value in (FLOAT, FLAG, pl.lit("a"), pl.lit('["a", "b", "a"]'))),
    *(("searches", "teams", pl.concat_list(value)) for value in (FLOAT, FLAG, pl.struct(a=1))),
    *(("searches", "market", value) for value in (FLOAT, FLAG)),
    ("searches", "variant", FLAG),
    *(("searches", "page", value) for value in (FLOAT, pl.lit("1"))),
    *(("clicks", "search_id", value) for value in (FLOAT, FLAG)),
    *(
        ("clicks", "timestamp", value)
        for value in (FLOAT, pl.lit("2024-05-01 12:00:00"), pl.lit("1714564800000"))
    ),
    *(("clicks", "url", value) for value in (FLOAT, pl.concat_list("url"))),
    *(("clicks", "position", value) for value in (FLOAT, pl.lit("1"), pl.lit(float("nan")))),
    *(("judgments", "query", value) for value in (FLOAT, FLAG)),
    *(("judgments", "url", value) for value in (FLOAT, pl.struct(a=1))),
    *(("judgments", "judge", value) for value in (FLOAT, FLAG)),
]


@pytest.mark.parametrize(("table", "column"), MISSING)
def test_a_missing_column_is_named_with_those_that_are_there(tmp_path, table, column):
    frame = getattr(tiny, table)().rename({column: f"the_{column}"})
    log = tiny.write_log(tmp_path, **{table: frame})
    line = tiny.refused(log, f"{table}: column {column} is missing in ", f"{table}.parquet")
    assert all(name in line for name in frame.columns)


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_column_that_is_there_twice_is_refused_if_it_is_read(tmp_path, ending, separator):
    file = tmp_path / f"judgments.{ending}"
    rows = tiny.judgments().with_columns(one=pl.lit(1), other=pl.lit(2)).write_csv(separator=separator)
    log = tiny.write_log(tmp_path, judgments=file)
    file.write_text(rows.replace("other", "grade", 1))
    tiny.refused(log, "judgments: column grade is there twice in ", file.name, "rename or remove one")
    file.write_text(rows.replace("other", "one", 1))
    assert tiny.inside(*log.options("run")).code < 2


def test_clicks_without_url_and_position_are_refused(tmp_path):
    log = tiny.write_log(tmp_path, clicks=tiny.clicks().rename({"url": "link"}))
    tiny.refused(log, "clicks: neither column url nor column position in ", "clicks.parquet", "link")


def test_queries_without_a_query_are_refused(tmp_path):
    log = tiny.write_log(tmp_path)
    pl.DataFrame({"text": ["maps"], "navigational": [True]}).write_parquet(tmp_path / "queries.parquet")
    more = ("--queries", str(tmp_path / "queries.parquet"))
    tiny.refused(log, "queries: column query is missing in ", "text, navigational", more=more)


@pytest.mark.parametrize(("table", "column", "value"), MISTYPED)
def test_a_mistyped_column_is_named_with_what_was_found_and_expected(tmp_path, table, column, value):
    frame = getattr(tiny, table)().with_columns(value.alias(column))
    log = tiny.write_log(tmp_path, **{table: frame})
    found = str(frame.schema[column])
    line = tiny.refused(log, f"{table}: column {column} of ", f"{table}.parquet is {found}; expected ")
    assert all(name in line for name in frame.columns)


@pytest.mark.parametrize("value", [FLAG, DAY, pl.concat_list("url"), pl.struct(a=1)])
def test_grades_of_a_type_that_is_none_of_grades_are_refused(tmp_path, value):
    frame = tiny.judgments().with_columns(value.alias("grade"))
    tiny.refused(
        tiny.write_log(tmp_path, judgments=frame),
        "judgments: column grade is ",
        "expected integers or labels",
    )


WIDE = [(pl.UInt64, 2**64 - 100), (pl.Int128, 2**127 - 100), (pl.Decimal(38, 0), 0), (pl.Float64, 0)]


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize(("dtype", "offset"), WIDE)
def test_wide_ids_are_those_of_small_ones(tmp_path, dtype, offset, engine):
    search_id = (pl.col("search_id").cast(pl.Int128) + pl.lit(offset, pl.Int128)).cast(dtype)
    searches = tiny.searches().with_columns(search_id, (pl.col("user_id") - 1000).cast(dtype))
    clicks = tiny.clicks().with_columns(search_id)
    log = tiny.write_log(tmp_path, searches=searches, clicks=clicks)
    counts = tiny.counted(log, "--engine", engine)
    assert (counts["searches", "kept", ""], counts["clicks", "kept", ""]) == (tiny.ROWS, tiny.CLICKS)
    plain = tiny.write_log(tmp_path, searches=tiny.searches().with_columns(pl.col("user_id") - 1000))
    tiny.said_by(*plain.options("patterns", out=tmp_path / "plain"))
    assert tiny.patterns(log.out) == tiny.patterns(tmp_path / "plain")


def test_a_number_of_more_than_128_bits_in_json_lines_is_to_be_a_text(tmp_path):
    (tmp_path / "clicks.jsonl").write_text(json.dumps({"search_id": 2**160, "timestamp": 5, "position": 1}))
    log = tiny.write_log(tmp_path, clicks=tmp_path / "clicks.jsonl")
    tiny.refused(log, "clicks: ", "clicks.jsonl", "integers over 128 bits", "write such ids as text")


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_position_or_page_beyond_64_signed_bits_lies_beyond_every_list(tmp_path, engine):
    beyond = pl.lit(2**64 - 1, pl.UInt64)
    clicks = tiny.clicks().select("search_id", "timestamp", position=beyond)
    log = tiny.write_log(tmp_path, clicks=clicks, searches=tiny.searches().with_columns(page=beyond))
    rows = tiny.counted(log, "--engine", engine)
    assert rows["clicks", "kept", ""] == tiny.CLICKS
    assert not pl.read_parquet(log.out / "patterns.parquet").height  # no search shows a first page


@pytest.mark.parametrize("column", ["search_id", "user_id", "query", "timestamp", "results"])
def test_a_column_of_nothing_but_nulls_is_unusable(tmp_path, column):
    frame = tiny.searches().with_columns(pl.lit(None).alias(column))
    line = tiny.refused(
        tiny.write_log(tmp_path, searches=frame), "searches: 24 of 24 rows are unusable", "--max-rejected"
    )
    assert f"24 with null {column}" in line


@pytest.mark.parametrize(
    "dtype", [pl.List(pl.Int64), pl.List(pl.UInt16), pl.Array(pl.Int32, 3), pl.List(pl.Categorical)]
)
def test_results_and_clicked_urls_may_be_integers_or_categories(tmp_path, dtype):
    pages = {
        tiny.url_of(query, page): str(3 * number + page)
        for number, query in enumerate(tiny.QUERIES)
        for page in range(3)
    }
    named = pl.element().replace_strict(pages)
    lists = tiny.searches().with_columns(pl.col("results").list.eval(named))
    clicks = tiny.clicks().with_columns(pl.col("url").replace_strict(pages))
    as_text = tiny.write_log(tmp_path / "text", searches=lists, clicks=clicks)
    if dtype.inner.is_integer():
        inner = lists.with_columns(pl.col("results").cast(pl.List(pl.Int64)).cast(dtype))
        clicks = clicks.with_columns(pl.col("url").cast(pl.Int64))
    else:
        inner = lists.with_columns(pl.col("results").cast(dtype))
    coded = tiny.write_log(tmp_path / "coded", searches=inner, clicks=clicks)
    assert tiny.counted(as_text) == tiny.counted(coded)
    assert tiny.patterns(as_text.out) == tiny.patterns(coded.out)
