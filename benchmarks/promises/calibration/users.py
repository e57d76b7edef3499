"""How often `diff` calls a change beyond noise between halves of a log by users, who have habits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.lib.processes import in_processes
from clickassay.core.records import Floats, Integers, Sample, SampleKey
from clickassay.core.seeds import child
from clickassay.correlation.changes import mean_changes, weighted_changes

DEPTH, QUERIES, USERS, SEARCHES = 5, 200, 4000, 20_000
LAWS = {"even": None, "lognormal 1": 1.0, "lognormal 1.5": 1.5, "zipf 1": 0.0}
"""How searches are spread over users: lognormal with this sigma; zipf 1 gives the n-th user 1/n."""

FOLDS = (1, 2, 16)
"""Folds of users; 1 = users are not looked at."""

CHUNK = 10
CLICKS, METRICS = ("MeanRR", "UCTR", "QCTR"), ("ERR", "DCG", "MeanGrade@1")


@dataclass(frozen=True)
class _Log:
    """Sessions: their (N,) user, configuration; (N, 3) click metrics; and what the configurations are."""

    user: Integers
    configuration: Integers
    clicks: Floats
    editorial: Floats
    query: Integers


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per law, kind of numbers and folds; logs are a tenth as many as worlds."""
    logs = max(worlds // 10, 1)
    chunks = [(law, first, min(CHUNK, logs - first), seed) for law in LAWS for first in range(0, logs, CHUNK)]
    found = in_processes(of_chunk, chunks, processes)
    return found.group_by("searches", "numbers", "folds", maintain_order=True).agg(
        pl.col("log").n_unique().alias("logs"), pl.col("p_value").lt(0.05).mean().alias("alarms")
    )


def of_chunk(chunk: tuple[str, int, int, int]) -> pl.DataFrame:
    """Return one row per log, number and folds: its p-value between the halves."""
    law, first, logs, seed = chunk
    found = []
    for log in range(first, first + logs):
        rng = child(np.random.default_rng(seed), "users", law, str(log))
        for numbers, folds, p in tested(drawn(law, rng), rng):
            found.append(pl.DataFrame({"log": log, "numbers": numbers, "folds": folds, "p_value": p}))
    return pl.concat(found).with_columns(searches=pl.lit(law))


def tested(log: _Log, rng: np.random.Generator) -> Iterator[tuple[str, int, Floats]]:
    """Yield p-values of all changes between two halves of the users, by kind of numbers and folds."""
    half, digest = (rng.integers(0, most, USERS)[log.user] for most in (2, 2**20))
    halves = [half == side for side in (0, 1)]
    whole = [sample(log, own) for own in halves]
    for folds in FOLDS:
        without = [
            tuple(sample(log, own & (digest % folds != fold)) for own in halves)
            for fold in range(folds if folds > 1 else 0)
        ]
        pairs = [(one, other) for one, other in without]
        means = mean_changes(whole[0], whole[1], pairs).p
        yield "means of click metrics", folds, means[: len(CLICKS)]
        yield "means of editorial metrics", folds, means[len(CLICKS) :]
        yield "weighted correlations", folds, weighted_changes(whole[0], whole[1], pairs).p


def drawn(law: str, rng: np.random.Generator) -> _Log:
    """Draw a log: each user is more or less eager to click, and reads more or less far down."""
    lists = rng.integers(1, 5, QUERIES)
    starts = np.concatenate(([0], np.cumsum(lists)))
    grades = rng.choice(5, (starts[-1], DEPTH), p=[0.4, 0.25, 0.15, 0.12, 0.08])
    popularity = 1 / np.arange(1, QUERIES + 1) ** 0.8
    active = activity(law, rng)
    user = rng.choice(USERS, SEARCHES, p=active / active.sum())
    query = rng.choice(QUERIES, SEARCHES, p=popularity / popularity.sum())
    shown = starts[query] + rng.integers(0, lists[query])
    attraction = 0.06 + 0.8 * (2.0 ** grades[shown] - 1) / 16
    eager, goes_on = rng.normal(0, 1, USERS)[user], rng.beta(2, 2, USERS)[user]
    odds = attraction / (1 - attraction) * np.exp(eager)[:, None]
    read = np.cumprod(rng.random((SEARCHES, DEPTH - 1)) < goes_on[:, None], axis=1)
    clicked = (rng.random((SEARCHES, DEPTH)) < odds / (1 + odds)) & np.pad(
        read, ((0, 0), (1, 0)), constant_values=1
    ).astype(bool)
    return _Log(
        user, shown, click_metrics(clicked), editorial_metrics(grades), np.repeat(np.arange(QUERIES), lists)
    )


def activity(law: str, rng: np.random.Generator) -> Floats:
    """Return how active each user is."""
    sigma = LAWS[law]
    if sigma is None:
        return np.ones(USERS)
    return rng.lognormal(0, sigma, USERS) if sigma else 1 / np.arange(1.0, USERS + 1)


def click_metrics(clicked: NDArray[np.bool_]) -> Floats:
    """Return MeanRR, UCTR and QCTR of sessions."""
    number = clicked.sum(axis=1)
    ranks = (clicked / np.arange(1, DEPTH + 1)).sum(axis=1)
    return np.stack([ranks / np.maximum(number, 1), number > 0, number], axis=1).astype(np.float64)


def editorial_metrics(grades: Integers) -> Floats:
    """Return ERR, DCG and the first grade of lists."""
    satisfied = (2.0**grades - 1) / 16
    reach = np.cumprod(np.pad(1 - satisfied, ((0, 0), (1, 0)), constant_values=1), axis=1)[:, :-1]
    err = (reach * satisfied / np.arange(1, DEPTH + 1)).sum(axis=1)
    dcg = ((2.0**grades - 1) / np.log2(np.arange(2, DEPTH + 2))).sum(axis=1)
    return np.stack([err, dcg, grades[:, 0]], axis=1)


def sample(log: _Log, kept: NDArray[np.bool_]) -> Sample:
    """Return the sample of some sessions."""
    own = log.configuration[kept]
    counted = np.bincount(own, minlength=len(log.query))
    shown = np.flatnonzero(counted)
    sums = [np.bincount(own, log.clicks[kept, place], minlength=len(counted)) for place in range(len(CLICKS))]
    queries, index = np.unique(log.query[shown], return_inverse=True)
    return Sample(
        key=SampleKey("all", DEPTH, "all"),
        queries=tuple(f"query {query:04d}" for query in queries),
        query_index=index,
        sessions=counted[shown],
        click_names=CLICKS,
        click_values=(np.stack(sums, axis=1)[shown] / counted[shown, None]),
        click_variances=np.zeros((len(shown), len(CLICKS))),
        null_success=np.zeros(len(shown)),
        editorial_names=METRICS,
        editorial_values=log.editorial[shown],
        configuration_ids=pl.Series(shown),
        click_entropy=np.zeros(len(queries)),
    )
