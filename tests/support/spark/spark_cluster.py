"""A standalone cluster on loopback: a master and two workers, each a process of its own."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from support.logs.tiny import started_with
from support.places import SAMPLE_LOG as LOG

WORKERS = 2
PATIENCE = 120


def free_port():
    """Return a port of loopback that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what):
    """Wait until a condition holds; return what it returns."""
    for _ in range(PATIENCE * 10):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE} s in vain for {what}")


def patterns_command(out, *options):
    """Return the command that makes the pattern table of the sample log on Spark."""
    inputs = [f"--{name}={path}" for name, path in LOG.items()]
    return started_with("patterns", *inputs, f"--out={out}", "--quiet", "--engine=spark", *options)


def executors(master):
    """Return the process numbers of all executors of a master."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and any(
            word.endswith(f":{master.driver_port}") for word in words
        ):
            found.append(int(entry.parent.name))
    return sorted(found)


class Cluster:
    """What a test needs to know of a cluster."""

    def __init__(self, port, web_port):
        self.url, self.web_port = f"spark://127.0.0.1:{port}", web_port
        self.driver_port = free_port()

    def state(self):
        """Return the status of the master; None if it does not answer yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):  # a page of HTML until it is ready
            return None

    @property
    def options(self):
        """Return the options of `clickassay patterns` for it."""
        conf = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.port": self.driver_port,
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.executor.cores": 1,
            "spark.sql.shuffle.partitions": 4,
        }
        named = [part for name, value in conf.items() for part in ("--spark-conf", f"{name}={value}")]
        return ["--spark-master", self.url, *named]


@contextmanager
def running_cluster(folder):
    """Start a master and its workers, whose files lie in `folder`; stop all of them at the end."""
    import pyspark

    from clickassay.logs.spark.session import _find_java

    _find_java()
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    cluster = Cluster(free_port(), free_port())
    started = []

    def start(name, *arguments):
        log = (folder / f"{len(started)}.log").open("wb")
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *map(str, arguments)]
        started.append(
            subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        )

    port = cluster.url.rpartition(":")[2]
    try:
        start("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", cluster.web_port)
        for number in range(WORKERS):
            work = folder / f"worker-{number}"
            start(
                "worker.Worker", "--host", "127.0.0.1", "--cores", 1, "--memory", "1g",
                "--webui-port", free_port(), "--work-dir", work, cluster.url,
            )  # fmt: skip
        until(lambda: (cluster.state() or {}).get("aliveworkers") == WORKERS, "both workers")
        yield cluster
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
