"""Whether the gain that `learn` reports on held-out queries is there, also on logs without one."""

from itertools import product

import numpy as np
import polars as pl

from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.work import share_error
from clickassay.core.records import Integers
from clickassay.core.seeds import child
from clickassay.metrics.editorial import satisfaction
from clickassay.studies.gain_learning.gain_map import GainMap, Observations, paper_map
from clickassay.studies.gain_learning.validation import LearnOptions, study

DEPTH, MAX_GRADE, SESSIONS = 5, 4, 60
GRADE_SHARES = (0.35, 0.25, 0.2, 0.12, 0.08)
PAPER = satisfaction(np.arange(MAX_GRADE + 1), MAX_GRADE)
WORLDS = {
    "clicks ignore grades": None,
    "ERR is right": PAPER,
    "other values are right": np.array([0.0, 0.3, 0.35, 0.4, 0.8]),
}
"""R of the grades that users follow; None where clicks do not depend on grades."""

QUERIES = (60, 300)
LEARNED = (("correlation", "fixed"), ("correlation", "free"), ("rankers", "fixed"))
"""Objective, and what is learned of positions."""

NULL = ("clicks ignore grades", 60)
"""A kind of log in which any gain would be false."""

CHUNK = 10


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per world, number of queries and what is learned.

    Small logs whose clicks ignore grades are a tenth as many as worlds, others a fortieth.
    """
    kinds = [
        (world, queries, max(worlds // (10 if (world, queries) == NULL else 40), 2))
        for world, queries in product(WORLDS, QUERIES)
    ]
    chunks = [
        (world, queries, first, min(CHUNK, logs - first), seed)
        for world, queries, logs in kinds
        for first in range(0, logs, CHUNK)
    ]
    return summary(in_processes(of_chunk, chunks, processes))


def of_chunk(chunk: tuple[str, int, int, int, int]) -> pl.DataFrame:
    """Return one row per log and what is learned."""
    world, queries, first, logs, seed = chunk
    rows = []
    for number in range(first, first + logs):
        observed = log_of(
            world, queries, child(np.random.default_rng(seed), "learn", world, str(queries), str(number))
        )
        rows += [
            {"world": world, "queries": queries, "objective": objective, "positions": positions,
             **outcome(observed, LearnOptions("MeanRR", objective, positions, seed=number))}
            for objective, positions in LEARNED
        ]  # fmt: skip
    return pl.DataFrame(rows)


def log_of(world: str, queries: int, rng: np.random.Generator) -> Observations:
    """Draw lists of graded results, and the mean of a click metric over the sessions of each.

    Queries differ in what they are worth to users, and lists do, whatever the grades. A session's value is
    1 with a chance around the expected utility of the list, or around one half if clicks ignore grades.
    """
    lists = rng.integers(1, 8, queries)
    query: Integers = np.repeat(np.arange(queries), lists)
    grades = rng.choice(MAX_GRADE + 1, (len(query), DEPTH), p=GRADE_SHARES)
    true = WORLDS[world]
    utility = np.full(len(query), 0.5)
    if true is not None:
        utility = GainMap(true, paper_map(MAX_GRADE, DEPTH).utilities).values(grades)
    noise = rng.normal(0, 0.5, queries)[query] + rng.normal(0, 0.5, len(query))
    odds = utility / (1 - utility + 1e-9) * np.exp(noise)
    total = SESSIONS * rng.lognormal(0, 1.15, queries)
    share = rng.gamma(0.7, size=len(query))
    sessions = np.maximum(1, np.round((total / np.bincount(query, share))[query] * share)).astype(np.int64)
    clicks = rng.binomial(sessions, odds / (1 + odds)) / sessions
    return Observations(grades, query, sessions.astype(np.float64), clicks)


def outcome(observed: Observations, options: LearnOptions) -> dict[str, float | bool]:
    """Return what `learn` says of a log."""
    found = study(observed, paper_map(MAX_GRADE, DEPTH), options)
    return {
        "apparent": found.fitted - found.fixed,
        "gain": found.gain.value,
        "low": found.gain.low,
        "high": found.gain.high,
        "tells": found.reason is None,
    }


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Return one row per world, number of queries and what is learned."""
    gained = pl.col("tells") & (pl.col("low") > 0)
    return found.group_by("world", "queries", "objective", "positions", maintain_order=True).agg(
        pl.len().alias("logs"),
        pl.col("apparent").mean(),
        pl.col("gain").mean(),
        (pl.col("gain").std() / pl.len().sqrt()).alias("gain_se"),
        pl.col("tells").mean(),
        gained.mean().alias("gain_claimed"),
        share_error(gained).alias("gain_claimed_se"),
        (pl.col("tells") & (pl.col("high") < 0)).mean().alias("loss_claimed"),
    )
