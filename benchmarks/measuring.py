"""Whole processes measured by the operating system: CPU, wall clock, peak memory."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

WORK = Path(__file__).parent / "work"
"""Where benchmarks keep the logs that they make; not in version control."""


@dataclass(frozen=True)
class Cost:
    """What one process cost: CPU and wall seconds, peak resident megabytes, and what it printed."""

    cpu: float
    wall: float
    peak_mb: float
    output: str


def measured(command: Sequence[str]) -> Cost:
    """Run `command` to its end and return what it cost; a failure stops the benchmark."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101 - asked for above
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024, output)


def middle(costs: Sequence[Cost], what: str) -> float:
    """Return the median of one figure over several runs."""
    return median(getattr(cost, what) for cost in costs)


def clickassay(*options: object) -> list[str]:
    """Return the command line of the installed clickassay."""
    return [sys.executable, "-m", "pipeline.cli", *map(str, options)]


def machine() -> str:
    """Name the machine and the versions that decide the figures."""
    names = ("duckdb", "polars", "numpy")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {libraries}"
