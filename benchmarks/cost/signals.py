"""The cost of signals and outcomes, or of A/B tests, over the same log of clicks alone.

    python -m benchmarks.cost.signals [--world NAME …] [--searches N] [--queries N] [--runs N]
                                      [--tests] [--engine NAME] [-- OPTION …]

Carts follow 8% of the clicks, purchases a fifth of the carts, and 2% of the searches have revenue. With
`--tests` users are in one test by a column, and in one and ten by a table of assignments, of ten also with
judgments of a tenth of the queries alone; or each list is a draft of two rankers, and a coin decides in each
round who comes first. Whole processes run in turn; the pattern table is the same, or the benchmark ends.
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
DRAFTED = 20
"""Places that have a ranker; no list of the worlds is longer."""


def main() -> None:
    """Print a row for each kind of signal, and its ratios."""
    options = _options()
    print(f"{machine()}; clickassay patterns {' '.join(options_of(options))}".rstrip())
    for world in options.world:
        log = made_log(world, options.searches, options.queries or usual_queries(world, options.searches))
        elsewhere(_with_arms if options.tests else _with_actions, log)
        print(f"{log.name}: world {world}, {options.searches:,} searches", flush=True)
        _print_kinds(log, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    parser.add_argument("--tests", action="store_true", help="A/B tests instead of signals and outcomes")
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


def _with_arms(log: Path) -> None:
    """Write searches with a variant, with rankers and with neither, and assignments, if not there."""
    if (log / "teams.parquet").exists():
        return
    searches = pl.scan_parquet(log / "searches.parquet")
    arm = pl.lit("control").append(pl.lit("new")).gather(pl.col("user_id").hash(1) % 2)
    searches.with_columns(variant=arm).sink_parquet(log / "variants.parquet")
    searches.with_columns(shop=arm).sink_parquet(log / "plain.parquet")
    coins, rounds = pl.col("search_id").hash(2), range(DRAFTED // 2)
    first = [(coins // 2**number) % 2 for number in rounds]  # the ranker of the first place of each round
    names = [
        pl.when(coin == by).then(pl.lit("new")).otherwise(pl.lit("old")) for coin in first for by in (0, 1)
    ]
    teams = pl.concat_list(names).list.head(pl.col("results").list.len())
    searches.with_columns(experiment=pl.lit("mix"), teams=teams).sink_parquet(log / "teams.parquet")
    judgments = pl.read_parquet(log / "judgments.parquet")
    judgments.filter(pl.col("query").hash(1) % 10 == 0).write_parquet(log / "judged.parquet")
    users = searches.select("user_id").unique().collect()
    tests = [
        users.with_columns(experiment=pl.lit(f"test {n}"), variant=pl.col("user_id").hash(n) % 2)
        for n in range(10)
    ]
    names = pl.col("variant").replace_strict({0: "control", 1: "new"}, return_dtype=pl.String)
    for name, some in (("one", tests[:1]), ("ten", tests)):
        pl.concat(some).with_columns(names).write_parquet(log / f"{name}.parquet")


def _print_kinds(log: Path, options: argparse.Namespace) -> None:
    out, more = WORK / "signals", options_of(options)
    plain = patterns_of(log, out, *more)
    kinds = _of_tests(log, plain) if options.tests else _of_signals(log, plain)
    commands = {kind: command for kind, (command, _) in kinds.items()}
    costs: dict[str, list[Cost]] = {kind: [] for kind in commands}
    checks: dict[str, list[str]] = {}  # by what is held against: of all queries, or of judged ones
    for _ in range(options.runs):
        for kind, command in commands.items():
            costs[kind].append(measured(command))
            checks.setdefault(kinds[kind][1] or kind, []).append(pattern_check(out))
    shutil.rmtree(out)
    print("check", *(the_one(some, "pattern table") for some in checks.values()))
    for kind, some in costs.items():
        print(f"{kind:18} {figures(some)}")
    for kind, (_, base) in kinds.items():
        if base is not None:
            ratio = spread(ratios(costs[kind], costs[base], "cpu"))
            print(f"{kind} over {base}: CPU time {ratio}", flush=True)


Kinds = dict[str, tuple[list[str], str | None]]
"""Commands by name, and the name of what each is held against."""


def _of_signals(log: Path, plain: list[str]) -> Kinds:
    acted = [str(log / "actions.parquet") if part.endswith("clicks.parquet") else part for part in plain]
    satisfied = ["--signal", "auto,satisfied"]
    outcomes = ["--outcomes", str(log / "revenue.parquet"), "--outcome", "abandoned,reformulated"]
    return {
        "clicks": (plain, None),
        "actions": (acted, "clicks"),
        "signals": ([*acted, *satisfied], "clicks"),
        "all": ([*acted, *satisfied, *outcomes], "clicks"),
    }


def _of_tests(log: Path, plain: list[str]) -> Kinds:
    def with_searches(name: str, *more: str) -> list[str]:
        there = (str(log / name) if part.endswith("searches.parquet") else part for part in plain)
        return [*there, *more]

    judged = ["--only-judged", "--judgments", str(log / "judged.parquet")]
    one, ten = (["--assignments", str(log / f"{name}.parquet")] for name in ("one", "ten"))
    return {
        "no test": (with_searches("plain.parquet"), None),
        "column": (with_searches("variants.parquet"), "no test"),
        "teams": (with_searches("teams.parquet"), "no test"),
        "one": (with_searches("plain.parquet", *one), "no test"),
        "ten": (with_searches("plain.parquet", *ten), "no test"),
        "no test, judged": (with_searches("plain.parquet", *judged), None),
        "ten, judged": (with_searches("plain.parquet", *judged, *ten), "no test, judged"),
    }


if __name__ == "__main__":
    main()
