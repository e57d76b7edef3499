"""CPU time of `clickassay patterns` over the cost of merely reading and hashing the same columns.

    python -m benchmarks.cost.scan_ratio [--searches N] [--queries N] [--runs N]

Both run as whole processes, in turn, in one session; the ratio is that of the medians.
"""

import argparse
import sys
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.lib.measuring import WORK, clickassay, machine, made_log, measured, middle

FLOOR = Path(__file__).with_name("scan_floor.sql")


def main() -> None:
    """Make the log if it is not there, measure, print one table row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=5_000_000)
    parser.add_argument("--queries", type=int, default=None, help="default: one for 200 searches")
    parser.add_argument("--world", default="web")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--floor", nargs=2, metavar=("SEARCHES", "CLICKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        floor(*options.floor)
        return
    log = made_log(options.world, options.searches, options.queries or max(50, options.searches // 200))
    tables = [str(log / "searches.parquet"), str(log / "clicks.parquet")]
    floors, steps = [], []
    for _ in range(options.runs):
        floors.append(measured([sys.executable, "-m", "benchmarks.cost.scan_ratio", "--floor", *tables]))
        steps.append(measured(clickassay("patterns", "--searches", tables[0], "--clicks", tables[1],
                                         "--out", WORK / "patterns", "--force", "--quiet")))  # fmt: skip
    ratio = middle(steps, "cpu") / middle(floors, "cpu")
    sessions = pl.read_parquet(WORK / "patterns" / "patterns.parquet")["sessions"]
    print(f"{machine()}; world {options.world}, {options.searches:,} searches")
    print(f"floor    {middle(floors, 'cpu'):7.2f} CPU s   check {floors[0].output.strip()}")
    print(f"patterns {middle(steps, 'cpu'):7.2f} CPU s {middle(steps, 'wall'):7.2f} s wall "
          f"{middle(steps, 'peak_mb'):,.0f} MB "
          f"  check {len(sessions):,} patterns, {sessions.sum():,} sessions")  # fmt: skip
    print(f"ratio    {ratio:7.2f}")


def floor(searches: str, clicks: str) -> None:
    """Read and hash, in this process; print a value of all that was read."""
    row = duckdb.connect().execute(FLOOR.read_text(), {"searches": searches, "clicks": clicks}).fetchone()
    print(f"{hash(row) & 0xFFFFFFFF:08x}")


if __name__ == "__main__":
    main()
