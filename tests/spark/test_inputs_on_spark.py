"""Spark finds, types and refuses inputs as the other engines do, here and behind URIs."""

import itertools
import json

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.settings import load_settings
from clickassay.inputs import tables
from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.inputs.sources.walk import MARKS
from clickassay.inputs.tables import collected, read_input
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from clickassay.logs.spark.read import read_for_spark
from support.logs import tiny

pytest.importorskip("pyspark")


FOLDERS = itertools.count()


def read(spark, place, folder, what="searches", **more):
    """Return a half of a log, staged in folders of a folder."""
    wanted = {"searches": SEARCHES, "clicks": CLICKS}[what]
    return read_for_spark(spark, what, place, wanted, lambda _: f"file://{folder}/{next(FOLDERS)}", **more)


def searches_at(spark, uri):
    frame = read(spark, uri, "unused").frame
    return [row.asDict() for row in frame.orderBy("search_id").collect()]


def test_ids_of_every_width_are_read_as_on_the_default_engine(spark, tmp_path):
    kinds = (pl.Int32, pl.UInt64, pl.Decimal(38, 0), pl.Int128, pl.Float64, pl.UInt128)
    shown, clicked = tiny.searches().with_row_index("n"), tiny.clicks()
    for half in ("searches", "clicks"):
        (tmp_path / half).mkdir()
    for number, kind in enumerate(kinds):
        rows = shown.filter(pl.col("n") % len(kinds) == number).drop("n")
        ids = rows.with_columns(pl.col("search_id").cast(kind), pl.col("user_id").cast(kind))
        ids.write_parquet(tmp_path / "searches" / f"{number}.parquet")
    rows = clicked.head(9).with_columns(pl.col("timestamp").dt.epoch("ms")).to_dicts()
    rows.append({"search_id": 2**127, "timestamp": tiny.NOON_MS, "url": "a"})
    (tmp_path / "clicks" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    clicked.tail(-9).with_columns(pl.col("search_id").cast(pl.Decimal(20, 0))).write_parquet(
        tmp_path / "clicks" / "2.parquet"
    )
    ids = {"searches": [str(one) for one in shown["search_id"]],
           "clicks": [str(one) for one in [*clicked["search_id"], 2**127]]}  # fmt: skip
    for what, wanted in (("searches", SEARCHES), ("clicks", CLICKS)):
        place = tmp_path / what
        half = read(spark, place, tmp_path, what)
        found = [row["search_id"] for row in half.frame.select("search_id").collect()]
        assert sorted(found) == sorted(ids[what])
        assert sorted(collected(read_input(what, place, wanted))["search_id"]) == sorted(found)


def test_uuids_json_and_an_interval_that_nobody_reads_are_read_as_on_the_default_engine(spark, tmp_path):
    file, rows = tmp_path / "searches.parquet", tiny.searches()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        replaced = "REPLACE (md5(search_id::VARCHAR)::UUID AS search_id, to_json(results) AS results)"
        connection.sql(f"SELECT * {replaced}, INTERVAL 3 DAY AS stay FROM rows").write_parquet(str(file))
    half = read(spark, file, tmp_path)
    expected = collected(read_input("searches", file, SEARCHES)).sort("search_id")
    found = [row.asDict() for row in half.frame.orderBy("search_id").collect()]
    assert [row["results"] for row in found] == expected["results"].to_list()
    assert [row["search_id"] for row in found] == expected["search_id"].to_list()


def test_whole_floats_and_decimals_behind_a_uri_are_ids(spark, tmp_path):
    rows = tiny.searches().head(2)
    for dtype, ids in ((pl.Float64, [1, 2]), (pl.Decimal(18, 0), [1, 2]), (pl.Decimal(38, 0), ["1", "2"])):
        rows.with_columns(pl.col("search_id").cast(dtype)).write_parquet(tmp_path / "s.parquet")
        found = searches_at(spark, f"file://{tmp_path}/s.parquet")
        assert [row["search_id"] for row in found] == ids


NAMES = {
    "search_id": "request", "user_id": "user.id", "query": "q.text", "timestamp": "ts",
    "results": "items.product.id",
}  # fmt: skip


@pytest.mark.parametrize("place", ["{}", "file://{}"], ids=["here", "behind a URI"])
def test_columns_and_fields_of_records_are_read_under_our_names(spark, tmp_path, place):
    plain, renamed = tmp_path / "plain.parquet", tmp_path / "renamed.parquet"
    rows = tiny.searches()
    rows.write_parquet(plain)
    product = pl.struct(product=pl.struct(pl.element().alias("id")))
    rows.select(
        pl.col("search_id").alias("request"), user=pl.struct(pl.col("user_id").alias("id")),
        ts=pl.col("timestamp"), items=pl.col("results").list.eval(product), timestamp=pl.lit(0),
    ).with_columns(pl.Series("q.text", rows["query"])).write_parquet(renamed)  # fmt: skip
    plain, renamed = place.format(plain), place.format(renamed)
    ours, other = (
        read(spark, file, tmp_path, names=names).frame.select(*NAMES).orderBy("search_id").collect()
        for file, names in ((plain, {}), (renamed, NAMES))
    )
    assert [row.asDict() for row in other] == [row.asDict() for row in ours]
    files = [
        read(spark, renamed, tmp_path, names=names).fingerprints()
        for names in (NAMES, {**NAMES, "query": "user.id"})
    ]
    digests = [{file.digest for file in known.values()} for known in files]
    assert [len(one) for one in digests] == [1, 1]
    assert digests[0] != digests[1]  # read under other names it is another file to a store
    said = r"no column nothing in .*, which --column searches\.query=nothing names"
    with pytest.raises(InputError, match=said):
        read(spark, renamed, "unused", names={**NAMES, "query": "nothing"})


@pytest.mark.parametrize("value", [1.5, 2.0**53, float("nan")])
def test_other_floats_behind_a_uri_are_refused(spark, tmp_path, value):
    odd = tiny.searches().with_columns(pl.lit(value).alias("user_id"))
    odd.write_parquet(tmp_path / "s.parquet")
    with pytest.raises(InputError, match=r"column user_id of .* is double; expected .* pandas .*Int64"):
        searches_at(spark, f"file://{tmp_path}/s.parquet")


@pytest.mark.parametrize("kind", MARKS)
@pytest.mark.parametrize("given", ["lake/some table", "lake", "lake/some table/*.parquet", "*/some table",
                                   "lake/some table/part-0.parquet", "{lake,other}"])  # fmt: skip
def test_a_table_of_a_lake_behind_a_uri_is_refused(spark, tmp_path, kind, given):
    folder, file = MARKS[kind]
    table = tmp_path / "lake" / "some table"
    (table / folder).mkdir(parents=True)
    (table / folder / file.replace("*", "1")).write_text("{}")
    tiny.searches().write_parquet(table / "part-0.parquet")
    with pytest.raises(InputError, match=rf"/lake/some table is a table of {kind} \(it has {folder}\)"):
        searches_at(spark, f"file://{tmp_path}/{given}")


@pytest.mark.parametrize("given", ["", "/*", "/market=*/*.parquet", "/*=*", "/market=u+a/part.parquet"])
def test_folders_behind_a_uri_are_columns_from_the_first_wildcard_on(spark, tmp_path, given):
    root = tmp_path / "market=test"
    place = root / "market=u+a"
    place.mkdir(parents=True)
    tiny.searches().head(1).write_parquet(place / "part.parquet")
    market = "all" if given.endswith("/part.parquet") else "u+a"
    assert [row["market"] for row in searches_at(spark, f"file://{root}{given}")] == [market]


@pytest.mark.parametrize(
    ("folder", "market", "is_refused"),
    [
        ("uk", "us", True), ("uk", None, True), ("a+b c%2520", "a+b c%20", False),
        ("__HIVE_DEFAULT_PARTITION__", None, False), ("__HIVE_DEFAULT_PARTITION__", "us", True),
    ],
)  # fmt: skip
def test_a_folder_behind_a_uri_that_contradicts_a_column_is_refused(
    spark, tmp_path, folder, market, is_refused
):
    place = tmp_path / "market=test" / f"market={folder}"
    place.mkdir(parents=True)
    rows = tiny.searches().head(1).with_columns(pl.lit(market, pl.String).alias("market"))
    rows.write_parquet(place / "part.parquet")
    uri = f"file://{tmp_path}/market=test"
    if is_refused:
        with pytest.raises(InputError, match=r"the folder of .*but the column market contains"):
            searches_at(spark, uri)
    else:
        assert [row["market"] for row in searches_at(spark, uri)] == [market]


def test_times_without_a_zone_are_of_the_zone_that_is_given_as_on_the_default_engine(spark, tmp_path):
    shown, zone = tiny.searches(), "Europe/Berlin"
    local = shown.with_columns(pl.col("timestamp").dt.convert_time_zone(zone).dt.replace_time_zone(None))
    local.write_parquet(tmp_path / "local.parquet", row_group_size=12)
    local.head(3).with_columns(pl.col("timestamp").dt.strftime("%Y-%m-%d %H:%M:%S")).write_ndjson(
        tmp_path / "text.jsonl"
    )
    shown.tail(3).write_parquet(tmp_path / "zoned.parquet")
    rows = pl.concat([shown, shown.head(3), shown.tail(3)])
    right = sorted(rows["timestamp"].dt.epoch("ms"))
    half = read(spark, tmp_path / "*.*", tmp_path, time_zone=zone)
    assert sorted(row["timestamp"] for row in half.frame.select("timestamp").collect()) == right
    second = half.opened([str(tmp_path / "local.parquet")], (12, 12)).select("search_id").collect()
    assert sorted(row["search_id"] for row in second) == shown["search_id"].to_list()[12:]
    with pytest.raises(InputError, match="no zone, and --time-zone Europe/Berlin"):
        read(spark, f"file://{tmp_path}/local.parquet", "unused", time_zone=zone)
    away = read(spark, f"file://{tmp_path}/zoned.parquet", "unused", time_zone=zone)
    assert away.frame.count() == 3


@pytest.mark.usefixtures("spark")
def test_a_run_on_spark_opens_each_input_once_and_shows_what_is_wrong_with_its_clicks(tmp_path, monkeypatch):
    opened, find_files = [], tables.find_files
    monkeypatch.setattr(
        tables, "find_files", lambda what, path: (opened.append(what), find_files(what, path))[1]
    )
    log = tiny.write_log(tmp_path, clicks=tiny.clicks().with_columns(url=pl.lit("elsewhere")))
    few = {"depth": [3], "iterations": 5, "max_rejected": 0.9, "click_models": ("NONE",)}
    _, findings = make_run(
        Sources(log.searches, log.clicks, log.judgments), load_settings(**few, engine="spark"), out=log.out
    )
    assert sorted(opened) == ["clicks", "judgments", "searches"]
    (check,) = (one for one in findings.health if one.check == "clicks_elsewhere")
    assert "elsewhere" in check.example
