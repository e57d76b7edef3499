"""What `clickassay patterns --engine spark` costs by the size of the log, and what skew adds.

    python -m benchmarks.cost.spark_scaling [--searches N …] [--skew N] [--check N]

Each size is a whole process on this machine (`local[2]`): wall and CPU seconds of it and its Java; bytes
shuffled, jobs and tasks as Spark's own event log tells. Up to `--check` searches the tables are
compared, byte for byte, with those of the default engine. `--skew` makes an even log uneven: one user has
20% of its searches, one query 10%; both are measured.
"""

import argparse
import json
import shutil
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import WORK, Cost, clickassay, elsewhere, machine, made_log, measured

MILLION = 1_000_000
TABLES = ("configurations", "patterns", "queries", "funnel")


@dataclass(frozen=True)
class SparkCost:
    """What a run cost; bytes that Spark shuffled, and staged between steps; jobs, tasks, longest stage."""

    cost: Cost
    shuffled: int
    staged: int
    jobs: int
    tasks: int
    slowest_stage: str


def main() -> None:
    """Print one line for each size, the slope between sizes, and the line of skew."""
    options = _options()
    print(f"{machine()}; local[2]")
    before: tuple[int, float] | None = None
    for searches in options.searches:
        log = made_log(options.world, searches, max(50, searches // 200))
        found = run_on_spark(log, options.conf)
        check = same_bytes(log) if searches <= options.check else "not compared"
        _print_size(searches, found, check)
        if before is not None:
            more = (found.cost.wall - before[1]) / (searches - before[0]) * MILLION
            print(f"  slope from {before[0]:,}: {more:.2f} s wall for a million more")
        before = searches, found.cost.wall
    if options.skew:
        even = made_log(options.world, options.skew, max(50, options.skew // 200))
        skewed = elsewhere(made_skewed, even)
        walls = {
            name: run_on_spark(log, options.conf).cost.wall
            for name, log in (("even", even), ("skewed", skewed))
        }
        print(f"skew at {options.skew:,}: even {walls['even']:.1f} s, skewed {walls['skewed']:.1f} s, "
              f"ratio {walls['skewed'] / walls['even']:.2f}; {same_bytes(skewed)}")  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, nargs="*", default=[MILLION, 5 * MILLION])
    parser.add_argument("--world", choices=("web", "cascade"), default="web")
    parser.add_argument("--skew", type=int, default=0, help="searches of the log that is made uneven")
    parser.add_argument("--check", type=int, default=5 * MILLION, help="compare bytes up to so many searches")
    parser.add_argument("--conf", nargs="*", default=[], help="settings of Spark, as spark.name=value")
    return parser.parse_args()


def run_on_spark(log: Path, conf: list[str]) -> SparkCost:
    """Make the pattern table of a log in a process of its own."""
    events = WORK / "spark-events"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir(parents=True)
    given = ["spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{events}", "spark.master=local[2]",
             "spark.eventLog.compress=false", *conf]  # fmt: skip
    named = [part for entry in given for part in ("--spark-conf", entry)]
    cost = measured([*_patterns(log, "spark"), "--engine", "spark", *named])
    return SparkCost(cost, *_told_by(events))


def _patterns(log: Path, engine: str) -> list[str]:
    files = [part for name in ("searches", "clicks") for part in (f"--{name}", log / f"{name}.parquet")]
    return clickassay("patterns", *files, "--out", WORK / f"scaling-{engine}", "--force", "--quiet",
                      "--max-rejected", 0.1)  # fmt: skip


def _told_by(events: Path) -> tuple[int, int, int, int, str]:
    """Return the bytes that tasks wrote for a shuffle, and into files, jobs, tasks, and the longest stage."""
    shuffled, staged, jobs, tasks, stages = 0, 0, 0, 0, []
    for file in sorted(path for path in events.rglob("events_*") if path.is_file()):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            jobs += event["Event"] == "SparkListenerJobStart"
            tasks += event["Event"] == "SparkListenerTaskEnd"
            if event["Event"] == "SparkListenerTaskEnd":
                told = event.get("Task Metrics") or {}
                shuffled += told.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                staged += told.get("Output Metrics", {}).get("Bytes Written", 0)
            if event["Event"] == "SparkListenerStageCompleted":
                stage = event["Stage Info"]
                stages.append((stage["Completion Time"] - stage["Submission Time"], stage["Stage Name"][:60]))
    slowest = max(stages, default=(0, "none"))
    return shuffled, staged, jobs, tasks, f"{slowest[0] / 1000:.1f} s {slowest[1]}"


def same_bytes(log: Path) -> str:
    """Return a digest of the tables; stop when those of the default engine are others."""
    measured(_patterns(log, "arrays"))
    digests = {
        engine: [
            sha256((WORK / f"scaling-{engine}" / f"{name}.parquet").read_bytes()).hexdigest()
            for name in TABLES
        ]
        for engine in ("arrays", "spark")
    }
    if digests["arrays"] != digests["spark"]:
        sys.exit(f"bytes differ: {digests}")
    return "same bytes " + sha256("".join(digests["spark"]).encode()).hexdigest()[:12]


def made_skewed(even: Path) -> Path:
    """Give 20% of the searches of a log to one user, and 10% to one query with its list."""
    folder = even.with_name(f"{even.name}-skewed")
    if (folder / "searches.parquet").exists():
        return folder
    folder.mkdir(exist_ok=True)
    searches = pl.scan_parquet(even / "searches.parquet")
    first = (
        searches.filter(pl.col("query").is_not_null(), pl.col("results").list.len() == 10).head(1).collect()
    )
    turn = pl.int_range(pl.len())
    frequent = turn % 10 == 3
    columns = ("query", "results")
    changed = {name: pl.when(frequent).then(pl.lit(first[name])).otherwise(pl.col(name)) for name in columns}
    bot = pl.when(turn % 5 == 0).then(pl.lit(first["user_id"])).otherwise(pl.col("user_id"))
    searches.with_columns(user_id=bot, **changed).sink_parquet(
        folder / "searches.parquet", row_group_size=250_000
    )
    shutil.copyfile(even / "clicks.parquet", folder / "clicks.parquet")
    return folder


def _print_size(searches: int, found: SparkCost, check: str) -> None:
    cost, millions = found.cost, searches / MILLION
    print(
        f"{searches:>12,} searches {cost.wall:8.1f} s wall ({cost.wall / millions:6.2f}/M) "
        f"{cost.cpu:8.1f} CPU s ({cost.cpu / millions:6.2f}/M) "
        f"{found.shuffled / millions / 1e6:7.1f} MB shuffled/M "
        f"{found.staged / millions / 1e6:7.1f} MB staged/M "
        f"{cost.peak_mb:7,.0f} MB; {found.jobs} jobs, {found.tasks} tasks; "
        f"slowest stage {found.slowest_stage}; {check}"
    )


if __name__ == "__main__":
    main()
