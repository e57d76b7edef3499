"""A log of the size of the largest data set of the paper, on one machine: CPU seconds a million searches.

    python -m benchmarks.cost.paper_size [--searches N] [--queries N] [--reference N] [--judged N] [--keep]

The log is simulated (world `cascade`, in which every search is a session), then `clickassay patterns` and
`clickassay report` run on it, each a whole process. `patterns` runs first on a smaller log, the reference:
the ratio of the costs of a search shows whether anything grows faster than the log.
When the disk has no room for the log, a smaller one is made, and the output says so.

Queries are not as many for each search as in the reference: they grow as searches^0.65 (Heaps' law; the
exponent is a choice), from 90,000 at 20 million searches to 384,000 at the paper's size, each with up to
ten lists. Judged are as many queries as in the paper, evenly over their popularity.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    answers,
    clickassay,
    elsewhere,
    machine,
    made_log,
    measured,
    middle,
)

PAPER_SEARCHES = 186_668_363
"""Sessions of market 2 at depth 5 (Table 1 of Chapelle et al. 2009)."""
PAPER_JUDGED = 16_356
"""Queries of market 1 at depth 5 (the same table): the most of its data sets."""
REFERENCE_SEARCHES, REFERENCE_QUERIES, GROWTH = 20_000_000, 90_000, 0.65

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


def main() -> None:
    """Measure the reference, see what fits, make the log, measure, print and clean up."""
    options = _options()
    print(f"{machine()}; world cascade")
    reference = made_log("cascade", options.reference, queries_for(options.reference))
    queries = options.queries or queries_for(options.searches)
    searches = room_for(options.searches, queries, options.most_disk)
    if searches < options.searches and not options.queries:
        queries = queries_for(searches)
    try:
        before = patterns_row(reference, options.runs)
        with simulated(searches, queries, keep=options.keep) as log:
            cost = patterns_row(log, 1)
            print(f"ratio     {cost / before:.3f} of CPU seconds a million searches", flush=True)
            report_row(log, options.judged)
    finally:
        clean()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=PAPER_SEARCHES)
    parser.add_argument("--queries", type=int, default=None, help="default: grows as searches^0.65")
    parser.add_argument("--reference", type=int, default=REFERENCE_SEARCHES, help="searches of the reference")
    parser.add_argument("--judged", type=int, default=PAPER_JUDGED, help="queries with judgments")
    parser.add_argument("--runs", type=int, default=1, help="runs of the reference")
    parser.add_argument("--most-disk", type=float, default=None, metavar="GB", help="use no more than that")
    parser.add_argument("--keep", action="store_true", help="keep the log in benchmarks/work")
    return parser.parse_args()


def queries_for(searches: int) -> int:
    """Return how many distinct queries a log of so many searches has here."""
    growth: float = (searches / REFERENCE_SEARCHES) ** GROWTH
    return max(50, round(REFERENCE_QUERIES * growth))


# ---- the log ------------------------------------------------------------------------------------


def room_for(searches: int, queries: int, most_gb: float | None) -> int:
    """Return how many searches the disk has room for, as a small log of the same queries tells; say so."""
    disk = disk_of(min(searches, SAMPLE_SEARCHES), queries, most_gb)
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


def disk_of(searches: int, queries: int, most_gb: float | None) -> Disk:
    """Make a small log, measure its files, and remove it."""
    sample = WORK / "paper-size-sample"
    shutil.rmtree(sample, ignore_errors=True)
    measured(simulation(searches, queries, sample))
    sizes = {file.name: file.stat().st_size for file in sample.iterdir()}
    shutil.rmtree(sample)
    of_log = sum(sizes[name] for name in LOG_FILES)
    free = shutil.disk_usage(WORK).free - SPARE_BYTES
    at_hand = free if most_gb is None else min(free, most_gb * 1e9)
    return Disk(of_log / searches, sum(sizes.values()) - of_log, at_hand)


def simulation(searches: int, queries: int, out: Path) -> list[str]:
    return clickassay("simulate", "--world", "cascade", "--n-searches", searches, "--n-queries", queries,
                      "--seed", 1, "--out", out, "--quiet")  # fmt: skip


@contextmanager
def simulated(searches: int, queries: int, *, keep: bool) -> Iterator[Path]:
    """Make the log and print what that cost; remove it in the end, unless it is to be kept or was there."""
    log = WORK / f"cascade-{searches}-{queries}"
    keep = keep or log.exists()
    try:
        if not log.exists():
            print_row("simulate", [measured(simulation(searches, queries, log))], gigabytes(log))
        yield log
    finally:
        if not keep:
            shutil.rmtree(log, ignore_errors=True)


def gigabytes(folder: Path) -> str:
    """Write the size of a folder's files."""
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e9:.2f} GB"


# ---- the two halves -----------------------------------------------------------------------------


def patterns_row(log: Path, runs: int) -> float:
    """Make the pattern table of a log, print its cost and check; return CPU seconds a million searches."""
    out, searches = WORK / "paper-size-patterns", searches_of(log)
    inputs = (part for name in ("searches", "clicks") for part in (f"--{name}", log / f"{name}.parquet"))
    command = clickassay("patterns", *inputs, "--out", out, "--force", "--quiet")
    costs = [measured(command) for _ in range(runs)]
    million = middle(costs, "cpu") / (searches / 1e6)
    lists, sessions = elsewhere(sizes, out)
    print_row("patterns", costs, f"{searches:,} searches, {million:.3f} CPU s a million")
    print(f"          {lists:,} lists, {gigabytes(out)}, check {answer(out)}", flush=True)
    if sessions != searches:
        sys.exit(f"{sessions:,} sessions in the table of {searches:,} searches: in `cascade` each is one")
    return million


def report_row(log: Path, judged: int) -> None:
    """Make the report of the table that was made last, print its cost and the sum of all correlations."""
    judgments, out = WORK / "paper-size-judgments.parquet", WORK / "paper-size-report"
    elsewhere(judge, log, judged, judgments)
    cost = measured(clickassay("report", "--patterns", WORK / "paper-size-patterns", "--judgments", judgments,
                               "--queries", log / "queries.parquet", "--out", out, "--force", "--quiet"))  # fmt: skip  # noqa: E501
    statistics, correlations = (
        pl.read_parquet(out / f"{name}.parquet") for name in ("statistics", "correlations")
    )
    deepest = statistics.sort("depth").row(-1, named=True)
    print_row("report", [cost], "{n_queries:,} judged queries, {n_configurations:,} configurations, "
              "{n_sessions:,} sessions ({coverage:.1%}) at depth {depth}".format(**deepest))  # fmt: skip
    print(f"          check {correlations['correlation'].sum():.9f}")


def judge(log: Path, judged: int, file: Path) -> None:
    """Write the judgments of some queries, evenly over their popularity: the log has them in that order."""
    queries = pl.read_parquet(log / "queries.parquet").select("query")
    kept = queries.gather_every(max(1, -(-queries.height // judged)))
    pl.scan_parquet(log / "judgments.parquet").join(kept.lazy(), on="query", how="semi").sink_parquet(file)


def searches_of(log: Path) -> int:
    """Return the rows of searches as their file tells, not as was asked for."""
    return int(pl.scan_parquet(log / "searches.parquet").select(pl.len()).collect().item())


def sizes(out: Path) -> tuple[int, int]:
    """Return configurations and sessions of a pattern table."""
    lists = pl.scan_parquet(out / "configurations.parquet").select(pl.len())
    sessions = pl.scan_parquet(out / "patterns.parquet").select(pl.col("sessions").sum())
    return int(lists.collect().item()), int(sessions.collect().item())


def answer(out: Path) -> str:
    """Return number of patterns, sessions and an order-free checksum of a pattern table."""
    return measured(answers("patterns", out)).output.strip()


def print_row(name: str, costs: Sequence[Cost], what: str) -> None:
    cpu, wall, peak = (middle(costs, figure) for figure in ("cpu", "wall", "peak_mb"))
    print(f"{name:9} {cpu:8.2f} CPU s {wall:8.2f} s wall {peak:8,.0f} MB   {what}", flush=True)


def clean() -> None:
    """Remove what was made of the logs."""
    for folder in ("paper-size-patterns", "paper-size-report"):
        shutil.rmtree(WORK / folder, ignore_errors=True)
    (WORK / "paper-size-judgments.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
