"""A master and two workers leave what one machine leaves, also when an executor dies on the way."""

import os
import signal
import subprocess

import pytest

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from support.processes import ran
from support.spark.spark_cluster import LOG, WORKERS, executors, patterns_command, running_cluster, until
from support.spark.spark_logs import differing_tables

pytestmark = pytest.mark.thorough

pytest.importorskip("pyspark")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the pattern table that the default engine leaves."""
    out = tmp_path_factory.mktemp("default") / "patterns"
    return make_patterns(Sources(*LOG.values()), out, load_settings(folds=2))


def command(cluster, out, *more):
    return patterns_command(out, "--folds", 2, *cluster.options, *more)


def test_two_workers_leave_the_bytes_of_one_machine(cluster, expected, tmp_path):
    ran(*command(cluster, tmp_path / "out"))
    assert differing_tables(tmp_path / "out", expected) == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_executor_that_is_killed_on_the_way_changes_nothing(cluster, expected, tmp_path):
    running = subprocess.Popen(command(cluster, tmp_path / "out"), stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: [*tmp_path.glob(".out.*/.spill.*/staged/*-searches_read/_SUCCESS")], "staged searches")
        before = until(
            lambda: found if len(found := executors(cluster)) == WORKERS else None, "two executors"
        )
        os.kill(before[0], signal.SIGKILL)
        until(lambda: before[0] not in executors(cluster), "its end")
        _, complaints = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 0, complaints
    assert differing_tables(tmp_path / "out", expected) == []


def test_workers_that_do_not_share_the_staging_folder_are_found_out(cluster, tmp_path):
    # /proc is a folder that Spark cannot write: as good as one that workers do not reach
    done = ran(*command(cluster, tmp_path / "out", "--spark-staging", "/proc/nowhere"), code=2)
    assert "workers do not share the folder /proc/nowhere" in done.stderr
    assert done.stderr.count("\n") == 1
