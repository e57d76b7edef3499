"""Peak memory of `clickassay patterns` under `--memory-limit`, and what distinct lists add to it.

    python -m benchmarks.cost.memory [--limits SIZE …] [--lists [TIMES …]] [--log FOLDER …] [--engine NAME]
                                     [-- OPTION …]

Logs are the simulated ones of `--world`, `--searches` and `--queries`, or those in the folders of `--log`
(searches.parquet and clicks.parquet). A table is the same under every limit, or the benchmark ends with exit
code 1; so it does, after all rows, when a peak is above its limit. A limit that is refused as too small is a
row without a peak. `--lists` makes each simulated log several times, with as many searches of 1 and 10 times
as many queries, and prints what more lists add to the peak.
"""

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.lib.measuring import MEGABYTE, WORK, figures, machine, made_log, measured
from benchmarks.lib.patterns import (
    add_options,
    add_size,
    options_of,
    pattern_check,
    patterns_of,
    rows_of,
    the_one,
    usual_queries,
)

LIMITS = ("1GB", "2GB", "4GB")
TIMES = (1, 10)
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


TOO_SMALL = "is too small for"
"""What a refusal says; not every engine has a dry run, which would tell batches."""


@dataclass(frozen=True)
class Peak:
    """What one run held at most, in megabytes; distinct lists of its table; its check value."""

    peak_mb: float
    lists: int
    check: str
    fits: bool


def main() -> None:
    """Print one row for each log and limit, and what further lists add; exit 1 if a peak is too high."""
    options = _options()
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    over = 0
    for logs in _logs(options):
        rows = [_rows_of_log(log, options) for log in logs]
        over += sum(not peak.fits for row in rows for peak in row if peak)
        for fewer, more in pairwise(rows):
            for limit, one, other in zip(options.limits, fewer, more, strict=True):
                if one and other:
                    print(f"lists {limit:>6}  {growth(one, other)}", flush=True)
    shutil.rmtree(WORK / "memory-patterns", ignore_errors=True)
    if over:
        sys.exit(f"{over} peaks above their limit")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limits", nargs="+", type=_size, default=LIMITS, metavar="SIZE")
    parser.add_argument("--lists", nargs="*", type=int, default=None, metavar="TIMES",
                        help="logs of so many times as many queries; default: 1 and 10")  # fmt: skip
    parser.add_argument("--log", nargs="+", type=Path, default=(), help="folders of logs that are there")
    add_size(parser)
    add_options(parser)
    options = parser.parse_args()
    if options.log and options.lists is not None:
        parser.error("--lists makes logs of its own: leave out --log")
    return options


def _size(text: str) -> str:
    """Return a size as it stands, if it is one."""
    bytes_of(text)
    return text


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as 4GB or 512MiB."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]i?B|B)", size, re.IGNORECASE)
    if parts is None:
        raise argparse.ArgumentTypeError(f"{size!r} is no size: write it as 4GB or 512MiB")
    return round(float(parts[1]) * UNITS[parts[2].upper()])


def _logs(options: argparse.Namespace) -> list[list[Path]]:
    """Return the logs, those together that have as many searches of ever more queries."""
    if options.log:
        return [[log] for log in options.log]
    times = (1,) if options.lists is None else sorted(set(options.lists or TIMES))
    queries = {world: options.queries or usual_queries(world, options.searches) for world in options.world}
    return [[made_log(world, options.searches, queries[world] * many) for many in times]
            for world in options.world]  # fmt: skip


def _rows_of_log(log: Path, options: argparse.Namespace) -> list[Peak | None]:
    """Print a row for each limit; the table is the same under all of them."""
    peaks = [_row(log, limit, options_of(options)) for limit in options.limits]
    checks = [peak.check for peak in peaks if peak]
    if checks:
        print(f"{log.name}: check {the_one(checks, log.name)}", flush=True)
    return peaks


def _row(log: Path, limit: str, further: list[str]) -> Peak | None:
    out = WORK / "memory-patterns"
    command = patterns_of(log, out, "--memory-limit", limit, *further)
    told = subprocess.run([*command, "--dry-run", "--json"], capture_output=True, text=True, check=False)
    if TOO_SMALL in told.stderr:
        print(f"{log.name} {limit:>6} refused: {told.stderr.strip()}", flush=True)
        return None
    batches = f"batches: {json.loads(told.stdout)['batches']}" if told.returncode == 0 else "batches not told"
    cost = measured(command)
    lists, share = rows_of(out / "configurations.parquet"), cost.peak_mb * MEGABYTE / bytes_of(limit)
    of_limit = f"{share:.1%} of the limit{', ABOVE IT' if share > 1 else ''}"
    print(f"{log.name} {limit:>6} {figures([cost])}   {of_limit}, {batches}, {lists:,} lists", flush=True)
    return Peak(cost.peak_mb, lists, pattern_check(out), fits=share <= 1)


def growth(fewer: Peak, more: Peak) -> str:
    """Write what more distinct lists add to the peak: in all, for ten times as many, and each."""
    mb = more.peak_mb - fewer.peak_mb
    tenfold = mb / math.log10(more.lists / fewer.lists)
    each = mb * MEGABYTE / (more.lists - fewer.lists)
    return (f"{fewer.lists:,} to {more.lists:,} lists: {mb:+,.0f} MB, {tenfold:+,.0f} MB for a tenfold, "
            f"{each:+,.0f} bytes a further list")  # fmt: skip


if __name__ == "__main__":
    main()
