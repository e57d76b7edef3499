"""What the counts of a log's health take of `clickassay patterns`.

    python -m benchmarks.cost.health_counts LOG [--runs N]

LOG is a folder with searches.parquet and clicks.parquet. CPU time of the counting functions, taken inside the
process, over that of the whole job: their difference between whole processes is smaller than what a machine
swings. Printed are the share of each run and the number of searches that were counted.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clickassay.core.settings import Settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.patterns.health import SEARCHES_BY_DAY, LogCounts
from clickassay.patterns.table import read_patterns


def main() -> None:
    """Print a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    spent: list[float] = []
    for name in ("add_searches", "add_clicks"):
        setattr(LogCounts, name, _timed(getattr(LogCounts, name), spent))
    for _ in range(options.runs):
        spent.clear()
        total, searches = _run(options.log)
        print(f"{sum(spent):.3f} of {total:.2f} CPU s: {sum(spent) / total:.1%}; {searches:,} searches")


def _timed(function: Callable[..., None], spent: list[float]) -> Callable[..., None]:
    def timed(*given: Any) -> None:
        begin = time.thread_time()
        function(*given)
        spent.append(time.thread_time() - begin)

    return timed


def _run(log: Path) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as place:
        out, begin = Path(place) / "patterns", time.process_time()
        make_patterns(Sources(str(log / "searches.parquet"), str(log / "clicks.parquet")), out, Settings())
        total = time.process_time() - begin
        counts = read_patterns(out).staged().health.filter(name=SEARCHES_BY_DAY)
    return total, int(counts["value"].sum())


if __name__ == "__main__":
    main()
