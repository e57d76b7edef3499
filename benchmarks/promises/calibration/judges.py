"""Whether clicks support a judge who errs less, and seldom one of two who err equally often."""

from itertools import product

import numpy as np
import polars as pl

from benchmarks.lib.measuring import WORK
from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.work import share_error
from clickassay.core.seeds import child
from clickassay.core.settings import load_settings
from clickassay.correlation.disagreements import judge_disagreements
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns

DEPTH = 5
SEARCHES, QUERIES = 20_000, 100
WORLDS = ("cascade", "rbp", "web")
LOGS = 5
"""Logs of each world; judges are drawn anew for each trial, on one of these."""

PLANTED = {
    "equal": ((0.16, False), (0.16, False)),
    "equal, one generous": ((0.16, False), (0.16, True)),
    "8% and 25%": ((0.08, False), (0.25, False)),
}
"""The share of wrong grades of each judge, and whether the judge gives a grade more than that."""

Log = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per world and kind of judges: how often clicks support one, and the better one."""
    chunks = [(world, log, max(worlds // LOGS, 1), seed) for world, log in product(WORLDS, range(LOGS))]
    return summary(in_processes(of_chunk, chunks, processes), "world", "judges")


def of_chunk(chunk: tuple[str, int, int, int]) -> pl.DataFrame:
    """Return one row per trial on a log: p-value, and who is supported."""
    world, number, trials, seed = chunk
    lists, patterns, results = log_of(world, number + seed * LOGS)
    rng = child(np.random.default_rng(seed), "judges", world, str(number))
    rows = [
        {"world": world, "judges": name, **trial(lists, patterns, results, errors, rng)}
        for name, errors in PLANTED.items()
        for _ in range(trials)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


_SCHEMA = {
    **dict.fromkeys(("world", "judges"), pl.String),
    "pairs": pl.Int64,
    "p_value": pl.Float64,
    "supported": pl.String,
}


def trial(
    lists: pl.DataFrame,
    patterns: pl.DataFrame,
    results: pl.DataFrame,
    errors: tuple[tuple[float, bool], ...],
    rng: np.random.Generator,
) -> dict[str, object]:
    """Let two judges, a and b, judge all results, and test them in the market with most lists."""
    true = results["grade"].to_numpy()
    places = lists["places"].to_numpy()
    judged = pl.concat(
        lists.with_columns(judge=pl.lit(name), grades=pl.Series(judgments(true, *how, rng)[places]))
        for name, how in zip("ab", errors, strict=True)
    )
    row = judge_disagreements(judged, patterns).row(0, named=True)
    return {"pairs": row["n_pairs"], "p_value": row["p_value"], "supported": row["supported"]}


def judgments(true: np.ndarray, wrong: float, generous: bool, rng: np.random.Generator) -> np.ndarray:
    """Return grades of which a share is one of the other four; a generous judge adds one, up to the top."""
    errs = rng.random(len(true)) < wrong
    given = np.where(errs, (true + rng.integers(1, 5, len(true))) % 5, true)
    return np.minimum(given + generous, 4)


def log_of(world: str, seed: int) -> Log:
    """Simulate a log, or read one again.

    Returns
    -------
    Lists whose results all have a grade, in the market with most of them, with the rows of their results in
    `places`; patterns; and the results with the grades that the world knows.
    """
    log = WORK / f"judges-{world}-{seed}"
    if not log.exists():
        simulate(world, n_searches=SEARCHES, n_queries=QUERIES, seed=seed, out=log)
    table = log_to_patterns(
        Sources(str(log / "searches.parquet"), str(log / "clicks.parquet")), load_settings(depth=[DEPTH])
    )
    results = pl.read_parquet(log / "judgments.parquet").select(
        pl.col("query").map_elements(normalise_query, pl.String),
        pl.col("url").map_elements(normalise_url, pl.String),
        pl.col("grade").cast(pl.Int64),
    )
    lists = table.configurations.with_columns(pl.col("results").list.head(DEPTH))
    whole = with_places(lists.filter(pl.col("results").list.len() == DEPTH), results)
    largest = whole["market"].value_counts().sort("count", "market", descending=True)["market"][0]
    return whole.filter(market=largest), table.patterns, results


def with_places(lists: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Add the rows of the results of each list in `results`; lists with another result are left out."""
    numbered = results.select("query", "url").with_row_index("place")
    shown = lists.select("configuration_id", "query", url="results").explode("url")
    found = shown.join(numbered, on=["query", "url"], how="left", maintain_order="left")
    places = found.group_by("configuration_id", maintain_order=True).agg(pl.col("place").cast(pl.Int64))
    known = places.filter(pl.col("place").list.eval(pl.element().is_not_null()).list.all())
    joined = lists.join(known, on="configuration_id").sort("configuration_id")
    return joined.with_columns(
        places=pl.col("place").list.to_array(DEPTH), depth=pl.lit(DEPTH, pl.Int32)
    ).drop("place")


def summary(trials: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Count how often clicks support one of two judges at 5%, and how often the first, who errs no more.

    Parameters
    ----------
    trials
        Columns pairs, p_value and supported; a null p-value supports nobody.
    """
    told = pl.col("p_value").lt(0.05).fill_null(value=False)
    return trials.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("trials"),
        pl.col("pairs").median().alias("pairs"),
        told.mean().alias("decided"),
        share_error(told).alias("decided_se"),
        (pl.col("supported") == "a").fill_null(value=False).mean().alias("first"),
    )
