"""A master and two workers leave what one machine leaves, also when an executor dies on the way."""

import os
import signal
import subprocess
import sys

import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.patterns import make_patterns
from support.places import SAMPLES
from support.spark.spark_cluster import WORKERS, executors, running_cluster, until

pytestmark = pytest.mark.thorough

pytest.importorskip("pyspark")
LOG = {name: str(SAMPLES / f"{name}.parquet") for name in ("searches", "clicks")}
TABLES = ("configurations", "patterns", "queries", "funnel")
COMMAND = (sys.executable, "-c", "from clickassay.cli.app import main; main()", "patterns")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the bytes of the tables that the embedded engine leaves."""
    out = tmp_path_factory.mktemp("duckdb") / "patterns"
    make_patterns(*LOG.values(), out, load_settings(folds=2))
    return tables_of(out)


def tables_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def arguments(cluster, out):
    named = [part for name, path in LOG.items() for part in (f"--{name}", path)]
    return [*COMMAND, *named, "--out", str(out), "--folds", "2", "--quiet", *cluster.options]


def test_two_workers_leave_the_bytes_of_one_machine(cluster, expected, tmp_path):
    done = subprocess.run(arguments(cluster, tmp_path / "out"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert tables_of(tmp_path / "out") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_executor_that_is_killed_on_the_way_changes_nothing(cluster, expected, tmp_path):
    running = subprocess.Popen(arguments(cluster, tmp_path / "out"), stderr=subprocess.PIPE, text=True)
    try:
        until(
            lambda: [*tmp_path.glob(".out.*/.spill.*/staged/*-searches_staged/_SUCCESS")], "staged searches"
        )
        before = until(
            lambda: found if len(found := executors(cluster)) == WORKERS else None, "two executors"
        )
        os.kill(before[0], signal.SIGKILL)
        until(lambda: before[0] not in executors(cluster), "its end")
        _, complaints = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 0, complaints
    assert tables_of(tmp_path / "out") == expected


def test_workers_that_do_not_share_the_staging_folder_are_found_out(cluster, tmp_path):
    # /proc is a folder that Spark cannot write: as good as one that workers do not reach
    done = subprocess.run(
        [*arguments(cluster, tmp_path / "out"), "--spark-staging", "/proc/nowhere"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "workers do not share the folder /proc/nowhere" in done.stderr
    assert done.stderr.count("\n") == 1
