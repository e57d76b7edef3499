"""The cost of signals and outcomes over the same log of clicks alone.

    python -m benchmarks.cost.signals [--world NAME …] [--searches N] [--queries N] [--runs N]
                                      [--engine NAME] [-- OPTION …]

Carts follow 8% of the clicks, purchases a fifth of the carts, and 2% of the searches have revenue. Whole
processes run in turn; the pattern table is the same, or the benchmark ends.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    elsewhere,
    figures,
    machine,
    made_log,
    measured,
    ratios,
    spread,
)
from benchmarks.lib.patterns import (
    add_options,
    add_size,
    options_of,
    pattern_check,
    patterns_of,
    the_one,
    usual_queries,
)

CARTS, BOUGHT, PAID = 0.08, 0.2, 0.02


def main() -> None:
    """Print a row for each kind of signal, and its ratios."""
    options = _options()
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    for world in options.world:
        log = made_log(world, options.searches, options.queries or usual_queries(world, options.searches))
        elsewhere(_with_actions, log)
        print(f"{log.name}: world {world}, {options.searches:,} searches", flush=True)
        _print_kinds(log, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    add_options(parser)
    return parser.parse_args()


def _with_actions(log: Path) -> None:
    """Write clicks with carts and purchases among them, and revenue, when they are not there."""
    if (log / "revenue.parquet").exists():
        return
    rng, clicks = np.random.default_rng(1), pl.read_parquet(log / "clicks.parquet")
    later = pl.col("timestamp") + pl.duration(seconds=20)
    carts = clicks.filter(pl.Series(rng.random(clicks.height) < CARTS))
    carts = carts.with_columns(later, action=pl.lit("add_to_cart"))
    bought = carts.filter(pl.Series(rng.random(carts.height) < BOUGHT)).with_columns(
        action=pl.lit("purchase")
    )
    every = pl.concat([clicks.with_columns(action=pl.lit("click")), carts, bought])
    every.sort("timestamp").write_parquet(log / "actions.parquet")
    ids = pl.read_parquet(log / "searches.parquet", columns=["search_id"]).sample(fraction=PAID, seed=1)
    value = pl.Series(rng.lognormal(3, 1, ids.height))
    ids.with_columns(name=pl.lit("revenue"), value=value).write_parquet(log / "revenue.parquet")


def _print_kinds(log: Path, options: argparse.Namespace) -> None:
    out, more = WORK / "signals", options_of(options)
    plain = patterns_of(log, out, *more)
    acted = [str(log / "actions.parquet") if part.endswith("clicks.parquet") else part for part in plain]
    satisfied = ["--signal", "auto,satisfied"]
    outcomes = ["--outcomes", str(log / "revenue.parquet"), "--outcome", "abandoned,reformulated"]
    commands = {
        "clicks": plain,
        "actions": acted,
        "signals": [*acted, *satisfied],
        "all": [*acted, *satisfied, *outcomes],
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in commands}
    checks = []
    for _ in range(options.runs):
        for kind, command in commands.items():
            costs[kind].append(measured(command))
            checks.append(pattern_check(out))
    shutil.rmtree(out)
    print(f"check {the_one(checks, 'pattern table')}")
    for kind, some in costs.items():
        print(f"{kind:8} {figures(some)}")
    for kind in ("actions", "signals", "all"):
        print(
            f"{kind} over clicks: CPU time {spread(ratios(costs[kind], costs['clicks'], 'cpu'))}", flush=True
        )


if __name__ == "__main__":
    main()
