"""Inputs in a bucket of another implementation of S3: the bytes of the same log in files."""

import polars as pl
import pytest

from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.jobs.inputs import Sources, opened
from clickassay.jobs.patterns import make_patterns
from support.logs import tiny

obstore = pytest.importorskip("obstore.store")
moto = pytest.importorskip("moto.server")


@pytest.fixture
def bucket(monkeypatch):
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    values = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_REGION": "us-east-1"}
    for name, value in {**values, "AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "none"}.items():
        monkeypatch.setenv(name, value)
    import boto3

    boto3.client("s3", endpoint_url=values["AWS_ENDPOINT_URL"]).create_bucket(Bucket="logs")
    yield obstore.S3Store("logs", endpoint=values["AWS_ENDPOINT_URL"], client_options={"allow_http": True})
    server.stop()


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_log_in_a_bucket_gives_the_same_bytes(bucket, tmp_path, engine):
    log = tiny.write_log(tmp_path)
    searches = pl.read_parquet(log.searches)
    for day, rows in enumerate((searches.head(9), searches.slice(9))):
        rows.write_parquet(tmp_path / "part.parquet")
        bucket.put(f"searches/day={day}/part.parquet", tmp_path / "part.parquet")
    bucket.put("clicks.parquet", tmp_path / "clicks.parquet")
    settings = Settings(engine=engine, depth=(3,))
    make_patterns(Sources(log.searches, log.clicks), tmp_path / "plain", settings)
    make_patterns(Sources("s3://logs/searches", "s3://logs/*.parquet"), tmp_path / "made", settings)
    for file in (tmp_path / "plain").glob("*.parquet"):
        assert (tmp_path / "made" / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_table_of_delta_lake_in_a_bucket_is_read(bucket, tmp_path, scheme):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "table", tiny.judgments().to_arrow())
    deltalake.write_deltalake(tmp_path / "table", tiny.judgments().head(1).to_arrow(), mode="append")
    deltalake.DeltaTable(tmp_path / "table").delete("grade = 0")
    for file in (tmp_path / "table").rglob("*"):
        if file.is_file():
            bucket.put(str(file.relative_to(tmp_path)), file)
    with scratch():
        rows = opened("judgments", f"{scheme}://logs/table", Settings()).frame.collect()
    kept = tiny.judgments().filter(pl.col("grade") > 0)
    assert sorted(rows["grade"]) == sorted([*kept["grade"], tiny.judgments()["grade"][0]])
