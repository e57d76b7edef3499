"""CPU seconds of correlations within queries, their comparisons and influence, and of the findings of a run.

    python -m benchmarks.cost.decision [--run RUN] [--configurations N] [--runs N]

For the run, which `make report` makes, and for its headline sample repeated to so many configurations. The
second of two passes counts, and of several the median: the first also loads libraries.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from clickassay.core.records import ByFold, Sample, Shown
from clickassay.correlation.comparisons import within_comparisons
from clickassay.correlation.influence import within_influence
from clickassay.correlation.tables import within
from clickassay.correlation.within.groups import all_markets, query_groups
from clickassay.findings.arrays import graded_sample
from clickassay.findings.draw import draw_findings
from clickassay.findings.run import open_run

Cells = TypeVar("Cells", Shown, ByFold)

PER_CONFIGURATION = ("sessions", "null_success")
PER_METRIC = ("click_values", "click_variances", "editorial_values")


def repeated(sample: Sample, configurations: int) -> Sample:
    """Return a sample so many times that it has so many configurations, each time of other queries."""
    size, queries = len(sample.sessions), len(sample.queries)
    times = -(-configurations // size)
    names = tuple(f"{number:06} {query}" for number in range(times) for query in sample.queries)
    return replace(
        sample,
        queries=names,
        query_index=np.concatenate([sample.query_index + number * queries for number in range(times)]),
        configuration_ids=pl.Series(range(times * size)).cast(pl.String),
        shown=sample.shown and _tiled(sample.shown, times, size),
        by_fold=sample.by_fold and _tiled(sample.by_fold, times, size),
        click_entropy=np.zeros(len(names)),
        **{name: np.tile(getattr(sample, name), times) for name in PER_CONFIGURATION},
        **{name: np.tile(getattr(sample, name), (times, 1)) for name in PER_METRIC},
    )


def _tiled(cells: Cells, times: int, size: int) -> Cells:
    """Return rows of `Shown` or `ByFold` as many times, each time of other configurations."""
    every = {name: np.concatenate([value] * times) for name, value in vars(cells).items()}
    every["rows"] = np.concatenate([cells.rows + number * size for number in range(times)])
    return replace(cells, **every)


def tables_of(samples: Sequence[Sample]) -> None:
    """Compute the three tables of samples of one depth and judge, each alone and all together."""
    alone = query_groups(samples)
    for place in (*alone, *([all_markets(alone)] if len(alone) > 1 else ())):
        for make in (within, within_comparisons, within_influence):
            make(place)


def seconds(work: Callable[[], object], runs: int) -> float:
    """Return the CPU seconds of a piece of work."""
    work()
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return median(found)


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--run", type=Path, default=ROOT / "reports" / "sample")
    parser.add_argument("--configurations", type=int, default=250_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    run = open_run(options.run)
    samples = [graded_sample(run, key).sample for key in run.samples]
    by_place: dict[tuple[int, str], list[Sample]] = {}
    for sample in samples:
        by_place.setdefault((sample.key.depth, sample.key.judge), []).append(sample)
    large = repeated(samples[0], options.configurations)
    works: dict[str, Callable[[], object]] = {
        f"tables of {len(samples)} samples": lambda: [tables_of(own) for own in by_place.values()],
        "findings": lambda: draw_findings(run, np.random.default_rng(0)),
        f"tables of {len(large.sessions):,} configurations": lambda: tables_of([large]),
    }
    for name, work in works.items():
        print(f"{name}: {seconds(work, options.runs):.3f} CPU s")


if __name__ == "__main__":
    main()
