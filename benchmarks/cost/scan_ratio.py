"""CPU time of `clickassay patterns` over the cost of merely reading and hashing the same columns.

    python -m benchmarks.cost.scan_ratio [--world NAME …] [--searches N] [--queries N] [--runs N]
                                         [--engine NAME] [-- OPTION …]

Both run as whole processes in turn; each pair has a ratio of its own, and the median of these is the figure.
What follows `--` are further options of `clickassay patterns`.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb

from benchmarks.lib.measuring import WORK, Cost, figures, machine, made_log, measured, ratios, spread
from benchmarks.lib.patterns import (
    add_options,
    add_size,
    options_of,
    pattern_check,
    patterns_of,
    the_one,
    usual_queries,
)

FLOOR = Path(__file__).with_name("scan_floor.sql")


def main() -> None:
    """Make the logs if they are not there, measure, print three table rows for each world."""
    options = _options()
    if options.floor:
        floor(*options.floor)
        return
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    for world in options.world:
        log = made_log(world, options.searches, options.queries or usual_queries(world, options.searches))
        print(f"{log.name}: world {world}, {options.searches:,} searches", flush=True)
        print_pairs(log, options.runs, options_of(options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs")
    parser.add_argument("--floor", nargs=2, metavar=("SEARCHES", "CLICKS"), help=argparse.SUPPRESS)
    add_options(parser)
    return parser.parse_args()


def print_pairs(log: Path, runs: int, further: Sequence[str]) -> None:
    """Run the floor and `patterns` in turn; print what both cost, and the ratios."""
    out = WORK / "scan-patterns"
    floors: list[Cost] = []
    steps: list[Cost] = []
    checks = []
    for _ in range(runs):
        floors.append(measured(_floor_of(log)))
        steps.append(measured(patterns_of(log, out, *further)))
        checks.append(pattern_check(out))
    shutil.rmtree(out)
    print(f"floor    {figures(floors)}   check {the_one((cost.output.strip() for cost in floors), 'floor')}")
    print(f"patterns {figures(steps)}   check {the_one(checks, 'pattern table')}")
    for name, what in (("CPU time", "cpu"), ("wall time", "wall")):
        print(f"ratio    {name} {spread(ratios(steps, floors, what))}", flush=True)


def _floor_of(log: Path) -> list[str]:
    files = (str(log / f"{name}.parquet") for name in ("searches", "clicks"))
    return [sys.executable, "-m", "benchmarks.cost.scan_ratio", "--floor", *files]


def floor(searches: str, clicks: str) -> None:
    """Read and hash, in this process; print a value of all that was read."""
    row = duckdb.connect().execute(FLOOR.read_text(), {"searches": searches, "clicks": clicks}).fetchone()
    print(f"{hash(row) & 0xFFFFFFFF:08x}")


if __name__ == "__main__":
    main()
