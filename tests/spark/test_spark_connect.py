"""A Spark Connect server, which offers no Java to its clients, leaves the bytes of the default engine."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from support.processes import ran
from support.spark.spark_cluster import LOG, free_port, patterns_command, until
from support.spark.spark_logs import differing_tables

pytestmark = pytest.mark.thorough

pytest.importorskip("pyspark")
pytest.importorskip("grpc")


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
    expected = make_patterns(Sources(*LOG.values()), tmp_path / "default", load_settings())
    ran(*patterns_command(tmp_path / "spark", "--spark-remote", server))
    assert differing_tables(tmp_path / "spark", expected) == []


def test_a_result_elsewhere_is_refused_to_spark_connect(server, tmp_path):
    done = ran(*patterns_command(f"file://{tmp_path}/out", "--spark-remote", server), code=2)
    assert "Spark Connect cannot write files to file://" in done.stderr
    assert done.stderr.count("\n") == 1
