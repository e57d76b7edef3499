"""A Spark Connect server, which offers no Java to its clients, leaves the bytes of the embedded engine."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.patterns import make_patterns
from support.places import SAMPLES
from support.spark.spark_cluster import free_port, until

pytestmark = pytest.mark.thorough

pytest.importorskip("pyspark")
pytest.importorskip("grpc")
LOG = {name: str(SAMPLES / f"{name}.parquet") for name in ("searches", "clicks")}
TABLES = ("configurations", "patterns", "queries", "funnel")
COMMAND = (sys.executable, "-c", "from clickassay.cli.app import main; main()", "patterns")


def answers(port):
    """Tell whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return the URL of a running Spark Connect server."""
    import pyspark

    from clickassay.logs.spark.session import _find_java

    _find_java()
    home, port = Path(pyspark.__file__).parent, free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": "false",
    }
    named = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("connect")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g", *named,
                "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
            ],
            env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: answers(port), "the Spark Connect server")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_client_of_spark_connect_leaves_the_bytes_of_one_machine(server, tmp_path):
    make_patterns(*LOG.values(), tmp_path / "duckdb", load_settings())
    named = [part for name, path in LOG.items() for part in (f"--{name}", path)]
    options = ["--engine", "spark", "--spark-remote", server, "--out", str(tmp_path / "spark"), "--quiet"]
    done = subprocess.run([*COMMAND, *named, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in TABLES:
        ours, theirs = (tmp_path / engine / f"{name}.parquet" for engine in ("duckdb", "spark"))
        assert ours.read_bytes() == theirs.read_bytes(), name


def test_a_result_elsewhere_is_refused_to_spark_connect(server, tmp_path):
    named = [part for name, path in LOG.items() for part in (f"--{name}", path)]
    options = ["--engine", "spark", "--spark-remote", server, "--out", f"file://{tmp_path}/out", "--quiet"]
    done = subprocess.run([*COMMAND, *named, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Spark Connect cannot write files to file://" in done.stderr
    assert done.stderr.count("\n") == 1
