"""What the moments cost: slopes against documents, and a pool as large as MSLR-WEB30k.

    python -m benchmarks.promises.labelling.cost [--only slopes|pool] [--runs N]

Slopes are of lines through the logarithms of CPU seconds: against the documents of all queries for one
ranking and for DCG of two, against the sum of |r1| |r2| for ERR of two. The pool has 31,531 queries of 119
documents on average and 1,200 at most, five grades; each figure is of a process of its own, without the
making of the pool.
"""

import argparse
import resource
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.lib.measuring import elsewhere, machine
from benchmarks.promises.labelling.pools import Lengths, simulated
from clickassay.studies.labelling.moments import measure_moments
from clickassay.studies.labelling.pool import Pool

QUERIES = 31_531
MSLR = Lengths(middle=97, sigma=0.66, longest=1200)
"""119 documents a query on average."""

KINDS = ((1, "ERR"), (1, "DCG"), (2, "DCG"), (2, "ERR"))
"""How many rankings there are, and the measure."""


@dataclass(frozen=True)
class Work:
    """What there was to do, and what it cost."""

    documents: int
    pairs: int
    cpu: float
    peak_mb: float


def main() -> None:
    """Print the slopes and the costs of the pool."""
    options = _options()
    print(machine())
    if options.only != "pool":
        for rankings, measure in KINDS:
            print(slope_row(rankings, measure, options.runs), flush=True)
    if options.only != "slopes":
        for rankings, measure in KINDS:
            found = elsewhere(work, QUERIES, MSLR, rankings, measure, options.runs)
            print(
                f"{rankings} x {measure}: {QUERIES:,} queries, {found.documents:,} documents, "
                f"{found.pairs:,} pairs of ranks: {found.cpu:.2f} CPU s, {found.peak_mb:,.0f} MB",
                flush=True,
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("slopes", "pool"))
    parser.add_argument("--runs", type=int, default=3, help="the least of so many runs counts")
    return parser.parse_args()


def slope_row(rankings: int, measure: str, runs: int) -> str:
    """Return the slope as queries grow in number, or, for ERR of two, as lists grow in length."""
    if (rankings, measure) == (2, "ERR"):
        sizes = [(400, Lengths(length, 0, 2000)) for length in (100, 200, 400, 800)]
    else:
        sizes = [(queries, Lengths(96, 0, 1200)) for queries in (4_000, 8_000, 16_000, 32_000)]
    found = [work(queries, lengths, rankings, measure, runs) for queries, lengths in sizes]
    amounts = [each.pairs if measure == "ERR" and rankings == 2 else each.documents for each in found]
    slope = np.polyfit(np.log(amounts), np.log([each.cpu for each in found]), 1)[0]
    seconds = ", ".join(
        f"{each.cpu:.3f} s for {amount:,}" for each, amount in zip(found, amounts, strict=True)
    )
    return f"{rankings} x {measure}: slope {slope:.2f} ({seconds})"


def work(queries: int, lengths: Lengths, rankings: int, measure: str, runs: int) -> Work:
    """Make a pool and return the cost of its moments; memory is that of the whole process."""
    pool, _ = simulated(queries, lengths, rankings, np.random.default_rng(1))
    sizes = [ranking.lengths for ranking in pool.rankings]
    cpu = min(seconds(pool, measure) for _ in range(runs))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Work(len(pool.probabilities), int(np.sum(sizes[0] * sizes[-1])), cpu, peak_mb)


def seconds(pool: Pool, measure: str) -> float:
    """Return the CPU seconds of the moments of a pool."""
    start = time.process_time()
    measure_moments(pool, measure)
    return time.process_time() - start


if __name__ == "__main__":
    main()
