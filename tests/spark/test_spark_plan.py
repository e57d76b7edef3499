"""What Spark makes of the large steps: an upgrade that shuffles or sorts more shows here.

The plans in ``plans/`` were read and found to hold no needless shuffle. With NEW_SPARK_PLANS=1 they are
written anew. A step whose plan Spark chooses by the order of a hash set (`searches_read`: one projection
or two) has no file. A threshold for broadcasts between the sizes of the sample's large and small tables
stands for that of a real log.
"""

import os
import re
from pathlib import Path

import pytest

from clickassay.core.progress import silent
from clickassay.core.settings import load_settings
from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.logs.spark.engine import SparkEngine
from clickassay.logs.spark.read import read_for_spark
from clickassay.logs.sql.sessioniser import SqlSessioniser
from clickassay.logs.sql.steps import NEVER_MS
from support.places import SAMPLES

pytestmark = pytest.mark.thorough

PLANS = Path(__file__).parent / "plans"
STEPS = sorted(file.stem for file in PLANS.glob("*.txt"))
LIKE_A_LARGE_LOG = {
    "spark.sql.autoBroadcastJoinThreshold": "200k",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "200k",
    "spark.sql.shuffle.partitions": "8",
}


class PlanKeeper(SparkEngine):
    """Keeps the plan of each table that is staged."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.plans = {}

    def _written(self, name, frame):
        self.plans[name] = in_order(frame._jdf.queryExecution().executedPlan().toString())
        return super()._written(name, frame)


def in_order(plan):
    """Return a plan without what differs from run to run: paths, and numbers of expressions."""
    # pushed filters are cut after so many signs, digits of numbers included; they stand above, whole
    plan = re.sub(r" Batched: .*?(?=ReadSchema)", " ", plan)
    plan = re.sub(r"plan_id=\d+", "plan_id=…", plan)
    plan = re.sub(r"spark_catalog\.\S+", "…", plan)
    # white space in a condition: a carriage return would not come back from a file as it was
    plan = re.sub(r"[^\n -~…]", lambda sign: f"\\u{ord(sign[0]):04x}", plan)
    found = {}
    return re.sub(r"#(\d+)L?", lambda match: f"#{found.setdefault(match[1], len(found))}", plan)


@pytest.fixture(scope="module")
def plans(spark, tmp_path_factory):
    session = spark.newSession()
    from clickassay.logs.spark.session import _SESSION

    for name, value in {**_SESSION, **LIKE_A_LARGE_LOG}.items():
        session.conf.set(name, value)
    folder = tmp_path_factory.mktemp("plans")
    engine = PlanKeeper(session, f"file://{folder}/staged", folder / "fetched")
    halves = [
        read_for_spark(session, what, SAMPLES / f"{what}.parquet", wanted, engine.place)
        for what, wanted in (("searches", SEARCHES), ("clicks", CLICKS))
    ]
    builder = SqlSessioniser(
        engine,
        load_settings(clock="2026-02-01"),
        by_url=True,
        has_signals=False,
        outcomes=None,
        judged_queries=None,
        assignments=None,
        has_teams=False,
    )
    builder.add(halves[0].frame, halves[1].frame, NEVER_MS, silent)
    builder.table(is_open=False, info={}, progress=silent)
    return engine.plans


@pytest.mark.parametrize("step", STEPS)
def test_the_plan_of_a_large_step_is_the_one_that_was_read(plans, step):
    file = PLANS / f"{step}.txt"
    if os.environ.get("NEW_SPARK_PLANS"):
        file.write_text(plans[step], encoding="utf-8")
    assert plans[step] == file.read_text(encoding="utf-8")


def test_the_plans_of_the_large_steps_are_kept():
    assert len(STEPS) == 22


def test_a_log_is_read_without_a_shuffle(plans):
    """Reading and staging a log moves nothing between machines, and sorts nothing."""
    of_texts = [line for step in ("searches_read", "clicks_read") for line in plans[step].splitlines()]
    assert not [line for line in of_texts if "Exchange" in line or "Sort" in line]
