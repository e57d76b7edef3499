"""Stores that are odd, slow, endless or hostile: data is read, the rest refused, and nobody else is asked."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.staging import keys, objects
from clickassay.inputs.staging.gate import Gate, is_of_store
from clickassay.inputs.staging.keys import files_of
from clickassay.jobs.inputs import opened
from support.bucket import BUCKET, served
from support.logs import tiny

pytest.importorskip("obstore")

TOKEN = "HUSH-of-a-session"  # noqa: S105 - none
KEYS = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "none", "AWS_SESSION_TOKEN": TOKEN}
CSV = tiny.judgments().write_csv().encode()
HALF = tiny.judgments().head(4).write_csv().encode()


@pytest.fixture
def store(monkeypatch):
    with served() as (bucket, address):
        for name, value in {"AWS_ENDPOINT_URL": address, **KEYS}.items():
            monkeypatch.setenv(name, value)
        bucket.address = address
        yield bucket


def table_of(url):
    with scratch():
        table = opened("judgments", url, Settings())
        return table, table.frame.collect()


def refusal(url):
    with pytest.raises(InputError) as refused:
        table_of(url)
    assert TOKEN not in str(refused.value)
    return str(refused.value)


ODD = {
    "markers of folders": (["s/", "s/day=1/", "s/x.csv/", "s/x.csv/a.csv"], 1),
    "nothing between two slashes": (["s//b.csv", "s/a.csv", "s//"], 2),
    "dots": (["s/../b.csv", "s/./c.csv", "s/d.csv"], 3),
    "long names": ([f"s/{'x' * 300}/{'y' * 300}.csv", f"s/{'z' * 300}.csv"], 2),
    "a file that is a folder": (["s/a.csv", "s/a.csv/b.csv"], 2),
    "what else is no data": (["s/_SUCCESS", "s/.b.csv", "s/notes.txt", "s/a.csv"], 1),
    "signs that XML and URLs spell otherwise": (["s/a&b <c>%20+\u00e4?.csv", "s//d %2F.csv"], 2),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("page", [1000, 1])
def test_odd_keys_make_no_prefix_unreadable(store, name, page):
    keys, files = ODD[name]
    store.page = page
    store.objects = {key: b"" if key.endswith(("/", "_SUCCESS")) else CSV for key in keys}
    table, rows = table_of(f"s3://{BUCKET}/s")
    assert rows.height == files * tiny.judgments().height
    assert sum(number for _, number in table.found.left_out) == len(keys) - files
    assert {table.file_fingerprint(file).path.removeprefix(f"s3://{BUCKET}/") for file in table.files} <= {
        *keys
    }


def test_an_empty_object_that_has_the_name_of_a_folder_stands_for_it(store):
    store.objects = {"s": b"", "s/a.csv": CSV}
    assert table_of(f"s3://{BUCKET}/s")[1].height == tiny.judgments().height


def test_one_object_with_an_odd_key_is_read_and_without_keys_it_is_named(store, monkeypatch):
    store.objects = {"s//b.csv": CSV, "s/a.csv": HALF}
    assert table_of(f"s3://{BUCKET}/s//b.csv")[1].height == tiny.judgments().height
    monkeypatch.setattr(keys, "has_keys", lambda: False)  # as where another server gives them
    assert 's//b.csv" contained empty path segment; rename it' in refusal(f"s3://{BUCKET}/s")


KEYS_HERE = (
    "s/a.csv", "s/day=1/a.csv", "s/day=1/b.parquet", "s/day=2/x/c.csv", "s/day=2/_d/e.csv", "s/.f.csv",
    "s/g.txt", "s/day=1/deep/er/h.csv.gz", "s/i.tsv", "t/a.csv", "s/Day=1/a.csv",
)  # fmt: skip
ADDRESSES = (
    "s", "", "s/day=1", "s/*", "s/day=*", "s/**", "s/**/*.csv", "*/day=1/*", "s/day=?/*.csv", "s/[!d]*",
)  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_means_the_files_that_it_means_on_a_disk(tmp_path, address):
    for place in (tmp_path / "here" / key for key in KEYS_HERE):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    here = find_files("x", tmp_path / "here" / address)
    placed = {
        tmp_path / "placed" / file: key for key, file in files_of("x", address, dict.fromkeys(KEYS_HERE, 1))
    }
    for file in placed:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    found = find_files("x", tmp_path / "placed")
    assert [placed[file] for file in found.files] == [
        str(file.relative_to(tmp_path / "here")) for file in here.files
    ]
    assert found.folders == here.folders
    if "*" not in address:  # what a glob does not match is not looked at
        assert found.left_out == here.left_out


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("path", ["logs?list-type=2&prefix=a%20b%2F%C3%A4~", "logs/s//b%20%C3%A4~%2B.csv"])
def test_requests_are_signed_as_the_library_of_aws_signs_them(token, path):
    auth, request = (pytest.importorskip(f"botocore.{name}") for name in ("auth", "awsrequest"))
    secrets = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_REGION": "eu-west-1"}
    wanted = request.AWSRequest("GET", f"http://127.0.0.1:9000/{path}")
    credentials = pytest.importorskip("botocore.credentials").Credentials("AK", "SK", token)
    auth.S3SigV4Auth(credentials, "s3", "eu-west-1").add_auth(wanted)
    at = datetime.strptime(wanted.context["timestamp"], "%Y%m%dT%H%M%SZ")
    made = keys.signature(wanted.url, at, secrets | ({} if token is None else {"AWS_SESSION_TOKEN": token}))
    assert made["authorization"] == wanted.headers["Authorization"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "address", ["s3://logs/a.csv", "s3://logs", "s3://logs/s//a.csv", "{store}/logs/a.csv"]
)
def test_a_redirect_is_refused_and_the_other_server_is_sent_nothing(store, status, address):
    with served() as (other, elsewhere):
        other.objects = dict.fromkeys(("a.csv", "s//a.csv"), CSV)
        store.redirect = (status, elsewhere)
        line = refusal(address.format(store=store.address))
        assert not other.asked
        assert not other.secrets
    if "//a.csv" not in address:
        assert f"redirects to {elsewhere.removeprefix('http://')}" in line


def test_a_table_of_delta_lake_follows_no_redirect(store, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "t", tiny.judgments().to_arrow())
    store.objects = {
        str(file.relative_to(tmp_path)): file.read_bytes()
        for file in (tmp_path / "t").rglob("*")
        if file.is_file()
    }
    assert table_of(f"s3://{BUCKET}/t")[1].height == tiny.judgments().height
    with served() as (other, elsewhere):
        other.objects = dict(store.objects)
        store.before_get = lambda key, start: setattr(store, "redirect", (307, elsewhere))
        assert "redirects to" in refusal(f"s3://{BUCKET}/t")
        assert not other.asked


def test_a_proxy_of_the_environment_is_used(store, monkeypatch):
    store.put("a.csv", CSV)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.invalid:9000")  # which the proxy alone finds
    monkeypatch.setenv("http_proxy", store.address)
    monkeypatch.delenv("no_proxy", raising=False)
    assert table_of(f"s3://{BUCKET}/a.csv")[1].height == tiny.judgments().height
    assert store.secrets


@pytest.mark.parametrize(
    ("host", "port", "server", "is_open"),
    [
        ("s3.eu-west-1.amazonaws.com", 443, "", True),
        ("logs.s3.dualstack.eu-west-1.amazonaws.com", 443, "", True),
        ("ec2-1-2-3-4.compute-1.amazonaws.com", 443, "", False),
        ("s3-mine-12.eu-west-1.elb.amazonaws.com", 443, "", False),
        ("s3.eu-west-1.amazonaws.com.example", 443, "", False),
        ("store.example", 9000, "http://store.example:9000", True),
        ("store.example", 9001, "http://store.example:9000", False),
        ("s3.eu-west-1.amazonaws.com", 443, "https://store.example", False),
        ("sts.eu-west-1.amazonaws.com", 443, "https://store.example", True),
    ],
)
def test_a_store_is_its_server_and_its_provider(monkeypatch, host, port, server, is_open):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    assert is_of_store("s3", "s3://logs", host, port) is is_open


def test_a_tunnel_leads_to_the_named_host_alone():
    with served() as (bucket, address), Gate(lambda host, port: (host, port) == ("127.0.0.1", own)) as gate:
        own = int(address.rpartition(":")[2])
        place = tuple(gate.address.removeprefix("http://").split(":"))
        for port, status in ((own, "200"), (own - 1, "403")):
            with socket.create_connection((place[0], int(place[1])), 5) as line:
                line.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
                assert line.recv(100).split()[1] == status.encode()
                if status == "200":
                    line.sendall(f"HEAD /{BUCKET}/none HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                    assert line.recv(100).startswith(b"HTTP/1.1 404")
        assert gate.refused == f"127.0.0.1:{own - 1}"
        assert bucket.asked == {("HEAD", "none"): 1}


def test_lists_without_end_and_sizes_beyond_the_disk_are_refused(store, monkeypatch, tmp_path):
    store.objects = {f"s/{number}.csv": CSV for number in range(30)}
    monkeypatch.setattr(objects, "MOST_OBJECTS", 20)
    assert f"s3://{BUCKET}/s has more than 20 objects; give a prefix of fewer" in refusal(f"s3://{BUCKET}/s")
    monkeypatch.setattr(objects, "MOST_OBJECTS", 100)
    monkeypatch.setattr(objects, "LISTING", 0.5)
    store.page = 0
    assert "did not end within" in refusal(f"s3://{BUCKET}/s")
    store.page = 1000
    monkeypatch.setattr(objects, "LISTING", 60)
    store.sizes = {"s/3.csv": shutil.disk_usage(tmp_path).free * 2}
    assert "free space, or choose another --out" in refusal(f"s3://{BUCKET}/s")


def test_an_object_longer_than_its_list_says_is_refused(store, monkeypatch):
    one = objects._Listed("a.csv", 5, "", None)
    place = objects._Place.of("judgments", f"s3://{BUCKET}/a.csv")
    got = type("Got", (), {"stream": lambda *_, **__: [b"abc", b"def"], "meta": None})
    monkeypatch.setattr(objects._Listed, "of", lambda _: one)
    with pytest.raises(InputError, match="is longer than the server's listing says"):
        list(place._pieces(one, got(), 5))


@pytest.mark.parametrize(("signalled", "slow"), [(signal.SIGINT, "copy"), (signal.SIGTERM, "list")])
def test_a_signal_ends_a_slow_store_within_two_seconds_and_leaves_nothing(store, tmp_path, signalled, slow):
    log = tiny.write_log(tmp_path / "log")
    store.put("s.parquet", Path(log.searches))
    waits = []
    if slow == "copy":
        store.before_get = lambda key, start: (waits.append(key), time.sleep(20))
    else:
        store.page = 0
    address = f"s3://{BUCKET}/s.parquet" if slow == "copy" else f"s3://{BUCKET}"
    more = ("--searches", address, "--clicks", log.clicks, "--out", tmp_path / "o")
    begin = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{begin}; runpy.run_module('clickassay', run_name='__main__')"
    command = [sys.executable, "-c", program, "patterns", *map(str, more)]
    before = tiny.tree(tmp_path)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    until = time.monotonic() + 40
    while not (waits or (slow == "list" and store.asked["GET", ""] > 5)) and time.monotonic() < until:
        time.sleep(0.05)
    begun = time.monotonic()
    process.send_signal(signalled)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - begun < 2
    assert "interrupted; nothing was left behind" in said
    assert process.returncode == 2
    assert tiny.tree(tmp_path) == before
