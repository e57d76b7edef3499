"""Whether the correlation within queries keeps its promises in worlds whose truth is known.

    python -m benchmarks.promises.verdict [--worlds N] [--seed N] [--processes N] [--out FILE]

Queries are drawn from a large pool, so the truth is the value over the whole pool. One row per kind of log
and number of queries: how often 95 % intervals hold the true value (`held`); how often the simultaneous
intervals of all ten differences of five metrics hold at once (`jointly`); pairs found significant by Holm, of
ten, with this correlation (`pairs`), with the closed form of Algorithm 3 and with the weighted correlation;
the share of `pairs` that have the wrong sign (`wrong`); and how often any pair is significant where metrics
are exchanged within each query, so that none is better (`any_of_none`).
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.promises.calibration.worlds import Nature, Pool, draw, exchanged, make_pool
from clickassay.core.records import Floats, Sample
from clickassay.core.seeds import child
from clickassay.correlation.classes import unsplit
from clickassay.correlation.comparisons import comparisons, difference_comparisons, within_comparisons
from clickassay.correlation.tables import within
from clickassay.correlation.uncertainty.multiplicity import ALPHA
from clickassay.correlation.weighted import precision_weights
from clickassay.correlation.within import query_groups

REPORT = ROOT / "reports" / "calibration" / "verdict.csv"
SIZES = (60, 200, 1000)
AT_ONCE = 50
SESSIONS_OF_FEW = 3


@dataclass(frozen=True)
class Kind:
    """A kind of log: its sessions, and whether its lists have three sessions at most."""

    name: str
    nature: Nature
    is_thin: bool = False

    def pool(self, seed: int) -> Pool:
        """Return the pool that its queries are drawn from."""
        pool = make_pool(self.nature, seed)
        if not self.is_thin:
            return pool
        rng = child(np.random.default_rng(seed), "thin")
        return replace(pool, sessions=rng.integers(1, SESSIONS_OF_FEW + 1, len(pool.sessions)))


KINDS = (
    Kind("base", Nature("lognormal", 1.15, many=True)),
    Kind("few lists", Nature("lognormal", 1.15, many=False)),
    Kind("lognormal 1.5", Nature("lognormal", 1.5, many=True)),
    Kind("Pareto 1.5", Nature("pareto", 1.5, many=True)),
    Kind("Pareto 1.2", Nature("pareto", 1.2, many=True)),
    Kind("1 to 3 sessions a list", Nature("lognormal", 1.15, many=True), is_thin=True),
)


@dataclass(frozen=True)
class Task:
    """Samples of one kind and size, from one number on."""

    kind: Kind
    queries: int
    first: int
    number: int
    seed: int


def true_values(pool: Pool) -> Floats:
    """Return the (E,) correlations within queries of the pool, with the noise of its sessions.

    A mean of n sessions with chance c has the variance c (1 - c)/n; of it, centring leaves w (1 - w / W).
    """
    weights = precision_weights(pool.sessions)
    several = np.repeat(pool.sizes >= 2, pool.sizes)
    whole = np.repeat(np.add.reduceat(weights, pool.starts), pool.sizes)
    y, *x = (_centred(pool, weights, values) * several for values in (pool.chances, *pool.metrics.T))
    noise = weights * (1 - weights / whole) * pool.chances * (1 - pool.chances) / pool.sessions
    squares_y = weights @ y**2 + several @ noise
    return np.array([(weights * y) @ one / np.sqrt(squares_y * (weights @ one**2)) for one in x])


def _centred(pool: Pool, weights: Floats, values: Floats) -> Floats:
    means = np.add.reduceat(weights * values, pool.starts) / np.add.reduceat(weights, pool.starts)
    centred: Floats = values - np.repeat(means, pool.sizes)
    return centred


def of_task(task: Task) -> pl.DataFrame:
    """Return one row per sample."""
    pool = task.kind.pool(task.seed)
    truth = dict(zip(pool.names, true_values(pool), strict=True))
    names = "verdict", task.kind.name, str(task.queries)
    rows = []
    for number in range(task.first, task.first + task.number):
        rng = child(np.random.default_rng(task.seed), *names, str(number))
        sample = draw(pool, task.queries, rng)
        rows.append(_of_sample(sample, truth) | {"any_of_none": _finds_any(exchanged(sample, rng))})
    labels = (pl.lit(task.kind.name).alias("log"), pl.lit(task.queries, pl.Int64).alias("queries"))
    return pl.DataFrame(rows).select(*labels, pl.all())


def _of_sample(sample: Sample, truth: dict[str, float]) -> dict[str, float]:
    place = query_groups(sample, [unsplit(sample)])
    true = pl.col("editorial_metric").replace_strict(truth, return_dtype=pl.Float64)
    held = within(place).select(true.is_between("ci_low", "ci_high").mean()).item()
    pairs = _with_truth(within_comparisons(place), truth)
    jointly = pairs.select(pl.col("true").is_between("simultaneous_low", "simultaneous_high").all()).item()
    wrong = _significant(pairs).filter(pl.col("difference").sign() != pl.col("true").sign()).height
    others = {"closed_form": difference_comparisons(sample), "weighted": comparisons(sample)}
    counts = {f"pairs_{name}": _significant(table).height for name, table in others.items()}
    return {
        "held": held,
        "jointly": float(jointly),
        "pairs": _significant(pairs).height,
        **counts,
        "wrong": wrong,
    }


def _with_truth(pairs: pl.DataFrame, truth: dict[str, float]) -> pl.DataFrame:
    first, second = (
        pl.col(name).replace_strict(truth, return_dtype=pl.Float64) for name in ("metric_a", "metric_b")
    )
    return pairs.with_columns((first - second).alias("true"))


def _significant(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("p_adjusted") < ALPHA)


def _finds_any(sample: Sample) -> float:
    return float(_significant(within_comparisons(query_groups(sample, [unsplit(sample)]))).height > 0)


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table of the page: one row per kind of log and number of queries."""
    tasks = [
        Task(kind, queries, first, min(AT_ONCE, worlds - first), seed)
        for kind in KINDS
        for queries in SIZES
        for first in range(0, worlds, AT_ONCE)
    ]
    rows = in_processes(of_task, tasks, processes)
    found = pl.col("pairs").sum()
    return rows.group_by("log", "queries", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col("held", "jointly", "pairs", "pairs_closed_form", "pairs_weighted").cast(pl.Float64).mean(),
        pl.when(found > 0).then(pl.col("wrong").sum() / found).alias("wrong"),
        pl.col("any_of_none").mean(),
    )


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    table = measured(options.worlds, options.seed, options.processes)
    table.write_csv(options.out, float_precision=4)
    print(table)


if __name__ == "__main__":
    main()
