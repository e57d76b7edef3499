"""The cost of a log with a row for each result shown, or from SQL, over the same log as plain files.

    python -m benchmarks.cost.ways_in [--world NAME …] [--searches N] [--queries N] [--runs N]
                                      [--engine NAME] [-- OPTION …]

The floor reads and hashes the columns of the impressions in DuckDB; every figure is of whole processes that
run in turn. All ways give the same pattern table, or the benchmark ends.
"""

import argparse
import shutil
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    clickassay,
    elsewhere,
    figures,
    machine,
    made_log,
    measured,
    ratios,
    spread,
)
from benchmarks.lib.patterns import (
    add_options,
    add_size,
    options_of,
    pattern_check,
    patterns_of,
    the_one,
    usual_queries,
)

FLOOR = Path(__file__).with_name("impressions_floor.sql")
MADE = Path(__file__).with_name("impressions_made.sql")
PART = 500_000
"""Searches of a file of impressions."""


def main() -> None:
    """Print a row for each way in, and its ratios."""
    options = _options()
    if options.floor:
        print(f"{_read(options.floor):08x}")
        return
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    for world in options.world:
        log = made_log(world, options.searches, options.queries or usual_queries(world, options.searches))
        print(f"{log.name}: world {world}, {options.searches:,} searches", flush=True)
        for name, shown in elsewhere(_impressions, log).items():
            _print_ways(name, log, shown, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    parser.add_argument("--floor", metavar="SHOWN", help=argparse.SUPPRESS)
    add_options(parser)
    return parser.parse_args()


def _read(shown: str) -> int:
    row = duckdb.connect().execute(FLOOR.read_text(), {"shown": shown}).fetchone()
    return hash(row) & 0xFFFFFFFF


def _impressions(log: Path) -> dict[str, Path]:
    """Return the impressions of a log, making them when they are not there, in two orders."""
    orders = {"together": "batch, search_id, position", "interleaved": "batch, position, search_id"}
    places = {name: log / f"shown-{name}" for name in orders}
    for name, place in places.items():
        if not place.exists():
            made = place.with_name(f"{place.name}.part")
            made.mkdir(exist_ok=True)
            searches = pq.read_metadata(log / "searches.parquet").num_rows
            for part in range(-(-searches // PART)):
                _make_part(log, orders[name], part, made / f"{part:03d}.parquet")
            made.rename(place)
    return places


def _make_part(log: Path, order: str, part: int, out: Path) -> None:
    values = {what: str(log / f"{what}.parquet") for what in ("searches", "clicks")}
    values |= {"first": part * PART, "end": (part + 1) * PART}
    text = MADE.read_text().replace("ORDER BY batch", f"ORDER BY {order}").replace("$shown", f"'{out}'")
    with duckdb.connect() as made:
        made.execute("SET enable_progress_bar = false")
        made.execute(text, values)


def _print_ways(name: str, log: Path, shown: Path, options: argparse.Namespace) -> None:
    out, more = WORK / "ways-in", options_of(options)
    of_sql = [
        part for what in ("searches", "clicks") for part in (f"--{what}-sql", f"FROM '{log}/{what}.parquet'")
    ]
    commands = {
        "floor": [sys.executable, "-m", "benchmarks.cost.ways_in", "--floor", f"{shown}/*.parquet"],
        "plain": patterns_of(log, out, *more),
        "impressions": clickassay("patterns", "--searches", shown, "--out", out, "--force", "--quiet", *more),
        "sql": clickassay("patterns", *of_sql, "--out", out, "--force", "--quiet", *more),
    }
    costs: dict[str, list[Cost]] = {way: [] for way in commands}
    checks = []
    for _ in range(options.runs):
        for way, command in commands.items():
            costs[way].append(measured(command))
            if way != "floor":
                checks.append(pattern_check(out))
    shutil.rmtree(out)
    print(f"{name}: check {the_one(checks, 'pattern table')}")
    for way, some in costs.items():
        print(f"{way:12} {figures(some)}")
    for way, of in (("impressions", "floor"), ("impressions", "plain"), ("sql", "plain")):
        print(f"{way} over {of}: CPU time {spread(ratios(costs[way], costs[of], 'cpu'))}", flush=True)


if __name__ == "__main__":
    main()
