"""What `clickassay patterns` gains by threads, beside a mere scan of the same columns.

    python -m benchmarks.cost.threads [--world NAME] [--searches N] [--queries N] [--threads N …]

For each number of threads: wall and CPU seconds and peak memory of both, and the share of the CPU time of
`patterns` in which no other thread of it could run, from the states of its threads fifty times a second: that
share bounds what more cores bring, and shows on a machine of few cores, even a busy one. Linux only.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.cost.scan_ratio import FLOOR
from benchmarks.lib.measuring import MEGABYTE, WORK, machine, made_log
from benchmarks.lib.patterns import REFERENCE_SEARCHES, patterns_of

_LOOK_SECONDS = 0.02


def main() -> None:
    """Make the log if it is not there; print a row for each number of threads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="web")
    parser.add_argument("--searches", type=int, default=REFERENCE_SEARCHES)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--scan", nargs=2, metavar=("LOG", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scan:
        _scan(Path(options.scan[0]), int(options.scan[1]))
        return
    log = made_log(options.world, options.searches, options.queries)
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {log.name}", flush=True)
    for threads in options.threads:
        scan = _watched([sys.executable, "-m", "benchmarks.cost.threads", "--scan", str(log), str(threads)])
        made = _watched(patterns_of(log, WORK / "threads-patterns", "--threads", threads))
        ratio = made.wall / scan.wall
        print(
            f"{threads:2} threads: scan {scan}; patterns {made}, {made.alone:.1%} alone; {ratio:.1f} scans",
            flush=True,
        )


def _scan(log: Path, threads: int) -> None:
    files = {name: str(log / f"{name}.parquet") for name in ("searches", "clicks")}
    duckdb.connect(config={"threads": threads}).execute(FLOOR.read_text(), files).fetchone()


@dataclass(frozen=True)
class _Watched:
    """What a process cost, and the share of its CPU time in which one thread alone could run."""

    wall: float
    cpu: float
    peak_mb: float
    alone: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s wall {self.cpu:.1f} CPU s {self.peak_mb:,.0f} MB"


def _watched(command: list[str]) -> _Watched:
    begin, spent = time.monotonic(), {False: 0.0, True: 0.0}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    before = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        with suppress(OSError):
            place = Path(f"/proc/{process.pid}")
            states = [_fields(task / "stat")[0] for task in place.glob("task/*")]
            user, system = _fields(place / "stat")[11:13]
            now = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
            spent[states.count("R") <= 1] += now - before
            before = now
        time.sleep(_LOOK_SECONDS)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with code {process.returncode}")
    wall, cpu = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
    alone = spent[True] / max(sum(spent.values()), 1e-9)
    return _Watched(wall, cpu, usage.ru_maxrss * 1024 / MEGABYTE, alone)


def _fields(file: Path) -> list[str]:
    return file.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


if __name__ == "__main__":
    main()
