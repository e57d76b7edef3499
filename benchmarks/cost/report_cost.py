"""CPU time of `clickassay report` at the size of the paper's first data set, and at a million configurations.

    python -m benchmarks.cost.report_cost [--configurations N] [--queries N] [--runs N]

A pattern table of 70,000 configurations of 16,000 queries and its judgments are made from a simulated log;
then `report` runs on it with 1000 iterations, both depths, every split. When more
configurations are asked for than that log has, further ones are planted: the log's, under further names
of queries. The second row is Algorithm 3 for all pairs of metrics, and a plain Python loop of it, in this
process; of the loop a few iterations are measured.
"""

import argparse
import os
import random
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import WORK, clickassay, machine, made_log, measured, middle
from clickassay.core.records import Sample
from clickassay.core.settings import load_settings
from clickassay.correlation.rankers import (
    Within,
    monte_carlo_correlations,
    ranker_differences,
    within_queries,
)
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.tables import read_input
from clickassay.judgments.join import cut_to_depth, look_up_grades
from clickassay.judgments.prepare import prepare_judgments
from clickassay.metrics.scoring import compute_metrics, formed_sessions
from clickassay.patterns.digests import configuration_id
from clickassay.patterns.lists import log_lists
from clickassay.patterns.table import read_patterns

ITERATIONS = 1000
OF_THE_LOOP = 20
"""Iterations of the plain loop that are measured."""


def main() -> None:
    """Make the pattern table if it is not there, measure, print two table rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=70_000)
    parser.add_argument("--queries", type=int, default=16_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    log, patterns = made_patterns(options.queries, options.configurations)
    print(machine())
    report_row(log, patterns, options.runs)
    rankers_row(log, patterns)


def report_row(log: Path, patterns: Path, runs: int) -> None:
    """Print what whole processes of `report` cost, with the sum of all correlations as check."""
    command = clickassay("report", "--patterns", patterns, "--judgments", log / "judgments.parquet",
                         "--queries", log / "queries.parquet", "--iterations", ITERATIONS,
                         "--out", WORK / "report", "--force", "--quiet")  # fmt: skip
    costs = [measured(command) for _ in range(runs)]
    statistics = pl.read_parquet(WORK / "report" / "statistics.parquet")
    largest = statistics.sort("n_configurations").row(-1, named=True)
    correlation = pl.read_parquet(WORK / "report" / "correlations.parquet")["correlation"].sum()
    cpu, wall, memory = (middle(costs, what) for what in ("cpu", "wall", "peak_mb"))
    print(f"report {cpu:6.2f} CPU s {wall:6.2f} s wall {memory:,.0f} MB   {ITERATIONS} iterations, "
          f"{statistics['n_configurations'].to_list()} configurations, {largest['n_queries']:,} queries "
          f"  check {correlation:.9f}")  # fmt: skip


def rankers_row(log: Path, patterns: Path) -> None:
    """Print the CPU time of Algorithm 3 and of a plain loop of it, with a correlation of both as check."""
    within = within_queries(a_sample(log, patterns))
    start = cpu_seconds()
    deltas = ranker_differences(within, iterations=ITERATIONS, rng=np.random.default_rng(0))
    found = monte_carlo_correlations(deltas, within.n_clicks).values
    ours = cpu_seconds() - start
    start = cpu_seconds()
    loop_of_algorithm_3(within, OF_THE_LOOP)
    loop = (cpu_seconds() - start) * ITERATIONS / OF_THE_LOOP
    known = np.nan_to_num(found)
    print(f"rankers {ours:6.3f} CPU s, plain loop {loop:,.0f} s, ratio {loop / ours:,.0f} "
          f"  {len(within.sizes):,} queries, {ITERATIONS} iterations, {known.size} pairs of metrics "
          f"  check {known.sum():.9f}")  # fmt: skip


def loop_of_algorithm_3(within: Within, iterations: int) -> list[list[float]]:
    """Return the differences of the means, for every metric and iteration, from lists of numbers."""
    values = within.values.tolist()
    groups = [range(start, start + size) for start, size in zip(within.starts, within.sizes, strict=True)]
    metrics = range(within.values.shape[1])
    draw = random.Random(0)  # noqa: S311 - no secret
    deltas = []
    for _ in range(iterations):
        totals = [0.0 for _ in metrics]
        for rows in groups:
            a, b = draw.sample(rows, 2)
            one, other = values[a], values[b]
            for metric in metrics:
                totals[metric] += one[metric] - other[metric]
        deltas.append([total / len(groups) for total in totals])
    return deltas


def a_sample(log: Path, patterns: Path) -> Sample:
    """Return the configurations at the smallest depth as arrays."""
    settings = load_settings()
    table, depth = read_patterns(patterns), settings.depth[0]
    rows = read_input("judgments", str(log / "judgments.parquet"), JUDGMENTS).frame.collect()
    graded = prepare_judgments(rows, table.queries, settings, by_market=False)
    graded_lists = look_up_grades(log_lists(table.staged()), graded, judge="all", deepest=depth)
    judged = cut_to_depth(graded_lists, depth=depth, max_grade=settings.max_grade)
    measured_ = compute_metrics(judged, formed_sessions(table.funnel), settings, judge="all", depth=depth)
    return measured_.samples[0]


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


def made_patterns(queries: int, configurations: int) -> tuple[Path, Path]:
    """Return a folder with judgments and queries, and a pattern table of so many configurations."""
    log = made_log("cascade", 2_000_000, queries)
    whole = WORK / f"report-patterns-whole-{queries}"
    if not whole.exists():
        measured(clickassay("patterns", "--searches", log / "searches.parquet",
                            "--clicks", log / "clicks.parquet", "--out", whole, "--quiet"))  # fmt: skip
    have = pl.scan_parquet(whole / "configurations.parquet").select(pl.len()).collect().item()
    if configurations > have:
        copies = -(-configurations // have)
        log, whole = planted(log, whole, copies, WORK / f"report-planted-{queries}-{copies}")
    cut = WORK / f"report-patterns-{queries}-{configurations}"
    if not cut.exists():
        cut_patterns(whole, cut, configurations)
    return log, cut


def cut_patterns(whole: Path, cut: Path, configurations: int) -> None:
    """Copy a pattern table, keeping the first configurations of every query in turn."""
    frame = pl.read_parquet(whole / "configurations.parquet")
    turn = pl.int_range(pl.len()).over("market", "query")
    kept = frame.with_columns(turn=turn).sort("turn", "configuration_id").head(configurations).drop("turn")
    patterns = pl.read_parquet(whole / "patterns.parquet").join(kept, on="configuration_id", how="semi")
    queries = pl.read_parquet(whole / "queries.parquet")
    write(whole, cut, kept.sort("configuration_id"), patterns, queries)


def write(
    like: Path, folder: Path, configurations: pl.DataFrame, patterns: pl.DataFrame, queries: pl.DataFrame
) -> None:
    """Write a pattern table with the funnel, health and settings of another one."""
    folder.mkdir()
    for name in ("funnel.parquet", "health.parquet", "settings.json"):
        (folder / name).write_bytes((like / name).read_bytes())
    configurations.write_parquet(folder / "configurations.parquet")
    patterns.write_parquet(folder / "patterns.parquet")
    queries.write_parquet(folder / "queries.parquet")


def planted(log: Path, whole: Path, copies: int, folder: Path) -> tuple[Path, Path]:
    """Repeat a pattern table, its judgments and query attributes under further names of queries."""
    if not folder.exists():
        folder.mkdir()
        for name in ("judgments", "queries"):
            repeated(pl.read_parquet(log / f"{name}.parquet"), copies).write_parquet(
                folder / f"{name}.parquet"
            )
        configurations = repeated(pl.read_parquet(whole / "configurations.parquet"), copies)
        ids = [
            configuration_id(*row) for row in configurations.select("market", "query", "results").iter_rows()
        ]
        named = configurations.with_columns(new=pl.Series(ids))
        patterns = repeated(pl.read_parquet(whole / "patterns.parquet"), copies, column=None)
        renamed = patterns.join(
            named.select("configuration_id", "copy", "new"), on=["configuration_id", "copy"]
        )
        write(
            whole,
            folder / "patterns",
            named.with_columns(configuration_id="new").drop("new", "copy").sort("configuration_id"),
            renamed.with_columns(configuration_id="new")
            .drop("new", "copy")
            .sort("configuration_id", "fold", "click_mask"),
            repeated(pl.read_parquet(whole / "queries.parquet"), copies).drop("copy").sort("market", "query"),
        )
    return folder, folder / "patterns"


def repeated(frame: pl.DataFrame, copies: int, *, column: str | None = "query") -> pl.DataFrame:
    """Return `copies` of a frame with the number of the copy, which the names of queries take on."""
    frames = [frame.with_columns(copy=pl.lit(number)) for number in range(copies)]
    whole = pl.concat(frames)
    if column is None:
        return whole
    return whole.with_columns(pl.format("{} {}", pl.col(column), "copy").alias(column))


if __name__ == "__main__":
    main()
