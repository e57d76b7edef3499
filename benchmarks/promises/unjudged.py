"""Do filled judgments bring back what is seen when everything is judged? Holes of four kinds, several worlds.

    python -m benchmarks.promises.unjudged [--worlds cascade web …] [--searches N …] [--seeds N] [--out FILE]

In each simulated log every document is judged. Then judgments are taken away: at random, of low grades, of
results that are shown far down, or of results that few sessions show. Under each rule of `--unjudged` the
correlations with MeanRR, over the users that fill nothing, are compared with those when all is judged. One
row per world, searches, kind of holes and rule: coverage, the mean over seeds and metrics of the error and of
its absolute value, and in how many cases the 95% CI holds the correlation when all is judged. The rows
`nothing` compare these users' correlations with those of all users: what half of the sessions costs.
"""

import argparse
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT, WORK, machine
from clickassay.core.settings import load_settings
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.metrics.catalogue import BASELINES
from clickassay.patterns.table import PatternTable

REPORT = ROOT / "reports" / "calibration" / "unjudged.csv"
DEPTH = 5
KEY = ["market", "editorial_metric"]
OPTIONS = {"depth": [DEPTH], "click_models": ["NONE"], "iterations": 2}


def main() -> None:
    """Simulate, take away, fill, write the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", default=["cascade", "rbp", "web", "null"])
    parser.add_argument("--searches", type=int, nargs="+", default=[100_000, 20_000])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    print(f"# {machine()}")
    rows = []
    for searches, world in product(options.searches, options.worlds):
        found = pl.concat(
            part for seed in range(options.seeds) for part in tried(world, searches, options.queries, seed)
        )
        kind = {"world": pl.lit(world), "searches": pl.lit(searches), "queries": pl.lit(options.queries)}
        rows.append(summary(found).select(**kind, **{name: pl.col(name) for name in COLUMNS}))
        print(rows[-1], flush=True)
    pl.concat(rows).write_csv(options.out, float_precision=4)


def tried(world: str, searches: int, queries: int, seed: int) -> Iterator[pl.DataFrame]:
    """Yield, for each kind of holes, the correlations under each rule beside those when all is judged."""
    log = WORK / f"unjudged-{world}"
    shutil.rmtree(log, ignore_errors=True)
    simulate(world, n_searches=searches, n_queries=queries, seed=seed, out=log)
    table = log_to_patterns(
        Sources(str(log / "searches.parquet"), str(log / "clicks.parquet")), load_settings(folds=2, **OPTIONS)
    )
    whole = every_judgment(log, table)
    truth = correlations(table, whole, log, "model").filter(rule="drop")  # nothing is left to fill
    everybody = of_all_users(table, whole, log).select(*KEY, truth="correlation")
    yield truth.join(everybody, on=KEY).with_columns(kind=pl.lit("nothing"), seed=pl.lit(seed))
    truth = truth.select(*KEY, truth="correlation")
    for kind, some in with_holes(whole, table, np.random.default_rng(seed)).items():
        rules = [correlations(table, some, log, rule) for rule in ("model", "extremes")]
        # `extremes` is measured over all users; the others over those that fill nothing
        every = pl.concat(rules).unique(["rule", *KEY], keep="first", maintain_order=True)
        yield every.join(truth, on=KEY).with_columns(kind=pl.lit(kind), seed=pl.lit(seed))


def every_judgment(log: Path, table: PatternTable) -> pl.DataFrame:
    """Return the judgments of a log; results that the world left unjudged get the grade that it drew last."""
    known = pl.read_parquet(log / "judgments.parquet").with_columns(
        pl.col("query").map_elements(normalise_query, pl.String),
        pl.col("url").map_elements(normalise_url, pl.String),
    )
    shown = shown_results(table).join(known, on=["query", "url"], how="anti").sort("query", "url")
    drawn = np.random.default_rng(0).choice(known["grade"].to_numpy(), shown.height)
    return pl.concat(
        [known, shown.select("query", "url", grade=pl.Series(drawn, dtype=known.schema["grade"]))]
    )


def shown_results(table: PatternTable) -> pl.DataFrame:
    """Return (query, url, best place, sessions) of the results shown."""
    sessions = table.patterns.group_by("configuration_id").agg(pl.col("sessions").sum())
    lists = table.configurations.join(sessions, on="configuration_id").select(
        "query", "sessions", url=pl.col("results").list.head(DEPTH)
    )
    placed = lists.with_columns(place=pl.int_ranges(pl.col("url").list.len())).explode("url", "place")
    return placed.group_by("query", "url").agg(pl.col("place").min(), pl.col("sessions").sum())


def with_holes(whole: pl.DataFrame, table: PatternTable, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """Return the judgments without about a fifth to a third of them, by which are missing."""
    told = whole.join(shown_results(table), on=["query", "url"], how="left", maintain_order="left")
    grade, place = told["grade"].to_numpy(), told["place"].fill_null(DEPTH).to_numpy()
    rare = told["sessions"].fill_null(0).rank("ordinal").to_numpy() / told.height
    chances = {
        "at random": np.full(told.height, 0.25),
        "low grades": np.where(grade <= 1, 0.4, 0.1),
        "far down": 0.1 * (1 + np.minimum(place, DEPTH - 1)),
        "rarely shown": 0.5 * (1 - rare),
    }
    draws = rng.random(told.height)
    return {kind: whole.filter(pl.Series(draws >= chance)) for kind, chance in chances.items()}


def correlations(table: PatternTable, judgments: pl.DataFrame, log: Path, rule: str) -> pl.DataFrame:
    """Return the rows of `unjudged` that concern MeanRR."""
    file = log / "some.parquet"
    judgments.write_parquet(file)
    found = analyse(table, Sources(judgments=str(file)), load_settings(unjudged=rule, **OPTIONS))["unjudged"]
    return found.filter(~pl.col("editorial_metric").is_in(BASELINES), click_metric="MeanRR")


def of_all_users(table: PatternTable, judgments: pl.DataFrame, log: Path) -> pl.DataFrame:
    """Return the correlations with MeanRR over the sessions of all users."""
    file = log / "some.parquet"
    judgments.write_parquet(file)
    found = analyse(table, Sources(judgments=str(file)), load_settings(**OPTIONS))["correlations"]
    return found.filter(~pl.col("editorial_metric").is_in(BASELINES), click_metric="MeanRR", split="all")


COLUMNS = ("holes", "rule", "coverage", "error", "absolute_error", "held")


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each kind of holes and rule."""
    error = pl.col("correlation") - pl.col("truth")
    return found.group_by(pl.col("kind").alias("holes"), "rule", maintain_order=True).agg(
        pl.col("coverage").mean(),
        error.mean().alias("error"),
        error.abs().mean().alias("absolute_error"),
        pl.col("truth").is_between("ci_low", "ci_high").mean().alias("held"),
    )


if __name__ == "__main__":
    main()
