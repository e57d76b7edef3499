"""Room on the disk for a simulated log and all that is made of it."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lib.measuring import WORK, measured, simulation

SAMPLE_SEARCHES = 300_000
ROOM = 1.6
"""Disk for a byte of log: the log, the pattern table, and what the engine spills or publishes from."""
SPARE_BYTES = 2_000_000_000
"""Disk that is left to others."""
LOG_FILES = ("searches.parquet", "clicks.parquet")


@dataclass(frozen=True)
class Disk:
    """Bytes of log for each search, bytes of the files that grow with queries only, and bytes at hand."""

    a_search: float
    fixed: int
    at_hand: float

    def needed(self, searches: int) -> float:
        """Return the bytes of disk that a log of so many searches needs with all that is made of it."""
        return ROOM * (self.fixed + self.a_search * searches)

    def fitting(self, searches: int) -> int:
        """Return `searches`, or as many as there is room for; 0 if there is none."""
        room = self.at_hand / ROOM - self.fixed
        return max(0, min(searches, int(room / self.a_search)))


def room_for(world: str, searches: int, queries: int, most_gb: float | None) -> int:
    """Return how many searches the disk has room for, as a small log of the same queries tells; say so."""
    disk = disk_of(world, min(searches, SAMPLE_SEARCHES), queries, most_gb)
    fitting = disk.fitting(searches)
    print(
        f"disk      {disk.at_hand / 1e9:.2f} GB at hand, {disk.needed(searches) / 1e9:.2f} GB needed for "
        f"{searches:,} searches ({disk.a_search:.1f} bytes of log each, {queries:,} queries)",
        flush=True,
    )
    if not fitting:
        sys.exit("there is no room for any log: free some disk, or allow more with --most-disk")
    if fitting < searches:
        print(f"SCALED    to {fitting:,} searches, {fitting / searches:.1%} of what was asked for: no room")
    return fitting


def disk_of(world: str, searches: int, queries: int, most_gb: float | None) -> Disk:
    """Make a small log, measure its files, and remove it."""
    sample = WORK / "paper-size-sample"
    shutil.rmtree(sample, ignore_errors=True)
    measured(simulation(world, searches, queries, sample))
    sizes = {file.name: file.stat().st_size for file in sample.iterdir()}
    shutil.rmtree(sample)
    of_log = sum(sizes[name] for name in LOG_FILES)
    free = shutil.disk_usage(WORK).free - SPARE_BYTES
    at_hand = free if most_gb is None else min(free, most_gb * 1e9)
    return Disk(of_log / searches, sum(sizes.values()) - of_log, at_hand)


def gigabytes(folder: Path) -> str:
    """Write the size of a folder's files."""
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e9:.2f} GB"
