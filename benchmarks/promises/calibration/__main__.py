"""Check by simulation that the statistics keep their promises; results in reports/calibration.

    python -m benchmarks.promises.calibration [--only NAME] [--worlds N] [--seed N] [--processes N] …

Coverage of the intervals, other intervals beside them (methods), false alarms, planted metrics found again
(recovery), judges compared by clicks (judges), runs compared when users have habits (users), what power says
of longer logs (power), what learn gains (learn), Algorithm 3 against its closed form (rankers), and cost.
Writes a table for each, pictures, and a README.md.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.promises.calibration import (
    alarms,
    cost,
    coverage,
    judges,
    learning,
    methods,
    power,
    rankers,
    recovery,
    tails,
    users,
)
from benchmarks.promises.calibration.pictures import draw_coverage, draw_methods, draw_rankers
from benchmarks.promises.calibration.readme import QUESTIONS, write_readme

REPORT = ROOT / "reports" / "calibration"


def main() -> None:
    """Answer the questions asked for and write what was found."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    for question in [options.only] if options.only else QUESTIONS:
        start = time.monotonic()
        table = answer(question, options)
        table.write_csv(options.out / f"{question}.csv", float_precision=6)
        print(f"{question:10} {table.height:4} rows {time.monotonic() - start:8.1f} s", flush=True)
    write_readme(options.out)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--worlds",
        type=int,
        default=1000,
        help="of each kind and size; alarms: 3 times as many; methods, tails: 0.3 times; recovery, users: "
        "0.1 times; learn: 0.1 or 0.025 times; power: 0.01 times",
    )
    parser.add_argument("--only", choices=QUESTIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPORT)
    return parser.parse_args()


def answer(question: str, options: argparse.Namespace) -> pl.DataFrame:
    """Return the table of a question, and draw its picture if it has one."""
    if question == "cost":
        return cost.measured(options.seed)
    if question == "rankers":
        table, runs = rankers.measured(options.worlds, options.seed, options.processes)
        draw_rankers(runs, options.out / "rankers.svg")
        return table
    measured: dict[str, Callable[[int, int, int], pl.DataFrame]] = {
        "coverage": coverage.measured,
        "tails": tails.measured,
        "methods": methods.measured,
        "alarms": alarms.measured,
        "recovery": recovery.measured,
        "judges": judges.measured,
        "users": users.measured,
        "power": power.measured,
        "learn": learning.measured,
    }
    table = measured[question](options.worlds, options.seed, options.processes)
    if question == "coverage":
        draw_coverage(table, coverage.STATISTICS, options.out / "coverage.svg")
    if question == "methods":
        draw_methods(table, tuple(dict.fromkeys(table["statistic"])), options.out / "methods.svg")
    return table


if __name__ == "__main__":
    main()
