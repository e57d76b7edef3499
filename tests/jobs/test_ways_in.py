"""The same rows by any way in give the same bytes: files, impressions, SQL, a bucket, a table of a lake."""

import contextlib
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.settings import Settings, load_settings
from clickassay.inputs.staging.sql import InputSql
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.jobs.stores import grow_store
from clickassay.patterns.store import PatternStore
from support.bucket import BUCKET, served
from support.places import SAMPLE

FIRST = 3000
SAME = ("configurations", "patterns", "queries")
"""Tables of which every byte is the same; the funnel counts impressions besides."""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A part of the sample whose rows are all sound, in two files."""
    folder = tmp_path_factory.mktemp("log")
    whole = pl.col("results").list.len() > 0
    searches = (
        pl.read_parquet(SAMPLE["searches"]).head(FIRST).filter(whole).unique("search_id").sort("search_id")
    )
    searches = searches.filter(~pl.col("results").list.contains(None).fill_null(value=False))
    clicks = pl.read_parquet(SAMPLE["clicks"]).drop_nulls("url").join(searches, on="search_id", how="semi")
    shown = clicks.join(searches.select("search_id", "results"), on="search_id")
    clicks = shown.filter(pl.col("url").is_in(pl.col("results"))).drop("results")
    (folder / "searches").mkdir()
    for number in range(2):
        searches.slice(number * 1500, 1500).write_parquet(folder / "searches" / f"{number}.parquet")
    clicks.write_parquet(folder / "clicks.parquet")
    return folder


@pytest.fixture(scope="module")
def plain(log, tmp_path_factory):
    out = tmp_path_factory.mktemp("plain") / "patterns"
    make_patterns(Sources(str(log / "searches"), str(log / "clicks.parquet")), out, Settings())
    return out


def impressions(log, *, columns):
    """Return the rows of the results shown, from position 0, with the times of their clicks."""
    clicks = pl.read_parquet(log / "clicks.parquet").rename({"timestamp": "clicked_at"})
    searches = pl.concat([pl.read_parquet(file) for file in sorted((log / "searches").iterdir())])
    places = pl.int_ranges(pl.col("results").list.len()).alias("position")
    shown = searches.with_columns(places).explode("results", "position").rename({"results": "url"})
    return shown.join(clicks, on=["search_id", "url"], how="left").rename(columns)


def by_impressions(log, folder):
    impressions(log, columns={}).sort("position", "search_id").write_parquet(folder / "shown.parquet")
    return str(folder / "shown.parquet"), None, {}


def by_impressions_of_other_names(log, folder):
    names = {"search_id": "request_id", "url": "product_id", "position": "rank", "clicked_at": "click_ts"}
    impressions(log, columns=names).write_csv(folder / "shown.csv", datetime_format="%Y-%m-%d %H:%M:%S%.3fZ")
    column = tuple(f"searches.{ours}={theirs}" for ours, theirs in names.items())
    return str(folder / "shown.csv"), None, {"column": column, "shape": "impressions"}


def by_sql(log, folder):
    database = folder / "shop.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE clicks AS FROM '{log}/clicks.parquet'")
    searches = InputSql(f"SELECT * FROM '{log}/searches/*.parquet'")
    return searches, InputSql("FROM clicks", database=database), {}


def by_delta(log, folder):
    deltalake = pytest.importorskip("deltalake")
    for file in sorted((log / "searches").iterdir()):
        deltalake.write_deltalake(folder / "table", pl.read_parquet(file).to_arrow(), mode="append")
    return str(folder / "table"), str(log / "clicks.parquet"), {}


@contextlib.contextmanager
def bucket_of(log):
    with served() as (bucket, address):
        for file in log.rglob("*.parquet"):
            bucket.put(str(file.relative_to(log)), file)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", address)
            yield


def by_bucket(_log, _folder):
    return f"s3://{BUCKET}/searches", f"s3://{BUCKET}/clicks.parquet", {}


WAYS = [by_impressions, by_impressions_of_other_names, by_sql, by_delta, by_bucket]


@pytest.mark.parametrize("engine", ["arrays", "duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_bytes_on_every_engine(log, plain, tmp_path, way, engine, request):
    if engine == "spark":
        request.getfixturevalue("spark")
    searches, clicks, more = way(log, tmp_path)
    if way in (by_bucket, by_delta) and engine == "spark":
        pytest.skip("Spark reads buckets by itself, and gets a lake as it gets SQL: as Parquet")
    settings = load_settings(engine=engine, **more)
    with bucket_of(log):
        make_patterns(Sources(searches, clicks), tmp_path / "made", settings)
    for name in SAME:
        same = (tmp_path / "made" / f"{name}.parquet").read_bytes() == (
            plain / f"{name}.parquet"
        ).read_bytes()
        assert same, name
    funnels = [pl.read_parquet(folder / "funnel.parquet") for folder in (tmp_path / "made", plain)]
    assert funnels[0].filter(pl.col("source") != "impressions").equals(funnels[1])


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_store_takes_files_of_impressions_once_and_counts_their_rows(log, tmp_path, engine):
    shown = impressions(log, columns={})
    (tmp_path / "shown").mkdir()
    middle = int(shown["search_id"].median())
    halves = shown.filter(pl.col("search_id") <= middle), shown.filter(pl.col("search_id") > middle)
    store, settings, read = tmp_path / "store", Settings(engine=engine, allow_gap=True, late_minutes=0.1), 0
    for number, half in enumerate(halves, 1):
        half.write_parquet(tmp_path / "shown" / f"{number}.parquet")
        grown = grow_store(Sources(str(tmp_path / "shown")), store, settings)
        assert grown.known_files == 2 * (number - 1)
        read += half.height
        counted = PatternStore(store).table().funnel.filter(source="impressions", step="read")
        assert counted["rows"].sum() == read
    assert grow_store(Sources(str(tmp_path / "shown")), store, settings).batches == 0


@pytest.mark.parametrize("way", ["declared", "impressions", "sql", "delta", "clicks"])
def test_a_remote_spark_refuses_what_is_made_here_in_one_line(log, tmp_path, way):
    far = {} if way == "declared" else {"spark_master": "spark://host:7077"}
    settings = load_settings(engine="spark", shape="impressions" if way == "declared" else "auto", **far)
    searches, clicks = {
        "declared": lambda: ("s3a://bucket/x", None),
        "impressions": lambda: by_impressions(log, tmp_path)[:2],
        "sql": lambda: (InputSql("SELECT 1"), None),
        "delta": lambda: by_delta(log, tmp_path)[:2],
        "clicks": lambda: (str(log / "searches"), InputSql("SELECT 1")),
    }[way]()
    with pytest.raises(SettingsError, match="a remote Spark reads lists where they lie"):
        make_patterns(Sources(searches, clicks), tmp_path / "made", settings)


def test_a_database_that_another_process_writes_has_one_line(log, tmp_path):
    database = tmp_path / "shop.duckdb"
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout.readline() == "open\n"
        sql = InputSql("FROM searches", database=database)
        with pytest.raises(InputError, match=r"another process has .* open for writing; wait for it to end"):
            make_patterns(Sources(sql, str(log / "clicks.parquet")), tmp_path / "made", Settings())
    finally:
        writer.communicate("")


@pytest.mark.parametrize("out", ["made", "new/below/made"])
def test_what_a_killed_run_left_is_removed_by_the_next(log, tmp_path, out):
    shown, _, _ = by_impressions(log, tmp_path)
    code = (
        "import os, sys; from pathlib import Path; from clickassay.inputs.staging import impressions as i; "
        "i._Halves._append = lambda *_: os.kill(os.getpid(), 9); "
        "from clickassay.jobs.run import make_run; from clickassay.core.settings import Settings; "
        "from clickassay.jobs.inputs import Sources; "
        "make_run(Sources(sys.argv[1], judgments='judgments'), Settings(), out=Path(sys.argv[2]))"
    )
    ended = subprocess.run([sys.executable, "-c", code, shown, tmp_path / out], check=False)
    assert ended.returncode == -9
    assert list(tmp_path.glob(".scratch.*"))
    made = make_patterns(Sources(shown), tmp_path / out, Settings())
    assert {place.name for place in tmp_path.iterdir()} == {"shown.parquet", out.partition("/")[0]}
    assert [place.name for place in made.parent.iterdir() if place.name != "shown.parquet"] == ["made"]
