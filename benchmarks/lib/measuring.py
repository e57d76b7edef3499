"""Whole processes measured by the operating system: CPU, wall clock, peak memory; and the logs for them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event
from typing import TypeVar

ROOT = Path(__file__).parents[2]
"""The checkout."""

WORK = ROOT / "benchmarks" / "work"
"""Where benchmarks keep the logs that they make; not in version control."""

MEGABYTE = 1_000_000
"""Bytes, as in `--memory-limit 4GB`."""

LOOK_SECONDS = 0.1
"""How often the memory of a process that has children is added up."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cost:
    """What one process cost with its children: CPU and wall seconds, peak megabytes, and what it printed."""

    cpu: float
    wall: float
    peak_mb: float
    output: str


def measured(command: Sequence[str]) -> Cost:
    """Run `command` to its end and return what it cost; a failure stops the benchmark."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101 - asked for above
    ended = Event()
    with ThreadPoolExecutor(1) as thread:
        together = thread.submit(_most_together, process.pid, ended)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        ended.set()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with code {process.returncode}")
    peak_mb = max(usage.ru_maxrss * 1024 / MEGABYTE, together.result())
    return Cost(usage.ru_utime + usage.ru_stime, wall, peak_mb, output)


def _most_together(pid: int, ended: Event) -> float:
    """Return the most megabytes that a process and its children were seen to hold; 0 if it has no child.

    The system's own figure, which misses no peak, is of the largest single process.
    """
    most = 0.0
    while not ended.wait(LOOK_SECONDS):
        family = _family(pid)
        if len(family) > 1:
            most = max(most, sum(map(_held_mb, family)))
    return most


def _family(pid: int) -> list[int]:
    """Return a process and all below it, by what Linux tells; elsewhere, the process alone."""
    found = [pid]
    for member in found:  # grows while it is walked
        with suppress(OSError):  # it may have ended by now
            for children in Path(f"/proc/{member}/task").glob("*/children"):
                found += map(int, children.read_text(encoding="ascii").split())
    return found


def _held_mb(pid: int) -> float:
    """Return the proportional set size of a process: what several share counts once in their sum."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / MEGABYTE
    return 0.0


def elsewhere(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function in a process of its own: the memory of this one shows in those it starts."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(function, *arguments).result()


def middle(costs: Sequence[Cost], what: str) -> float:
    """Return the median of one figure over several runs."""
    return float(median(getattr(cost, what) for cost in costs))


def ratios(over: Sequence[Cost], under: Sequence[Cost], what: str) -> list[float]:
    """Return the ratio of one figure in each pair of runs, which were made in turn."""
    return [getattr(one, what) / getattr(other, what) for one, other in zip(over, under, strict=True)]


def spread(values: Sequence[float]) -> str:
    """Write the median of ratios, the least and the greatest, and all in their order."""
    each = " ".join(f"{value:.2f}" for value in values)
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f}: {each})"


def figures(costs: Sequence[Cost]) -> str:
    """Write the medians of what several runs cost."""
    cpu, wall, peak = (middle(costs, what) for what in ("cpu", "wall", "peak_mb"))
    return f"{cpu:8.2f} CPU s {wall:8.2f} s wall {peak:8,.0f} MB"


def clickassay(*options: object) -> list[str]:
    """Return the command line of the installed clickassay."""
    return [sys.executable, "-m", "clickassay", *map(str, options)]


def made_log(world: str, searches: int, queries: int) -> Path:
    """Return the folder of a simulated log, making it when it is not there."""
    log = WORK / f"{world}-{searches}-{queries}"
    if not log.exists():
        WORK.mkdir(exist_ok=True)
        measured(simulation(world, searches, queries, log))
    return log


def simulation(world: str, searches: int, queries: int, out: Path) -> list[str]:
    """Return the command line that makes a log."""
    return clickassay("simulate", "--world", world, "--n-searches", searches, "--n-queries", queries,
                      "--seed", 1, "--out", out, "--quiet")  # fmt: skip


def answers(kind: str, *folders: Path) -> list[str]:
    """Return the command line of the check: `patterns` of a table, `numbers` of a peer and a run."""
    return [sys.executable, str(ROOT / "benchmarks" / "peers" / "answers.py"), kind, *map(str, folders)]


def machine() -> str:
    """Name the machine and the versions that decide the figures."""
    names = ("duckdb", "polars", "numpy")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {libraries}"
