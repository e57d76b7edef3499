"""The cost of a run from frames in memory, over the same run from the files that they were read from.

    python -m benchmarks.cost.from_python [--world NAME …] [--searches N] [--queries N] [--runs N]

Every figure is of whole processes that run in turn; what reading the frames costs and holds is measured by
itself. All ways give the same tables, or the benchmark ends.
"""

import argparse
import sys
from statistics import median

from benchmarks.lib.measuring import Cost, figures, machine, made_log, measured, ratios, spread
from benchmarks.lib.patterns import add_size, the_one, usual_queries

READ = """
import sys
import polars as pl
import clickassay as ca
log = {name: f"{sys.argv[1]}/{name}.parquet" for name in ("searches", "clicks", "judgments")}
"""
FRAMES = "log = {name: pl.read_parquet(file) for name, file in log.items()}\n"
RUN = """
run = ca.run(**log, progress=False)
rows = [run.tables[name].hash_rows(seed=0).sum() for name in run.tables]
print(f"{hash(tuple(rows)) & 0xFFFFFFFF:08x}")
"""
SIZE = "print(sum(frame.estimated_size() for frame in log.values()))\n"

SCRIPTS = {"files": READ + RUN, "frames": READ + FRAMES + RUN, "reading": READ + FRAMES + SIZE}


def main() -> None:
    """Print a row for each way, and what frames take more than files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    options = parser.parse_args()
    print(machine())
    for world in options.world:
        log = made_log(world, options.searches, options.queries or usual_queries(world, options.searches))
        costs: dict[str, list[Cost]] = {way: [] for way in SCRIPTS}
        for _ in range(options.runs):
            for way, script in SCRIPTS.items():
                costs[way].append(measured([sys.executable, "-c", script, str(log)]))
        _print(world, options.searches, costs)


def _print(world: str, searches: int, costs: dict[str, list[Cost]]) -> None:
    check = the_one([one.output.strip() for way in ("files", "frames") for one in costs[way]], "run")
    size = int(costs["reading"][0].output) / 1e6
    print(f"world {world}, {searches:,} searches; check {check}; the frames hold {size:,.0f} MB")
    for way, some in costs.items():
        print(f"{way:8} {figures(some)}")
    run_alone = [
        Cost(frames.cpu - read.cpu, frames.wall - read.wall, frames.peak_mb - size, "")
        for frames, read in zip(costs["frames"], costs["reading"], strict=True)
    ]
    over = spread(ratios(run_alone, costs["files"], "cpu"))
    print(f"frames, without reading them, over files: CPU time {over}")
    more = median(ratios(run_alone, costs["files"], "peak_mb"))
    print(f"peak without the frames, over files: {more:.2f}", flush=True)


if __name__ == "__main__":
    main()
