"""Settings that all tests share, the place of the sample run, and the one Spark session of a process.

A folder is a tier: what a test costs, and when it is run, follows from where it lies (CONTRIBUTING.md).
"""

import base64
import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from clickassay.logs.arrays import job
from clickassay.report.charts.artist import Artist

# a busy machine is no failure; the same cases on each run, so that a commit is green or is not
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
# the same with fewer cases: make quick, make check
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
# new cases on each run: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable")

# a log of a test is a few rows: its users are cut into parts all the same
job.PART_ROWS = 300

TESTS = Path(__file__).parent
# two workers and their threads of BLAS would wait for each other; tests of threads set their own
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# tests keep what they import, not what they make: looking for garbage every 700 objects was 5% of their time
gc.set_threshold(100_000, 50, 100)

LONGEST_FIRST = ("spark", "browser", "agreement", "docs", "faults", "project", "jobs", "commands")
"""Tiers in the order in which workers take them: what takes long is not begun last."""


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="also run what takes minutes: make test-all")
    parser.addoption("--only-thorough", action="store_true", help="run only what --thorough adds")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: takes long and repeats on more data what others test")
    config.addinivalue_line("markers", "slow: takes more than a second; make check leaves it to make test")
    config.addinivalue_line("markers", "spark: runs on Spark (by its folder, nobody marks by hand)")


def tier(nodeid):
    """Return the folder of `tests` that a test lies in; all that runs on Spark is of one tier."""
    file, _, name = nodeid.partition("::")
    folder = file.split("/")[1]
    on_spark = folder in ("agreement", "jobs", "sql_cases") and "spark" in name.partition("[")[2]
    return "spark" if on_spark else folder


@pytest.hookimpl(tryfirst=True)  # before fixtures with parameters put tests in their order
def pytest_collection_modifyitems(config, items):
    kept = {item: wanted(config, item) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not kept[item]])
    items[:] = [item for item in items if kept[item]]
    order = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(tier(item.nodeid), len(order)))
    for item in items:
        if tier(item.nodeid) == "spark":
            item.add_marker(pytest.mark.spark)


class ByFile(LoadFileScheduling):
    """A worker takes a file at a time, and one takes all of Spark: a second Java would compile it again."""

    def _split_scope(self, nodeid):
        return "spark" if tier(nodeid) == "spark" else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # in the order above
    return ByFile(config, log)


def wanted(config, item):
    thorough = item.get_closest_marker("thorough") is not None
    if config.getoption("--only-thorough"):
        return thorough
    return config.getoption("--thorough") or not thorough


DRAWN = (
    *("browser", "project", "docs", "unit/report", "faults/test_hostile", "faults/test_limits"),
    "agreement/test_reproducible",
)
"""Where pictures are looked at. A run elsewhere is not about them, and they are a third of its time."""

BLANK_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
)
BLANK_SVG = (
    '<svg class="marks" width="1" height="1" viewBox="0 0 1 1" xmlns="http://www.w3.org/2000/svg"></svg>'
)
draw = Artist.draw


def blank(_artist, kind, *_specification, **_options):
    return BLANK_SVG.encode() if kind == "svg" else BLANK_PNG


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    place = item.path.relative_to(TESTS).as_posix()
    Artist.draw = draw if place.startswith(DRAWN) else blank


@pytest.fixture(scope="session", autouse=True)
def _place_of_the_sample_run(tmp_path_factory):
    """Say where `support.runs.sample_run` makes its run: in the folder that all workers share."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    os.environ["SAMPLE_RUN"] = str(shared / "sample_run")


# A log of a test is a few rows: what costs time is that Java compiles code and Spark plans, not the rows.
# So the quick compiler only, in every Java that tests start: half the time of a log.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
SPARK = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # all that was compiled is kept
    "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=256m",
    "spark.sql.codegen.cache.maxEntries": "5000",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Return the session that every run on Spark finds while tests last: starting one takes seconds."""
    pytest.importorskip("pyspark", reason="no Spark: install clickassay[spark] to test that engine")
    from clickassay.core.settings import load_settings
    from clickassay.logs.spark.session import spark_session

    warehouse = {"spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse").as_uri()}
    conf = [f"{name}={value}" for name, value in (SPARK | warehouse).items()]
    with spark_session(load_settings(engine="spark", spark_master="local[2]", spark_conf=conf)) as session:
        yield session
