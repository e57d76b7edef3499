"""Settings that all tests share, and the one browser and the one Spark session of a process."""

import os
import shutil

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright

# a busy machine is no failure; the same cases on each run, so that a commit is green or is not
settings.register_profile("repeatable", deadline=None, derandomize=True)
# new cases on each run: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="also run what takes minutes: make test-all")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: takes long and repeats on more data what others test")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--thorough"):
        left = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium to open pages in: install Debian's package chromium, as .ci/run does")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


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
    from clickassay.logs.spark.session import SparkPlace, spark_session

    warehouse = {"spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse").as_uri()}
    with spark_session(SparkPlace(master="local[2]", conf=SPARK | warehouse)) as session:
        yield session
