"""CPU time of `clickassay report` at the size of the paper's first data set.

    python benchmarks/report_cost.py [--configurations N] [--queries N] [--runs N]

A pattern table of 70,000 configurations of 16,000 queries and its judgments are made from a simulated
log; then `report` runs on it with 1000 iterations and 1000 resamples, both depths, every split.
"""

import argparse
from pathlib import Path

import polars as pl
from measuring import WORK, clickassay, machine, measured, middle
from scan_ratio import made_log


def main() -> None:
    """Make the pattern table if it is not there, measure, print one table row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=70_000)
    parser.add_argument("--queries", type=int, default=16_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    log, patterns = made_patterns(options.queries, options.configurations)
    command = clickassay("report", "--patterns", patterns, "--judgments", log / "judgments.parquet",
                         "--queries", log / "queries.parquet", "--iterations", 1000, "--resamples", 1000,
                         "--out", WORK / "report", "--force", "--quiet")  # fmt: skip
    costs = [measured(command) for _ in range(options.runs)]
    statistics = pl.read_parquet(WORK / "report" / "statistics.parquet")
    largest = statistics.sort("n_configurations").row(-1, named=True)
    correlation = pl.read_parquet(WORK / "report" / "correlations.parquet")["correlation"].sum()
    print(machine())
    wall, memory = middle(costs, "wall"), middle(costs, "peak_mb")
    print(f"report {middle(costs, 'cpu'):6.2f} CPU s {wall:6.2f} s wall {memory:,.0f} MB "
          f"  {statistics['n_configurations'].to_list()} configurations, {largest['n_queries']:,} queries "
          f"  check {correlation:.9f}")  # fmt: skip


def made_patterns(queries: int, configurations: int) -> tuple[Path, Path]:
    """Return a simulated log and its pattern table, cut to the wanted number of configurations."""
    log = made_log("cascade", 2_000_000, queries)
    whole, cut = WORK / "report-patterns-whole", WORK / f"report-patterns-{configurations}"
    if not cut.exists():
        measured(clickassay("patterns", "--searches", log / "searches.parquet",
                            "--clicks", log / "clicks.parquet",
                            "--out", whole, "--force", "--quiet"))  # fmt: skip
        cut_patterns(whole, cut, configurations)
    return log, cut


def cut_patterns(whole: Path, cut: Path, configurations: int) -> None:
    """Copy a pattern table, keeping the first configurations of every query in turn."""
    cut.mkdir()
    for name in ("queries.parquet", "funnel.parquet", "settings.json"):
        (cut / name).write_bytes((whole / name).read_bytes())
    frame = pl.read_parquet(whole / "configurations.parquet")
    turn = pl.int_range(pl.len()).over("market", "query")
    kept = frame.with_columns(turn=turn).sort("turn", "configuration_id").head(configurations).drop("turn")
    kept.sort("configuration_id").write_parquet(cut / "configurations.parquet")
    patterns = pl.read_parquet(whole / "patterns.parquet")
    patterns.join(kept, on="configuration_id", how="semi").write_parquet(cut / "patterns.parquet")


if __name__ == "__main__":
    main()
