"""Inputs in object stores: read as if they lay here, whatever the server does; nothing else is asked."""

import io
from datetime import timedelta

import polars as pl
import pytest

import clickassay as ca
from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.staging import objects
from clickassay.inputs.staging.sources import staged
from clickassay.jobs.inputs import opened
from support.bucket import BUCKET, served
from support.logs import tiny
from support.places import ROOT

pytest.importorskip("obstore")

SECRET = "HUSH-a-secret"  # noqa: S105 - none


@pytest.fixture
def store(monkeypatch):
    with served() as (bucket, address):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setattr(objects, "READ", timedelta(seconds=1))
        monkeypatch.setattr(objects, "CONNECT", timedelta(seconds=1))
        bucket.address = address
        yield bucket


def parquet(frame, **more):
    file = io.BytesIO()
    frame.write_parquet(file, **more)
    return file.getvalue()


def rows_of(what, url):
    with scratch():
        return opened(what, url, Settings()).frame.collect()


def test_past_tests_may_lie_in_a_bucket(store):
    file = ROOT / "data_samples" / "past_tests.csv"
    store.objects["past/tests.csv"] = file.read_bytes()
    assert ca.experiments(f"s3://{BUCKET}/past/tests.csv") == ca.experiments(file)


def refusal(url):
    with pytest.raises(InputError) as refused, scratch():
        opened("searches", url, Settings())
    line = str(refused.value)
    assert line.startswith("searches: ")
    assert "\n" not in line
    assert SECRET not in line
    return line


def test_folders_spell_out_columns_as_they_do_here(store):
    log = tiny.searches().drop("market", strict=False)
    for market in ("uk", "de"):
        store.put(f"searches/market={market}/a.parquet", parquet(log))
    rows = rows_of("searches", f"s3://{BUCKET}/searches")
    assert sorted(rows["market"].unique()) == ["de", "uk"]
    assert rows.height == 2 * log.height


def test_a_web_address_is_a_file(store):
    store.put("labels.csv", tiny.judgments().write_csv().encode())
    assert rows_of("judgments", f"{store.address}/{BUCKET}/labels.csv").height == tiny.judgments().height


def test_a_server_that_knows_no_parts_sends_the_whole_file(store):
    store.knows_ranges = False
    store.put("labels.parquet", parquet(tiny.judgments()))
    assert rows_of("judgments", f"{store.address}/{BUCKET}/labels.parquet").height == tiny.judgments().height


def test_large_objects_are_copied_in_ranges(store, monkeypatch):
    monkeypatch.setattr(objects, "RANGE", 100_000)
    many = pl.concat([tiny.searches()] * 200).with_columns(search_id=pl.int_range(pl.len()))
    store.put("b.parquet", parquet(many, compression="uncompressed"))
    with scratch():
        made = staged("searches", f"s3://{BUCKET}/b.parquet", {})
        assert made.path.read_bytes() == store.objects["b.parquet"]
    assert store.asked["GET", "b.parquet"] >= len(store.objects["b.parquet"]) // 100_000


def test_an_object_that_is_overwritten_is_refused_and_never_mixed(store, monkeypatch):
    monkeypatch.setattr(objects, "RANGE", 1000)
    old, new = (parquet(pl.concat([tiny.searches()] * times)) for times in (3, 4))
    store.put("a.parquet", old)

    def overwrite(key, start):
        if start >= 1000:
            store.objects[key] = new

    store.before_get = overwrite
    assert "was overwritten while it was read; run again" in refusal(f"s3://{BUCKET}/a.parquet")


@pytest.mark.parametrize("trouble", ["cuts", "stalls"])
def test_a_connection_that_is_cut_or_stands_still_is_tried_again(store, trouble):
    store.put("a.parquet", parquet(tiny.searches()))
    setattr(store, trouble, 2)
    store.stall = 3.0
    assert rows_of("searches", f"s3://{BUCKET}/a.parquet").height == tiny.searches().height


def test_a_connection_that_stays_cut_is_refused(store, monkeypatch):
    monkeypatch.setattr(objects, "TRIES", 2)
    store.put("a.parquet", parquet(tiny.searches()))
    store.cuts = 1000
    assert "check address, region and network, and run again" in refusal(f"s3://{BUCKET}/a.parquet")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and perhaps AWS_SESSION_TOKEN and AWS_REGION"),
        (503, "check address, region and network, and run again"),
    ],
)
def test_a_refusal_of_the_store_has_one_line_with_the_remedy(store, status, message):
    store.put("a.parquet", parquet(tiny.searches()))
    store.status = status
    assert message in refusal(f"s3://{BUCKET}/a.parquet")


def test_nothing_there_and_no_server_are_said(store, monkeypatch):
    assert f"nothing was found at s3://{BUCKET}/none; check bucket and key" in refusal(f"s3://{BUCKET}/none")
    store.put("x/a.txt", b"text")
    assert f"no data file in s3://{BUCKET}/x; ignored: 1 (.txt)" in refusal(f"s3://{BUCKET}/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "check address, region and network" in refusal(f"s3://{BUCKET}/a.parquet")


def test_messages_name_the_object_and_not_its_copy(store):
    store.put("x/a.parquet", parquet(tiny.searches().drop("query")))
    assert f"column query is missing in s3://{BUCKET}/x/a.parquet" in refusal(f"s3://{BUCKET}/x")


def test_the_fingerprint_is_of_size_time_and_tag(store):
    url, known = f"s3://{BUCKET}/a.parquet", []
    for rows in (18, 18, 17):
        store.put("a.parquet", parquet(tiny.searches().head(rows)))
        with scratch():
            table = opened("searches", url, Settings())
            known.append(table.file_fingerprint(table.files[0]))
    assert known[0] == known[1] != known[2]
    assert known[0].path == url
    assert known[0].digest.startswith("object:")


@pytest.mark.parametrize(
    "url", ["s3://KEY:HU@bucket/x", "https://u:HU@host/x", "https://host/x?token=HU", "hdfs://x/y"]
)
def test_secrets_in_an_address_and_other_schemes_are_refused_unasked(url):
    line = refusal(url)
    assert "HU" not in line
    assert "add --engine spark, or copy it to this machine" in line


def test_without_credentials_nothing_is_asked_but_the_store(store, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", store.address)
    store.put("a.parquet", parquet(tiny.searches()))
    assert rows_of("searches", f"s3://{BUCKET}/a.parquet").height == tiny.searches().height
    assert {key for _, key in store.asked} == {"a.parquet"}


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with scratch(), pytest.raises(InputError, match=r"install: pip install 'clickassay\[cloud\]'"):
        staged("searches", f"s3://{BUCKET}/x", {})
