"""clickassay against what one would write by hand: the same work, the same answers, as whole processes.

    python -m benchmarks.peers [--peer NAME …] [--world NAME …] [--searches N] [--queries N] [--runs N]

`pandas` does the whole job and is set against `clickassay run`, once as it is and once without click models,
which the script does not fit; the others make the pattern table and are set against `clickassay patterns`
with one fold, as they keep none. Theirs and ours run in turn, each turn has ratios of its own, and the median
of these is the figure. After each turn the answers are compared: a difference ends the benchmark with exit
code 1. Rows of the world `web` that cannot be used are taken out of its log, because peers reject none.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    answers,
    clickassay,
    figures,
    machine,
    made_log,
    measured,
    ratios,
    spread,
)
from benchmarks.lib.patterns import REFERENCE_SEARCHES, pattern_check, patterns_of, the_one, usual_queries

SCRIPTS = Path(__file__).parent
SPELLED = MappingProxyType({"cpu": "CPU time", "wall": "wall time", "peak_mb": "memory"})


@dataclass(frozen=True)
class Peer:
    """A script, the searches of its log, what of clickassay it is set against, and aims for the ratios."""

    script: str
    searches: int
    ours: Mapping[str, tuple[str, ...]]
    aims: Mapping[str, float]


PATTERNS = MappingProxyType({"patterns": ("--folds", "1")})
RUNS = MappingProxyType({"run": (), "run, no click models": ("--click-models", "none")})
PEERS = MappingProxyType(
    {
        "polars": Peer("hand_polars.py", REFERENCE_SEARCHES, PATTERNS, {"cpu": 4, "peak_mb": 1}),
        "duckdb": Peer("hand_duckdb.py", REFERENCE_SEARCHES, PATTERNS, {"cpu": 5, "peak_mb": 1}),
        "pandas": Peer("pandas_scipy.py", 1_000_000, RUNS, {"cpu": 25, "peak_mb": 1}),
        "spark": Peer("spark_local.py", 5_000_000, PATTERNS, {}),
    }
)


def main() -> None:
    """Measure each peer on each world; make the logs that are not there."""
    options = _options()
    print(machine())
    for name in options.peer:
        for world in options.world:
            searches = options.searches or PEERS[name].searches
            log = usable_log(world, searches, options.queries or usual_queries(world, searches))
            print(f"{name}: {log.name}, {options.runs} runs in turn", flush=True)
            measure(name, log, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=("polars", "duckdb", "pandas"))
    parser.add_argument("--world", nargs="+", choices=("cascade", "web"), default=("cascade", "web"))
    sizes = "default: 20 million; for pandas 1 million, for spark 5 million"
    parser.add_argument("--searches", type=int, default=None, help=sizes)
    queries = "default: 90,000 for 20 million searches, in the world web 100,000"
    parser.add_argument("--queries", type=int, default=None, help=queries)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--spark-python", default=sys.executable, help="an interpreter that has pyspark 4")
    return parser.parse_args()


def usable_log(world: str, searches: int, queries: int) -> Path:
    """Return the folder of a log whose rows can all be used, making it when it is not there."""
    log = made_log(world, searches, queries)
    if world != "web":
        return log
    cleaned = log.with_name(f"{log.name}-usable")
    if not cleaned.exists():
        making = cleaned.with_name(f".{cleaned.name}")
        measured([sys.executable, "-m", "benchmarks.peers.usable", str(log), str(making)])
        making.rename(cleaned)
    return cleaned


def measure(name: str, log: Path, options: argparse.Namespace) -> None:
    """Run a peer and clickassay in turn; print a row for the peer, and rows for each of ours beside it."""
    peer, theirs_at = PEERS[name], WORK / f"peers-{name}"
    python = options.spark_python if name == "spark" else sys.executable
    theirs: list[Cost] = []
    ours: dict[str, list[Cost]] = {variant: [] for variant in peer.ours}
    checks = []
    for _ in range(options.runs):
        theirs.append(measured([python, str(SCRIPTS / peer.script), str(log), str(theirs_at)]))
        for variant, further in peer.ours.items():
            at = WORK / f"peers-{name}-clickassay"
            ours[variant].append(measured(_clickassay(name, log, at, further)))
            checks.append(same_answer(name, theirs_at, at))
    the_one((check.partition("; ")[0] for check in checks), name)  # how far sums differ may vary
    print(f"{name:20} {figures(theirs)}   check {checks[-1]}")
    for variant, costs in ours.items():
        print(f"{variant:20} {figures(costs)}")
        for line in ratio_lines(theirs, costs, peer.aims):
            print(f"  {line}", flush=True)


def ratio_lines(theirs: Sequence[Cost], ours: Sequence[Cost], aims: Mapping[str, float]) -> list[str]:
    """Write theirs over ours for each figure, with its aim."""
    return [
        f"{words:9} {spread(ratios(theirs, ours, what))}"
        + (f"; aim: {'above ' if what == 'peak_mb' else ''}{aims[what]:g}" if what in aims else "")
        for what, words in SPELLED.items()
    ]


def _clickassay(peer: str, log: Path, out: Path, further: Sequence[str]) -> list[str]:
    if peer != "pandas":
        return patterns_of(log, out, *further)
    names = ("searches", "clicks", "judgments", "queries")
    files = [part for name in names for part in (f"--{name}", log / f"{name}.parquet")]
    return clickassay("run", *files, "--out", out, "--force", "--quiet", *further)


def same_answer(peer: str, theirs: Path, ours: Path) -> str:
    """Return the check value of both sides; stop when they differ."""
    if peer != "pandas":
        return the_one((pattern_check(ours), pattern_check(theirs)), f"clickassay, {peer}")
    return measured(answers("numbers", theirs, ours)).output.strip()


if __name__ == "__main__":
    main()
