"""clickassay against what one would write by hand: the same work, the same answers, as whole processes.

    python -m benchmarks.peers --peer pandas|polars|duckdb|spark [--searches N] [--queries N] [--runs N]

`pandas` does the whole job and is set against `clickassay run`, the others make the pattern table and are set
against `clickassay patterns`. Both sides run in turn in one session; after each turn their answers are
compared, and a difference ends the benchmark with exit code 1.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lib.measuring import WORK, Cost, answers, clickassay, machine, made_log, measured, middle

PEERS = Path(__file__).parent
SCRIPTS = {
    "pandas": "pandas_scipy.py",
    "polars": "hand_polars.py",
    "duckdb": "hand_duckdb.py",
    "spark": "spark_local.py",
}


def main() -> None:
    """Make the log if it is not there, measure both sides, print a table of three rows."""
    options = _options()
    python = options.spark_python if options.peer == "spark" else sys.executable
    log = made_log(options.world, options.searches, options.queries or max(50, options.searches // 200))
    out = WORK / f"peers-{options.peer}", WORK / f"peers-{options.peer}-clickassay"
    ours, theirs, check = [], [], ""
    for _ in range(options.runs):
        theirs.append(measured([python, str(PEERS / SCRIPTS[options.peer]), str(log), str(out[0])]))
        ours.append(measured(_clickassay(options.peer, log, out[1])))
        check = _same_answer(options.peer, *out)
    print(
        f"{machine()}; world {options.world}, {options.searches:,} searches, {log.name}, {options.runs} runs"
    )
    _print_row("clickassay", ours)
    _print_row(options.peer, theirs)
    ratios = (middle(theirs, what) / middle(ours, what) for what in ("cpu", "wall", "peak_mb"))
    print("{:10} {:8.2f}       {:8.2f}        {:8.2f}".format("ratio", *ratios))
    print(f"check      {check}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", choices=SCRIPTS, required=True)
    parser.add_argument("--searches", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=None, help="default: one for 200 searches")
    parser.add_argument("--world", choices=("cascade", "rbp", "dcg", "rr", "null"), default="cascade",
                        help="one without broken rows: peers reject none")  # fmt: skip
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--spark-python", default=sys.executable, help="an interpreter that has pyspark 4")
    return parser.parse_args()


def _clickassay(peer: str, log: Path, out: Path) -> list[str]:
    command, inputs = ("patterns", ["searches", "clicks"])
    if peer == "pandas":
        command, inputs = ("run", ["searches", "clicks", "judgments", "queries"])
    files = [part for name in inputs for part in (f"--{name}", log / f"{name}.parquet")]
    return clickassay(command, *files, "--out", out, "--force", "--quiet")


def _same_answer(peer: str, theirs: Path, ours: Path) -> str:
    """Return the check value of both sides; stop when they differ."""
    if peer == "pandas":
        return _answer("numbers", theirs, ours)
    expected, found = _answer("patterns", ours), _answer("patterns", theirs)
    if expected != found:
        sys.exit(f"answers differ: clickassay {expected}; {peer} {found}")
    return expected


def _answer(kind: str, *folders: Path) -> str:
    """Have the check value computed by another process: the memory of this one shows in those it starts."""
    process = subprocess.run(answers(kind, *folders), stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        sys.exit(f"the check of the answers failed with code {process.returncode}")
    return process.stdout.strip()


def _print_row(name: str, costs: Sequence[Cost]) -> None:
    figures = (middle(costs, what) for what in ("cpu", "wall", "peak_mb"))
    print("{:10} {:8.2f} CPU s {:8.2f} s wall {:8,.0f} MB".format(name, *figures))


if __name__ == "__main__":
    main()
