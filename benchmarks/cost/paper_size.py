"""A log of the size of the largest data set of the paper, on one machine: from the logs to the report.

    python -m benchmarks.cost.paper_size [--world NAME …] [--searches N] [--queries N] [--reference N]
                                         [--judged N] [--runs N] [--keep] [--engine NAME] [-- OPTION …]

In each world `clickassay patterns` runs on a log of the paper's size and, before and after it, on a smaller
one, the reference: the ratio of the costs of a search shows whether anything grows faster than the log. Then
`clickassay report` runs on the large table. A log that is not in benchmarks/work is simulated, and removed in
the end; when the disk has no room for it, a smaller one is made, and the output says so.

In the world `cascade` every search is a session. In `web` users search again, and rows cannot be used: there
the funnel has to add up to what was read, and to the sessions of the table.

Queries are not as many for each search as in the reference: they grow as searches^0.65 (Heaps' law; the
exponent is a choice), from 90,000 at 20 million searches to 384,000 at the paper's size, each with up to
ten lists; the reference of `web` has 100,000, being the log of other benchmarks. Judged are as many queries
as in the paper, evenly over their popularity.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    clickassay,
    elsewhere,
    figures,
    machine,
    made_log,
    measured,
    simulation,
    spread,
)
from benchmarks.lib.patterns import (
    REFERENCE_QUERIES,
    REFERENCE_SEARCHES,
    add_options,
    options_of,
    pattern_check,
    patterns_of,
    rows_of,
)
from benchmarks.lib.room import gigabytes, room_for

PAPER_SEARCHES = 186_668_363
"""Sessions of market 2 at depth 5 (Table 1 of Chapelle et al. 2009)."""
PAPER_JUDGED = 16_356
"""Queries of market 1 at depth 5 (the same table): the most of its data sets."""
GROWTH = 0.65
START_TO_REPORT_MB = 4_000
"""Aim for the peak of both halves."""


def main() -> None:
    """Measure each world, print and clean up."""
    options = _options()
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    try:
        for world in options.world:
            print(f"world {world}", flush=True)
            measure(world, options)
    finally:
        clean()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", nargs="+", choices=REFERENCE_QUERIES, default=("cascade", "web"))
    parser.add_argument("--searches", type=int, default=PAPER_SEARCHES)
    parser.add_argument("--queries", type=int, default=None, help="default: grows as searches^0.65")
    parser.add_argument("--reference", type=int, default=REFERENCE_SEARCHES, help="searches of the reference")
    parser.add_argument("--judged", type=int, default=PAPER_JUDGED, help="queries with judgments")
    parser.add_argument("--runs", type=int, default=1, help="runs of the reference before, and as many after")
    parser.add_argument("--most-disk", type=float, default=None, metavar="GB", help="use no more than that")
    parser.add_argument("--keep", action="store_true", help="keep the log in benchmarks/work")
    add_options(parser)
    return parser.parse_args()


def queries_for(searches: int, of_20_million: int = REFERENCE_QUERIES["cascade"]) -> int:
    """Return how many distinct queries a log of so many searches has here."""
    growth: float = (searches / REFERENCE_SEARCHES) ** GROWTH
    return max(50, round(of_20_million * growth))


def measure(world: str, options: argparse.Namespace) -> None:
    """Measure the reference, the large log between its runs, and the report; print a row for each."""
    further = options_of(options)
    reference = made_log(world, options.reference, queries_for(options.reference, REFERENCE_QUERIES[world]))
    with large_log(world, options) as log:
        small = [patterns_row(world, reference, further) for _ in range(options.runs)]
        large = patterns_row(world, log, further)
        peak = max(large.peak_mb, report_row(log, options.judged).peak_mb)
        small += [patterns_row(world, reference, further) for _ in range(options.runs)]
        print_ratios(large, rows_of(log / "searches.parquet"), small, rows_of(reference / "searches.parquet"))
    print(f"start to report: {peak:,.0f} MB at most (aim: under {START_TO_REPORT_MB:,})", flush=True)


def print_ratios(large: Cost, searches: int, small: Sequence[Cost], fewer: int) -> None:
    """Print the cost of a search over that in the reference, and what a billion would take at that cost."""
    for name, what in (("CPU time", "cpu"), ("wall time", "wall")):
        each = [getattr(large, what) / searches / (getattr(cost, what) / fewer) for cost in small]
        print(f"ratio     {name} a search {spread(each)}")
    million = large.wall / searches * 1e6
    print(f"computed, not measured: patterns of a billion searches in {million * 1000 / 3600:.2f} h on "
          f"{os.cpu_count()} cores, at {million:.2f} s wall a million as above", flush=True)  # fmt: skip


# ---- the log ------------------------------------------------------------------------------------


@contextmanager
def large_log(world: str, options: argparse.Namespace) -> Iterator[Path]:
    """Yield the log, made if it is not there; remove it in the end, unless it is to be kept or was there."""
    queries = options.queries or queries_for(options.searches)
    log = WORK / f"{world}-{options.searches}-{queries}"
    if log.exists():
        yield log
        return
    searches = room_for(world, options.searches, queries, options.most_disk)
    if searches < options.searches and not options.queries:
        queries = queries_for(searches)
    log = WORK / f"{world}-{searches}-{queries}"
    try:
        print_row("simulate", measured(simulation(world, searches, queries, log)), gigabytes(log))
        yield log
    finally:
        if not options.keep:
            shutil.rmtree(log, ignore_errors=True)


# ---- the two halves -----------------------------------------------------------------------------


def patterns_row(world: str, log: Path, further: Sequence[str]) -> Cost:
    """Make the pattern table of a log, print its cost and check, and return the cost."""
    out, searches = table_of(log), rows_of(log / "searches.parquet")
    cost = measured(patterns_of(log, out, *further))
    print_row("patterns", cost, f"{searches:,} searches, {cost.cpu / searches * 1e6:.3f} CPU s a million")
    lists = rows_of(out / "configurations.parquet")
    print(f"          {lists:,} lists, {gigabytes(out)}, check {pattern_check(out)}", flush=True)
    if wrong := elsewhere(wrong_sums, out, searches, world == "cascade"):
        sys.exit(f"{log.name}: {'; '.join(wrong)}")
    return cost


def table_of(log: Path) -> Path:
    """Return where the pattern table of a log is made."""
    return WORK / f"paper-size-patterns-{log.name}"


def wrong_sums(out: Path, searches: int, each_is_a_session: bool) -> list[str]:
    """Tell which counts of a pattern table do not add up to the searches of its log."""
    funnel = pl.read_parquet(out / "funnel.parquet").filter(depth=0)
    steps = dict(
        funnel.group_by(pl.concat_str("source", "step", separator=" ")).agg(pl.col("rows").sum()).rows()
    )
    sessions = int(
        pl.scan_parquet(out / "patterns.parquet").select(pl.col("sessions").sum()).collect().item()
    )
    kept = steps["searches kept"]
    told = kept + steps.get("searches repeated", 0) + steps.get("searches rejected", 0)
    wrong = {
        f"{told:,} searches in the funnel of {searches:,}": told != searches,
        f"{sessions:,} sessions in the table, {steps['sessions formed']:,} in the funnel":
            sessions != steps["sessions formed"],
        f"{sessions:,} sessions of {kept:,} searches": sessions > kept,
        f"{sessions:,} sessions of {searches:,} searches, each of which is one":
            each_is_a_session and sessions != searches,
    }  # fmt: skip
    return [words for words, is_so in wrong.items() if is_so]


def report_row(log: Path, judged: int) -> Cost:
    """Make the report of the large table, print its cost and the sum of all correlations."""
    judgments, out = WORK / "paper-size-judgments.parquet", WORK / "paper-size-report"
    elsewhere(judge, log, judged, judgments)
    cost = measured(clickassay("report", "--patterns", table_of(log), "--judgments", judgments, "--queries",
                               log / "queries.parquet", "--out", out, "--force", "--quiet"))  # fmt: skip
    print_row("report", cost, elsewhere(_what_is_judged, out))
    print(f"          check {elsewhere(_sum_of_correlations, out):.9f}", flush=True)
    return cost


def _what_is_judged(out: Path) -> str:
    """Write the statistics at the deepest depth, over all markets."""
    every = pl.read_parquet(out / "statistics.parquet")
    sums = every.filter(pl.col("depth") == pl.col("depth").max()).select(
        pl.col("^n_.*$").sum(), pl.first("depth")
    )
    return ("{n_queries:,} judged queries, {n_configurations:,} configurations, {n_sessions:,} sessions of "
            "{n_all_sessions:,} at depth {depth}".format(**sums.row(0, named=True)))  # fmt: skip


def _sum_of_correlations(out: Path) -> float:
    return float(pl.read_parquet(out / "correlations.parquet")["correlation"].sum())


def judge(log: Path, judged: int, file: Path) -> None:
    """Write the judgments of some queries, evenly over their popularity: the log has them in that order."""
    queries = pl.read_parquet(log / "queries.parquet").select("query")
    kept = queries.gather_every(max(1, -(-queries.height // judged)))
    pl.scan_parquet(log / "judgments.parquet").join(kept.lazy(), on="query", how="semi").sink_parquet(file)


def print_row(name: str, cost: Cost, what: str) -> None:
    print(f"{name:9} {figures([cost])}   {what}", flush=True)


def clean() -> None:
    """Remove what was made of the logs."""
    for folder in (*WORK.glob("paper-size-patterns-*"), WORK / "paper-size-report"):
        shutil.rmtree(folder, ignore_errors=True)
    (WORK / "paper-size-judgments.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
