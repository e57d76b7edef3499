"""Does the pipeline find what was planted? One row per world, through the whole of it.

    python -m benchmarks.promises.truth [--searches N] [--queries N]

2 million sessions over 1,000 queries, editors who do not err. In each world the pair of its law must
correlate above 0.99 and be first in its row; in `null`, the 95% intervals of `differences` must leave
out 0 no more often than one time in twenty (SS excepted: it looks at the grades itself).
"""

import argparse
import shutil
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import WORK, clickassay, machine, measured

LAWS = {"cascade": ("MeanRR", "ERR"), "rbp": ("QCTR", "RBP"), "dcg": ("QCTR", "DCG"), "rr": ("MaxRR", "RR")}


def main() -> None:
    """Simulate, run and print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--null-seeds", type=int, default=10)
    options = parser.parse_args()
    print(f"<!-- {machine()} -->")
    print("| world | law | correlation [95%] | first in its row | two rankers, closed form [95%] |")
    print("|---|---|---|---|---|")
    for world, (click, editorial) in LAWS.items():
        print(row(run(world, options.searches, options.queries), world, click, editorial), flush=True)
    seeds = range(1, options.null_seeds + 1)
    print(null_row([run("null", options.searches, options.queries, seed) for seed in seeds]), flush=True)


def run(world: str, searches: int, queries: int, seed: int = 1) -> Path:
    """Simulate a world and do the whole job on it; return the run folder."""
    log, out = WORK / f"truth-{world}", WORK / f"truth-{world}-run-{seed}"
    for folder in (log, out):
        shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(exist_ok=True)
    measured(clickassay("simulate", "--world", world, "--n-searches", searches, "--n-queries", queries,
                        "--seed", seed, "--out", log, "--quiet"))  # fmt: skip
    inputs = (part for name in ("searches", "clicks", "judgments", "queries")
              for part in (f"--{name}", log / f"{name}.parquet"))  # fmt: skip
    measured(clickassay("run", *inputs, "--depth", 10, "--out", out, "--quiet"))
    shutil.rmtree(log)
    return out


def row(out: Path, world: str, click: str, editorial: str) -> str:
    """Return the table row of a world with a law."""
    overall = pl.read_parquet(out / "correlations.parquet").filter(
        (pl.col("split") == "all") & (pl.col("click_metric") == click)
    )
    ranked = overall.sort("correlation", descending=True)
    pair = overall.row(by_predicate=pl.col("editorial_metric") == editorial, named=True)
    ranks = ranked["editorial_metric"].to_list()
    first = "yes" if ranks[0] == editorial else f"no: {ranks[0]}"
    rankers = pl.read_parquet(out / "differences.parquet").row(
        by_predicate=(pl.col("click_metric") == click) & (pl.col("editorial_metric") == editorial), named=True
    )
    return (
        f"| `{world}` | {click} ~ {editorial} | {interval(pair, 'correlation')} | {first} "
        f"| {interval(rankers, 'exact')} |"
    )


def null_row(runs: list[Path]) -> str:
    """Return the table row of the world without a law, over several seeds."""
    every = pl.concat(pl.read_parquet(out / "differences.parquet") for out in runs)
    rows = every.filter(pl.col("click_metric") != "SS").drop_nulls("exact")
    outside = rows.filter((pl.col("ci_low") > 0) | (pl.col("ci_high") < 0)).height
    return (
        f"| `null`, {len(runs)} seeds | clicks ignore grades | {outside} of {rows.height} intervals of "
        f"`differences` leave out 0 (SS excepted: it looks at the grades itself) | - "
        f"| largest {rows['exact'].abs().max():.4f} |"
    )


def interval(row: dict[str, float], name: str) -> str:
    """Write a value with its interval."""
    return f"{row[name]:.4f} [{row['ci_low']:.4f}, {row['ci_high']:.4f}]"


if __name__ == "__main__":
    main()
