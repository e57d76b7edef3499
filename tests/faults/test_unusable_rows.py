"""Rows that cannot be used: a few are counted by reason and the run goes on, many stop it."""

import json

import polars as pl
import pytest

from support.logs import tiny

FEW = ("--max-rejected", "0.2")
NULLABLE = {
    "searches": ("search_id", "user_id", "query", "timestamp", "results", "market", "page"),
    "clicks": ("search_id", "timestamp", "url"),
}
CASES = [(table, column) for table, columns in NULLABLE.items() for column in columns]


def with_optional(table: str) -> pl.DataFrame:
    frame = getattr(tiny, table)()
    return frame.with_columns(market=pl.lit("us"), page=pl.lit(1)) if table == "searches" else frame


def with_nulls(frame: pl.DataFrame, column: str, rows: int) -> pl.DataFrame:
    """Take the values of the first rows away."""
    spared = pl.int_range(pl.len()) >= rows
    return frame.with_columns(pl.when(spared).then(pl.col(column)).alias(column))


def changed(frame: pl.DataFrame, column: str, value: object) -> pl.DataFrame:
    """Put `value` into the first row."""
    first = pl.int_range(pl.len()) == 0
    return frame.with_columns(
        pl.when(first).then(pl.lit(value, dtype=frame.schema[column])).otherwise(pl.col(column)).alias(column)
    )


@pytest.mark.parametrize(("table", "column"), CASES)
def test_a_few_nulls_are_counted_by_reason_and_many_stop_the_run(tmp_path, table, column):
    frame = with_nulls(with_optional(table), column, 3)
    log = tiny.write_log(tmp_path, **{table: frame})
    stopped = (f"{table}: 3 of {frame.height} rows are unusable", f"3 with null {column}", "--max-rejected")
    tiny.refused(log, *stopped)
    counts = tiny.counted(log, *FEW)
    assert counts[table, "read", ""] == frame.height
    rejected = {reason: rows for (*at, reason), rows in counts.items() if at == [table, "rejected"] and rows}
    assert rejected == {f"null {column}": 3}


@pytest.mark.parametrize("column", ["query", "url", "judge"])
def test_a_few_null_judgments_are_counted_and_many_stop(tmp_path, column):
    frame = with_nulls(tiny.judgments().with_columns(judge=pl.lit("ann")), column, 1)
    log = tiny.write_log(tmp_path, judgments=frame)
    tiny.refused(log, f"judgments: 1 of 9 rows are unusable (1 with null {column})", "--max-rejected")
    counts = tiny.counts_of(tiny.analysed(log, max_rejected=0.2)["funnel"])
    assert counts["judgments", "read", ""] == 9
    assert counts["judgments", "rejected", f"null {column}"] == 1
    assert counts["judgments", "kept", ""] == 8


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(float("nan"), pl.Float64), (None, pl.Float64), (-1, pl.Int8), (-1.0, pl.Float32)]
    + [
        (word, pl.String) for word in ("-1", "", "NaN", "NULL", "\\N", "None", "n/a", "Refused", "not judged")
    ],
)
def test_what_nobody_judged_is_counted_and_stops_no_run(tmp_path, value, dtype):
    frame = tiny.judgments().with_columns(pl.col("grade").cast(dtype))
    log = tiny.write_log(tmp_path, judgments=changed(frame, "grade", value))
    counts = tiny.counts_of(tiny.analysed(log)["funnel"])
    assert counts["judgments", "not judged", "no grade, -1 or a refusal"] == 1
    assert (counts["judgments", "read", ""], counts["judgments", "kept", ""]) == (9, 8)


def test_all_searches_unusable_stops_even_where_all_may_be_rejected(tmp_path):
    frame = tiny.searches().with_columns(pl.lit(None, dtype=pl.String).alias("query"))
    log = tiny.write_log(tmp_path, searches=frame)
    tiny.refused(log, "searches: none of the 24 rows is usable", more=("--max-rejected", "1"))


def test_a_log_without_any_click_is_a_log(tmp_path):
    counts = tiny.counted(tiny.write_log(tmp_path, clicks=tiny.clicks().clear()), code=1)
    assert counts["sessions", "formed", ""] == tiny.ROWS


FACTORS = {"seconds": 1 / 1000, "microseconds": 1000, "nanoseconds": 1_000_000}


@pytest.mark.parametrize("table", ["searches", "clicks"])
@pytest.mark.parametrize("unit", FACTORS)
def test_integer_times_that_are_no_milliseconds_stop_with_a_hint(tmp_path, table, unit):
    frame = getattr(tiny, table)()
    times = (pl.col("timestamp").dt.epoch("ms") * FACTORS[unit]).cast(pl.Int64)
    log = tiny.write_log(tmp_path, **{table: frame.with_columns(times)})
    tiny.refused(
        log, f"{table}: {frame.height} of {frame.height} rows", "time out of range", "seconds or microseconds"
    )


@pytest.mark.parametrize(
    ("zone", "unit"), [("UTC", "us"), ("Asia/Kathmandu", "ms"), ("America/New_York", "ns"), (None, "us")]
)
def test_the_same_instants_give_the_same_patterns_in_every_zone_and_unit(tmp_path, zone, unit):
    times = pl.col("timestamp").dt.convert_time_zone(zone or "UTC").dt.cast_time_unit(unit)
    times = times if zone else times.dt.replace_time_zone(None)
    plain = tiny.write_log(tmp_path / "plain")
    tables = {"searches": tiny.searches().with_columns(times), "clicks": tiny.clicks().with_columns(times)}
    zoned = tiny.write_log(tmp_path / "zoned", **tables)
    assert tiny.counted(plain) == tiny.counted(zoned)
    assert tiny.patterns(plain.out) == tiny.patterns(zoned.out)


def test_a_query_of_100_000_characters_is_a_query(tmp_path):
    long = "Maps  " * 16_667
    searches = changed(tiny.searches(), "query", long)
    judgments = pl.concat([tiny.judgments(), tiny.judgments().head(3).with_columns(query=pl.lit(long))])
    log = tiny.write_log(tmp_path, searches=searches, judgments=judgments)
    tiny.said_by(*log.options())
    table = pl.read_parquet(log.out / "configurations.parquet")
    assert " ".join(["maps"] * 16_667) in table["query"].to_list()
    assert max(map(len, (log.out / "report.md").read_text().splitlines())) < 20_000


def test_a_query_of_a_million_characters_is_rejected(tmp_path):
    log = tiny.write_log(tmp_path, searches=changed(tiny.searches(), "query", "m" * 1_000_000))
    tiny.refused(log, "1 of 24 rows are unusable (1 with query too long)")


# ---- rankers of interleaved lists ------------------------------------------------------------------

DRAFT = ["a", "b", "a"]
ENGINES = [(), ("--engine", "duckdb")]


def drafted(teams, test="mix"):
    """Return searches of a test, of which the first has other teams."""
    rows = tiny.searches()
    texts = pl.Series("teams", [teams, *[DRAFT] * (rows.height - 1)], dtype=pl.List(pl.String))
    return rows.with_columns(texts, pl.Series("experiment", [test, *["mix"] * (rows.height - 1)]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("teams", "test", "reason"),
    [
        ([*DRAFT, "b"], "mix", "another number than results"),
        (["a"], "mix", "another number than results"),
        (DRAFT, "", "null experiment"),
        (DRAFT, None, "null experiment"),
    ],
)
def test_a_few_teams_of_no_use_are_counted_and_many_stop_the_run(tmp_path, teams, test, reason, engine):
    log = tiny.write_log(tmp_path, searches=drafted(teams, test))
    tiny.refused(log, f"teams: 1 of 24 rows are unusable (1 with {reason})", "--max-rejected")
    counts = tiny.counted(log, *FEW, *engine)
    assert counts["teams", "read", ""] == 24
    assert counts["teams", "rejected", reason] == 1
    assert counts["interleaved", "kept", ""] == counts["teams", "kept", ""] == 23


def test_numbers_are_names_of_rankers(tmp_path):
    rows = tiny.searches().with_columns(teams=pl.concat_list(pl.lit(2), pl.lit(10), pl.lit(2)), experiment=9)
    log = tiny.write_log(tmp_path, searches=rows)
    assert tiny.counted(log)["interleaved", "kept", ""] == 24
    found = pl.read_parquet(log.out / "interleaved.parquet")
    assert found.select("experiment", "ranker_a", "ranker_b").unique().rows() == [("9", "10", "2")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["a,b,a", "[a, b, a]", '["a", 1.5, true]', "{}", "a"])
def test_cells_of_teams_are_arrays_or_are_told(tmp_path, text, engine):
    rows = drafted(DRAFT)
    cells = (
        pl.Series(name, [json.dumps(one) for one in rows[name].to_list()]) for name in ("results", "teams")
    )
    first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(text)).otherwise("teams").alias("teams")
    rows.with_columns(cells).with_columns(first).write_csv(tmp_path / "searches.csv")
    log = tiny.write_log(tmp_path, searches=tmp_path / "searches.csv")
    told = 'cannot be read: write a list as a JSON array, e.g. ["a", "b"].'
    tiny.refused(log, "teams: 1 of 24 rows are unusable (1 with another number than results)", text[:3], told)
    counts = tiny.counted(log, *FEW, *engine)
    assert counts["teams", "rejected", "another number than results"] == 1
    assert counts["interleaved", "kept", ""] == 23
